"""A graph as HPCC's topology text, or as SimAI's variant of it where the network has scale-up switches.

Neither has costs of links: who reads them takes scale-up paths before others, and otherwise counts links. A network
that has other shortest paths then is refused. Model: what ``config/formats/hpcc_topology.py`` reads.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from astra_ns3.config.formats.hpcc_graph import hpcc_graph
from astra_ns3.config.formats.hpcc_topology import parse_hpcc_topology
from astra_ns3.errors import refuse
from astra_ns3.topology.graph import Graph, Link
from astra_ns3.topology.routes import NodeRoutes, RouteTables, shortest_paths
from astra_ns3.units import exact_time

_RATE_UNITS = (("Tbps", 10**12), ("Gbps", 10**9), ("Mbps", 10**6), ("Kbps", 10**3), ("bps", 1))
# SimAI's word for a GPU that it doesn't know by name.
_GPU_TYPE = "NONE"


def hpcc_text(graph: Graph) -> str:
    """The text; hosts come first. Raises InputError if who reads it would find other paths."""
    scale_up = _scale_up_switches(graph)
    others = [node for node in range(graph.hosts, graph.nodes) if node not in scale_up]
    first = f"{graph.nodes} {graph.switches} {len(graph.links)}"
    if scale_up:
        gpus = max(scale_up.values())
        first = f"{graph.nodes} {gpus} {len(scale_up)} {len(others)} {len(graph.links)} {_GPU_TYPE}"
    switches = " ".join(str(node) for node in [*scale_up, *others])
    lines = [first, *([switches] if switches else []), *(_line(link) for link in graph.links), ""]
    text = "\n".join(lines)
    _check_paths(graph, text)
    return text


def _scale_up_switches(graph: Graph) -> dict[int, int]:
    """Switches all of whose links are scale-up links to hosts, and the number of those hosts."""
    found = {}
    for node in range(graph.hosts, graph.nodes):
        ports = graph.ports[node]
        if ports and all(port.peer < graph.hosts and graph.links[port.link].kind == "scale-up" for port in ports):
            found[node] = len({port.peer for port in ports})
    return found


def _line(link: Link) -> str:
    lost = repr(link.error_rate) if link.error_rate else "0"
    return f"{link.a} {link.b} {_rate(link.rate_bps)} {exact_time(link.delay_ps)} {lost}"


def _rate(rate_bps: int) -> str:
    unit, factor = next((unit, factor) for unit, factor in _RATE_UNITS if rate_bps % factor == 0)
    return f"{rate_bps // factor}{unit}"


def _check_paths(graph: Graph, text: str) -> None:
    """Nodes, links and ports are numbered in the text as in the graph; only costs can differ."""
    read = hpcc_graph(parse_hpcc_topology(text)).links
    links = tuple(replace(link, cost=other.cost) for link, other in zip(graph.links, read, strict=True))
    refuse(
        links != graph.links and not _equal(shortest_paths(graph), shortest_paths(replace(graph, links=links))),
        "HPCC's text has no costs of links, and without them other paths of this network are shortest; "
        "export it as .graphml or .json",
    )


def _equal(one: RouteTables, other: RouteTables) -> bool:
    pairs = zip((*one.switches, *one.hosts), (*other.switches, *other.hosts), strict=True)
    return np.array_equal(one.group_of_host, other.group_of_host) and all(_same(a, b) for a, b in pairs)


def _same(one: NodeRoutes | None, other: NodeRoutes | None) -> bool:
    if one is None or other is None:
        return one is other
    names = ("set_of_group", "set_offsets", "set_ports", "local_hosts", "local_ports")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)
