"""From what a user's file says to the graph that is simulated.

A graph's hosts become nodes 0 and on, in the order of the file, then come its switches; links keep their order, so
ports are numbered as in the file. An analytical network of ASTRA-sim becomes routers, links and switches as told below.
"""

from __future__ import annotations

from dataclasses import replace

from astra_ns3.config.formats.plain_graph import PlainGraph
from astra_ns3.config.topology.kinds import FileTopology
from astra_ns3.config.topology.switch import SwitchConfig
from astra_ns3.topology.files.astra_sim import analytical_graph
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.parts import reaching_inside
from astra_ns3.topology.wiring import Wiring

SCALE_UP_LEVEL = -1
"""The row, below the hosts, of switches inside servers."""


def file_graph(config: FileTopology) -> Graph:
    """The graph of a file; raises InputError with file and line."""
    content = config.content()
    if isinstance(content, PlainGraph):
        graph = reaching_inside(_of_plain(config, content), config.share_inside)
    else:
        graph = analytical_graph(config, content)
    if not config.error_rate:
        return graph
    lossy = (link if link.error_rate else replace(link, error_rate=config.error_rate) for link in graph.links)
    return replace(graph, links=tuple(lossy))


def node_numbers(content: PlainGraph) -> tuple[int, ...]:
    """The node of the graph that each node of the file becomes."""
    switches = len(content.hosts)
    hosts = 0
    numbers = []
    for node in content.nodes:
        if node.kind == "host":
            numbers.append(hosts)
            hosts += 1
        else:
            numbers.append(switches)
            switches += 1
    return tuple(numbers)


def _of_plain(config: FileTopology, content: PlainGraph) -> Graph:
    wiring = Wiring(len(content.hosts))
    made: dict[tuple[bool, int | None], SwitchConfig] = {}
    for name, node in zip(content.names, content.nodes, strict=True):
        if node.kind == "switch":
            key = node.level == SCALE_UP_LEVEL, node.buffer_bytes
            if key not in made:
                made[key] = _switch(config, *key)
            wiring.switch(made[key], 1 if node.level is None else node.level, node.label or f"switch {name}")
    numbers = node_numbers(content)
    for (a, b), link in zip(content.ends, content.links, strict=True):
        wiring.join(numbers[a], numbers[b], link, link.kind, link.cost)
    return replace(wiring.graph(config, inside_levels=content.inside_levels), node_ids=_node_ids(content, numbers))


def _switch(config: FileTopology, scale_up: bool, buffer_bytes: int | None) -> SwitchConfig:
    base = config.scale_up_switch if scale_up and config.scale_up_switch is not None else config.each_switch
    return base if buffer_bytes is None else base.model_copy(update={"buffer_bytes": buffer_bytes})


def _node_ids(content: PlainGraph, numbers: tuple[int, ...]) -> tuple[int, ...]:
    """The name of each of the graph's nodes, if all are numbers."""
    if not all(name.isdecimal() for name in content.names):
        return ()
    ids = [0] * len(numbers)
    for name, number in zip(content.names, numbers, strict=True):
        ids[number] = int(name)
    return tuple(ids)
