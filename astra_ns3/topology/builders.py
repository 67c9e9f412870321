"""Topology builders by the ``kind`` of their configuration; a new topology is one file and one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from astra_ns3.config.topology.kinds import OwnTopology, TopologyConfig
from astra_ns3.errors import one_of
from astra_ns3.topology.clos import clos, fat_tree, leaf_spine
from astra_ns3.topology.counts import check_network_fits
from astra_ns3.topology.dragonfly import dragonfly
from astra_ns3.topology.dumbbell import dumbbell
from astra_ns3.topology.files.reading import file_graph
from astra_ns3.topology.forwarding import with_forwarding
from astra_ns3.topology.full_mesh import full_mesh
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.grids import grid
from astra_ns3.topology.nodes import hierarchical, rail_optimised
from astra_ns3.topology.own import own_graph
from astra_ns3.topology.single_switch import single_switch

BUILDERS: Mapping[str, Callable[[Any], Graph]] = {
    "single-switch": single_switch,
    "leaf-spine": leaf_spine,
    "fat-tree": fat_tree,
    "clos": clos,
    "hierarchical": lambda config: hierarchical(config, build_graph),
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
    if isinstance(config, OwnTopology):
        return with_forwarding(config, own_graph(config))
    builder = one_of("topology", config.kind, BUILDERS)
    check_network_fits(config)
    return with_forwarding(config, builder(config))
