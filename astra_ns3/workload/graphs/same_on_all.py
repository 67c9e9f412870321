"""The graph of one rank, played by every NPU of a network: what a trace of a single rank of a job stands for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from astra_ns3.config.graph_workload import GraphNode, GraphWorkload
from astra_ns3.frozen import dataclass


@dataclass(frozen=True)
class OfAnother:
    """The facts that a :class:`~astra_ns3.config.graph_workload.GraphWorkload` has in common with the ``one`` it is
    made of."""

    one: GraphWorkload

    @property
    def source(self) -> str:
        """Where the trace came from."""
        return self.one.source

    @property
    def format(self) -> str:
        """The name of the format that it was read from."""
        return self.one.format

    @property
    def groups(self) -> Mapping[str, tuple[int, ...]]:
        """The groups of NPUs that it names."""
        return self.one.groups


@dataclass(frozen=True)
class SameOnAll(OfAnother):
    """``one``: a workload of a single NPU; ``npus``: how many play it."""

    npus: int

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings for its user, in one line."""
        told = f"{self.source}: is the trace of one rank, and all {self.npus} NPUs play it, in whatever communicator"
        of_the_one = [line.removeprefix(f"{self.source}: ") for line in self.one.warnings]
        return ("; ".join((told, *of_the_one)),)

    def nodes(self, npu: int) -> Iterable[GraphNode]:
        """The nodes of the one rank."""
        return self.one.nodes(0)

    def file_of(self, npu: int) -> str:
        """The file of the one rank."""
        return self.one.file_of(0)

    def scaled(self, comm_scale: float = 1.0, compute_scale: float = 1.0) -> SameOnAll:
        """Sizes and times multiplied."""
        return SameOnAll(self.one.scaled(comm_scale, compute_scale), self.npus)
