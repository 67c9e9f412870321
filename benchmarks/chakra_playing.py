"""A training job of Chakra's traces, written by our writer, run whole on the analytical network: time and memory.

    python benchmarks/chakra_playing.py [--ranks 128] [--nodes 50000] [--keep FOLDER] [-- OPTIONS OF astra-ns3 run]

A rank is a chain of computations; each 25th node is an all-reduce in its group of eight, and of each hundred nodes two
are a message to the rank eight places on and one from eight places before. What is measured is a process of its own
that reads, checks and plays the files and writes the results.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.graph_workload import GraphNode, NodeKind
from astra_ns3.units import PS_PER_US
from astra_ns3.workload.files.chakra.writer import write_chakra

GROUP = 8
LAYER = 25
MIB = 1 << 20
SYSTEM = {
    **{f"{kind}-implementation": ["ring"] for kind in ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")},
    "scheduling-policy": "LIFO",
    "preferred-dataset-splits": 1,
}
NETWORK = "topology: [ Switch ]\nnpus_count: [ {} ]\nbandwidth: [ 50.0 ]  # GB/s\nlatency: [ 500.0 ]  # ns\n"


@dataclass(frozen=True)
class Training:
    """The job."""

    npus: int
    size: int
    source: str = "training"
    format: str = "made"
    warnings: tuple[str, ...] = ()

    @property
    def groups(self) -> dict[str, tuple[int, ...]]:
        """Neighbours."""
        return {str(first // GROUP + 1): tuple(range(first, first + GROUP)) for first in range(0, self.npus, GROUP)}

    def nodes(self, npu: int) -> Iterator[GraphNode]:
        """Computations wait for the last one; those of a layer also for the all-reduce before the last one's."""
        for number in range(self.size):
            place = number % LAYER
            parents = [number - 2 if place == 0 else number - 1] if number else []
            if place == 0 and number > LAYER:
                parents.append(number - LAYER - 1)
            yield self._node(npu, number, tuple(parents))

    def _node(self, npu: int, number: int, parents: tuple[int, ...]) -> GraphNode:
        layer = f"layer{number // LAYER % 96}"
        if number % LAYER == LAYER - 1:
            node = GraphNode(number, f"{layer}.all_reduce", NodeKind.COLLECTIVE, parents)
            size = MIB + 1024 * (number // LAYER % 7)
            return node._replace(collective=CollectiveKind.ALL_REDUCE, bytes=size, group=str(npu // GROUP + 1))
        if number % 100 in (5, 6):
            kind, step = (NodeKind.SEND, GROUP) if number % 100 == 5 else (NodeKind.RECEIVE, -GROUP)
            node = GraphNode(number, f"{layer}.message", kind, parents)
            return node._replace(bytes=MIB, peer=(npu + step) % self.npus, tag=number // 100)
        duration_ps = (5 + number % 7) * PS_PER_US
        node = GraphNode(number, f"{layer}.op{number % LAYER}", NodeKind.COMPUTE, parents, duration_ps)
        return node._replace(operations=1000 + number % 977, tensor_bytes=4096 + number % 977)

    def file_of(self, npu: int) -> str:
        """There is none."""
        return f"{self.source}.{npu}"

    def scaled(self, comm_scale: float = 1.0, compute_scale: float = 1.0) -> Training:
        """As it is."""
        return self


def main() -> int:
    """Write, run, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=128)
    parser.add_argument("--nodes", type=int, default=50_000)
    parser.add_argument("--keep", type=Path, help="a folder for the files, from which they are taken the next time")
    parser.add_argument("more", nargs="*", help="options of astra-ns3 run, after --")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.keep or Path(temporary)
        if not (folder / "system.json").exists():
            write_inputs(folder, asked.ranks, asked.nodes)
        measure(folder, asked.ranks * asked.nodes, asked.more)
    return 0


def write_inputs(folder: Path, ranks: int, nodes: int) -> None:
    """The traces, and a system and a network to play them on."""
    begin = time.process_time()
    folder.mkdir(parents=True, exist_ok=True)
    write_chakra(Training(ranks, nodes), folder / "job")
    tell("written", ranks * nodes, time.process_time() - begin)
    (folder / "system.json").write_text(json.dumps(SYSTEM))
    (folder / "network.yml").write_text(NETWORK.format(ranks))


def measure(folder: Path, nodes: int, more: list[str]) -> None:
    """Run them, and say what it took."""
    files = [str(folder / name) for name in ("job", "system.json", "network.yml")]
    named = [word for pair in zip(("--workload", "--system", "--network"), files, strict=True) for word in pair]
    command = [sys.executable, "-m", "astra_ns3", "run", *named, "--backend", "analytical", *more]
    begin = time.perf_counter()
    subprocess.run(command, check=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    tell("run", nodes, used.ru_utime + used.ru_stime)
    print(f"wall time {time.perf_counter() - begin:.0f} s, peak {used.ru_maxrss >> 10} MiB")


def tell(what: str, count: int, seconds: float) -> None:
    """A line: how many, how fast."""
    print(f"{what} {count:,} nodes in {seconds:.1f} s of CPU time: {count / seconds:,.0f} a second", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
