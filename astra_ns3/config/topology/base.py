"""Keys that all topologies share in a network file, and the pieces that describe them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Annotated, Literal, Protocol, TypeVar, runtime_checkable

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BeforeValidator, Field, PrivateAttr, Strict, model_validator

from astra_ns3.config.core.link import LinkConfig
from astra_ns3.config.core.model import ConfigModel, Count, OrName, RateBps, TimePs, checked, key_error, refuse_key
from astra_ns3.config.topology.routing import RoutingConfig
from astra_ns3.config.topology.storage import StorageConfig
from astra_ns3.config.topology.switch import NicConfig, SwitchConfig
from astra_ns3.units import format_rate

if TYPE_CHECKING:
    from typing_extensions import Self

MOST_NPUS = 1_000_000
"""A typing error such as 16e9 must not fill the memory before it is seen."""
MOST_OF_ANYTHING = 65_536
"""The bound of one count in a description: leaves, spines, ports of a switch."""

Some = Annotated[Count, Le(MOST_OF_ANYTHING)]
Npus = Annotated[Count, Le(MOST_NPUS)]
Dimensions = Annotated[tuple[Count, ...], Field(min_length=1)]
Ratio = Annotated[float, Strict(), Gt(0), Le(MOST_OF_ANYTHING)]


def default_local() -> LinkConfig:
    """How NPUs of one host talk unless a file says otherwise."""
    # NVSwitch links of github.com/DartingMelody/ns3-interface, 128_nodes_112_switch: 2400 Gbps, 25 ns.
    return LinkConfig.model_validate({"rate": "2400Gbps", "delay": "25ns"})


class LinkChange(ConfigModel):
    """A link in terms of another one: what is absent is as there."""

    rate_bps: RateBps | None = Field(alias="rate", default=None)
    """Another rate of each direction."""
    delay_ps: TimePs | None = Field(alias="delay", default=None)
    """Another propagation delay, one way."""
    error_rate: Annotated[float, Ge(0), Lt(1)] | None = None
    """Another probability that a frame is lost."""

    def of(self, link: LinkConfig, rate_bps: int | None = None) -> LinkConfig:
        """``link`` with the changes; ``rate_bps`` is the rate unless the file gives one."""
        changes = {
            "rate_bps": rate_bps if self.rate_bps is None else self.rate_bps,
            "delay_ps": self.delay_ps,
            "error_rate": self.error_rate,
        }
        return link.model_copy(update={name: value for name, value in changes.items() if value is not None})

    def of_rate(self, rate_bps: int) -> LinkChange:
        """The changes with this rate."""
        return self.model_copy(update={"rate_bps": rate_bps})


def _by(value: object) -> object:
    return {"by": value} if isinstance(value, str) else value


class Forwarding(ConfigModel):
    """Hosts with several links pass on packets that aren't theirs: each has a switch of its own that its links end at.

    A packet waits at such a switch as at any other; it is stored, then sent on.
    """

    by: Literal["hosts"]
    """Who forwards. `forwarding: hosts` is short for it."""
    switch: SwitchConfig | None = None
    """In each host; absent: as the topology's ``switch``."""
    injection: LinkChange = LinkChange()
    """The link between a host and its switch. Absent: as fast as the host's links together, without delay."""

    @model_validator(mode="after")
    @checked
    def _reduces_nothing(self) -> None:
        reduces = self.switch is not None and self.switch.reduction is not None
        refuse_key(reduces, "switch.reduction", "switches inside NPUs that forward reduce nothing; leave it out")


