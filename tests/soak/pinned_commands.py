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
from itertools import pairwise
from pathlib import Path

from support.command import run_command

from astra_ns3.nccl.servers import SERVERS
from soak.case import REPOSITORY
from soak.pinned import settle

PINNED = REPOSITORY / "tests" / "regression" / "pinned_commands.json"
INPUTS = REPOSITORY / "inputs"
CLOS = "inputs/network/roce-nvswitch-clos-128.yaml"
NETWORKS_THAT_TAKE_SECONDS = ("clos-1024.yaml", "clos-16384.yaml")
STUDIES = ("credits", "failures", "first", "libra", "nccl", "plan", "slowdown")
"""Those whose points are found within seconds, and one of the wrong kind."""
_VERSIONS = ("2.18", "2.21", "2.23", "2.26", "2.29")
_OPERATIONS = ("all_gather", "reduce_scatter", "alltoall", "sendrecv")
_VARYING = (
    (re.compile(r" +[0-9a-f]{8}$", re.MULTILINE), ""),
    (re.compile(r"^(wall time|peak memory) .*$", re.MULTILINE), ""),
    (re.compile(r'"(\w+_seconds|peak_memory\w*)": [0-9.e-]+'), r'"\1": 0'),
    (re.compile(r'"address": "[0-9a-f]+"'), '"address": ""'),
    (re.compile(r"\d{4}-\d\d-\d\dT[0-9:+]+"), "then"),
)
"""What changes from run to run, and the address of a point, which changes with the code."""
_FLOWS = {
    "constant": "--sizes 10KB --rate 1Gbps --duration 1ms",
    "incast": "--sizes 64KB --senders 3 --bursts 4 --interval 100us",
    "on-off": "--sizes 4KB --rate 10Gbps --on 20us --off 30us --duration 200us",
    "permutation": "--sizes 1MB --rounds 3",
    "poisson": "--sizes web-search --rate 100Gbps --load 0.5 --duration 1ms",
}
_FLAT = "-s inputs/system/flat.txt"
_PACKETS = f"{_FLAT} -n inputs/network/roce-16.yaml"
_HIER = "-s inputs/system/hier.txt -n inputs/network/hier.yaml"
_RUNS = {
    "loop": f"-w inputs/workload/micro-all-reduce.txt {_PACKETS} --comm-scale 0.1",
    "stopped": f"-w inputs/workload/micro-all-to-all.txt {_PACKETS} --limit-simulated-time 20us --json",
    "tcp": f"-w inputs/workload/micro-all-reduce.txt {_FLAT} -n inputs/network/single-switch-16.yaml --comm-scale 0.1",
    "queues": f"-w inputs/workload/micro-all-reduce.txt {_HIER} --backend analytical-queues --passes 2 --report-npu 3",
    "rules": f"-w inputs/workload/micro-all-to-all.txt {_HIER} --backend analytical --compat astra-sim-1.0 --json",
    "flows": f"-w inputs/workload/flows-16.csv {_PACKETS} --scale 0.1 --run-name few",
    "graphs": f"-w inputs/workload/chakra/step --groups inputs/workload/chakra/step.groups.json {_FLAT}"
    " -n inputs/network/full-mesh-8.yaml --comm-scale 0.01 --json",
    "model": f"-w inputs/workload/models/vgg-16.yaml {_PACKETS} --backend flow --seed 7"
    " --compute-slowdown inputs/compute/slowdown.yaml",
    "nccl": "-w inputs/workload/micro-all-reduce.txt -s inputs/system/nccl.yaml -n inputs/network/roce-dgx-h100.yaml"
    " --comm-scale 0.1",
    "seeds": f"-w inputs/workload/micro-all-to-all.txt {_PACKETS} --comm-scale 0.01 --seeds 2 --json",
    "stopped seeds": f"-w inputs/workload/micro-all-to-all.txt {_PACKETS} --seeds 2 --limit-simulated-time 20us",
    "jobs": "--scenario inputs/scenarios/neighbours.yaml --comm-scale 0.1 --json",
    "events": "--scenario inputs/scenarios/flaps.yaml --comm-scale 0.1 --backend flow",
    "stopped jobs": "--scenario inputs/scenarios/pair.yaml --limit-simulated-time 30us --json",
    "arrivals": "--scenario inputs/scenarios/arrivals.yaml --comm-scale 0.02",
    "traffic": "--scenario inputs/scenarios/background.yaml --comm-scale 0.02 --seed 3 --json",
    "periodic": "--scenario inputs/scenarios/interleaving.yaml --comm-scale 0.1 --cores 2",
}
"""Runs by the kind of their results."""
_PARTS = {
    **dict.fromkeys(("seeds", "stopped seeds"), "/seed-1"),
    **dict.fromkeys(("jobs", "stopped jobs", "periodic"), "/job-first"),
    "events": "/job-all-reduce",
    "arrivals": "/job-beside",
    "traffic": "/job-training",
}
"""Where a part of a result lies that can be looked at by itself."""
_LOOKS = (
    "explain ONE; explain ONE --json --top 3; explain ONE --iteration 0; explain ONE --collective 0 --json",
    "compare ONE TWO; compare TWO ONE --json; report ONE TWO -o OUT/page.html",
    "plot ONE; plot ONE --json; plot ONE completion -o OUT/a.svg --beside TWO; plot ONE layers -o OUT/b.svg --json",
    "runs OUT --columns +seed,compat,of_floor --sort -finish --format json; runs OUT --where state=complete",
    "timeline ONE --messages 5 --json; report ONE -o OUT/page.html; runs OUT --format csv",
    "plot ONE exposed -o OUT/c.svg --no-title; plot ONE accounts -o OUT/d.svg --title A; plot ONE queues -o OUT/e.svg",
    "explain TWO --json; plot ONE bandwidth -o OUT/f.svg --width double; plot ONE memory -o OUT/g.svg; timeline ONE",
)
"""Commands about the results of a run in ONE, beside those of the run of the kind before in TWO."""
_ALWAYS = "compare OUT/one OUT/two; report OUT/one OUT/two -o OUT/both.html"


