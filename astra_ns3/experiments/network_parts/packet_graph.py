"""The graph of a network of packets, for what no other network has: switches that reduce, and storage hosts."""

from __future__ import annotations

from functools import cached_property

from astra_ns3.config.network.file import AnyNetwork
from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.errors import refuse, wrong
from astra_ns3.frozen import dataclass
from astra_ns3.network.backends import abilities_of
from astra_ns3.network.plan import AnyPlan
from astra_ns3.scenario.scenario import Tenancy
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.graph import Graph


@dataclass(frozen=True)
class Asked:
    """Something that only packets have. ``where``: who asks for it; ``parts``: what a network has it by; ``fact``: what
    these do; ``told``: what is told of them when a job's NPUs are known."""

    where: str
    parts: str
    fact: str
    told: str


@dataclass(frozen=True)
class Ground:
    """A tenant's network. ``plan``: the network's, where it is there already."""

    network: AnyNetwork
    tenancy: Tenancy
    backend: str
    plan: AnyPlan | None

    def packets_for(self, asked: Asked) -> NetworkConfig:
        """Return the network, which is one of packets; raises InputError for any other, and for a job that arrives."""
        refuse(
            not abilities_of(self.backend).needs_packets,
            f"found backend '{self.backend}', expected ns3 or flow: {asked.fact} in a network of packets alone",
            asked.where,
        )
        if not isinstance(self.network, NetworkConfig):
            raise wrong(f"found an analytical network, expected one of packets, with {asked.parts}", asked.where)
        refuse(
            self.tenancy.berth is not None,
            f"a job that arrives gets its NPUs too late for {asked.told}; give it NPUs",
            asked.where,
        )
        return self.network

    @cached_property
    def graph(self) -> Graph:
        """The graph of the network, which is one of packets."""
        assert isinstance(self.network, NetworkConfig)
        known = None if self.plan is None else self.plan.of_packets
        return build_graph(self.network.topology) if known is None else known.graph
