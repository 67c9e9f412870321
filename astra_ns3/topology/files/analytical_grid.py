"""Which dimensions of ASTRA-sim's analytical network a topology of ours stands for, at its best.

Rings and tori are rings, full meshes fully connected. Every fabric of switches is one switch that never is the limit,
with half of the delay of its longest path as the latency of a link. Meshes with edges have no counterpart. A graph that
a user gives has the dimensions that its lines make, each with the lowest rate and the longest delay of its lines.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import inf, prod

from astra_ns3.config.core.link import LinkConfig
from astra_ns3.config.formats.analytical import AnalyticalDimension
from astra_ns3.config.topology.file import BITS_PER_BYTE_PER_NS
from astra_ns3.config.topology.kinds import (
    FileTopology,
    FullMesh,
    Hierarchical,
    Mesh,
    OwnTopology,
    RailOptimised,
    Ring,
    TopologyConfig,
    Torus,
)
from astra_ns3.errors import refuse
from astra_ns3.topology.builders import graph_as_given
from astra_ns3.topology.graph import Graph, Link
from astra_ns3.topology.nic_lines import NicLines
from astra_ns3.topology.npu_lines import NpuLines, equal_servers
from astra_ns3.topology.paths import longest_path
from astra_ns3.units import PS_PER_NS

_SCALE_UP = {"switch": "switch", "ring": "ring", "full-mesh": "fully-connected"}


def analytical_dimensions(
    config: TopologyConfig, graph: Graph, longest: Sequence[Link] | None = None
) -> tuple[tuple[AnalyticalDimension, ...], int | None]:
    """Return the dimensions, the innermost first, and the number of the one that is a fabric of switches, if any.

    ``longest``: the links of a longest shortest path, if known. Raises InputError for a topology that has no such grid.
    """
    if isinstance(config, FileTopology) and isinstance(content := config.content(), tuple):
        return content, None
    refuse(
        isinstance(config, Mesh), "topology 'mesh' has no counterpart among analytical networks, whose rings are closed"
    )
    refuse(
        len({*graph.npu_host}) < len(graph.npu_host),
        "the analytical network has one NPU per host; found several on one (npus_per_host)",
    )
    if isinstance(config, Ring | Torus):
        axes = enumerate(config.grid())
        return tuple(_dimension("ring", size, config.axis_link(axis)) for axis, size in axes), None
    if isinstance(config, FullMesh):
        return (_dimension("fully-connected", config.npus, config.link),), None
    inside, npu_bps = _inside(config)
    npus = prod(dimension.npus for dimension in inside)
    if inside and npus == config.npu_count() and not npu_bps:
        return inside, None
    outside = _fabric(config.npu_count() // npus, npu_bps or 1, graph, longest)  # an NPU alone needs no line
    return (*inside, outside), len(inside)


def _inside(config: TopologyConfig) -> tuple[tuple[AnalyticalDimension, ...], float]:
    """Return the dimensions that are no fabric of switches, and the rate of an NPU in the fabric; 0: there is none."""
    if isinstance(config, Hierarchical | RailOptimised):
        return (_scale_up(config),), config.nic_bps()
    if not isinstance(config, FileTopology | OwnTopology):
        return (), config.built_bandwidths()[0]
    graph = graph_as_given(config)
    servers = equal_servers(graph)
    if servers is None:
        axes = _axes(NpuLines(graph, graph.links), len(graph.npu_host))
        lines = ([graph.links[port.link] for port in graph.ports[host]] for host in graph.npu_host)
        return axes, 0 if axes else min(sum(link.rate_bps for link in links) for links in lines)
    on_switch = _as_dimension("switch", servers.npus, servers.inside.of_npus)
    return _axes(servers.inside, servers.npus) or (on_switch,), servers.nics.share_bps


def nic_lines(config: TopologyConfig) -> NicLines | None:
    """Return the NICs of a server; None where a topology has no servers, or a NIC for each NPU by its kind."""
    if isinstance(config, Hierarchical):
        npus, nics, node_bps = config.npus_per_node, config.nics, config.node_bps()
        if config.behind_pcie or not config.shared:
            return NicLines(npus, nics, node_bps, node_bps / nics, groups=nics)
        return NicLines(npus, nics, node_bps, config.scale_up.npu_bps(npus) or inf)
    is_grid = isinstance(config, FileTopology) and isinstance(config.content(), tuple)
    if is_grid or not isinstance(config, FileTopology | OwnTopology):
        return None
    servers = equal_servers(graph_as_given(config))
    return None if servers is None or not servers.nics.nics else servers.nics


def _axes(lines: NpuLines, npus: int) -> tuple[AnalyticalDimension, ...]:
    axes = lines.axes(npus)
    return tuple(_as_dimension("ring" if axis.ring else "fully-connected", axis.npus, axis.links) for axis in axes)


def _as_dimension(topology: str, npus: int, lines: Collection[Sequence[Link]]) -> AnalyticalDimension:
    """Return the dimension in which each of ``lines``, of links side by side, is the slowest and the longest."""
    rate_bps = min(sum(link.rate_bps for link in links) for links in lines)
    delay_ps = max(link.delay_ps for links in lines for link in links)
    return _dimension(topology, npus, LinkConfig.model_construct(rate_bps=rate_bps, delay_ps=delay_ps))


def _scale_up(config: Hierarchical | RailOptimised) -> AnalyticalDimension:
    inside = config.scale_up
    planes = inside.planes if inside.kind == "switch" else 1
    link = inside.link.model_copy(update={"rate_bps": inside.link.rate_bps * planes})
    return _dimension(_SCALE_UP[inside.kind], config.npus_per_node, link)


def _fabric(npus: int, npu_bps: float, graph: Graph, longest: Sequence[Link] | None) -> AnalyticalDimension:
    delay_ps = sum(link.delay_ps for link in (longest_path(graph) if longest is None else longest))
    return AnalyticalDimension(
        topology="switch",
        npus=npus,
        bytes_per_ns=npu_bps / BITS_PER_BYTE_PER_NS,
        link_latency_ns=delay_ps / 2 / PS_PER_NS,
    )


def _dimension(topology: str, npus: int, link: LinkConfig) -> AnalyticalDimension:
    return AnalyticalDimension.model_validate(
        {
            "topology": topology,
            "npus": npus,
            "bytes_per_ns": link.rate_bps / BITS_PER_BYTE_PER_NS,
            "link_latency_ns": link.delay_ps / PS_PER_NS,
        }
    )
