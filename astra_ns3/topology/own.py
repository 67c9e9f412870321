"""The graph that a user's function gives, with the keys that stand beside it in the file."""

from __future__ import annotations

from dataclasses import replace

from astra_ns3.config.topology.kinds import OwnTopology
from astra_ns3.errors import of_type
from astra_ns3.topology.graph import Graph
from astra_ns3.user_code import a_kind_of


def own_graph(config: OwnTopology) -> Graph:
    """What the function gave, which was checked then; raises InputError if it is no Graph."""
    graph = config.built()
    graph = of_type(
        graph, Graph, f"gave {a_kind_of(graph)}, expected a Graph (astra_ns3.topology.graph)", str(config.part)
    )
    named = ((kind, config.dimension_of(kind)) for kind in dict.fromkeys(link.kind for link in graph.links))
    return replace(
        graph,
        links=tuple(graph.links),
        npu_host=tuple(graph.npu_host),
        dimensions=config.logical_dimensions,
        bandwidths=config.bandwidths,
        nic_buffer_bytes=config.nic.buffer_bytes or graph.nic_buffer_bytes,
        link_dimensions=graph.link_dimensions
        or tuple((kind, dimension) for kind, dimension in named if dimension is not None),
    )