class TopologyBase(ConfigModel):
    """Keys of every topology."""

    routing: Annotated[RoutingConfig, OrName()] = RoutingConfig()
    """How switches choose among equally short ways."""
    dimensions: Dimensions | None = None
    """NPUs along each logical dimension, the innermost first; absent: as the topology is built."""
    nic: NicConfig = NicConfig()
    """The network card of each host."""
    forwarding: Annotated[Forwarding, BeforeValidator(_by)] | None = None
    """Who passes on what isn't for it. Absent: hosts forward nothing."""
    storage: StorageConfig | None = None
    """Storage hosts. Absent: there are none."""

    @model_validator(mode="after")
    @checked
    def _counts(self) -> None:
        npus = self.npu_count()
        if npus > MOST_NPUS:
            raise ValueError(f"describes {npus} NPUs, expected at most {MOST_NPUS}")
        if self.dimensions is not None:
            refuse_key(
                prod(self.dimensions) != npus,
                "dimensions",
                f"{list(self.dimensions)} make {prod(self.dimensions)} NPUs, not {npus}",
            )
            self.check_dimensions(self.dimensions)
        for position, pin in enumerate(self.routing.pins):
            if max(pin.sender, pin.receiver) >= npus:
                named = max(pin.sender, pin.receiver)
                raise key_error("routing", f"pins entry {position} names NPU {named}, expected 0 to {npus - 1}")
        self.forwarding_switch()

    def forwards(self) -> Forwarding | None:
        """How hosts forward, if they do."""
        return self.forwarding

    def forwarding_switch(self) -> SwitchConfig | None:
        """The switch in each host that forwards; None if none does. Raises the error of a key if nothing says it."""
        said = self.forwards()
        if said is None:
            return None
        switch: SwitchConfig | None = said.switch or getattr(self, "switch", None)
        if switch is None:
            raise key_error("forwarding", "needs switch: {buffer: ...}, the switch inside each NPU that forwards")
        return switch

    def npu_count(self) -> int:
        """How many NPUs the topology joins."""
        raise NotImplementedError

    def built_dimensions(self) -> tuple[int, ...]:
        """The dimensions that the wires suggest."""
        return (self.npu_count(),)

    def built_bandwidths(self) -> tuple[float, ...]:
        """Bits per second that an NPU has in each of :meth:`built_dimensions`."""
        raise NotImplementedError

    def line_rates(self) -> tuple[float, ...]:
        """Bits per second of all lines of an NPU together, one way, in each of :meth:`built_dimensions`."""
        return self.built_bandwidths()

    def with_line_rates(self, rates_bps: Sequence[float]) -> Self:
        """Return the topology with other :meth:`line_rates`: all links of a dimension change by the same factor.

        Raises InputError for a topology whose links can't be changed so.
        """
        old_bps = self.line_rates()  # 0 in a dimension of one NPU, which has no lines
        return self.scaled([new / old if old else 1.0 for new, old in zip(rates_bps, old_bps, strict=True)])

    def scaled(self, factors: Sequence[float]) -> Self:
        """Return the topology with the links of each dimension so many times as fast; rates are whole bits a second."""
        return with_faster_links(self, factors[0])

    def faster(self, factor: float) -> Self:
        """Return the topology with all links so many times as fast; raises InputError for one that can't be."""
        return self.scaled([factor] * len(self.line_rates()))

    def nic_count(self) -> int:
        """How many NICs there are: one for each NPU."""
        return self.npu_count()

    def check_dimensions(self, dimensions: tuple[int, ...]) -> None:
        """Raise unless the topology can be seen as these dimensions, whose product fits."""

    def dimension_of(self, link_class: str) -> int | None:
        """The dimension that a class of links belongs to; None if dimensions share it."""
        numbered = re.fullmatch(r"(?:axis|dimension)-([0-9]+)", link_class)
        return int(numbered[1]) if numbered and self.logical_dimensions == self.built_dimensions() else None

    @property
    def logical_dimensions(self) -> tuple[int, ...]:
        """NPUs along each dimension that collectives run over, the innermost first."""
        return self.dimensions or self.built_dimensions()

    @property
    def bandwidths(self) -> tuple[float, ...]:
        """Bits per second that an NPU has in each logical dimension, for policies that weigh them."""
        built = self.built_bandwidths()
        if self.logical_dimensions == self.built_dimensions():
            return built
        return (max(built),) * len(self.logical_dimensions)


