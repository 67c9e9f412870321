"""Analytical networks: a grid of dimensions, each with a topology, a bandwidth and latencies.

ASTRA-sim's two formats are read as they are: the JSON of version 1.0 and the YAML of version 2. Both give bandwidths in
GB/s and mean 2**30 bytes; the memory's bandwidth of version 1.0 is decimal (semantics of its source).
"""

from __future__ import annotations

from math import prod
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt
from pydantic import BeforeValidator, Field, model_validator

from astra_ns3.config.document import Document
from astra_ns3.config.model import ConfigModel, Count, key_error, validated
from astra_ns3.config.network import Observe

GIB_PER_NS = 2**30 / 1e9
"""Bytes per nanosecond of 1 GiB/s."""
VERSION_1_KEYS = ("topologies-per-dim", "units-count")
VERSION_2_KEYS = ("npus_count", "topology")

_TOPOLOGIES = {"ring": "ring", "fullyconnected": "fully-connected", "switch": "switch"}


def _topology(value: object) -> object:
    return _TOPOLOGIES.get(str(value).lower().replace("-", "").replace("_", ""), value)


TopologyName = Annotated[Literal["ring", "fully-connected", "switch"], BeforeValidator(_topology)]
Positive = Annotated[float, Gt(0)]
NotNegative = Annotated[float, Ge(0)]


class AnalyticalDimension(ConfigModel):
    """One dimension: how its NPUs are joined and what a message costs there; times in nanoseconds.

    ``bytes_per_ns`` is what one message gets; the memory's part is left out while ``memory_scale`` is 0.
    """

    topology: TopologyName
    npus: Count
    bytes_per_ns: Positive
    link_latency_ns: NotNegative = 0.0
    nic_latency_ns: NotNegative = 0.0
    router_latency_ns: NotNegative = 0.0
    memory_latency_ns: NotNegative = 0.0
    memory_bytes_per_ns: Positive = 1.0
    memory_scale: NotNegative = 0.0


class AnalyticalNetwork(ConfigModel):
    """A grid of NPUs, the innermost dimension first; offers what every network configuration offers."""

    grid: Annotated[tuple[AnalyticalDimension, ...], Field(min_length=1)]
    observe: Observe = Observe()

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


def parse_version_1(document: Document) -> AnalyticalNetwork:
    """ASTRA-sim 1.0's JSON; raises InputError with file, line and key."""
    return validated(_Version1, document).network()


def parse_version_2(document: Document) -> AnalyticalNetwork:
    """ASTRA-sim 2's YAML; raises InputError with file, line and key."""
    return validated(_Version2, document).network()


class _Version1(ConfigModel):
    topology_name: str = Field(alias="topology-name", default="Hierarchical")
    topologies: tuple[TopologyName, ...] = Field(alias="topologies-per-dim")
    dimension_types: tuple[str, ...] = Field(alias="dimension-type", default=())
    count: Count = Field(alias="dimensions-count")
    npus: tuple[Count, ...] = Field(alias="units-count")
    links: tuple[Annotated[int, Ge(0)], ...] = Field(alias="links-count")
    link_latency: tuple[NotNegative, ...] = Field(alias="link-latency")
    link_bandwidth: tuple[Positive, ...] = Field(alias="link-bandwidth")
    nic_latency: tuple[NotNegative, ...] = Field(alias="nic-latency")
    router_latency: tuple[NotNegative, ...] = Field(alias="router-latency")
    memory_latency: tuple[NotNegative, ...] = Field(alias="hbm-latency")
    memory_bandwidth: tuple[Positive, ...] = Field(alias="hbm-bandwidth")
    memory_scale: tuple[NotNegative, ...] = Field(alias="hbm-scale")

    @model_validator(mode="after")
    def _lengths(self) -> _Version1:
        for name, field in type(self).model_fields.items():
            value: Any = getattr(self, name)
            if isinstance(value, tuple) and name != "dimension_types" and len(value) != self.count:
                raise key_error(
                    str(field.alias), f"found {len(value)} entries, expected dimensions-count, {self.count}"
                )
        for dimension in range(self.count):
            if not self._parallel_links(dimension):
                raise key_error(
                    "links-count",
                    f"{self.links[dimension]} links leave none for a message in dimension {dimension}, "
                    f"{self.topologies[dimension]} of {self.npus[dimension]}",
                )
        return self

    def _parallel_links(self, dimension: int) -> int:
        """Links that one message uses side by side."""
        links, npus = self.links[dimension], self.npus[dimension]
        if self.topologies[dimension] == "ring":
            return links // 2 * 2
        if self.topologies[dimension] == "fully-connected":
            return links // max(npus - 1, 1)
        return links

    def network(self) -> AnalyticalNetwork:
        """The network described."""
        return AnalyticalNetwork(
            grid=tuple(
                AnalyticalDimension(
                    topology=self.topologies[d],
                    npus=self.npus[d],
                    bytes_per_ns=self.link_bandwidth[d] * GIB_PER_NS * self._parallel_links(d),
                    link_latency_ns=self.link_latency[d],
                    nic_latency_ns=self.nic_latency[d],
                    router_latency_ns=self.router_latency[d],
                    memory_latency_ns=self.memory_latency[d],
                    memory_bytes_per_ns=self.memory_bandwidth[d],
                    memory_scale=self.memory_scale[d],
                )
                for d in range(self.count)
            )
        )


class _Version2(ConfigModel):
    topology: tuple[TopologyName, ...]
    npus_count: tuple[Count, ...]
    bandwidth: tuple[Positive, ...]
    latency: tuple[NotNegative, ...]

    @model_validator(mode="after")
    def _lengths(self) -> _Version2:
        for name in ("npus_count", "bandwidth", "latency"):
            if len(getattr(self, name)) != len(self.topology):
                raise key_error(name, f"found {len(getattr(self, name))} entries, topology has {len(self.topology)}")
        return self

    def network(self) -> AnalyticalNetwork:
        """The network described."""
        rows = zip(self.topology, self.npus_count, self.bandwidth, self.latency, strict=True)
        return AnalyticalNetwork(
            grid=tuple(
                AnalyticalDimension(
                    topology=topology, npus=npus, bytes_per_ns=bandwidth * GIB_PER_NS, link_latency_ns=latency
                )
                for topology, npus, bandwidth, latency in rows
            )
        )
