"""ASTRA-sim's two formats of analytical networks, read as they are: version 1.0's JSON and version 2's YAML.

Both give bandwidths in GB/s and mean 2**30 bytes; the memory's bandwidth of version 1.0 is decimal (semantics of its
source).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le
from pydantic import BeforeValidator, Field, model_validator

from astra_ns3.config.core.document import Document
from astra_ns3.config.core.model import ConfigModel, Count, Number, checked, key_error, refuse_key, validated
from astra_ns3.units import counted

GIB_PER_NS = 2**30 / 1e9
"""Bytes per nanosecond of 1 GiB/s."""
VERSION_1_KEYS = ("topologies-per-dim", "units-count")

_TOPOLOGIES = {"ring": "ring", "fullyconnected": "fully-connected", "switch": "switch"}


def _topology(value: object) -> object:
    return _TOPOLOGIES.get(str(value).lower().replace("-", "").replace("_", ""), value)


TopologyName = Annotated[Literal["ring", "fully-connected", "switch"], BeforeValidator(_topology)]
Positive = Annotated[float, Gt(0)]
NotNegative = Annotated[float, Ge(0)]
# Wide enough for any network, narrow enough that times stay within simulated time's 64 bits and rates within a link's.
Bandwidth = Annotated[float, Ge(1e-6), Le(1e8)]
Latency = Annotated[float, Ge(0), Le(1e12)]


class AnalyticalDimension(ConfigModel):
    """One dimension: how its NPUs are joined and what a message costs there; times in nanoseconds.

    ``bytes_per_ns`` is what one message gets. ``nic_latency_ns`` is passed twice, ``router_latency_ns`` once on a
    switch. The memory's part is left out while ``memory_scale`` is 0.
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

    @property
    def ports(self) -> int:
        """Lines of ``bytes_per_ns`` that lead out of an NPU: to the switch, both ways round, or to each peer."""
        if self.topology == "switch":
            return 1
        return max(self.npus - 1, 1) if self.topology == "fully-connected" else min(max(self.npus - 1, 1), 2)


def analytical_version(data: object) -> int | None:
    """1 or 2 if the keys of ``data`` are those of ASTRA-sim 1.0 or 2, whose topology is a list of names, else None."""
    if not isinstance(data, Mapping):
        return None
    if not data.keys().isdisjoint(VERSION_1_KEYS):
        return 1
    names = data.get("topology")
    of_names = isinstance(names, list) and all(isinstance(name, str) for name in names)
    return 2 if "topology" in data and ("npus_count" in data or of_names) else None


def parse_grid(document: Document) -> tuple[AnalyticalDimension, ...]:
    """The dimensions of either format; raises InputError with file, line and key."""
    if analytical_version(document.data) == 1:
        return validated(_Version1, document).grid()
    return validated(_Version2, document).grid()


class _Version1(ConfigModel):
    topology_name: str = Field(alias="topology-name", default="Hierarchical")
    topologies: tuple[TopologyName, ...] = Field(alias="topologies-per-dim")
    dimension_types: tuple[str, ...] = Field(alias="dimension-type", default=())
    count: Count = Field(alias="dimensions-count")
    npus: tuple[Count, ...] = Field(alias="units-count")
    links: tuple[Number, ...] = Field(alias="links-count")
    link_latency: tuple[Latency, ...] = Field(alias="link-latency")
    link_bandwidth: tuple[Bandwidth, ...] = Field(alias="link-bandwidth")
    nic_latency: tuple[Latency, ...] = Field(alias="nic-latency", default=())
    router_latency: tuple[Latency, ...] = Field(alias="router-latency", default=())
    memory_latency: tuple[Latency, ...] = Field(alias="hbm-latency", default=())
    memory_bandwidth: tuple[Bandwidth, ...] = Field(alias="hbm-bandwidth", default=())
    memory_scale: tuple[Annotated[float, Ge(0), Le(1e6)], ...] = Field(alias="hbm-scale", default=())

    @model_validator(mode="after")
    @checked
    def _lengths(self) -> None:
        for name, field in type(self).model_fields.items():
            value: object = getattr(self, name)
            left_out = name not in self.model_fields_set
            if isinstance(value, tuple) and name != "dimension_types" and not left_out and len(value) != self.count:
                raise key_error(
                    str(field.alias),
                    f"found {counted(len(value), 'entry', 'entries')}, expected dimensions-count, {self.count}",
                )
        for dimension in range(self.count):
            refuse_key(
                not self._parallel_links(dimension),
                "links-count",
                f"{self.links[dimension]} links leave none for a message in dimension {dimension}, "
                f"{self.topologies[dimension]} of {self.npus[dimension]}",
            )

    def _parallel_links(self, dimension: int) -> int:
        """Links that one message uses side by side."""
        links, npus = self.links[dimension], self.npus[dimension]
        if self.topologies[dimension] == "ring":
            return links // 2 * 2
        if self.topologies[dimension] == "fully-connected":
            return links // max(npus - 1, 1)
        return links

    def grid(self) -> tuple[AnalyticalDimension, ...]:
        """The dimensions described."""
        optional = {
            "nic_latency_ns": self.nic_latency,
            "router_latency_ns": self.router_latency,
            "memory_latency_ns": self.memory_latency,
            "memory_bytes_per_ns": self.memory_bandwidth,
            "memory_scale": self.memory_scale,
        }
        return tuple(
            AnalyticalDimension(
                topology=self.topologies[d],
                npus=self.npus[d],
                bytes_per_ns=self.link_bandwidth[d] * GIB_PER_NS * self._parallel_links(d),
                link_latency_ns=self.link_latency[d],
                **{name: values[d] for name, values in optional.items() if values},
            )
            for d in range(self.count)
        )


class _Version2(ConfigModel):
    topology: tuple[TopologyName, ...]
    npus_count: tuple[Count, ...]
    bandwidth: tuple[Bandwidth, ...]
    latency: tuple[Latency, ...]

    @model_validator(mode="after")
    @checked
    def _lengths(self) -> None:
        for name in ("npus_count", "bandwidth", "latency"):
            refuse_key(
                len(getattr(self, name)) != len(self.topology),
                name,
                f"found {counted(len(getattr(self, name)), 'entry', 'entries')}, topology has {len(self.topology)}",
            )

    def grid(self) -> tuple[AnalyticalDimension, ...]:
        """The dimensions described."""
        rows = zip(self.topology, self.npus_count, self.bandwidth, self.latency, strict=True)
        return tuple(
            AnalyticalDimension(
                topology=topology, npus=npus, bytes_per_ns=bandwidth * GIB_PER_NS, link_latency_ns=latency
            )
            for topology, npus, bandwidth, latency in rows
        )