class GivenGraph(TopologyBase):
    """Keys of a topology whose graph a user gives: which of its links are inside servers, the graph itself says."""

    _share_inside: float = PrivateAttr(default=1)

    @property
    def share_inside(self) -> float:
        """The share of the rates of links inside servers that is reached."""
        return self._share_inside

    def reaching_inside(self, share: float) -> Self:
        """Return the topology whose links inside servers reach a share of their rates."""
        found = self.model_copy()
        found._share_inside = share
        return found


class OnOneLink(TopologyBase):
    """A topology in which a link joins each host, or each NPU."""

    if TYPE_CHECKING:
        link: LinkConfig

    def built_bandwidths(self) -> tuple[float, ...]:
        """The rate of that link."""
        return (float(self.link.rate_bps),)


def uplink_rate_bps(uplink: LinkChange, ratio: float | None, down_bps: int, links: int) -> int | None:
    """The rate of each of ``links`` uplinks so that ``down_bps`` of hosts is ``ratio`` times all of them; None: free.

    Raises the error of a key if the file gives both, or if the rate isn't a whole number.
    """
    if ratio is None:
        return None
    if uplink.rate_bps is not None:
        raise key_error("oversubscription", f"stands beside uplink.rate, {format_rate(uplink.rate_bps)}; leave one out")
    rate = Fraction(down_bps) / Fraction(str(ratio)) / links
    if rate.denominator != 1 or rate < 1:
        words = f"{ratio:g} makes uplinks of {float(rate)} b/s, not a whole number"
        raise key_error("oversubscription", f"{words}; give uplink.rate instead, such as {max(int(rate), 1)}bps")
    return int(rate)


@runtime_checkable
class Oversubscribed(Protocol):
    """A topology whose uplinks may follow from a ratio."""

    @property
    def oversubscription(self) -> float | None:
        """The ratio, if the file has one."""

    @property
    def uplink(self) -> LinkChange:
        """Changes of uplinks in the file."""

    def uplink_link(self) -> LinkConfig:
        """The uplinks."""


_Group = TypeVar("_Group", bound=ConfigModel)
_Link = TypeVar("_Link", bound=LinkConfig)
_Value = ConfigModel | tuple["_Value", ...] | str | float | None
# How NPUs of one host talk is no part of the network.
_INSIDE_HOSTS = "local"


def times(link: _Link, factor: float) -> _Link:
    """Return a link that is ``factor`` times as fast, at least a bit a second."""
    return link.model_copy(update={"rate_bps": max(1, round(link.rate_bps * factor))})


def with_faster_links(group: _Group, factor: float, but: Iterable[str] = ()) -> _Group:
    """Return a group of keys with all links in it ``factor`` times as fast, but those below the keys ``but``.

    An oversubscription becomes the rate that it makes, since a ratio may make no whole rate of the new one.
    """
    groups = ((name, value) for name, value in group if name not in (*but, _INSIDE_HOSTS))
    changes = {name: faster for name, value in groups if (faster := _faster(value, factor)) != value}
    if isinstance(group, Oversubscribed) and group.oversubscription is not None:
        rate_bps = times(group.uplink_link(), factor).rate_bps
        changes |= {"oversubscription": None, "uplink": group.uplink.of_rate(rate_bps)}
    return group.model_copy(update=changes)


def _faster(value: _Value, factor: float) -> _Value:
    """Return the value of a key with all links in it so many times as fast."""
    if isinstance(value, LinkConfig):
        return times(value, factor)
    if isinstance(value, LinkChange):
        return value if value.rate_bps is None else value.of_rate(max(1, round(value.rate_bps * factor)))
    if isinstance(value, tuple):
        return tuple(_faster(each, factor) for each in value)
    return with_faster_links(value, factor) if isinstance(value, ConfigModel) else value
