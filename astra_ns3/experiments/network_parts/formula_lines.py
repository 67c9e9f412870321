"""Warnings of lines that the analytical backends take for others than a network of packets has."""

from __future__ import annotations

from itertools import combinations

from astra_ns3.config.topology.file import FileTopology
from astra_ns3.config.topology.nodes import Hierarchical, RailOptimised, ScaleUp
from astra_ns3.config.topology.own import OwnTopology
from astra_ns3.network.backends import abilities_of
from astra_ns3.network.plan import AnyPlan
from astra_ns3.topology.builders import graph_as_given
from astra_ns3.topology.npu_lines import NpuLines, equal_servers
from astra_ns3.topology.parts import lines_inside

_CROSSINGS = {"analytical-queues": 2}
"""Lines of an NPU that a whole message crosses one after the other, by backend; else one."""
_PARTED = 1.05
"""So many times its share of NICs an NPU has alone at least where that is told."""
_INSTEAD = "use --backend flow"


def formula_warnings(plan: AnyPlan, backend: str) -> list[str]:
    """Return a warning where a formula parts NICs that NPUs share, or takes other lines between NPUs than there are.

    It adds up lines in unlike servers, and between NPUs on no known grid, and takes one line for each pair of a node.
    Other backends play the lines that there are.
    """
    packets = plan.of_packets
    if packets is None or abilities_of(backend).needs_packets:
        return []
    topology = packets.config.topology
    if isinstance(topology, Hierarchical | RailOptimised):
        parted = _parted(_times_alone(topology), backend) if isinstance(topology, Hierarchical) else []
        pairs = f"with the backend {backend}, pairs of scale_up count as one line between every two; {_INSTEAD}"
        return [*parted, *[pairs] * _are_unlike(topology.scale_up, topology.npus_per_node)]
    if not isinstance(topology, FileTopology | OwnTopology):
        return []
    graph = graph_as_given(topology)
    if plan.grid.fabric != 0:
        servers = equal_servers(graph)
        return _parted(servers.alone_bps / servers.outwards_bps, backend) if servers and servers.outwards_bps else []
    if lines_inside(graph):
        why, lines = (
            "servers of the graph are unlike, or their NPUs aren't numbered one after the other",
            "inside and its NIC ",
        )
    elif NpuLines(graph, graph.links).pairs:
        why, lines = "the graph joins NPUs to each other in no full mesh, ring or torus numbered along its axes", ""
    else:
        return []
    together = "count as one line of their rates together"
    return [f"{why}: with the backend {backend}, an NPU's lines {lines}{together}; {_INSTEAD}"]


def _times_alone(topology: Hierarchical) -> float:
    """Return how many times its share of NICs an NPU can have while the others of its node are idle."""
    if not topology.shared or topology.nodes == 1:
        return 1
    share_bps = topology.nic_bps()
    if topology.behind_pcie:
        return topology.npus_per_node / topology.nics
    return min(share_bps * topology.npus_per_node, topology.scale_up.npu_bps(topology.npus_per_node)) / share_bps


def _are_unlike(scale_up: ScaleUp, npus: int) -> bool:
    """Return whether some pairs of a node's NPUs have other lines between them than others, or none."""
    links = {(one, other): count for one, other, count in scale_up.pairs or ()}
    alike = len(set(links.values())) == 1 and len(links) == len([*combinations(range(npus), 2)])
    return scale_up.pairs is not None and not alike


def _parted(times: float, backend: str) -> list[str]:
    """Return a warning where an NPU can have so many times its share of NICs, which is what a formula gives it."""
    if times < _PARTED:
        return []
    return [
        f"NPUs share NICs: with the backend {backend}, each has its share of their rate even if others are idle, so "
        f"messages between nodes may take up to {times * _CROSSINGS.get(backend, 1):.3g} times as long; {_INSTEAD}"
    ]
