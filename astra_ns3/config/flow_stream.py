"""Flows without end, for as long as others play: a process with its seed, as a workload."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np

from astra_ns3.config.flow_list import FlowList, Numbers
from astra_ns3.frozen import dataclass, replace


class Flows(NamedTuple):
    """Columns of flows, by start."""

    sources: Numbers
    destinations: Numbers
    sizes_bytes: Numbers
    starts_ps: Numbers


class FlowProcess(Protocol):
    """Makes flows without end."""

    @property
    def kind(self) -> str:
        """Its name."""

    @property
    def npus(self) -> int:
        """How many NPUs send."""

    @property
    def mean_bps(self) -> float:
        """Bits of all NPUs' flows in a second, on average."""

    def blocks(self, seed: int) -> Iterator[Flows]:
        """Yield flows in blocks, none of which starts before the block ahead of it ends."""


@dataclass(frozen=True)
class FlowStream:
    """Flows that a ``process`` makes from a ``seed``. ``source`` names them in messages; scales act as on a list.

    ``per_second``: how many begin in a second, on average.
    """

    process: FlowProcess
    seed: int
    source: str
    comm_scale: float = 1.0
    compute_scale: float = 1.0
    per_second: float = 0.0

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
        """Return the same flows with sizes multiplied by ``comm_scale`` and starts by ``compute_scale``."""
        return replace(self, comm_scale=self.comm_scale * comm_scale, compute_scale=self.compute_scale * compute_scale)


def list_of(flows: Flows, npus: int, source: str, kind: str) -> FlowList:
    """Return flows as a list from ``source``, of a ``kind`` in words."""
    return FlowList(
        flows.sources.astype(np.int32),
        flows.destinations.astype(np.int32),
        flows.sizes_bytes,
        flows.starts_ps,
        npus=npus,
        source=source,
        format=kind,
    )
