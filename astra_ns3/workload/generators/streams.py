"""Flows without end, for as long as others play: a process with its seed, as a workload."""

from __future__ import annotations

from collections.abc import Iterator

from astra_ns3.config.flow_list import FlowList
from astra_ns3.frozen import dataclass, replace
from astra_ns3.workload.generators.flows import list_of
from astra_ns3.workload.generators.processes import Process


@dataclass(frozen=True)
class FlowStream:
    """What a ``process`` makes by a ``seed``; ``source``: what messages call it. The scales multiply as a list's do."""

    process: Process
    seed: int
    source: str
    comm_scale: float = 1.0
    compute_scale: float = 1.0

    @property
    def npus(self) -> int:
        """How many NPUs it takes."""
        return self.process.npus

    @property
    def format(self) -> str:
        """Return its kind in words."""
        return f"generated: {self.process.kind}"

    def lists(self) -> Iterator[FlowList]:
        """Yield its flows as lists, one after the other."""
        for flows in self.process.blocks(self.seed):
            found = list_of(flows, self.npus, self.source, self.format)
            yield found.scaled(self.comm_scale, self.compute_scale)

    def scaled(self, comm_scale: float, compute_scale: float) -> FlowStream:
        """Sizes by the one, starts by the other."""
        return replace(self, comm_scale=self.comm_scale * comm_scale, compute_scale=self.compute_scale * compute_scale)
