"""How fast Chakra's traces are read and checked, and in how much memory; CPU time of one process.

Writes the trace of one rank and reads it as that of each rank, side by side, as a run does: some nodes of each rank in
turn. Targets: 200,000 nodes a second, memory that doesn't grow with the traces.

usage: benchmarks/chakra_reading.py [--ranks N] [--nodes N] [--at-once N]
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.graph_workload import GraphNode, NodeKind
from astra_ns3.units import PS_PER_US
from astra_ns3.workload.files.chakra.trace import read_chakra
from astra_ns3.workload.files.chakra.writer import write_chakra
from astra_ns3.workload.graphs.checking import check_graphs

MIB = 1 << 20


@dataclass(frozen=True)
class Training:
    """A rank of a training job: nine computations and an all-reduce, again and again."""

    count: int
    npus: int = 1

    @property
    def groups(self) -> dict[str, tuple[int, ...]]:
        """None."""
        return {}

    def nodes(self, npu: int) -> Iterator[GraphNode]:
        """A node waits for the last one and for one further back."""
        for number in range(self.count):
            parents = tuple(parent for parent in (number - 1, number - 3) if parent >= 0)
            name = f"layer{number % 100}.op{number}"
            if number % 10 == 9:
                node = GraphNode(number, name, NodeKind.COLLECTIVE, parents)
                yield node._replace(collective=CollectiveKind.ALL_REDUCE, bytes=MIB)
            else:
                node = GraphNode(number, name, NodeKind.COMPUTE, parents, (5 + number % 7) * PS_PER_US)
                yield node._replace(operations=1000 + number % 977, tensor_bytes=4096 + number % 977)


def main() -> int:
    """Print a line for each measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=128)
    parser.add_argument("--nodes", type=int, default=50_000)
    parser.add_argument("--at-once", type=int, default=500)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        (first,) = write_chakra(Training(asked.nodes), Path(folder) / "one").files
        for rank in range(asked.ranks):
            (Path(folder) / f"job.{rank}.et").symlink_to(first)
        trace = read_chakra(Path(folder) / "job")
        list(islice(trace.nodes(0), 1000))  # protobuf is loaded
        before_mb, begin = peak_mb(), time.process_time()
        nodes = [trace.nodes(npu) for npu in range(trace.npus)]
        while nodes:
            nodes = [each for each in nodes if len(list(islice(each, asked.at_once)))]
        count = asked.ranks * asked.nodes
        tell("read", count, time.process_time() - begin, before_mb)
        begin = time.process_time()
        assert check_graphs(trace) == ()
        tell("checked", count, time.process_time() - begin, before_mb)
    return 0


def tell(what: str, count: int, seconds: float, before_mb: float) -> None:
    """A line: how many, how fast, and memory above what was there before."""
    print(f"{what} {count:,} nodes in {seconds:.1f} s: {count / seconds:,.0f} a second, {peak_mb() - before_mb:.0f} MB")


def peak_mb() -> float:
    """The highest resident memory so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    raise SystemExit(main())
