"""Analytical networks: a grid of dimensions, each with a topology, a bandwidth and latencies."""

from __future__ import annotations

from math import prod
from typing import Annotated

from pydantic import Field, PrivateAttr

from astra_ns3.config.core.document import Document
from astra_ns3.config.core.model import ConfigModel
from astra_ns3.config.formats.analytical import (
    GIB_PER_NS,
    AnalyticalDimension,
    analytical_version,
    parse_grid,
)
from astra_ns3.config.network.packet_network import Observe
from astra_ns3.config.topology.switch import SwitchConfig

__all__ = [
    "GIB_PER_NS",
    "AnalyticalDimension",
    "AnalyticalNetwork",
    "analytical_version",
    "parse_analytical",
]


_REDUCING = SwitchConfig.model_validate({"buffer": "1MiB", "reduction": {"groups": 16}})


class AnalyticalNetwork(ConfigModel):
    """A grid of NPUs, the innermost dimension first; offers what every network configuration offers."""

    grid: Annotated[tuple[AnalyticalDimension, ...], Field(min_length=1)]
    observe: Observe = Observe()

    _reduces: bool = PrivateAttr(default=False)

    def reducing(self) -> AnalyticalNetwork:
        """Return the same with switches of the innermost dimension that reduce, for whoever asks for them."""
        found = self.model_copy()
        found._reduces = True
        return found

    @property
    def reducing_switches(self) -> tuple[SwitchConfig, ...]:
        """The switches that reduce, in the order of the NPUs that they join; none unless asked for."""
        inner = self.grid[0]
        count = self.npus // inner.npus if self._reduces and inner.topology == "switch" else 0
        return (_REDUCING,) * count

    @property
    def each_transport(self) -> tuple[()]:
        """No transport: messages go by formula."""
        return ()

    @property
    def own_control(self) -> None:
        """No congestion control of the user's."""
        return None

    @property
    def npus(self) -> int:
        """How many NPUs the network joins."""
        return prod(dimension.npus for dimension in self.grid)

    @property
    def dimensions(self) -> tuple[int, ...]:
        """NPUs along each dimension, the innermost first."""
        return tuple(dimension.npus for dimension in self.grid)

    @property
    def bandwidths(self) -> tuple[float, ...]:
        """Bytes per nanosecond of each dimension, for policies that weigh them."""
        return tuple(dimension.bytes_per_ns for dimension in self.grid)


def parse_analytical(document: Document) -> AnalyticalNetwork:
    """Return the network of an analytical file of either version; raises InputError with file, line and key."""
    return AnalyticalNetwork(grid=parse_grid(document))
