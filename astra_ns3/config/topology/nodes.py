"""Topology keys: nodes of several NPUs with a network inside (scale-up), joined by one outside (scale-out)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge, Le
from pydantic import Field, Strict, model_validator

from astra_ns3.config.core.link import LinkConfig
from astra_ns3.config.core.model import ConfigModel, Count, checked, key_error, refuse_key
from astra_ns3.config.core.plain import Json
from astra_ns3.config.topology.base import (
    MOST_OF_ANYTHING,
    LinkChange,
    Ratio,
    Some,
    TopologyBase,
    uplink_rate_bps,
    with_faster_links,
)
from astra_ns3.config.topology.direct import Dragonfly, FullMesh, Mesh, Ring, Torus
from astra_ns3.config.topology.file import FileTopology
from astra_ns3.config.topology.routing import PARTING
from astra_ns3.config.topology.switch import SwitchConfig
from astra_ns3.config.topology.switched import Clos, Dumbbell, FatTree, LeafSpine, SingleSwitch

if TYPE_CHECKING:
    from typing_extensions import Self

FlatTopology = (
    SingleSwitch | LeafSpine | FatTree | Clos | Dumbbell | Ring | Torus | Mesh | FullMesh | Dragonfly | FileTopology
)
"""The topologies that may join nodes."""

_OWN_KEYS = ("routing", "dimensions", "nic", "forwarding", "storage")
_SIZED_BY_NPUS = ("single-switch", "fat-tree", "ring", "full-mesh")


class ScaleUp(ConfigModel):
    """The network inside a node."""

    kind: Literal["switch", "ring", "full-mesh"] = "switch"
    """The network inside a node: NPUs on switches, on a ring of routers, or each joined to each."""
    planes: Annotated[Count, Le(64)] = 1
    """Switches of a node, each joined to each of its NPUs; only with kind switch."""
    link: LinkConfig
    """NPU to switch, router to router, or NPU to NPU."""
    pairs: Annotated[tuple[tuple[int, int, Count], ...], Field(min_length=1)] | None = None
    """The pairs of a node's NPUs that are joined, each with its number of links: `[0, 1, 2]` are two between NPUs 0 and
    1; only with kind full-mesh. Absent: one between every two. Other pairs go over NICs, or with `forwarding: hosts`
    through other NPUs; paths prefer pairs with more links."""
    injection: LinkChange = LinkChange()
    """NPU to router; only with kind ring. Absent: the router's two links together, no delay."""
    switch: SwitchConfig | None = None
    """The switches, or the ring's routers; none with kind full-mesh."""

    @model_validator(mode="after")
    @checked
    def _keys_of_the_kind(self) -> None:
        refuse_key(
            self.kind == "full-mesh" and self.switch is not None,
            "switch",
            "has no effect with kind full-mesh, which has no switch; leave it out",
        )
        refuse_key(
            self.kind != "full-mesh" and self.switch is None,
            "switch",
            f"is missing; kind {self.kind} needs at least switch.buffer",
        )
        refuse_key(
            self.kind != "switch" and self.planes != 1, "planes", f"has no effect with kind {self.kind}; leave it out"
        )
        refuse_key(
            self.kind != "full-mesh" and self.pairs is not None,
            "pairs",
            f"has no effect with kind {self.kind}; leave it out",
        )
        refuse_key(
            self.kind != "ring" and self.injection != LinkChange(),
            "injection",
            f"has no effect with kind {self.kind}; leave it out",
        )

    def npu_bps(self, npus: int) -> int:
        """Return what an NPU's links to the others of its node carry together, each way: of the NPU with the most."""
        ends = Counter(end for *two, links in self.joined(npus) for end in two * links)
        links = {"switch": self.planes, "ring": min(npus - 1, 2), "full-mesh": max(ends.values(), default=0)}
        return self.link.rate_bps * links[self.kind]

    def joined(self, npus: int) -> Sequence[tuple[int, int, int]]:
        """Return the pairs of a node's NPUs that are joined with kind full-mesh, each with its number of links."""
        return self.pairs or [(one, other, 1) for one, other in combinations(range(npus), 2)]


