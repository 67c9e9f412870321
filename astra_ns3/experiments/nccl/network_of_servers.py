"""The network of ready servers: GPUs on their NVLinks, NICs on one switch."""

from __future__ import annotations

from collections.abc import Mapping

from astra_ns3.config.core.plain import Json
from astra_ns3.config.network.file import AnyNetwork
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.errors import refuse
from astra_ns3.experiments.nccl.servers_of_network import place_of
from astra_ns3.nccl.copying import nvlink_gbytes_per_s
from astra_ns3.nccl.server import Server
from astra_ns3.nccl.servers import SERVERS

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

    It is 1 for a rate below that of NCCL, and for any other device than GPUs of servers that NCCL knows.
    """
    place, capability = place_of(network), _CAPABILITIES.get(device.partition("-")[0])
    inside_gbps = place.inside_bps / 1e9
    for server in (each for each in SERVERS.values() if each.compute_capability == capability):
        used = _used_links(server, place.npus) / server.nvlinks
        sheet_gbps = server.nvlink_gbytes_per_s * 8 * used
        if nvlink_gbytes_per_s(server) * 8 * used * (1 - _ROUNDED) <= inside_gbps <= sheet_gbps:
            return inside_gbps / sheet_gbps
    return 1.0


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


def _used_links(server: Server, gpus: int) -> int:
    """Return how many NVLinks of a GPU lead to others of the first ``gpus``: all unless these are joined alike."""
    if server.switched or not _alike(server, gpus):
        return server.nvlinks
    return (gpus - 1) * server.pairs[0][2]


def _alike(server: Server, gpus: int) -> bool:
    """Whether each two of the GPUs in use are joined by as many links."""
    links = {(one, other): count for one, other, count in server.pairs if max(one, other) < gpus}
    return len(links) == gpus * (gpus - 1) // 2 and len(set(links.values())) == 1
