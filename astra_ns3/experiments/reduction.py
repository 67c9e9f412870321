"""The trees of a network's switches that reduce, where a system's algorithms ask for them."""

from __future__ import annotations

from astra_ns3.collectives.lookup import is_in_network
from astra_ns3.config.network.file import AnyNetwork
from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import refuse, wrong
from astra_ns3.network.backends import abilities_of
from astra_ns3.network.plan import AnyPlan
from astra_ns3.scenario.scenario import Tenancy
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.reduction_trees import GraphTrees


def with_trees(
    system: SystemConfig, network: AnyNetwork, tenancy: Tenancy, backend: str, plan: AnyPlan | None, *, first_root: int
) -> SystemConfig:
    """Return a system told the trees that its algorithms ask for; any other as it is.

    ``plan``: the network's, where it is there already. ``first_root``: the number of the tenant, so that trees of
    several begin with different roots. Raises InputError where no switch can reduce.
    """
    asking = sorted(name for name in system.all_algorithms if is_in_network(name))
    if not asking or system.plays_nccl:
        return system
    name = asking[0]
    refuse(
        not abilities_of(backend).needs_packets,
        f"found backend '{backend}', expected ns3 or flow: switches reduce in a network of packets alone",
        name,
    )
    if not isinstance(network, NetworkConfig):
        raise wrong("found an analytical network, expected one of packets, with switches that reduce", name)
    kinds = sorted({transport.kind for transport in network.transports or (network.transport,)})
    refuse(kinds != ["roce"], f"found transport {', '.join(kinds)}, expected roce, over which switches reduce", name)
    refuse(tenancy.berth is not None, "a job that arrives gets its NPUs too late for trees; give it NPUs", name)
    known = None if plan is None else plan.of_packets
    graph = build_graph(network.topology) if known is None else known.graph
    return system.with_reduction_trees(GraphTrees(graph, tenancy.npus, first_root))
