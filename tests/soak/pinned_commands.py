"""What commands print about the files that come with the program, when someone last looked; see :mod:`soak.pinned`.

``python -m soak.pinned_commands`` writes ``tests/regression/pinned_commands.json`` anew.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from support.command import run_command

from astra_ns3.nccl.servers import SERVERS
from soak.case import REPOSITORY

PINNED = REPOSITORY / "tests" / "regression" / "pinned_commands.json"
INPUTS = REPOSITORY / "inputs"
CLOS = "inputs/network/roce-nvswitch-clos-128.yaml"
NETWORKS_THAT_TAKE_SECONDS = ("clos-1024.yaml", "clos-16384.yaml")
STUDIES = ("credits", "failures", "first", "libra", "nccl", "plan", "slowdown")
"""Those whose points are found within seconds, and one of the wrong kind."""
_VERSIONS = ("2.18", "2.21", "2.23", "2.26", "2.29")
_OPERATIONS = ("all_gather", "reduce_scatter", "alltoall", "sendrecv")
_ADDRESS = re.compile(r" +[0-9a-f]{8}$", re.MULTILINE)
"""The address of a point in ``study --list``, which changes with the program's code."""
_FLOWS = {
    "constant": "--sizes 10KB --rate 1Gbps --duration 1ms",
    "incast": "--sizes 64KB --senders 3 --bursts 4 --interval 100us",
    "on-off": "--sizes 4KB --rate 10Gbps --on 20us --off 30us --duration 200us",
    "permutation": "--sizes 1MB --rounds 3",
    "poisson": "--sizes web-search --rate 100Gbps --load 0.5 --duration 1ms",
}


def commands() -> Iterator[str]:
    """Yield the words of each command, which is played where the repository is; ``OUT`` is a file to write."""
    for path in (*_files("network/*.yaml"), *_files("network/graphs/*.*")):
        if not path.endswith(NETWORKS_THAT_TAKE_SECONDS):
            yield f"show network {path} --json"
    for path in (*_files("workload/models/*.yaml"), *_files("workload/*.txt"), *_files("workload/*.yaml")):
        yield f"show workload {path} --json"
        yield f"validate -w {path} -s inputs/system/hier.txt -n {CLOS} --passes 2"
    yield f"validate -w inputs/workload/models/gnmt.yaml -s inputs/system/nccl.yaml -n {CLOS} --json"
    for path in _files("scenarios/*.yaml"):
        yield f"show scenario {path}"
        yield f"validate --scenario {path} --json"
    for name in STUDIES:
        yield f"study inputs/studies/{name}.yaml --list"
    for name in SERVERS:
        yield f"nccl all_reduce --servers 2x{name} -b 4K -e 1M -f 256"
    for version in _VERSIONS:
        yield f"nccl all_reduce --servers 4xdgx-h100 --nccl-version {version} -b 64K -e 64K --what-if"
    for operation in _OPERATIONS:
        yield f"nccl {operation} --servers 2xdgx-a100 -b 1K -e 64M -f 256 --json"
    for kind, words in _FLOWS.items():
        yield f"generate flows {kind} --npus 8 {words} -o OUT.csv"
    yield "generate workload inputs/workload/models/vgg-16.yaml --dimensions 2x4 -o OUT"
    yield "convert inputs/workload/DLRM_HybridParallel.txt OUT --dimensions 2x4"
    yield "convert inputs/workload/chakra OUT.txt --to simai"
    yield "convert inputs/workload/flows-16.csv OUT.cm --to htsim"


def _files(pattern: str) -> Iterator[str]:
    for path in sorted(INPUTS.glob(pattern)):
        yield str(path.relative_to(REPOSITORY))


def pin_of(words: str) -> str:
    """Play a command; return a digest of its status, of what it printed, and of the files that it wrote."""
    with tempfile.TemporaryDirectory(prefix="astra-ns3-pinned-") as name:
        done = run_command(*words.replace("OUT", f"{name}/out").split(), folder=REPOSITORY)
        told = f"{done.returncode}\n{done.stdout}\n{done.stderr}".replace(name, "").replace(str(REPOSITORY), "")
        told = _ADDRESS.sub("", told)
        written = [(str(file.relative_to(name)), file.read_bytes().hex()) for file in sorted(Path(name).rglob("*.*"))]
    return f"{done.returncode} {hashlib.sha256(json.dumps([told, written]).encode()).hexdigest()[:10]}"


def main() -> None:
    """Write the pins anew."""
    lines = [f" {json.dumps(words)}: {json.dumps(pin_of(words))}" for words in commands()]
    Path(sys.argv[1] if sys.argv[1:] else PINNED).write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
