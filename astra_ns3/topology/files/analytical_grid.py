"""Which dimensions of ASTRA-sim's analytical network a topology of ours stands for, at its best.

Rings and tori are rings, full meshes fully connected. Every fabric of switches is one switch that never is the limit,
with half of the delay of its longest path as the latency of a link. Meshes with edges have no counterpart.
"""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.config.core.link import LinkConfig
from astra_ns3.config.formats.analytical import AnalyticalDimension
from astra_ns3.config.topology.file import BITS_PER_BYTE_PER_NS
from astra_ns3.config.topology.kinds import (
    FileTopology,
    FullMesh,
    Hierarchical,
    Mesh,
    RailOptimised,
    Ring,
    SingleSwitch,
    TopologyConfig,
    Torus,
)
from astra_ns3.errors import refuse
from astra_ns3.topology.graph import Graph, Link
from astra_ns3.topology.paths import longest_path
from astra_ns3.units import PS_PER_NS

_SCALE_UP = {"switch": "switch", "ring": "ring", "full-mesh": "fully-connected"}


def analytical_dimensions(
    config: TopologyConfig, graph: Graph, longest: Sequence[Link] | None = None
) -> tuple[AnalyticalDimension, ...]:
    """The dimensions, the innermost first; ``longest``: the links of a longest shortest path, if known.

    Raises InputError for a topology that has no such grid.
    """
    if isinstance(config, FileTopology) and isinstance(content := config.content(), tuple):
        return content
    refuse(
        isinstance(config, Mesh), "topology 'mesh' has no counterpart among analytical networks, whose rings are closed"
    )
    refuse(
        isinstance(config, SingleSwitch) and config.npus_per_host > 1,
        "the analytical network has one NPU per host; found npus_per_host above 1",
    )
    if isinstance(config, Ring | Torus):
        return tuple(_dimension("ring", size, config.axis_link(axis)) for axis, size in enumerate(config.grid()))
    if isinstance(config, FullMesh):
        return (_dimension("fully-connected", config.npus, config.link),)
    if isinstance(config, Hierarchical | RailOptimised):
        return (_scale_up(config), _fabric(config.nodes, config.nic_bps(), graph, longest))
    return (_fabric(config.npu_count(), config.built_bandwidths()[0], graph, longest),)


def fabric_dimension(config: TopologyConfig) -> int | None:
    """Which of the dimensions stands for a fabric of switches, of which pairs have paths of unlike delays; or None."""
    if isinstance(config, Ring | Torus | FullMesh) or (
        isinstance(config, FileTopology) and isinstance(config.content(), tuple)
    ):
        return None
    return 1 if isinstance(config, Hierarchical | RailOptimised) else 0


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
