"""What starting costs; prints one JSON line.

Wall time from the start of the process until the first simulated event: runs the command line's own path (`astra-ns3
run` on the DLRM example) and looks at the clock at the first callback from the simulation, which is in a forked child
and leaves what it sees in memory that both share. With `--commands`: CPU time of commands, the least of some rounds in
which they take turns, each in a process of its own: version, help, Tab, help of `run`, `validate` and `run` of a tiny
RoCE run, a further point of a study of such runs, and `import cppyy` alone, with which `run` is compared. Besides the
most memory of one process of `run` and of that import.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
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
KINDS = {"workload": "-w", "system": "-s", "network": "-n"}
FURTHER_POINTS = 8
"""Points of a study besides its first."""


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


def commands_in(folder: Path) -> dict[str, list[str]]:
    """Return the words of each command by its name; files that commands read are written to ``folder``."""
    files = []
    for flag, (name, text) in TINY.items():
        (folder / name).write_text(text, encoding="utf-8")
        files += [flag, str(folder / name)]
    studies = {}
    for points in (1, FURTHER_POINTS + 1):
        studies[points] = folder / f"study-{points}.yaml"
        files_of_points = "".join(f"  {kind}: {TINY[flag][0]}\n" for kind, flag in KINDS.items())
        axis = f"comm_scale: {[1 + place for place in range(points)]}"
        text = f"title: Tiny\nbase:\n{files_of_points}parts:\n  scales:\n    title: Scales\n    axes: {{{axis}}}\n"
        studies[points].write_text(text, encoding="utf-8")
    program = str(Path(sys.executable).with_name("astra-ns3"))
    return {
        "version": [program, "--version"],
        "help": [program, "--help"],
        "tab": [program],
        "run_help": [program, "run", "--help"],
        "validate": [program, "validate", *files],
        "run": [program, "run", "--quiet", *files],
        "cppyy": [sys.executable, "-c", "import cppyy"],
        **{f"study_{points}": [program, "study", "--quiet", "--jobs=1", str(path)] for points, path in studies.items()},
    }


def measured_commands(rounds: int) -> dict[str, float]:
    """Measure all commands, each in its turn, ``rounds`` times; the least of each, by what is measured."""
    least: dict[str, float] = {}
    for number in range(rounds):
        with tempfile.TemporaryDirectory() as name:
            for command, words in commands_in(Path(name)).items():
                seconds, megabytes = cost(words + ([f"--output={name}/{command}"] if "study" in command else []))
                for what, figure in ((f"{command}_cpu_seconds", seconds), (f"{command}_peak_mb", megabytes)):
                    least[what] = figure if number == 0 else min(least[what], figure)
    studies = least.pop(f"study_{FURTHER_POINTS + 1}_cpu_seconds") - least.pop("study_1_cpu_seconds")
    kept = {what: figure for what, figure in least.items() if "cpu" in what or what in ("run_peak_mb", "cppyy_peak_mb")}
    kept["further_point_cpu_seconds"] = round(studies / FURTHER_POINTS, 3)
    kept["run_over_cppyy"] = round(least["run_cpu_seconds"] / least["cppyy_cpu_seconds"], 2)
    return kept


COST = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(round(used.ru_utime + used.ru_stime, 3), round(used.ru_maxrss * 1024 / 1e6))
"""


def cost(words: list[str]) -> tuple[float, float]:
    """CPU seconds of a command and all its children, and the most MB of one of them; one word: Tab behind `r`."""
    completing = {"_ASTRA_NS3_COMPLETE": "bash_complete", "COMP_WORDS": "astra-ns3 r", "COMP_CWORD": "1"}
    environment = {**os.environ, **({} if words[1:] else completing)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    asked = [sys.executable, "-c", COST, *words]
    printed = subprocess.run(asked, check=True, capture_output=True, text=True, env=environment).stdout
    seconds, megabytes = printed.split()
    return float(seconds), float(megabytes)


def main() -> None:
    if "--commands" in sys.argv[1:]:
        print(json.dumps(measured_commands(ROUNDS)))
        return
    seconds = first_event_seconds()
    if not seconds:
        sys.exit("the run came to no event")
    print(json.dumps({"first_event_seconds": round(seconds, 3)}))


if __name__ == "__main__":
    main()
