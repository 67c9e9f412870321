"""A network of each kind, small enough to be played in a moment, and a small training job for it; shared by tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.config.system import SystemConfig
from astra_ns3.config.workload import Workload
from astra_ns3.system.file import parse_system
from astra_ns3.workload.files.astra_sim import parse_workload

NETWORKS = Path(__file__).parents[2] / "inputs" / "network"
LINK = {"rate": "100Gbps", "delay": "500ns"}
SWITCH = {"buffer": "64MB"}
LEVELS = [
    {"children": children, "parents": parents, "link": LINK, "switch": SWITCH}
    for children, parents in ((4, 1), (2, 2), (2, 2))
]
SMALLER: dict[str, dict[str, Any]] = {
    "flat-100g": {"npus": 8},
    "flat-800g": {"npus": 8},
    "hier": {"nodes": 3},
    "hier-opt": {"nodes": 3},
    "roce-nvswitch-clos-16384": {"nodes": 2, "scale_out": {"kind": "clos", "levels": LEVELS}},
}
"""What is changed of a file that describes the 128 NPUs of the case study, or more than packets can be played for."""
# Two NPUs on each of two leaves, two spines: a user's own graph.
HPCC_TEXT = "8 4 8\n4 5 6 7\n" + "".join(
    f"{a} {b} 100Gbps 500ns 0\n" for a, b in ((0, 4), (1, 4), (2, 5), (3, 5), (4, 6), (4, 7), (5, 6), (5, 7))
)
# The collectives of a recommendation model: an all-to-all forwards and back, all-reduces of two layers.
DLRM = """HYBRID_DLRM 1
3
Embedding -1 300 ALLTOALL 24000 300 ALLTOALL 24000 300 NONE 0 98
Bottom -1 800 NONE 0 1280 NONE 0 800 ALLREDUCE 30001 16
Top -1 800 NONE 0 1280 NONE 0 800 ALLREDUCE 60000 16
"""


def network_files() -> dict[str, dict[str, Any]]:
    """The files of ``inputs/network`` by name, as plain data, with 8 to 32 NPUs; not those whose graph is a file."""
    read = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(NETWORKS.glob("*.yaml"))}
    found = {name: data for name, data in read.items() if data["topology"].get("kind") != "file"}
    for name, change in SMALLER.items():
        found[name]["topology"] |= change
    return found


def brought_network(folder: Path) -> dict[str, Any]:
    """A network whose graph is a file in ``folder``."""
    (folder / "graph.txt").write_text(HPCC_TEXT, encoding="utf-8")
    return {"topology": {"kind": "file", "path": str(folder / "graph.txt"), "switch": SWITCH}}


def on_transport(data: dict[str, Any], transport: object) -> NetworkConfig:
    """The same network with another transport."""
    return parse_network({"topology": data["topology"], "transport": transport})


def small_dlrm() -> Workload:
    return parse_workload(DLRM, "dlrm.txt")


def system_for(dimensions: int, **keys: object) -> SystemConfig:
    """Rings, and direct all-to-all, in each dimension."""
    reductions = ("all-reduce", "reduce-scatter", "all-gather")
    algorithms = {f"{name}-implementation": ["ring"] * dimensions for name in reductions}
    return parse_system(
        {
            "scheduling-policy": "LIFO",
            "preferred-dataset-splits": 2,
            **algorithms,
            "all-to-all-implementation": ["direct"] * dimensions,
            **keys,
        }
    )


def leaf_spine(**keys: Any) -> dict[str, Any]:
    """16 NPUs on two leaves below four spines, uplinks faster than links, so that no cut is narrow."""
    sizes = {"leaves": 2, "spines": 4, "hosts_per_leaf": 8}
    return {"kind": "leaf-spine", **sizes, "link": LINK, "uplink": {"rate": "200Gbps"}, "switch": SWITCH, **keys}


def fat_tree(**keys: Any) -> dict[str, Any]:
    """16 NPUs, three levels of switches with four ports."""
    return {"kind": "fat-tree", "k": 4, "link": LINK, "switch": SWITCH, **keys}
