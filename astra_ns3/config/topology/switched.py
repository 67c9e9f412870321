"""Topology keys: hosts below switches, in one or more levels."""

from __future__ import annotations

from math import prod
from typing import Annotated, Literal

from annotated_types import Ge, Le
from pydantic import Field, Strict, model_validator

from astra_ns3.config.core.link import LinkConfig
from astra_ns3.config.core.model import ConfigModel, Count, checked, refuse_key
from astra_ns3.config.topology.base import (
    LinkChange,
    Npus,
    OnOneLink,
    Ratio,
    Some,
    TopologyBase,
    default_local,
    uplink_rate_bps,
)
from astra_ns3.config.topology.switch import SwitchConfig

# A k-ary fat tree has k^3/4 hosts.
_MOST_PORTS = 128


class SingleSwitch(OnOneLink):
    """Every host on one switch. NPU r is on host ``r // npus_per_host``; NPUs of one host talk over ``local``."""

    kind: Literal["single-switch"] = "single-switch"
    npus: Npus
    """How many NPUs there are."""
    npus_per_host: Count = 1
    """NPUs on each host: NPU r is on host r // npus_per_host. A divisor of `npus`."""
    link: LinkConfig
    """The link between a host and the switch, in each direction."""
    switch: SwitchConfig
    """The switch."""
    local: LinkConfig = Field(default_factory=default_local)
    """How messages travel between NPUs of one host, outside the network. Absent: 2400Gbps and 25ns. Nothing is lost
    there."""

    @model_validator(mode="after")
    @checked
    def _whole_hosts(self) -> None:
        refuse_key(
            self.npus % self.npus_per_host != 0,
            "npus",
            f"found {self.npus}, expected a multiple of npus_per_host, {self.npus_per_host}",
        )
        refuse_key(
            bool(self.local.error_rate),
            "local",
            "error_rate has no effect: nothing is lost inside a host; leave it out",
        )

    @property
    def hosts(self) -> int:
        """How many hosts the NPUs sit on."""
        return self.npus // self.npus_per_host

    def npu_count(self) -> int:
        """How many NPUs the topology joins."""
        return self.npus


class LeafSpine(OnOneLink):
    """Hosts on leaves, every leaf joined to every spine."""

    kind: Literal["leaf-spine"]
    leaves: Some
    """Leaf switches. NPU r is on leaf r div hosts_per_leaf."""
    spines: Some
    """Spine switches, each joined to all leaves."""
    hosts_per_leaf: Some
    """Hosts on each leaf."""
    link: LinkConfig
    """The links of hosts."""
    uplink: LinkChange = LinkChange()
    """The links between leaf and spine. Absent, or a part that is absent: as `link`."""
    links_per_spine: Some = 1
    """Parallel links between a leaf and a spine."""
    oversubscription: Ratio | None = None
    """The rates of a leaf's hosts together over those of its uplinks together, instead of `uplink.rate`."""
    switch: SwitchConfig
    """The leaves."""
    spine_switch: SwitchConfig | None = None
    """The spines. Absent: as `switch`."""

    @model_validator(mode="after")
    @checked
    def _uplinks(self) -> None:
        self.uplink_link()

    def uplink_link(self) -> LinkConfig:
        """The links between leaves and spines."""
        down, ports = self.hosts_per_leaf * self.link.rate_bps, self.spines * self.links_per_spine
        return self.uplink.of(self.link, uplink_rate_bps(self.uplink, self.oversubscription, down, ports))

    def npu_count(self) -> int:
        """One on each host."""
        return self.leaves * self.hosts_per_leaf


class FatTree(OnOneLink):
    """Three levels of switches with ``k`` ports (Al-Fares, Loukissas and Vahdat, SIGCOMM 2008)."""

    kind: Literal["fat-tree"]
    k: Annotated[int, Strict(), Ge(2), Le(_MOST_PORTS)]
    """Ports of each switch: an even number."""
    npus: Npus
    """NPUs. Absent: k^3/4. Fewer fill pod after pod; the switches stay."""
    link: LinkConfig
    """The links of hosts."""
    uplink: LinkChange = LinkChange()
    """Edge to aggregation; what is absent is as in ``link``."""
    core: LinkChange = LinkChange()
    """Aggregation to core; what is absent is as for ``uplink``."""
    oversubscription: Ratio | None = None
    """The rate of a host's link over that of an uplink, instead of `uplink.rate`."""
    switch: SwitchConfig
    """The edge switches."""
    aggregation_switch: SwitchConfig | None = None
    """The aggregation switches. Absent: as `switch`."""
    core_switch: SwitchConfig | None = None
    """The core switches. Absent: as `switch`."""

    @classmethod
    def prepare(cls, data: dict[str, object]) -> dict[str, object]:
        """All places are taken unless the file says otherwise."""
        k = data.get("k")
        full = k**3 // 4 if isinstance(k, int) and 1 < k <= _MOST_PORTS else 1
        return {"npus": full, **data}

    @model_validator(mode="after")
    @checked
    def _fits(self) -> None:
        refuse_key(self.k % 2 != 0, "k", f"found {self.k}, expected an even number")
        refuse_key(self.npus > self.k**3 // 4, "npus", f"found {self.npus}, expected at most k^3/4, {self.k**3 // 4}")
        self.uplink_link()

    def uplink_link(self) -> LinkConfig:
        """The links between edge and aggregation."""
        return self.uplink.of(self.link, uplink_rate_bps(self.uplink, self.oversubscription, self.link.rate_bps, 1))

    def npu_count(self) -> int:
        """How many NPUs the topology joins."""
        return self.npus


class ClosLevel(ConfigModel):
    """One level of switches: how many of the level below (hosts, for the first) hang on each, and on how many each.

    ``children`` and ``parents`` are m and w of an extended generalised fat tree (Öhring et al., IPPS 1995).
    """

    children: Some
    """Nodes of the level below (hosts, for the first level) on one switch."""
    parents: Some = 1
    """Switches of this level that a node of the level below hangs on. More than 1 on the first level gives hosts
    several NICs."""
    links: Some = 1
    """Parallel links between one switch and one of its children."""
    link: LinkConfig
    """The links between this level and the one below."""
    switch: SwitchConfig
    """The switches of this level."""


class Clos(TopologyBase):
    """One or more levels of switches, the lowest first."""

    kind: Literal["clos"]
    levels: Annotated[tuple[ClosLevel, ...], Field(min_length=1, max_length=8)]
    """The levels of switches, the lowest first."""

    def npu_count(self) -> int:
        """One on each host."""
        return prod(level.children for level in self.levels)

    def built_bandwidths(self) -> tuple[float, ...]:
        """The rates of a host's links together."""
        first = self.levels[0]
        return (float(first.link.rate_bps * first.parents * first.links),)


class Dumbbell(OnOneLink):
    """Two switches with hosts, one link between them."""

    kind: Literal["dumbbell"]
    left: Some
    """Hosts on the left switch."""
    right: Some
    """Hosts on the right switch."""
    link: LinkConfig
    """The links of hosts."""
    bottleneck: LinkChange = LinkChange()
    """The link between the switches. Absent, or a part that is absent: as `link`."""
    switch: SwitchConfig
    """The two switches."""

    def npu_count(self) -> int:
        """One on each host, those on the left first."""
        return self.left + self.right
