"""What starting costs; prints one JSON line.

Wall time from the start of the process until the first simulated event: runs the command line's own path (`astra-ns3
run` on the DLRM example) and looks at the clock at the first callback from the simulation, which is in a forked child
and leaves what it sees in memory that both share. With `--commands`: CPU time of commands, the least of some, each
in a process of its own: version, help, Tab, `validate` and `run` of a tiny RoCE run.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import resource
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

INPUTS = Path(__file__).resolve().parent.parent / "inputs"


AGE = struct.Struct("d")
ROUNDS = 5
TINY = {
    "-w": ("tiny.txt", "MICRO\n1\nx -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 1000 0\n"),
    "-s": (
        "tiny.yaml",
        "scheduling-policy: LIFO\npreferred-dataset-splits: 1\nactive-chunks-per-dimension: 1\n"
        "all-reduce-implementation: [ring]\nreduce-scatter-implementation: [ring]\n"
        "all-gather-implementation: [ring]\nall-to-all-implementation: [direct]\n",
    ),
    "-n": (
        "network.yaml",
        "topology: {kind: single-switch, npus: 2, link: {rate: 100Gbps, delay: 500ns}, switch: {buffer: 1MB}}\n"
        "transport: roce\n",
    ),
}
"""Two NPUs over RoCE, one kilobyte: flag -> name and text of a file."""


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


def command_cpu_seconds(rounds: int) -> dict[str, float]:
    """CPU time of commands, the least of ``rounds``."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for flag, (name, text) in TINY.items():
            Path(folder, name).write_text(text, encoding="utf-8")
            files += [flag, str(Path(folder, name))]
        commands = {
            "version": ["--version"],
            "help": ["--help"],
            "tab": [],
            "validate": ["validate", *files],
            "run": ["run", "--quiet", *files],
        }
        return {name: min(cpu_seconds(words) for _ in range(rounds)) for name, words in commands.items()}


def cpu_seconds(words: list[str]) -> float:
    """CPU time of a command and of its children; no words: Tab behind `astra-ns3 r`."""
    completing = {"_ASTRA_NS3_COMPLETE": "bash_complete", "COMP_WORDS": "astra-ns3 r", "COMP_CWORD": "1"}
    environment = {**os.environ, **({} if words else completing)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    program = Path(sys.executable).with_name("astra-ns3")
    subprocess.run([program, *words], check=True, capture_output=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 3)


def main() -> None:
    if "--commands" in sys.argv[1:]:
        print(json.dumps({f"{name}_cpu_seconds": seconds for name, seconds in command_cpu_seconds(ROUNDS).items()}))
        return
    seconds = first_event_seconds()
    if not seconds:
        sys.exit("the run came to no event")
    print(json.dumps({"first_event_seconds": round(seconds, 3)}))


if __name__ == "__main__":
    main()
