"""Keys that complete a graph of another program: which nodes are hosts, its names of attributes, what it lacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le
from pydantic import BeforeValidator, Discriminator, Field, Strict, Tag, model_validator

from astra_ns3.config.core.link import LinkConfig
from astra_ns3.config.core.model import ConfigModel, OnOff, RateBps, TimePs, as_value_error, checked, key_error, shown
from astra_ns3.errors import InputError, nearest
from astra_ns3.units import parse_rate, parse_time_ps

Name = Annotated[str, Field(min_length=1, max_length=1000)]
Value = Annotated[str, Strict()] | Annotated[bool, Strict()] | Annotated[int, Strict()] | Annotated[float, Strict()]
MOST_BESIDE = 1024
"""Hosts beside one node."""


class AttributeName(ConfigModel):
    """How a file calls what a network needs; ``unit``: of values that are plain numbers."""

    name: Name
    """The name of the attribute."""
    unit: Name | None = None
    """The unit of its bare numbers."""


def _named(value: object) -> object:
    return {"name": value} if isinstance(value, str) else value


_Attribute = Annotated[AttributeName, BeforeValidator(_named)]


class Attributes(ConfigModel):
    """The file's own names of attributes; absent: ours. A key without a value (``cost: ``): never read."""

    rate: _Attribute | None = None
    """The attribute of a link that is its rate."""
    delay: _Attribute | None = None
    """The attribute of a link that is its delay."""
    error_rate: _Attribute | None = None
    """The attribute of a link that is its error rate."""
    kind: _Attribute | None = None
    """The attribute of a node or a link that is its kind."""
    cost: _Attribute | None = None
    """The attribute of a link that is its cost."""
    buffer: _Attribute | None = None
    """The attribute of a switch that is its buffer."""
    label: _Attribute | None = None
    """The attribute of a node that is its name."""
    level: _Attribute | None = None
    """The attribute of a switch that is its level."""
    latitude: _Attribute | None = None
    """The attribute of a node that is its latitude, in degrees."""
    longitude: _Attribute | None = None
    """The attribute of a node that is its longitude, in degrees."""

    @model_validator(mode="after")
    @checked
    def _units(self) -> None:
        for key, named in self:
            if named is None or named.unit is None:
                continue
            parse = {"rate": parse_rate, "delay": parse_time_ps}.get(key)
            if parse is None:
                raise key_error(key, f"has unit '{named.unit}', but only rate and delay have units")
            try:
                parse(f"1{named.unit}")
            except InputError as error:
                raise key_error(key, str(error)) from error


class LinkDefaults(ConfigModel):
    """Rate, delay and the like of links whose file has none."""

    rate_bps: RateBps | None = Field(alias="rate", default=None)
    """The rate of links that have none."""
    delay_ps: TimePs | None = Field(alias="delay", default=None)
    """The delay of links that have none."""
    cost: Annotated[int, Strict(), Gt(0), Le(1_000_000)] | None = None
    """The length of the link for shortest paths; absent: 1."""
    distance: OnOff = False
    """Delay by the distance between nodes that have a latitude and longitude, 5 us a kilometre of great circle."""


class HostsByAttribute(ConfigModel):
    """Hosts are the nodes whose attribute has one of the values."""

    attribute: Name
    """The attribute of a node that tells."""
    equals: Value | tuple[Value, ...]
    """Its value, of hosts."""

    @property
    def values(self) -> tuple[Value, ...]:
        """All of ``equals``."""
        return self.equals if isinstance(self.equals, tuple) else (self.equals,)


class HostsBeside(LinkConfig):
    """All nodes of the file are switches; each has so many hosts of its own, joined by the link described."""

    beside: Annotated[int, Strict(), Ge(1), Le(MOST_BESIDE)]
    """Hosts that are added to each node."""


_WORDS = ("all", "leaves")


def _word(value: object) -> object:
    if value not in _WORDS:
        raise ValueError(
            f"found {shown(value)}, allowed: {', '.join(_WORDS)}, a list of names, "
            f"{{attribute, equals}}, {{beside, rate, delay}}{nearest(str(value), _WORDS)}"
        )
    return value


def _name(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _form(value: object) -> str:
    if isinstance(value, Mapping):
        return "by-attribute" if {"attribute", "equals"} & set(value) else "hosts-beside"
    if isinstance(value, HostsByAttribute):
        return "by-attribute"
    if isinstance(value, HostsBeside):
        return "hosts-beside"
    return "names" if isinstance(value, (list, tuple)) else "word"


Hosts = Annotated[
    Annotated[Literal["all", "leaves"], BeforeValidator(as_value_error(_word)), Tag("word")]
    | Annotated[tuple[Annotated[Name, BeforeValidator(_name)], ...], Field(min_length=1), Tag("names")]
    | Annotated[HostsByAttribute, Tag("by-attribute")]
    | Annotated[HostsBeside, Tag("hosts-beside")],
    Discriminator(_form),
]
"""All nodes are hosts; those with one neighbour (leaves); those named; those with an attribute; none of the file's."""


class Completion(ConfigModel):
    """Keys of a network file that complete another program's graph. With any of them, other attributes are ignored."""

    hosts: Hosts | None = None
    attributes: Attributes | None = None
    defaults: LinkDefaults | None = None
    links: Mapping[str, LinkDefaults] | None = None
    """Defaults of links of one class, by its name."""

    @property
    def given(self) -> bool:
        """Whether anything is said."""
        return self != Completion()
