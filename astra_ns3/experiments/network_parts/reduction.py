"""The trees of a network's switches that reduce, where a system's algorithms ask for them."""

from __future__ import annotations

from astra_ns3.collectives.lookup import is_in_network
from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import refuse
from astra_ns3.experiments.nccl.servers_of_network import place_of
from astra_ns3.experiments.network_parts.packet_graph import Asked, Ground
from astra_ns3.network.backends import abilities_of
from astra_ns3.topology.grid_switches import GridSwitches
from astra_ns3.topology.reduction_trees import GraphTrees


def with_trees(system: SystemConfig, ground: Ground, *, first_root: int) -> SystemConfig:
    """Return a system told the trees that its algorithms ask for; any other as it is.

    ``first_root``: the number of the tenant, so that trees of several begin with different roots. Raises InputError
    where no switch can reduce.
    """
    if system.plays_nccl:
        return with_switches(system, ground)
    asking = sorted(name for name in system.all_algorithms if is_in_network(name))
    if not asking:
        return system
    return told_trees(system, ground, asking[0], first_root)


def told_trees(system: SystemConfig, ground: Ground, where: str, first_root: int) -> SystemConfig:
    """Return a system told the trees that ``where`` asks for. Raises InputError where no switch can reduce."""
    network = ground.packets_for(Asked(where, "switches that reduce", "switches reduce", "trees"))
    _check_transport(network, where)
    return system.with_reduction_trees(GraphTrees(ground.graph, ground.tenancy.npus, first_root))


def _check_transport(network: NetworkConfig, where: str) -> None:
    kinds = sorted({transport.kind for transport in network.transports or (network.transport,)})
    refuse(kinds != ["roce"], f"found transport {', '.join(kinds)}, expected roce, over which switches reduce", where)


def with_switches(system: SystemConfig, ground: Ground) -> SystemConfig:
    """Return a system of NCCL told the switches that reduce in servers, and on ns3 and flow those between them.

    Packets of other transports than RoCE, and jobs that arrive, have none.
    """
    network, npus = ground.network, ground.tenancy.npus
    if not system.plays_nccl or ground.tenancy.berth is not None:
        return system
    if not isinstance(network, NetworkConfig):
        trees = GridSwitches(network.npus, network.grid[0].npus, npus)
        # The first job's network is everybody's.
        switches = network.reducing_switches if ground.plan is None else ground.plan.graph.reducers
        return system.with_reduction_trees(trees) if switches else system
    packets = abilities_of(ground.backend).needs_packets
    if packets and {transport.kind for transport in network.transports or (network.transport,)} != {"roce"}:
        return system
    if not ground.graph.reducers:
        return system
    of_server = place_of(network).npus
    return system.with_reduction_trees(GraphTrees(ground.graph, npus, of_server=of_server, joins=packets))
