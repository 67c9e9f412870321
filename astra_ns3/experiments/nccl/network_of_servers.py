"""The network of ready servers: GPUs on their NVLinks, NICs on one switch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import NamedTuple

from astra_ns3.config.core.plain import Json
from astra_ns3.config.network.file import AnyNetwork
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.config.topology.file import FileTopology
from astra_ns3.config.topology.nodes import Hierarchical, RailOptimised
from astra_ns3.config.topology.own import OwnTopology
from astra_ns3.errors import refuse
from astra_ns3.experiments.nccl.servers_of_network import has_graph
from astra_ns3.nccl.copying import nvlink_gbytes_per_s
from astra_ns3.nccl.server import Server
from astra_ns3.nccl.servers import SERVERS
from astra_ns3.topology.builders import graph_as_given
from astra_ns3.topology.graph import SCALE_UP_INJECTION
from astra_ns3.topology.npu_lines import npu_lines_inside
from astra_ns3.topology.parts import servers_of

_PAYLOAD = 4096
"""Bytes of a RoCE packet: the largest path MTU."""
_HEADERS = 82
"""Bytes of a RoCE packet and its gap besides; NCCL's rates of NVLinks are of payload."""
# Recalled: what a message needs from GPU to GPU through an NVSwitch, and through a switch and two cables outside.
_NEAR_DELAY, _FAR_DELAY = "250ns", "500ns"
_BUFFER = "64MiB"
_ROUNDED = 1e-3
"""How far a line's rate may be from NCCL's, which people write in whole Gb/s."""
_CAPABILITIES: Mapping[str, int] = {"V100": 70, "A100": 80, "H100": 90, "H200": 90, "B200": 100}
"""NVIDIA's compute capabilities of devices, which servers have, too."""


def network_of(server: Server, servers: int, gpus: int, *, reduces: bool = False) -> NetworkConfig:
    """``servers`` of the same kind with ``gpus`` each. Raises InputError if GPUs can't share the NICs evenly.

    ``reduces``: whether the switch between NICs reduces. The links inside carry what NCCL's own constants say of an
    NVLink; a NIC carries its whole rate.
    """
    nics = _nics(server, gpus) if servers > 1 else gpus
    refuse(servers > 1 and not server.nics, f"server '{server.name}' has no NIC, and there are {servers} servers")
    scale_up = _scale_up(server, gpus)
    rate = sum(nic.gbits_per_s for nic in server.nics) / len(server.nics) if server.nics else 400.0
    document: dict[str, Json] = {
        "topology": {
            "kind": "hierarchical",
            "nodes": servers,
            "npus_per_node": gpus,
            "nics_per_node": nics,
            "shared_nics": "pcie" if nics < gpus else "scale-up",
            "scale_up": scale_up,
            **({"forwarding": {"by": "hosts", "switch": {"buffer": _BUFFER}}} if "pairs" in scale_up else {}),
            "scale_out": {
                "kind": "single-switch",
                "link": {"rate": f"{rate:g}Gbps", "delay": _FAR_DELAY},
                "switch": {"buffer": _BUFFER, "pfc": {}, **({"reduction": {}} if reduces else {})},
            },
        },
        "transport": {"kind": "roce", "payload": _PAYLOAD},
    }
    return parse_network(document, f"network of {servers} x {server.name}")


def share_counted(network: AnyNetwork, device: str) -> float:
    """Return the rate of lines inside servers over that in the data sheet of a device's NVLinks.

    It is 1 for a rate below that of NCCL, for a network that tells no lines inside servers, and for any other device
    than GPUs of servers that NCCL knows.
    """
    capability, found = _CAPABILITIES.get(device.partition("-")[0]), _nvlinks(network)
    if capability is None or found is None:
        return 1.0
    inside_gbps = found.npu_bps / 1e9
    for server in (each for each in SERVERS.values() if each.compute_capability == capability):
        used = _used_links(server, found) / server.nvlinks
        sheet_gbps = server.nvlink_gbytes_per_s * 8 * used
        if used and nvlink_gbytes_per_s(server) * 8 * used * (1 - _ROUNDED) <= inside_gbps <= sheet_gbps:
            return inside_gbps / sheet_gbps
    return 1.0