def commands() -> Iterator[str]:
    """Yield the words of each command, or of several with ``; `` between; ``OUT`` is a file or folder to write."""
    yield from _commands_on_files()
    yield from _commands_that_write()
    yield from _commands_on_results()
    yield from _refused()


def _commands_on_results() -> Iterator[str]:
    """Yield each kind of run with looks at its results, each time others, so that all looks and kinds meet."""
    kinds = list(_RUNS)
    for number, (before, kind) in enumerate(pairwise([*kinds, kinds[0]])):
        looks = "; ".join((_LOOKS[number % len(_LOOKS)], _LOOKS[(2 * number + 3) % len(_LOOKS)], _ALWAYS))
        runs = f"run {_RUNS[kind]} --record all -o OUT/one; run {_RUNS[before]} --record all -o OUT/two"
        one, two = f"OUT/one{_PARTS.get(kind, '')}", f"OUT/two{_PARTS.get(before, '')}"
        yield f"{runs}; {looks.replace('ONE', one).replace('TWO', two)}"


def _refused() -> Iterator[str]:
    """Yield commands that are told what is wrong, as words and as JSON."""
    right = f"-w inputs/workload/micro-all-reduce.txt {_PACKETS}"
    wrong = (
        f"run {right} --set network.topology.npu=3",
        f"run {right} --backend analytica",
        f"run {right} --record flows",
        f"run {right} --groups inputs/workload/chakra/step.groups.json",
        f"run -w inputs/system/flat.txt {_PACKETS}",
        "run --scenario inputs/scenarios/pair.yaml --seeds 2",
        "run --scenario inputs/scenarios/pair.yaml --passes 2",
        "run --scenario inputs/scenarios/pair.yaml --set scenario.jobs.third.start=1ms",
        f"validate {right} --compat simai2",
        "validate --scenario inputs/scenarios/storm.yaml --backend flow",
        "show network inputs/system/flat.yaml",
        "show workload inputs/network/roce-16.yaml",
        "show scenario inputs/scenarios/pair.yaml --backend analytical",
        "nccl all_reduce --servers 2xdgx-h300",
        "convert inputs/workload/micro-all-reduce.txt OUT.csv --to csv",
    )
    for words in wrong:
        yield words
        yield f"{words} --json"
    yield "explain inputs; report inputs -o OUT.html; plot inputs layers; compare inputs inputs; timeline inputs"


