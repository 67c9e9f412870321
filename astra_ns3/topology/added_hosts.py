"""Hosts without an NPU that come behind a graph's hosts: of switches that reduce, and for storage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from astra_ns3.topology.graph import Graph, Link

Wire = Callable[[int, int], Link]
"""The line of a new host to a node, from their numbers in the new graph."""


def with_hosts(graph: Graph, places: Sequence[Sequence[int]], wire: Wire) -> Graph:
    """Return the graph with a host more for each of ``places``: the nodes of ``graph`` that it has a line to."""
    more, hosts = len(places), graph.hosts
    links = [replace(link, a=_moved(link.a, hosts, more), b=_moved(link.b, hosts, more)) for link in graph.links]
    for number, place in enumerate(places):
        links += [wire(hosts + number, _moved(node, hosts, more)) for node in place]
    next_id, next_box = max(graph.node_ids, default=0) + 1, max(graph.host_boxes, default=0) + 1
    ids = (*graph.node_ids[:hosts], *range(next_id, next_id + more), *graph.node_ids[hosts:])
    return replace(
        graph,
        hosts=hosts + more,
        links=tuple(links),
        host_boxes=(*graph.host_boxes, *range(next_box, next_box + more)) if graph.host_boxes else (),
        node_ids=ids if graph.node_ids else (),
    )


def without_hosts(graph: Graph, more: int, kind: str) -> Graph:
    """Return the graph without its last ``more`` hosts, whose links are of class ``kind``."""
    hosts = graph.hosts - more
    kept = [link for link in graph.links if link.kind != kind]
    links = [replace(link, a=_moved(link.a, hosts, -more), b=_moved(link.b, hosts, -more)) for link in kept]
    return replace(
        graph,
        hosts=hosts,
        links=tuple(links),
        host_boxes=graph.host_boxes[:hosts],
        node_ids=(*graph.node_ids[:hosts], *graph.node_ids[graph.hosts :]),
    )


def _moved(node: int, hosts: int, by: int) -> int:
    """Return a node's number when so many hosts come behind the first ``hosts``."""
    return node if node < hosts else node + by
