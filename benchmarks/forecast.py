"""How near `astra-ns3 validate` comes: CPU time and memory of whole runs, estimated and measured, as a table.

CPU time is user and system time of the process, start-up included; memory is the highest resident memory. The
constants of `astra_ns3/experiments/forecasting/costs.py` are to be set so that estimates are within a factor of 1.5.
To set them anew: run all cases on an otherwise idle machine, and move the constant that the worst cases share.

usage: benchmarks/forecast.py [--rounds N] [CASE ...]
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

INPUTS = Path(__file__).resolve().parent.parent / "inputs"
LINK = {"rate": "400Gbps", "delay": "500ns"}
SWITCH = {"buffer": "32MiB", "pfc": {"priorities": [3]}, "ecn": {"kmin": "800KB", "kmax": "3200KB", "pmax": 0.2}}
TCP = {"kind": "tcp", "window": "500KB"}
ROCE = {"kind": "roce", "congestion_control": "dcqcn"}
CLOS = {"kind": "leaf-spine", "leaves": 16, "spines": 8, "hosts_per_leaf": 8, "link": LINK, "switch": SWITCH}
SMALL_CLOS = {**CLOS, "leaves": 4, "spines": 2, "hosts_per_leaf": 4}
NVSWITCH = {"link": {"rate": "3026Gbps", "delay": "250ns"}, "switch": {"buffer": "64MiB", "pfc": {}}}
SERVERS = {
    "kind": "hierarchical",
    "nodes": 2,
    "npus_per_node": 8,
    "scale_up": NVSWITCH,
    "scale_out": {"kind": "single-switch", "link": LINK, "switch": SWITCH},
}
ANALYTICAL = {"topology": ["Switch"], "npus_count": [128], "bandwidth": [50.0], "latency": [500.0]}
MIB = 1 << 20


@dataclass(frozen=True)
class Case:
    """A run of MICRO, or of files that are there: ``files``, with further ``words`` on the command line."""

    network: Mapping[str, Any] = field(default_factory=dict)
    collective: str = "ALLREDUCE"
    size: int = MIB
    chunks: int = 4
    active: int = 1
    algorithm: str = "ring"
    dimensions: int = 1
    words: tuple[str, ...] = ()
    files: tuple[str, str, str] | None = None
    nccl: Mapping[str, Any] | None = None


def switch(npus: int, transport: Mapping[str, Any]) -> dict[str, Any]:
    topology = {"kind": "single-switch", "npus": npus, "link": LINK, "switch": SWITCH}
    return {"topology": topology, "transport": transport}


def fat_tree(k: int, transport: Mapping[str, Any]) -> dict[str, Any]:
    return {"topology": {"kind": "fat-tree", "k": k, "link": LINK, "switch": SWITCH}, "transport": transport}


def analytical(**keys: Any) -> Case:
    return Case(ANALYTICAL, words=("--backend", "analytical"), **keys)


def channels(size: int, *words: str, collective: str = "ALLREDUCE", **table: Any) -> Case:
    """NCCL's channels on two servers of 8 GPUs."""
    network = {"topology": SERVERS, "transport": {"kind": "roce", "payload": "4096B"}}
    return Case(network, collective=collective, size=size, words=words, nccl={"server": "dgx-h100", **table})


def by_formula(backend: str, workload: str, network: str = "roce-clos-128.yaml", *words: str) -> Case:
    """Files on a network of packets, played by formula."""
    files = f"workload/{workload}", "system/flat.yaml", f"network/{network}"
    return Case(files=files, words=("--backend", backend, *words))