def _commands_on_files() -> Iterator[str]:
    """Yield commands about a file that comes with the program."""
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


def _commands_that_write() -> Iterator[str]:
    """Yield commands that convert files, draw them, or play them on several backends."""
    for ending in ("csv", "hpcc", "htsim"):
        yield f"convert inputs/workload/flows-16.csv OUT.{ending} --to {ending} --json"
    for form in ("chakra", "chakra-json", "simai", "astra-sim", "model"):
        yield f"convert inputs/workload/DLRM_HybridParallel.txt OUT --to {form} --dimensions 2x2 --passes 2 --json"
        yield f"convert inputs/workload/chakra OUT --to {form} --groups inputs/workload/chakra/step.groups.json"
    for form in ("chakra-json", "text", "yaml"):
        words = "--set training.micro_batches=2 --json"
        yield f"generate workload inputs/workload/models/gnmt.yaml --dimensions 2x2 --format {form} {words} -o OUT.yaml"
    for ending in ("graphml", "json", "txt", "yaml"):
        yield f"show network inputs/network/leaf-spine-32.yaml --export OUT.{ending} --json"
        yield f"show network inputs/network/hierarchical-ring.yaml --export OUT.{ending} -o OUT.svg"
    for path in ("DLRM_HybridParallel.txt", "models/vgg-16.yaml", "chakra", "moe-simai-16.txt"):
        yield f"show workload inputs/workload/{path} -o OUT.svg"
    for path in ("neighbours", "fragments", "checkpoints", "failing-cluster"):
        yield f"show scenario inputs/scenarios/{path}.yaml --seed 5 -o OUT.svg --json"
    for backend in ("flow", "analytical", "analytical-queues"):
        yield f"validate -w inputs/workload/dlrm-128.txt -s inputs/system/hier.txt -n {CLOS} --backend {backend} --json"
        yield f"nccl broadcast --servers 2xdgx-a100 -b 1M -e 4M --backend {backend} --json"
    yield "nccl reduce --servers 2xdgx-h100 -b 1M -e 1M --pairs --set NCCL_ALGO=Ring -o OUT.svg"
    yield "nccl alltoall -n inputs/network/roce-dgx-h100.yaml -b 1M -e 1M --seed 3"
    yield "study inputs/studies/first.yaml --only network.transport.congestion_control=none --list --json"


def _files(pattern: str) -> Iterator[str]:
    for path in sorted(INPUTS.glob(pattern)):
        yield str(path.relative_to(REPOSITORY))


def pin_of(words: str) -> str:
    """Play commands; return of each a digest of its status and of what it printed and, last, of the files written."""
    with tempfile.TemporaryDirectory(prefix="astra-ns3-pinned-") as name:
        folder = Path(name)
        pins = [_printed(each.replace("OUT", f"{name}/out"), folder) for each in words.split("; ")]
        written = [(str(file.relative_to(folder)), _content(file)) for file in sorted(folder.rglob("*.*"))]
    return f"{' '.join(pins)} {_digest(written)}"


def _printed(words: str, folder: Path) -> str:
    done = run_command(*words.split(), folder=REPOSITORY)
    for file in folder.rglob("run.json"):
        settle(file)
    told = f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    for pattern, instead in _VARYING:
        told = pattern.sub(instead, told)
    return f"{done.returncode} {_digest(told.replace(str(folder), '').replace(str(REPOSITORY), ''))}"


def _content(file: Path) -> str:
    """Return what a file says: of a page all but the library, of a picture that it is there."""
    if file.is_dir() or file.suffix == ".svg" or file.suffix == ".html":
        return ""
    return file.read_bytes().hex()


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:10]


def main() -> None:
    """Write the pins anew."""
    lines = [f" {json.dumps(words)}: {json.dumps(pin_of(words))}" for words in commands()]
    Path(sys.argv[1] if sys.argv[1:] else PINNED).write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
