"""Wall time from the start of the process until the first simulated event; prints one JSON line.

Runs the command line's own path (`astra-ns3 run` on the DLRM example) and looks at the clock at the first callback from
the simulation. The simulation is in a forked child, which leaves what it sees in memory that both share.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import struct
import sys
from pathlib import Path

INPUTS = Path(__file__).resolve().parent.parent / "inputs"


AGE = struct.Struct("d")


def process_age_seconds(process: int) -> float:
    """Seconds since the kernel started a process, to a hundredth."""
    ticks = int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[19])
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    return uptime - ticks / os.sysconf("SC_CLK_TCK")


def first_event_seconds() -> float:
    """Plays the example; the age of this process at its first event."""
    from astra_ns3.cli.main import main as command
    from astra_ns3.network.ns3.backend import Ns3Backend

    process, shared = os.getpid(), mmap.mmap(-1, AGE.size)
    original = Ns3Backend.run

    def run(self: Ns3Backend, *arguments: object) -> None:
        # An event of our own at time 0, before anything that the workload has scheduled later.
        self.call_later(0, 0, lambda time_ps: AGE.pack_into(shared, 0, process_age_seconds(process)))
        original(self, *arguments)  # type: ignore[arg-type]

    Ns3Backend.run = run  # type: ignore[method-assign]
    sys.argv = ["astra-ns3", "run", "--quiet", "-w", str(INPUTS / "workload/DLRM_HybridParallel.txt")]
    sys.argv += ["-s", str(INPUTS / "system/flat.txt"), "-n", str(INPUTS / "network/single-switch-16.yaml")]
    with contextlib.suppress(SystemExit):
        command()
    return float(AGE.unpack_from(shared)[0])


def main() -> None:
    seconds = first_event_seconds()
    if not seconds:
        sys.exit("the run came to no event")
    print(json.dumps({"first_event_seconds": round(seconds, 3)}))


if __name__ == "__main__":
    main()
