"""The network as a graph: hosts, switches, links. A description only; nothing here knows a simulator."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from astra_ns3.errors import InputError


@dataclass(frozen=True)
class Link:
    """A full-duplex link between nodes ``a`` and ``b``; the delay is one way."""

    a: int
    b: int
    rate_bps: int
    delay_ps: int


@dataclass(frozen=True)
class Port:
    """One end of a link: the link's number and the node at its other end."""

    link: int
    peer: int


@dataclass(frozen=True)
class Graph:
    """Nodes 0 to ``hosts - 1`` are hosts, the next ``switches`` nodes are switches.

    Port p of a node is the p-th link in ``links`` that touches it. ``rank_host`` has the host of each NPU,
    ``switch_buffer_bytes`` the shared buffer of each switch.
    """

    hosts: int
    switches: int
    links: tuple[Link, ...]
    rank_host: tuple[int, ...]
    switch_buffer_bytes: tuple[int, ...]

    def __post_init__(self) -> None:
        for number, link in enumerate(self.links):
            if not (0 <= link.a < self.nodes and 0 <= link.b < self.nodes) or link.a == link.b:
                raise InputError(
                    f"link {number} joins nodes {link.a} and {link.b}, expected two of 0..{self.nodes - 1}"
                )
            if link.rate_bps <= 0 or link.delay_ps < 0:
                raise InputError(f"link {number} has rate {link.rate_bps} b/s and delay {link.delay_ps} ps")
        if any(not 0 <= host < self.hosts for host in self.rank_host):
            raise InputError(f"an NPU is on a host that does not exist; there are {self.hosts}")
        if len(self.switch_buffer_bytes) != self.switches:
            raise InputError(f"found {len(self.switch_buffer_bytes)} switch buffers for {self.switches} switches")

    @property
    def nodes(self) -> int:
        """Hosts and switches together."""
        return self.hosts + self.switches

    @cached_property
    def ports(self) -> tuple[tuple[Port, ...], ...]:
        """The ports of each node."""
        found: list[list[Port]] = [[] for _ in range(self.nodes)]
        for number, link in enumerate(self.links):
            found[link.a].append(Port(number, link.b))
            found[link.b].append(Port(number, link.a))
        return tuple(tuple(ports) for ports in found)
