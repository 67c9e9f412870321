"""Topology builders by the ``kind`` of their configuration; a new topology is one file and one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from astra_ns3.config.topology import TopologyConfig
from astra_ns3.errors import InputError, nearest
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.single_switch import single_switch

BUILDERS: Mapping[str, Callable[[TopologyConfig], Graph]] = {
    "single-switch": single_switch,
}


def build_graph(config: TopologyConfig) -> Graph:
    """The graph that a topology configuration describes."""
    builder = BUILDERS.get(config.kind)
    if builder is None:
        raise InputError(
            f"topology '{config.kind}' is not one of {', '.join(BUILDERS)}{nearest(config.kind, BUILDERS)}"
        )
    return builder(config)
