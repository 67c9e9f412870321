"""The content of an InfraGraph file, as its schema (infrastructure.yaml, version 2) has it."""

from __future__ import annotations

from typing import Annotated, Literal

from annotated_types import Ge, Le
from pydantic import Field, Strict

from astra_ns3.config.core.model import ConfigModel

MOST_OF_ONE = 1_000_000
"""Components of a device, or instances."""

_Count = Annotated[int, Strict(), Ge(0), Le(MOST_OF_ONE)]
_Number = Annotated[float, Ge(0)]
_GBPS = 10**9
_PS = {"ms": 10**9, "us": 10**6, "ns": 10**3}


class Bandwidth(ConfigModel):
    """A rate in one of three units; transfers per second say no rate without the width of the bus."""

    choice: Literal["gigabits_per_second", "gigabytes_per_second", "gigatransfers_per_second"] | None = None
    gigabits_per_second: _Number | None = None
    gigabytes_per_second: _Number | None = None
    gigatransfers_per_second: _Number | None = None

    @property
    def rate_bps(self) -> int | None:
        """Bits per second, if it is one."""
        if self.gigabits_per_second is not None:
            return round(self.gigabits_per_second * _GBPS)
        return None if self.gigabytes_per_second is None else round(self.gigabytes_per_second * 8 * _GBPS)


class Latency(ConfigModel):
    """A time in one of three units."""

    choice: Literal["ms", "us", "ns"] | None = None
    ms: _Number | None = None
    us: _Number | None = None
    ns: _Number | None = None

    @property
    def delay_ps(self) -> int | None:
        """Picoseconds, rounded."""
        given = {unit: value for unit in _PS if (value := getattr(self, unit)) is not None}
        return next((round(value * _PS[unit]) for unit, value in given.items()), None)


class Physical(ConfigModel):
    """The known facts of a kind of link."""

    bandwidth: Bandwidth | None = None
    latency: Latency | None = None


class Link(ConfigModel):
    """A kind of link, named in edges."""

    name: str
    description: str | None = None
    physical: Physical | None = None


class Custom(ConfigModel):
    """A component of a type of its own."""

    type: str


class Component(ConfigModel):
    """So many alike in a device; ``device``: each is a device of that name."""

    name: str
    description: str | None = None
    count: _Count = 1
    choice: Literal["custom", "device", "cpu", "xpu", "nic", "memory", "port", "switch"]
    custom: Custom | None = None
    device: object = None
    cpu: object = None
    xpu: object = None
    nic: object = None
    memory: object = None
    port: object = None
    switch: object = None


class Endpoint(ConfigModel):
    """Some components, with slices: ``nic[0:4]``, of a device inside or, outside, of instances: ``host[0]``."""

    device: str | None = None
    instance: str | None = None
    component: str


class Edge(ConfigModel):
    """Joins all ends of one side to those of the other, each to each or one to one."""

    scheme: Literal["one2one", "many2many", "ring"]
    link: str
    ep1: Endpoint
    ep2: Endpoint


class Device(ConfigModel):
    """A graph of components."""

    name: str
    description: str | None = None
    components: tuple[Component, ...] = ()
    links: tuple[Link, ...] = ()
    edges: tuple[Edge, ...] = ()


class Instance(ConfigModel):
    """So many devices of a kind."""

    name: str
    description: str | None = None
    device: str
    count: _Count = 1


class Infrastructure(ConfigModel):
    """The whole file."""

    name: str | None = None
    description: str | None = None
    devices: tuple[Device, ...] = Field(min_length=1)
    links: tuple[Link, ...] = ()
    instances: tuple[Instance, ...] = Field(min_length=1)
    edges: tuple[Edge, ...] = ()