class _Nodes(TopologyBase):
    nodes: Some
    """How many nodes there are. NPU r is in node r div npus_per_node."""
    npus_per_node: Annotated[Count, Le(1024)]
    """NPUs of a node."""
    scale_up: ScaleUp
    """The network inside each node."""

    @model_validator(mode="after")
    @checked
    def _pairs_are_of_the_node(self) -> None:
        pairs, last = self.scale_up.pairs or (), self.npus_per_node - 1
        for at, (one, other, _) in enumerate(pairs):
            refuse_key(
                not 0 <= one < other <= last,
                "scale_up",
                f"pairs entry {at} joins {one} and {other}, expected a smaller and a larger number, 0 to {last}",
            )
        refuse_key(
            len({(one, other) for one, other, _ in pairs}) < len(pairs), "scale_up", "pairs has the same two NPUs twice"
        )

    def npu_count(self) -> int:
        """NPUs of all nodes; NPU r is in node ``r // npus_per_node``."""
        return self.nodes * self.npus_per_node

    def built_dimensions(self) -> tuple[int, ...]:
        """Inside a node, then across nodes."""
        return (self.npus_per_node, self.nodes)

    def nic_bps(self) -> float:
        """An NPU's share of its node's links outwards."""
        raise NotImplementedError

    def built_bandwidths(self) -> tuple[float, ...]:
        """Return the rate of an NPU inside its node, and outwards."""
        return (float(self.scale_up.npu_bps(self.npus_per_node)), self.nic_bps())

    def scaled(self, factors: Sequence[float]) -> Self:
        """Return the topology with other rates inside nodes, and outwards."""
        inside, outwards = factors
        scale_up = with_faster_links(self.scale_up, inside)
        return with_faster_links(self, outwards, but=("scale_up",)).model_copy(update={"scale_up": scale_up})

    def check_dimensions(self, dimensions: tuple[int, ...]) -> None:
        """The first dimension is the node."""
        refuse_key(
            dimensions[0] != self.npus_per_node,
            "dimensions",
            f"begin with {dimensions[0]}, expected npus_per_node, {self.npus_per_node}",
        )

    @property
    def bandwidths(self) -> tuple[float, ...]:
        """The dimensions after the first share the links outwards."""
        inside, outwards = self.built_bandwidths()
        return (inside, *[outwards] * (len(self.logical_dimensions) - 1))

    def dimension_of(self, link_class: str) -> int | None:
        """Inside a node is dimension 0; all other links are dimension 1, or all after the first share them."""
        if link_class in ("scale-up", "scale-up-injection"):
            return 0
        return 1 if len(self.logical_dimensions) == 2 else None


def _sized(data: object) -> object:
    """``scale_out`` with the number of its ends, where its kind has a key for it and the file leaves it out."""
    if not isinstance(data, Mapping) or not isinstance(data.get("scale_out"), Mapping):
        return data
    outside: dict[str, Json] = dict(data["scale_out"])
    outside.setdefault("kind", "single-switch")
    nodes, npus = data.get("nodes"), data.get("npus_per_node")
    nics = data.get("nics_per_node", npus)
    if outside["kind"] in _SIZED_BY_NPUS and isinstance(nodes, int) and isinstance(nics, int):
        outside.setdefault("npus", nodes * nics)
    return {**data, "scale_out": outside}


