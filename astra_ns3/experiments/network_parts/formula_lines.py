"""Warnings of lines that the analytical backends take for others than a network of packets has."""

from __future__ import annotations

from itertools import combinations

from astra_ns3.config.topology.direct import FullMesh, RouterTopology
from astra_ns3.config.topology.file import BITS_PER_BYTE_PER_NS, FileTopology
from astra_ns3.config.topology.nodes import Hierarchical, RailOptimised, ScaleUp
from astra_ns3.config.topology.own import OwnTopology
from astra_ns3.network.backends import abilities_of
from astra_ns3.network.plan import AnyPlan, NetworkPlan
from astra_ns3.topology.builders import graph_as_given
from astra_ns3.topology.files.analytical_grid import nic_lines
from astra_ns3.topology.npu_lines import NpuLines
from astra_ns3.topology.parts import lines_inside
from astra_ns3.units import format_rate

_DIRECT = RouterTopology | FullMesh
"""Topologies in which a NIC has several lines."""
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
        direct = isinstance(topology, Hierarchical) and isinstance(topology.scale_out, _DIRECT) and topology.nodes > 1
        together = f"with the backend {backend}, all lines of a NIC count as one of their rates together; {_INSTEAD}"
        pairs = f"with the backend {backend}, pairs of scale_up count as one line between every two; {_INSTEAD}"
        are_unlike = _are_unlike(topology.scale_up, topology.npus_per_node)
        return [*([together] if direct else _parted(packets, backend)), *[pairs] * are_unlike]
    if not isinstance(topology, FileTopology | OwnTopology):
        return []
    if packets.grid.fabric != 0:
        return _parted(packets, backend)
    graph = graph_as_given(topology)
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


def _are_unlike(scale_up: ScaleUp, npus: int) -> bool:
    """Return whether some pairs of a node's NPUs have other lines between them than others, or none."""
    links = {(one, other): count for one, other, count in scale_up.pairs or ()}
    alike = len(set(links.values())) == 1 and len(links) == len([*combinations(range(npus), 2)])
    return scale_up.pairs is not None and not alike


def _parted(plan: NetworkPlan, backend: str) -> list[str]:
    """Return a warning where an NPU alone has more of its NICs than what a formula gives its messages.

    These cross two lines one after the other where they queue.
    """
    queues, nics = abilities_of(backend).shared_lines, nic_lines(plan.config.topology)
    grid = plan.queued_grid if queues else plan.grid
    outside = None if grid.fabric is None else grid.network.grid[grid.fabric]
    if nics is None or outside is None or outside.npus == 1:
        return []
    times = (nics.nic_bps if queues else nics.alone_bps) / (outside.bytes_per_ns * BITS_PER_BYTE_PER_NS)
    if times < _PARTED:
        return []
    port = plan.queued_grid.port if queues else None
    has = "each has its share of their rate even if others are idle"
    if port is not None:
        rate = format_rate(round(port.line_bps))
        has = f"a message has one of {port.lines} equal lines of {rate} even if the others are idle"
    return [
        f"NPUs share NICs: with the backend {backend}, {has}, so "
        f"messages between nodes may take up to {times * (1 + queues):.3g} times as long; {_INSTEAD}"
    ]
