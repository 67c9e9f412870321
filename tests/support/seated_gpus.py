"""Servers whose GPUs share NICs over PCIe."""

from __future__ import annotations

from astra_ns3.config.network.packet_network import NetworkConfig, parse_network

SERVERS = 4
"""Servers of the network."""


def network_of(gpus: int, nics: int, gbps: int = 400, inside_gbps: int = 3026) -> NetworkConfig:
    """Four servers on one switch."""
    switch = {"buffer": "64MiB", "pfc": {}}
    topology = {
        "kind": "hierarchical",
        "nodes": SERVERS,
        "npus_per_node": gpus,
        "nics_per_node": nics,
        "shared_nics": "pcie",
        "scale_up": {"link": {"rate": f"{inside_gbps}Gbps", "delay": "250ns"}, "switch": switch},
        "scale_out": {"kind": "single-switch", "link": {"rate": f"{gbps}Gbps", "delay": "500ns"}, "switch": switch},
    }
    if gpus == nics:
        del topology["shared_nics"]
    return parse_network({"topology": topology, "transport": {"kind": "roce", "payload": 4096}})