class Hierarchical(_Nodes):
    """Nodes of NPUs on a scale-up network; their NICs are the ends of any other topology."""

    kind: Literal["hierarchical"]
    nics_per_node: Count | None = None
    """NICs of a node, a divisor of `npus_per_node`. Absent: one for each NPU. Fewer are shared."""
    shared_nics: Literal["scale-up", "pcie"] = "scale-up"
    """How NPUs share NICs: NICs are on the node's scale-up switches, where `routing` chooses a NIC for each flow. Or
    each NIC is on a PCIe switch of its own, which joins it to the NPUs next to it at the NIC's rate."""
    scale_out: Annotated[FlatTopology, Field(discriminator="kind")]
    """The network between nodes: a topology with nodes x nics_per_node ends. `npus` may be left out inside; `routing`,
    `dimensions` and `nic` belong beside it."""

    @classmethod
    def prepare(cls, data: dict[str, object]) -> dict[str, object]:
        """Let the scale-out network have as many ends as there are NICs."""
        sized = _sized(data)
        return sized if isinstance(sized, dict) else data

    @model_validator(mode="after")
    @checked
    def _fits(self) -> None:
        nics, outside = self.nics, self.scale_out
        refuse_key(
            self.npus_per_node % nics != 0,
            "nics_per_node",
            f"found {nics}, expected a divisor of npus_per_node, {self.npus_per_node}",
        )
        refuse_key(
            self.shared and self.shared_nics == "scale-up" and self.scale_up.kind == "full-mesh",
            "nics_per_node",
            f"{nics} NICs for {self.npus_per_node} NPUs need scale_up of kind switch or ring, or shared_nics: pcie",
        )
        refuse_key(
            not self.shared and self.shared_nics != "scale-up",
            "shared_nics",
            f"has no effect with a NIC for each of {self.npus_per_node} NPUs; leave it out",
        )
        for key in _OWN_KEYS:
            refuse_key(
                getattr(outside, key) != TopologyBase.model_fields[key].default,
                "scale_out",
                f"key '{key}' belongs beside scale_out, not inside",
            )
        if isinstance(outside, SingleSwitch) and outside.npus_per_host != 1:
            raise key_error("scale_out", f"npus_per_host is {outside.npus_per_host}, expected 1: a port for each NIC")
        refuse_key(
            outside.npu_count() != self.nodes * nics,
            "scale_out",
            f"has {outside.npu_count()} ends, expected {self.nodes * nics} ({self.nodes} nodes, {nics} NICs)",
        )

    @property
    def nics(self) -> int:
        """NICs of a node."""
        return self.nics_per_node or self.npus_per_node

    @property
    def shared(self) -> bool:
        """Whether NPUs share NICs."""
        return self.nics < self.npus_per_node

    @property
    def behind_pcie(self) -> bool:
        """Whether NPUs share NICs behind PCIe switches."""
        return self.shared and self.shared_nics == "pcie"

    @property
    def routes_choose_nics(self) -> bool:
        """Whether a flow stays on the one of its node's NICs that its route chose."""
        several = self.nodes > 1 and 1 < self.nics < self.npus_per_node
        return several and self.shared_nics == "scale-up" and self.routing.kind not in PARTING

    def nic_count(self) -> int:
        """NICs of all nodes."""
        return self.nodes * self.nics

    def nic_bps(self) -> float:
        """An NPU's share of its node's NICs."""
        return self.node_bps() / self.npus_per_node

    def node_bps(self) -> float:
        """All NICs of a node together."""
        return sum(self.scale_out.built_bandwidths()) * self.nics


class RailOptimised(_Nodes):
    """NPUs of the same place in their nodes share a rail: a leaf switch (or several); spines join all leaves."""

    kind: Literal["rail-optimised"]
    nodes_per_leaf: Some | None = None
    """Nodes on each leaf of a rail, a divisor of `nodes`. Absent: all, one leaf a rail."""
    spines: Annotated[int, Strict(), Ge(0), Le(MOST_OF_ANYTHING)]
    """Spine switches. 0: rails alone, over which NPUs reach each other only if they forward."""
    link: LinkConfig
    """NIC to leaf."""
    uplink: LinkChange = LinkChange()
    """Leaf to spine; what is absent is as in ``link``."""
    oversubscription: Ratio | None = None
    """The rates of a leaf's NICs together over those of its uplinks together, instead of `uplink.rate`."""
    switch: SwitchConfig
    """The leaves."""
    spine_switch: SwitchConfig | None = None
    """The spines. Absent: as `switch`."""

    @model_validator(mode="after")
    @checked
    def _fits(self) -> None:
        refuse_key(
            self.nodes % self.leaf_nodes != 0,
            "nodes_per_leaf",
            f"found {self.nodes_per_leaf}, expected a divisor of nodes, {self.nodes}",
        )
        if not self.spines:
            self._check_rails_alone()
        self.uplink_link()

    def _check_rails_alone(self) -> None:
        refuse_key(
            self.forwarding is None and self.npus_per_node > 1,
            "spines",
            "is 0, so rails meet in NPUs only; add 'forwarding: hosts', which lets them forward",
        )
        refuse_key(
            self.leaf_nodes < self.nodes,
            "spines",
            f"is 0, so nodes_per_leaf must be all nodes, {self.nodes}: nothing joins leaves",
        )
        refuse_key(
            self.oversubscription is not None or self.uplink != LinkChange(),
            "spines",
            "is 0, so there are no uplinks; leave out uplink and oversubscription",
        )

    @property
    def leaf_nodes(self) -> int:
        """Nodes that one leaf joins."""
        return self.nodes_per_leaf or self.nodes

    def uplink_link(self) -> LinkConfig:
        """The links between leaves and spines."""
        down = self.leaf_nodes * self.link.rate_bps
        return self.uplink.of(self.link, uplink_rate_bps(self.uplink, self.oversubscription, down, self.spines))

    def nic_bps(self) -> float:
        """A NIC for each NPU."""
        return float(self.link.rate_bps)
