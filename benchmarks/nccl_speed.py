"""NCCL's channels: what tables of nccl-tests and training loops take; prints a JSON line for each case.

``flows``, ``packets``: an all-reduce on 2 x 8 H100, from 8 B to 8 GiB as flows and from 4 KiB to 1 GiB as packets.
``servers-64-small``, ``servers-64``: 64 MiB and 4 GiB on 64 x 8 H100 as flows. ``training``, ``training-ring``:
ResNet-50 on 2 x 8 H100 as flows, with NCCL and with one ring a dimension. Seconds are of the processor, start-up and
Python included; a process each.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

INPUTS = Path(__file__).resolve().parent.parent / "inputs"
TWO, MANY = ("--servers", "2xdgx-h100"), ("--servers", "64xdgx-h100")
TABLES = {
    "flows": (*TWO, "-b", "8", "-e", "8G"),
    "packets": (*TWO, "-b", "4K", "-e", "1G", "--backend", "ns3"),
    "servers-64-small": (*MANY, "-b", "64M", "-e", "64M"),
    "servers-64": (*MANY, "-b", "4G", "-e", "4G"),
}
SYSTEMS = {"training": "nccl.yaml", "training-ring": "flat.yaml"}
CASES = (*TABLES, *SYSTEMS)


def words_of(case: str, folder: Path) -> tuple[str, ...]:
    """The command of a case."""
    if case in TABLES:
        return ("nccl", "all_reduce", *TABLES[case])
    files = ("-w", "workload/resnet-50.txt", "-s", f"system/{SYSTEMS[case]}", "-n", "network/roce-dgx-h100.yaml")
    named = tuple(word if word.startswith("-") else str(INPUTS / word) for word in files)
    one = ("--set", "all-reduce-implementation=[ring, ring]") if case == "training-ring" else ()
    return ("run", *named, *one, "--backend", "flow", "--output", str(folder / "out"))


def seconds_of(words: Sequence[str]) -> float:
    """Seconds of the processor that a command takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "astra_ns3", *words]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure the cases that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}; all if absent")
    cases = parser.parse_args().cases or list(CASES)
    if unknown := set(cases) - set(CASES):
        parser.error(f"found {', '.join(sorted(unknown))}, expected some of {', '.join(CASES)}")
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            print(
                json.dumps({"case": case, "cpu_seconds": round(seconds_of(words_of(case, Path(folder))), 1)}),
                flush=True,
            )


if __name__ == "__main__":
    main()