CASES: Mapping[str, Case] = {
    "roce-start-up": Case(switch(8, ROCE), size=1024),
    "tcp-start-up": Case(switch(8, TCP), size=1024),
    "analytical-start-up": analytical(size=1024, chunks=1),
    "roce-ring-8-16MiB": Case(switch(8, ROCE), size=16 * MIB),
    "roce-ring-8-64MiB-mtu-4200": Case(switch(8, {**ROCE, "payload": "4096B"}), size=64 * MIB),
    "roce-ring-128-1MiB": Case(switch(128, ROCE)),
    "roce-ring-128-1MiB-clos": Case({"topology": CLOS, "transport": ROCE}),
    "roce-direct-128-4MiB-fat-tree": Case(
        fat_tree(8, ROCE), collective="ALLTOALL", size=4 * MIB, chunks=1, algorithm="direct"
    ),
    "roce-direct-16-4MiB": Case(switch(16, ROCE), collective="ALLTOALL", size=4 * MIB, algorithm="direct"),
    "roce-direct-128-1MiB": Case(switch(128, ROCE), collective="ALLTOALL", chunks=1, algorithm="direct"),
    "roce-direct-128-4MiB": Case(switch(128, ROCE), collective="ALLTOALL", size=4 * MIB, chunks=1, algorithm="direct"),
    "roce-ring-128-1MiB-fat-tree": Case(fat_tree(8, ROCE)),
    "roce-direct-16-4MiB-fat-tree": Case(
        fat_tree(4, ROCE), collective="ALLTOALL", size=4 * MIB, chunks=1, algorithm="direct"
    ),
    "roce-tree-1024-64KiB-fat-tree": Case(fat_tree(16, ROCE), size=MIB // 16, chunks=1, algorithm="doubleBinaryTree"),
    "tcp-ring-8-4MiB": Case(switch(8, TCP), size=4 * MIB),
    "tcp-ring-64-1MiB-16-chunks": Case(switch(64, TCP), chunks=16, active=16),
    "tcp-direct-16-4MiB": Case(switch(16, TCP), collective="ALLTOALL", size=4 * MIB, algorithm="direct"),
    "tcp-direct-16-4MiB-4-hops": Case(
        {"topology": SMALL_CLOS, "transport": TCP}, collective="ALLTOALL", size=4 * MIB, algorithm="direct"
    ),
    "tcp-direct-128-128KiB": Case(switch(128, TCP), collective="ALLTOALL", size=MIB // 8, chunks=1, algorithm="direct"),
    "dlrm-128-tcp-0.01": Case(
        files=("workload/dlrm-128.txt", "system/flat-128.txt", "network/flat-100g.yaml"),
        words=("--comm-scale", "0.01"),
    ),
    "dlrm-16-tcp": Case(
        files=("workload/DLRM_HybridParallel.txt", "system/flat.txt", "network/single-switch-16.yaml"),
    ),
    "dlrm-16-roce": Case(
        files=("workload/DLRM_HybridParallel.txt", "system/flat.txt", "network/roce-16.yaml"),
    ),
    "nccl-chosen-4MiB": channels(4 * MIB),
    "nccl-ring-simple-16MiB": channels(16 * MIB, NCCL_ALGO="Ring", NCCL_PROTO="Simple"),
    "nccl-ring-ll-1MiB": channels(MIB, NCCL_ALGO="Ring", NCCL_PROTO="LL"),
    "nccl-tree-ll128-4MiB": channels(4 * MIB, NCCL_ALGO="Tree", NCCL_PROTO="LL128"),
    "nccl-tree-simple-16MiB": channels(16 * MIB, NCCL_ALGO="Tree", NCCL_PROTO="Simple"),
    "nccl-nvlstree-16MiB": channels(16 * MIB, NCCL_ALGO="NVLSTree"),
    "nccl-all-to-all-16MiB": channels(16 * MIB, collective="ALLTOALL"),
    "nccl-ring-simple-256MiB-flow": channels(256 * MIB, "--backend", "flow", NCCL_ALGO="Ring", NCCL_PROTO="Simple"),
    "nccl-nvlstree-256MiB-flow": channels(256 * MIB, "--backend", "flow", NCCL_ALGO="NVLSTree"),
    "nccl-tree-ll-4MiB-each-flow": channels(
        4 * MIB, "--backend", "flow", NCCL_ALGO="Tree", NCCL_PROTO="LL", channels="each"
    ),
    "nccl-all-to-all-256MiB-flow": channels(256 * MIB, "--backend", "flow", collective="ALLTOALL"),
    "analytical-ring-all-reduce-128": analytical(),
    "analytical-ring-all-to-all-128": analytical(collective="ALLTOALL"),
    "analytical-executor-128-chunks": analytical(size=128 * MIB, chunks=128, active=128),
    "analytical-direct-128-64-chunks": analytical(collective="ALLTOALL", chunks=64, active=8, algorithm="direct"),
    "llama-3-8b-analytical": by_formula("analytical", "models/llama-3-8b.yaml"),
    "llama-3-8b-queues": by_formula("analytical-queues", "models/llama-3-8b.yaml"),
    "mixtral-8x7b-analytical": by_formula("analytical", "models/mixtral-8x7b.yaml"),
    "mixtral-8x7b-queues": by_formula("analytical-queues", "models/mixtral-8x7b.yaml"),
    "resnet-50-queues": by_formula("analytical-queues", "models/resnet-50.yaml"),
    "gpt-3-175b-analytical": by_formula("analytical", "models/gpt-3-175b.yaml"),
    "dlrm-128-queues": by_formula("analytical-queues", "dlrm-128.txt"),
    "flows-16-analytical": by_formula("analytical", "flows-16.csv", "roce-16.yaml"),
    "llama-3-8b-flow": by_formula("flow", "models/llama-3-8b.yaml"),
    "mixtral-8x7b-flow": by_formula("flow", "models/mixtral-8x7b.yaml"),
    "resnet-50-flow": by_formula("flow", "models/resnet-50.yaml"),
    "dlrm-128-flow": by_formula("flow", "dlrm-128.txt"),
    "chakra-8-queues": by_formula("analytical-queues", "chakra", "ring-8.yaml"),
}


def write(case: Case, folder: Path) -> list[str]:
    """The files of a case, and the words that name them."""
    paths = [INPUTS / name for name in case.files or ()]
    if not paths:
        paths = [folder / name for name in ("workload.txt", "system.yaml", "network.yaml")]
        if case.words and case.nccl is None:
            paths[2] = paths[2].with_suffix(".yml")
        row = f"layer -1 0 NONE 0 0 NONE 0 0 {case.collective} {case.size} 0"
        paths[0].write_text(f"MICRO\n1\n{row}\n")
        keys = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")
        ring = {f"{key}-implementation": "ring" for key in keys}
        chosen = "all-to-all" if case.collective == "ALLTOALL" else "all-reduce"
        system = {
            **ring,
            f"{chosen}-implementation": case.algorithm,
            "scheduling-policy": "LIFO",
            "preferred-dataset-splits": case.chunks,
            "active-chunks-per-dimension": case.active,
        }
        if case.nccl is not None:
            system = {"collectives": "nccl", "nccl": dict(case.nccl)}
        paths[1].write_text(yaml.safe_dump(system))
        paths[2].write_text(yaml.safe_dump(dict(case.network)))
    return ["-w", str(paths[0]), "-s", str(paths[1]), "-n", str(paths[2]), *case.words, "--json"]


def cpu_seconds() -> float:
    """Of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def printed(words: list[str]) -> dict[str, Any]:
    command = [sys.executable, "-m", "astra_ns3", *words]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: {done.stderr}")
    return dict(json.loads(done.stdout[done.stdout.index("{") :]))


def measure(name: str, case: Case, rounds: int) -> None:
    """Print one row: the estimate, and the least CPU time of several rounds, for a shared machine only adds to it."""
    with tempfile.TemporaryDirectory() as folder:
        words = write(case, Path(folder))
        forecast = printed(["validate", *words])["forecast"]
        output = Path(folder) / "out"
        seconds = float("inf")
        for _ in range(rounds):
            before = cpu_seconds()
            printed(["run", "--quiet", "--overwrite", *words, "-o", str(output)])
            seconds = min(seconds, cpu_seconds() - before)
        found = json.loads((output / "run.json").read_text())
    memory = found["memory"]["peak_bytes"] / 1e6
    ratio = forecast["wall_seconds"] / seconds
    share = forecast["memory_bytes"] / 1e6 / memory
    packets, events = found["statistics"].get("packets", 0), found["statistics"]["events"]
    print(
        f"{name:<34}{seconds:>8.2f}{forecast['wall_seconds']:>10.2f}{ratio:>7.2f}"
        f"{memory:>9.0f}{forecast['memory_bytes'] / 1e6:>10.0f}{share:>7.2f}"
        f"{forecast.get('packets', 0):>10}{packets:>10}{events:>11}{forecast['launches']:>8}{forecast['messages']:>9}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", nargs="*", choices=[[], *CASES])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(
        f"{'case':<34}{'CPU s':>8}{'estimate':>10}{'ratio':>7}{'MB':>9}{'estimate':>10}{'ratio':>7}"
        f"{'data':>10}{'packets':>10}{'events':>11}{'launch':>8}{'messages':>9}"
    )
    for name in options.case or CASES:
        measure(name, CASES[name], options.rounds)


if __name__ == "__main__":
    main()
