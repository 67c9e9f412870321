"""The servers of a network, where NCCL plays a system's collectives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from astra_ns3.config.formats.plain_graph import PlainGraph
from astra_ns3.config.nccl import NcclConfig
from astra_ns3.config.network.analytical_network import AnalyticalNetwork
from astra_ns3.config.network.file import AnyNetwork
from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.config.system import SystemConfig
from astra_ns3.config.topology.file import FileTopology
from astra_ns3.config.topology.nodes import Hierarchical, RailOptimised
from astra_ns3.config.topology.own import OwnTopology
from astra_ns3.config.topology.routing import PARTING
from astra_ns3.config.topology.switched import SingleSwitch
from astra_ns3.config.transports.kinds import TransportConfig
from astra_ns3.config.transports.roce import RoceTransport
from astra_ns3.errors import refuse
from astra_ns3.frozen import dataclass
from astra_ns3.nccl.copying import nvlink_gbytes_per_s
from astra_ns3.nccl.server import Nic, Server
from astra_ns3.nccl.servers import server_named
from astra_ns3.network.backends import abilities_of
from astra_ns3.scenario.scenario import Tenancy
from astra_ns3.topology.builders import graph_as_given
from astra_ns3.topology.npu_lines import bandwidths_along, equal_servers
from astra_ns3.units import counted
from astra_ns3.workload.files.workload_formats import AnyWorkload
from astra_ns3.workload.models.workload import ModelWorkload

_GBPS = 1e9
_HOPPER, _NVLINKS = 90, 18
_BITS_PER_GBYTE = 8e9
_GBPS_OF_GBYTES = 8
_NEAR = 1.05
"""How far a network's lines may be from the server's; an NVLink's headers are within."""
UNLIKE = "NCCL chooses for the server, and bytes take the lines of the file"
"""The end of a warning that lines of a network are unlike those of the server."""

_ROUTED = (
    "routes choose the NIC of each of NCCL's channels, so several channels may share a NIC while others idle; NCCL "
    "binds channels to NICs, as does shared_nics: pcie"
)
_UNTOLD = "nothing tells servers of equally many, consecutive NPUs, so servers have 1 GPU"


@dataclass(frozen=True)
class Place:
    """NPUs of a server, and what each reaches inside it and outwards."""

    npus: int
    inside_bps: float
    outwards_bps: float
    nics: int
    is_told: bool = True
    """False: the network's file doesn't tell servers, so each NPU is one."""


def lets_merge(system: SystemConfig, network: AnyNetwork, backend: str) -> bool:
    """Whether NCCL's channels that do the same are played as one unless the system says.

    Each has a queue pair, whose hash chooses among equal paths: as one they would all choose the same. As one they
    would also get less of a line that they share with other collectives.
    """
    abilities = abilities_of(backend)
    chooses = system.nccl is None or system.nccl.channels is None
    draws = abilities.drawn_paths and isinstance(network, NetworkConfig)
    return system.plays_nccl and chooses and not (abilities.packets or draws)


