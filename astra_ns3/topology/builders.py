"""Topology builders by the ``kind`` of their configuration; a new topology is one file and one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

from astra_ns3.config.topology.kinds import Dumbbell, FileTopology, FullMesh, OwnTopology, SingleSwitch, TopologyConfig
from astra_ns3.errors import of_type, one_of
from astra_ns3.topology.clos import clos, fat_tree, leaf_spine
from astra_ns3.topology.counts import check_network_fits
from astra_ns3.topology.dragonfly import dragonfly
from astra_ns3.topology.files.reading import file_graph
from astra_ns3.topology.forwarding import with_forwarding
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.grids import grid
from astra_ns3.topology.nodes import hierarchical, rail_optimised
from astra_ns3.topology.parts import reaching_inside
from astra_ns3.topology.reducers import with_reducers
from astra_ns3.topology.storage import with_storage
from astra_ns3.topology.wiring import Wiring
from astra_ns3.user_code import a_kind_of


def own_graph(config: OwnTopology) -> Graph:
    """Return the checked graph that the user's function gave; raises InputError if it is no Graph."""
    graph = config.built()
    graph = of_type(
        graph, Graph, f"gave {a_kind_of(graph)}, expected a Graph (astra_ns3.topology.graph)", str(config.part)
    )
    named = ((kind, config.dimension_of(kind)) for kind in dict.fromkeys(link.kind for link in graph.links))
    found = replace(
        graph,
        links=tuple(graph.links),
        npu_host=tuple(graph.npu_host),
        dimensions=config.logical_dimensions,
        bandwidths=config.bandwidths,
        nic_buffer_bytes=config.nic.buffer_bytes or graph.nic_buffer_bytes,
        link_dimensions=graph.link_dimensions
        or tuple((kind, dimension) for kind, dimension in named if dimension is not None),
    )
    return reaching_inside(found, config.share_inside)


def full_mesh(config: FullMesh) -> Graph:
    """Port p of host h leads to host p, or p + 1 from h on; there is no switch."""
    wiring = Wiring(config.npus)
    for a, b in combinations(range(config.npus), 2):
        wiring.join(a, b, config.link, "link")
    return wiring.graph(config)


def dumbbell(config: Dumbbell) -> Graph:
    """Hosts on the left first; the bottleneck is the last port of either switch."""
    wiring = Wiring(config.npu_count())
    first = wiring.switches(2, config.switch, 1, "switch")
    for host in range(config.npu_count()):
        wiring.join(host, first + (host >= config.left), config.link, "link")
    wiring.join(first, first + 1, config.bottleneck.of(config.link), "bottleneck")
    return wiring.graph(config)


def single_switch(config: SingleSwitch) -> Graph:
    """Host h is node h and sits on port h of the switch; NPU r is on host ``r // npus_per_host``."""
    wiring = Wiring(config.hosts)
    switch = wiring.switch(config.switch, 1, "switch 0")
    for host in range(config.hosts):
        wiring.join(host, switch, config.link, "link")
    npu_host = [npu // config.npus_per_host for npu in range(config.npus)]
    return wiring.graph(config, npu_host=npu_host, local=config.local)


BUILDERS: Mapping[str, Callable[[Any], Graph]] = {  # each takes the keys of its kind
    "single-switch": single_switch,
    "leaf-spine": leaf_spine,
    "fat-tree": fat_tree,
    "clos": clos,
    "hierarchical": lambda config: hierarchical(config, _built),
    "rail-optimised": rail_optimised,
    "ring": grid,
    "torus": grid,
    "mesh": grid,
    "full-mesh": full_mesh,
    "dragonfly": dragonfly,
    "dumbbell": dumbbell,
    "file": file_graph,
}
"""Each builder takes the model of its kind in ``config/topology/kinds.py``."""


def build_graph(config: TopologyConfig) -> Graph:
    """The graph that a topology configuration describes; raises InputError if memory can't hold it."""
    return with_reducers(with_storage(config, _built(config)))


def graph_as_given(config: FileTopology | OwnTopology) -> Graph:
    """Return the graph that a user gives, as it stands."""
    return own_graph(config) if isinstance(config, OwnTopology) else file_graph(config)


def _built(config: TopologyConfig) -> Graph:
    """Return the graph without reducers and storage hosts."""
    if isinstance(config, OwnTopology):
        return with_forwarding(config, own_graph(config))
    builder = one_of("topology", config.kind, BUILDERS)
    check_network_fits(config)
    return with_forwarding(config, builder(config))
