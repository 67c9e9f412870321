"""A workload of graphs that a test has made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from astra_ns3.config.graph_workload import GraphNode


@dataclass(frozen=True)
class Graphs:
    """Graphs made in a test."""

    ranks: Sequence[Sequence[GraphNode]]
    groups: dict[str, tuple[int, ...]] = field(default_factory=dict)
    source: str = "made here"
    format: str = "test"
    warnings: tuple[str, ...] = ()

    @property
    def npus(self) -> int:
        return len(self.ranks)

    def nodes(self, npu: int) -> Sequence[GraphNode]:
        return self.ranks[npu]

    def file_of(self, npu: int) -> str:
        return f"file {npu}"

    def scaled(self, comm_scale: float = 1.0, compute_scale: float = 1.0) -> Graphs:
        raise NotImplementedError