class _NvLinks(NamedTuple):
    """Lines inside servers of ``gpus``, of the GPU with the most; ``pairs``: GPUs that they join without switches."""

    gpus: int
    npu_bps: float
    pairs: Collection[tuple[int, int]]


def _nvlinks(network: AnyNetwork) -> _NvLinks | None:
    topology = network.topology if isinstance(network, NetworkConfig) else None
    if isinstance(topology, (Hierarchical, RailOptimised)):
        inside, gpus = topology.scale_up, topology.npus_per_node
        pairs = {(one, other) for one, other, _ in inside.joined(gpus)} if inside.kind == "full-mesh" else set()
        return _NvLinks(gpus, inside.npu_bps(gpus), pairs)
    if not isinstance(topology, FileTopology | OwnTopology) or not has_graph(topology):
        return None
    graph = graph_as_given(topology)
    lines, servers = npu_lines_inside(graph), servers_of(graph)
    of_npus = [servers[host] for host in graph.npu_host]
    ((largest, gpus),) = Counter(of_npus).most_common(1)
    place = {npu: number for number, npu in enumerate(npu for npu, of in enumerate(of_npus) if of == largest)}
    on_routers = any(link.kind == SCALE_UP_INJECTION for link in lines.links)
    found = {(place[one], place[other]) for one, other in lines.pairs if one in place}
    return _NvLinks(gpus, lines.most_bps, set() if on_routers else found)


def _inside_gbps(server: Server) -> float:
    return nvlink_gbytes_per_s(server) * 8 * (1 + _HEADERS / _PAYLOAD)


def _nics(server: Server, gpus: int) -> int:
    """NICs of a server that its first ``gpus`` GPUs use."""
    if not server.nics:
        return gpus
    used = sum(1 for nic in server.nics if any(gpu < gpus for gpu in nic.near))
    nics = max(min(used, gpus), 1)
    refuse(
        gpus % nics != 0,
        f"--gpus: {gpus} GPUs of server '{server.name}' can't share {nics} NICs evenly, expected a multiple of {nics}",
    )
    return nics


def _scale_up(server: Server, gpus: int) -> dict[str, Json]:
    """Return the network inside a server, where GPUs pass on what has no NVLink of its own (NCCL's NVB)."""
    rate = _inside_gbps(server)
    pairs = [pair for pair in server.pairs if max(pair[:2]) < gpus]
    if not server.switched and pairs:
        alike = _alike(server, gpus)
        links = pairs[0][2] if alike else 1
        link: Json = {"rate": f"{rate * links / server.nvlinks:g}Gbps", "delay": _NEAR_DELAY}
        return {"kind": "full-mesh", "link": link, **({} if alike else {"pairs": [list(pair) for pair in pairs]})}
    return {
        "link": {"rate": f"{rate:g}Gbps", "delay": _NEAR_DELAY},
        "switch": {"buffer": _BUFFER, "pfc": {}, **({"reduction": {}} if server.multicast and gpus > 1 else {})},
    }


def _used_links(server: Server, found: _NvLinks) -> int:
    """Return how many NVLinks lead to others of the GPUs, of the GPU with the most; all unless they join the same."""
    pairs = [pair for pair in server.pairs if max(pair[:2]) < found.gpus]
    if server.switched or found.pairs != {pair[:2] for pair in pairs}:
        return server.nvlinks
    return max(Counter(end for *two, links in pairs for end in two * links).values(), default=0)


def _alike(server: Server, gpus: int) -> bool:
    """Whether each two of the GPUs in use are joined by as many links."""
    links = {(one, other): count for one, other, count in server.pairs if max(one, other) < gpus}
    return len(links) == gpus * (gpus - 1) // 2 and len(set(links.values())) == 1
