"""Wall time from the start of the process until the first simulated event; prints one JSON line.

Runs the command line's own path (`astra-ns3 run` on the DLRM example) and looks at the clock at the first callback from
the simulation.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path

INPUTS = Path(__file__).resolve().parent.parent / "inputs"


def process_age_seconds() -> float:
    """Seconds since the kernel started this process, to a hundredth."""
    ticks = int(Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[19])
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    return uptime - ticks / os.sysconf("SC_CLK_TCK")


def main() -> None:
    from astra_ns3.cli.main import main as command
    from astra_ns3.network.ns3.backend import Ns3Backend

    ages: list[float] = []
    original = Ns3Backend.run

    def run(self: Ns3Backend, *arguments: object) -> None:
        # An event of our own at time 0, before anything that the workload has scheduled later.
        self.call_later(0, 0, lambda time_ps: ages.append(process_age_seconds()))
        original(self, *arguments)  # type: ignore[arg-type]

    Ns3Backend.run = run  # type: ignore[method-assign]
    sys.argv = ["astra-ns3", "run", "--quiet", "-w", str(INPUTS / "workload/DLRM_HybridParallel.txt")]
    sys.argv += ["-s", str(INPUTS / "system/flat.txt"), "-n", str(INPUTS / "network/single-switch-16.yaml")]
    with contextlib.suppress(SystemExit):
        command()
    print(json.dumps({"first_event_seconds": round(ages[0], 3)}))


if __name__ == "__main__":
    main()
