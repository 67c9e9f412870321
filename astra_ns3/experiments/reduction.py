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
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.reduction_trees import GraphTrees


def with_trees(
    system: SystemConfig, network: AnyNetwork, tenancy: Tenancy, backend: str, plan: AnyPlan | None, *, first_root: int
) -> SystemConfig:
    """Return a system told the trees that its algorithms ask for; any other as it is.

    ``plan``: the network's, where it is there already. ``first_root``: the number of the tenant, so that trees of
    several begin with different roots. Raises InputError where no switch can reduce.
    """
    if system.plays_nccl:
        return system if tenancy.berth is not None else with_switches(system, network, tenancy, backend, plan)
    asking = sorted(name for name in system.all_algorithms if is_in_network(name))
    if not asking:
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
    return system.with_reduction_trees(GraphTrees(_graph(network, plan), tenancy.npus, first_root))


def with_switches(
    system: SystemConfig, network: AnyNetwork, tenancy: Tenancy, backend: str, plan: AnyPlan | None = None
) -> SystemConfig:
    """Return a system of NCCL told the switches that reduce in servers; without any, as it is.

    Other backends than ns3 and flow, and other transports than RoCE, have none.
    """
    if not system.plays_nccl or not abilities_of(backend).needs_packets or not isinstance(network, NetworkConfig):
        return system
    if {transport.kind for transport in network.transports or (network.transport,)} != {"roce"}:
        return system
    graph = _graph(network, plan)
    return system.with_reduction_trees(GraphTrees(graph, tenancy.npus)) if graph.reducers else system


def _graph(network: NetworkConfig, plan: AnyPlan | None) -> Graph:
    known = None if plan is None else plan.of_packets
    return build_graph(network.topology) if known is None else known.graph
