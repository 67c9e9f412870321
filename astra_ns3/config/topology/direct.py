"""Topology keys: NPUs joined to each other without a fabric between them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge, Le
from pydantic import Field, Strict, model_validator

from astra_ns3.config.core.link import LinkConfig
from astra_ns3.config.core.model import Keys, RateBps, checked, refuse_key
from astra_ns3.config.topology.base import (
    LinkChange,
    Npus,
    OnOneLink,
    Some,
    TopologyBase,
    times,
    with_faster_links,
)
from astra_ns3.config.topology.switch import SwitchConfig
from astra_ns3.units import counted

if TYPE_CHECKING:
    from typing_extensions import Self

# Half a million links.
_MOST_IN_FULL_MESH = 1024


class RouterTopology(TopologyBase):
    """Hosts forward nothing: each NPU has a router beside it, a switch, and a link to it."""

    link: LinkConfig
    """The links between routers."""
    injection: LinkChange = LinkChange()
    """The link between an NPU and its router. Absent: as fast as the router's other links together, without delay."""
    switch: SwitchConfig
    """The routers."""

    def axis_link(self, axis: int) -> LinkConfig:
        """The links along an axis."""
        return self.link

    def injection_link(self, router_bps: int) -> LinkConfig:
        """An NPU's link, if its router's other links have ``router_bps`` together (0: it has none)."""
        base = self.link.model_copy(update={"delay_ps": 0, "error_rate": 0.0})
        return self.injection.of(base, router_bps or self.link.rate_bps)

    def grid(self) -> tuple[int, ...]:
        """Routers along each axis, the first running fastest."""
        raise NotImplementedError

    def wraps(self) -> bool:
        """Whether each axis is closed to a ring."""
        raise NotImplementedError

    def npu_count(self) -> int:
        """How many NPUs the topology joins."""
        return prod(self.grid())

    def built_dimensions(self) -> tuple[int, ...]:
        """An axis each."""
        return self.grid()

    def built_bandwidths(self) -> tuple[float, ...]:
        """The links of a router (in the middle, if there is an edge) along each axis."""
        return tuple(float(self.axis_link(axis).rate_bps * min(size - 1, 2)) for axis, size in enumerate(self.grid()))

    def nic_count(self) -> int:
        """NPUs are joined without NICs."""
        return 0


class Ring(RouterTopology):
    """Every NPU's router joined to the next, the last to the first."""

    kind: Literal["ring"]
    npus: Npus
    """How many NPUs there are, each with a router of its own."""

    def grid(self) -> tuple[int, ...]:
        """One axis."""
        return (self.npus,)

    def wraps(self) -> bool:
        """A ring is closed."""
        return True


class _Grid(RouterTopology):
    shape: Annotated[tuple[Some, ...], Field(min_length=1, max_length=6)]
    """Routers along each axis; NPUs are numbered along the first axis first."""
    rates_bps: tuple[RateBps, ...] | None = Field(alias="rates", default=None)
    """Rates of the links along each axis, the first axis first. Absent: `link.rate` along all of them."""

    @model_validator(mode="after")
    @checked
    def _a_rate_for_each_axis(self) -> None:
        found = self.rates_bps
        refuse_key(
            found is not None and len(found) != len(self.shape),
            "rates",
            f"has {counted(len(found or ()), 'entry', 'entries')}, expected {len(self.shape)}: one for each axis",
        )

    def axis_link(self, axis: int) -> LinkConfig:
        """The links along an axis, as fast as ``rates`` says."""
        if self.rates_bps is None:
            return self.link
        return self.link.model_copy(update={"rate_bps": self.rates_bps[axis]})

    def scaled(self, factors: Sequence[float]) -> Self:
        """Return the topology with other rates along its axes, and injection as much faster as the fastest axis."""
        links = [times(self.axis_link(axis), factor) for axis, factor in enumerate(factors)]
        faster = with_faster_links(self, max(factors), but=("link",))
        return faster.model_copy(update={"rates_bps": tuple(link.rate_bps for link in links)})

    def grid(self) -> tuple[int, ...]:
        """The shape."""
        return self.shape


class Torus(_Grid):
    """Routers on a grid whose axes are closed to rings; an axis of two has one link, not two."""

    kind: Literal["torus"]

    def wraps(self) -> bool:
        """A torus is closed."""
        return True


class Mesh(_Grid):
    """Routers on a grid with edges."""

    kind: Literal["mesh"]

    def wraps(self) -> bool:
        """A mesh ends at its edges."""
        return False


class FullMesh(TopologyBase):
    """A link between every two NPUs, straight from host to host."""

    kind: Literal["full-mesh"]
    npus: Annotated[int, Strict(), Ge(2), Le(_MOST_IN_FULL_MESH)]
    """How many NPUs there are."""
    link: LinkConfig
    """The link between each two NPUs."""

    @classmethod
    def prepare(cls, data: Keys) -> Keys:
        """Refuse switches, which there are none of."""
        words = "a full-mesh joins NPUs directly, without switches; leave it out (NPUs that forward: forwarding.switch)"
        refuse_key("switch" in data, "switch", words)
        return super().prepare(data)

    def npu_count(self) -> int:
        """How many NPUs the topology joins."""
        return self.npus

    def built_bandwidths(self) -> tuple[float, ...]:
        """All links of an NPU."""
        return (float(self.link.rate_bps * (self.npus - 1)),)

    def nic_count(self) -> int:
        """NPUs are joined without NICs."""
        return 0


class Dragonfly(OnOneLink):
    """Groups of fully joined routers, a link between every two groups (Kim et al., ISCA 2008).

    ``a`` routers a group, ``p`` NPUs and ``h`` global links a router: a * h + 1 groups.
    """

    kind: Literal["dragonfly"]
    a: Annotated[int, Strict(), Ge(1), Le(256)]
    """Routers of a group."""
    p: Annotated[int, Strict(), Ge(1), Le(256)]
    """Hosts of a router."""
    h: Annotated[int, Strict(), Ge(1), Le(256)]
    """Links from a router to other groups."""
    link: LinkConfig
    """The links between NPUs and their routers."""
    group_link: LinkChange = LinkChange()
    """The links between routers of one group. Absent, or a part that is absent: as `link`."""
    global_link: LinkChange = LinkChange()
    """The links between groups. Absent, or a part that is absent: as `link`."""
    switch: SwitchConfig
    """The routers."""

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return self.a * self.h + 1

    def npu_count(self) -> int:
        """Return the NPUs of all groups."""
        return self.groups * self.a * self.p
