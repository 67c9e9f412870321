"""Whether equal ways between two hosts are alike."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations

from astra_ns3.topology.changes import Change, LinkTarget
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.parts import Kind, is_regular, kinds_of_parts, parts_of
from astra_ns3.topology.routes import RouteTables

# Of a part whose hosts are asked pair by pair whether another part leads there, too.
_MOST_HOSTS = 64


def ways_differ(graph: Graph, tables: RouteTables, changes: Sequence[Change]) -> bool:
    """Return whether equal ways between two hosts may have unlike lines; True where that isn't known."""
    if any(isinstance(change.target, LinkTarget) and change.state.rate_bps is not None for change in changes):
        return True
    if any(link.a < graph.hosts and link.b < graph.hosts for link in graph.links):
        return True
    parts = parts_of(graph)
    kinds = kinds_of_parts(graph, parts)
    if not all(is_regular(kind) for kind in kinds.values()):
        return True
    if changes or len(set(kinds.values())) < 2:
        return len(set(kinds.values())) > 1
    hosts_of: dict[int, list[int]] = defaultdict(list)
    for host in dict.fromkeys(graph.npu_host):
        for part in {parts[port.peer] for port in graph.ports[host]}:
            hosts_of[part].append(host)
    largest = max(hosts_of, key=lambda part: len(hosts_of[part]))
    others = [hosts for part, hosts in hosts_of.items() if part != largest]
    return any(
        len(hosts) > _MOST_HOSTS
        or any(_kinds_towards(graph, tables, parts, kinds, pair) > 1 for pair in combinations(hosts, 2))
        for hosts in others
    )


def _kinds_towards(
    graph: Graph, tables: RouteTables, parts: Sequence[int], kinds: Mapping[int, Kind], pair: tuple[int, int]
) -> int:
    """Return how many kinds of parts lead from a host to another one at the same cost."""
    source, destination = pair
    ports = [graph.ports[source][port] for port in tables.towards(source, destination)]
    return len({kinds[parts[port.peer]] for port in ports})