def with_servers(
    system: SystemConfig, network: AnyNetwork, tenancy: Tenancy, *, merges: bool, speed: int = 1
) -> SystemConfig:
    """Return a system whose collectives NCCL plays, told which NPUs share a server; any other as it is.

    ``merges``: what :func:`lets_merge` says. ``speed``: lines are so many times as fast as the network's; those of a
    server that is named are its own. Raises InputError if a server has fewer GPUs than the network puts in it, or no
    NIC where there are several.
    """
    if not system.plays_nccl:
        return system
    place = place_of(network)
    name = None if system.nccl is None else system.nccl.server
    server = server_at(place, speed) if name is None else server_named(name)
    servers = tuple(npu // place.npus for npu in tenancy.npus)
    refuse(
        place.npus > server.gpus,
        f"server '{server.name}' has {server.gpus} GPUs, and the network puts {place.npus} NPUs in one; "
        f"expected at most {server.gpus}",
    )
    refuse(
        not server.nics and len(set(servers)) > 1,
        f"server '{server.name}' has no NIC, and the network has {len(set(servers))} of them; expected one",
    )
    gpus = [npu % place.npus for npu in tenancy.npus]
    return system.with_nccl(server, servers, merges=merges, has_sockets=has_sockets(network), gpus=gpus)


def unlike_network(system: SystemConfig, network: AnyNetwork) -> list[str]:
    """Return a warning if a system names a ready server that has other GPUs, NICs or rates than the network's."""
    return list(unlike_server(system.nccl, network, "key 'nccl.server'")) if system.plays_nccl else []


def unlike_server(table: NcclConfig | None, network: AnyNetwork, key: str) -> Iterator[str]:
    """Yield a warning if a table names a ready server that has other GPUs, NICs or rates than the network's."""
    name = None if table is None else table.server
    if name is None:
        return
    server, place = server_named(name), place_of(network)
    unlike = list(unlike_rates(server, place, network.npus // place.npus)) if place.is_told else []
    if place.npus != server.gpus:
        words = f"servers have {counted(place.npus, 'GPU')}" if place.is_told else _UNTOLD
        unlike.insert(0, (words, f"{server.gpus}"))
    if unlike:
        told = ", ".join(f"{found} ('{name}': {own})" for found, own in unlike)
        yield f"{key}: in the network file, {told}: {UNLIKE}"


def unlike_groups(sizes: Sequence[int]) -> Iterator[str]:
    """Yield a warning of groups, of so many NPUs, that NCCL's plans don't fit exactly."""
    if sizes:
        yield (
            f"NCCL's groups of {', '.join(map(str, sizes))} NPUs: their GPUs differ, from group to group or server to "
            "server, in the NICs next to them or in NVLinks; channels are those of each server's first GPUs, and "
            "collectives may take too long, up to as many times as GPUs share a NIC"
        )


def unlike_nics(system: SystemConfig, network: AnyNetwork, backend: str) -> list[str]:
    """Return a warning if routes choose the NICs of NCCL's channels."""
    if not system.plays_nccl or not isinstance(network, NetworkConfig):
        return []
    topology = network.topology
    if not abilities_of(backend).drawn_paths:
        return []
    if isinstance(topology, Hierarchical):
        return [f"key 'topology.shared_nics': {_ROUTED}"] * topology.routes_choose_nics
    return [_ROUTED] * (topology.routing.kind not in PARTING and shares_all_nics(network))


def shares_all_nics(network: AnyNetwork) -> bool:
    """Return whether an NPU's messages leave its server over any of the NICs, which all of its NPUs share."""
    topology = network.topology if isinstance(network, NetworkConfig) else None
    if isinstance(topology, Hierarchical):
        return topology.shared and not topology.behind_pcie
    if not isinstance(topology, FileTopology | OwnTopology) or not has_graph(topology):
        return False
    found = equal_servers(graph_as_given(topology))
    return found is not None and found.routes_choose


def unlike_nodes(workload: AnyWorkload, network: AnyNetwork, npus: Sequence[int]) -> list[str]:
    """Return a warning if a model's nodes, in which experts choose by node, aren't the network's servers.

    ``npus``: of each place of the model.
    """
    model = workload.file.model if isinstance(workload, ModelWorkload) else None
    experts = getattr(model, "experts", None)
    if experts is None or experts.npus_per_node is None:
        return []
    servers = place_of(network).npus  # slow in large graphs
    if servers == 1:
        return []
    found = f"{workload.source}: model.experts.npus_per_node is {experts.npus_per_node}"
    if servers != experts.npus_per_node:
        return [f"{found}, servers of the network have {servers} NPUs: tokens don't travel by server"]
    nodes = (npus[first : first + servers] for first in range(0, len(npus), servers))
    if any(len({npu // servers for npu in node}) > 1 for node in nodes):
        return [f"{found}, but these NPUs in a row lie on several servers: tokens don't travel by server"]
    return []


def unlike_rates(server: Server, place: Place, servers: int) -> Iterator[tuple[str, str]]:
    """Yield what of a network is unlike a server's NICs and lines, and the server's.

    An NVLink may be as NCCL counts it. NICs are counted that are next to as many GPUs as the network's servers have.
    """
    nics = sum(any(gpu < place.npus for gpu in each.near) for each in server.nics) or len(server.nics)
    if servers > 1 and place.nics != nics:
        yield f"servers have {counted(place.nics, 'NIC')}", f"{nics}"
    nvlink, sheet = nvlink_gbytes_per_s(server) * _GBPS_OF_GBYTES, server.nvlink_gbytes_per_s * _GBPS_OF_GBYTES
    nic = sum(each.gbits_per_s for each in server.nics) / len(server.nics) if server.nics else 0.0
    of_file = place.outwards_bps * place.npus / place.nics / _GBPS
    for name, found, least, most in (
        ("NVLinks carry", place.inside_bps / _GBPS if place.npus > 1 else 0.0, nvlink, sheet),
        ("NICs carry", of_file if servers > 1 else 0.0, nic, nic),
    ):
        if found and least and not least / _NEAR <= found <= max(least, most) * _NEAR:
            yield f"{name} {found:,.0f} Gb/s", f"{least:,.0f} Gb/s"


def has_sockets(network: AnyNetwork) -> bool:
    """Whether messages between servers go over TCP, by NCCL's sockets."""
    return isinstance(network, NetworkConfig) and network.transport.kind == "tcp"


def as_nccl_asks(network: AnyNetwork, system: SystemConfig) -> AnyNetwork:
    """Return a RoCE network with as many queue pairs a channel as NCCL's variables ask for, if it has several servers.

    Messages inside a server don't take turns on them. In an analytical network the switches of servers reduce, where
    NCCL's server is one whose switches do.
    """
    if not system.plays_nccl:
        return network
    if isinstance(network, AnalyticalNetwork):
        name = None if system.nccl is None else system.nccl.server
        reduces = len(network.grid) > 1 and (name is None or server_named(name).multicast)
        return network.reducing() if reduces else network
    variables = None if system.nccl is None else system.nccl.variables
    inside = place_of(network).npus
    if not isinstance(network, NetworkConfig) or inside == network.npus:
        return network
    changes: dict[str, int | str] = {}
    if variables is not None and variables.ib_qps_per_connection is not None:
        changes["queue_pairs_per_pair"] = variables.ib_qps_per_connection
    if variables is not None and variables.ib_split_data_on_qps is not None:
        changes["queue_pair_use"] = "split" if variables.ib_split_data_on_qps else "turns"

    def changed(transport: TransportConfig) -> TransportConfig:
        if not isinstance(transport, RoceTransport):
            return transport
        return transport.model_copy(update=changes).without_turns_inside(inside)

    each = None if network.transports is None else tuple(map(changed, network.transports))
    return network.model_copy(update={"transport": changed(network.transport), "transports": each})


def place_of(network: AnyNetwork) -> Place:
    """The servers of a network: a node, a host of a switch, the first of several dimensions, or each NPU by itself.

    In a graph that a user gives, links inside servers tell who shares one, if they join equally many consecutive NPUs.
    """
    topology = network.topology if isinstance(network, NetworkConfig) else None
    if isinstance(topology, (Hierarchical, RailOptimised)):
        inside, outwards = topology.built_bandwidths()
        nics = topology.nics if isinstance(topology, Hierarchical) else topology.npus_per_node
        return Place(topology.npus_per_node, inside, outwards, nics)
    if isinstance(topology, SingleSwitch):
        npus, bps = topology.npus_per_host, topology.link.rate_bps
        return Place(npus, topology.local.rate_bps if npus > 1 else bps, bps / npus, 1)
    if isinstance(topology, FileTopology | OwnTopology):
        return _of_graph(topology)
    bandwidths = network.bandwidths
    bits = 1.0 if isinstance(network, NetworkConfig) else _BITS_PER_GBYTE
    if isinstance(network, AnalyticalNetwork) and len(network.dimensions) > 1:
        inner = network.dimensions[0]
        return Place(inner, bandwidths[0] * bits, bandwidths[1] * bits, inner)
    return Place(1, bandwidths[0] * bits, bandwidths[-1] * bits, 1)


def has_graph(topology: FileTopology | OwnTopology) -> bool:
    """Whether it is a graph, and not the dimensions of an analytical network."""
    return isinstance(topology, OwnTopology) or isinstance(topology.content(), PlainGraph)


def _of_graph(topology: FileTopology | OwnTopology) -> Place:
    dimensions, bandwidths = topology.built_dimensions(), topology.built_bandwidths()
    if isinstance(topology, FileTopology) and len(dimensions) > 1:
        return Place(dimensions[0], bandwidths[0], bandwidths[1], dimensions[0])
    graph = graph_as_given(topology) if has_graph(topology) else None
    found = equal_servers(graph) if graph is not None else None
    if found is None:
        dimensions = topology.logical_dimensions
        along = bandwidths_along(graph, dimensions) if graph is not None and len(dimensions) > 1 else None
        bandwidths = along or bandwidths
        return Place(1, bandwidths[0], bandwidths[-1], 1, is_told=False)
    return Place(found.npus, float(found.inside.most_bps), found.nics.share_bps, found.nics.even_nics)


def server_at(place: Place, speed: int = 1) -> Server:
    """Return Hopper GPUs with the ports that a network gives them, so many times as fast."""
    rate = speed * place.outwards_bps * place.npus / place.nics / _GBPS
    share = place.npus // place.nics
    return Server(
        name="of the network file",
        gpus=place.npus,
        compute_capability=_HOPPER,
        nvlinks=_NVLINKS,
        nvlink_gbytes_per_s=speed * place.inside_bps / _BITS_PER_GBYTE,
        nics=tuple(Nic(rate, tuple(range(nic * share, (nic + 1) * share))) for nic in range(place.nics)),
        multicast=place.npus > 1,
    )
