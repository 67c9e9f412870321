"""A network whose nodes have fewer NICs than NPUs."""

from __future__ import annotations

from typing import Any

from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.graph import Graph

_LINK, _NVLINK = {"rate": "100Gbps", "delay": "500ns"}, {"rate": "1600Gbps", "delay": "250ns"}
_SWITCH = {"buffer": "64MiB", "pfc": {}}
_LEAVES = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4, "switch": _SWITCH}


def shared_nics(scale_out: dict[str, Any] | None = None, switch: dict[str, Any] = _SWITCH, **keys: Any) -> Graph:
    """4 nodes of 4 NPUs, 0 to 15, with 2 NICs; leaves 16 and 17, spines 18 and 19, then switches of node after node.

    Links 0 to 7 are those of NICs, 8 to 11 join leaves and spines.
    """
    scale_up = {"link": _NVLINK, "switch": switch, **keys.pop("scale_up", {})}
    topology: dict[str, Any] = {"kind": "hierarchical", "nodes": 4, "npus_per_node": 4, "nics_per_node": 2}
    topology |= {"scale_up": scale_up, "scale_out": {**(scale_out or _LEAVES), "link": _LINK}, **keys}
    return build_graph(parse_network({"topology": topology, "transport": {"kind": "roce"}}).topology)
