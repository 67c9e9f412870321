"""Storage hosts: hosts without an NPU that keep what NPUs store, each on lines of its own.

Model's limits: a storage host is as fast as its lines, and takes no time of its own.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property

from astra_ns3.config.topology.base import TopologyBase
from astra_ns3.config.topology.kinds import Dragonfly
from astra_ns3.config.topology.storage import StorageConfig
from astra_ns3.errors import wrong
from astra_ns3.topology.added_hosts import with_hosts, without_hosts
from astra_ns3.topology.graph import Graph, Link
from astra_ns3.topology.parts import servers_of

STORAGE = "storage"
"""Class of the links of storage hosts."""


def with_storage(config: TopologyBase, graph: Graph) -> Graph:
    """Return the graph with the storage hosts that its description asks for; raises InputError if they fit nowhere."""
    said = config.storage
    if said is None:
        return graph
    boxes = range(graph.hosts) if isinstance(config, Dragonfly) else servers_of(graph)  # its boxes are groups
    places = [place for place in _places(said, graph, boxes) for _ in range(said.count if said.per != "fabric" else 1)]
    wire = said.link
    found = with_hosts(graph, places, lambda host, node: Link.of(host, node, wire, STORAGE))
    return replace(found, storage=tuple(range(graph.hosts, found.hosts)))


def without_storage(graph: Graph) -> Graph:
    """Return a graph without reducers, and without its storage hosts, too: for files, and for places in a picture."""
    return replace(without_hosts(graph, len(graph.storage), STORAGE), storage=()) if graph.storage else graph


class GraphStorage:
    """The storage host of each rank of a tenant on ``npus``: the nearest one; ranks take several as near in turn."""

    def __init__(self, graph: Graph, npus: Sequence[int]) -> None:
        self._graph = graph
        self._npus = npus
        self._near: dict[tuple[int, ...], list[int]] = {}
        self._taken: dict[tuple[int, ...], int] = defaultdict(int)  # turns of storage hosts that are as near
        self._hosts: list[int] = []  # of ranks, the first first

    def of(self, rank: int) -> int:
        """Return its number: behind the network's last NPU, and behind its reducers."""
        while len(self._hosts) <= rank:
            self._hosts.append(self._next_host(self._npus[len(self._hosts)]))
        return self._hosts[rank]

    def _next_host(self, npu: int) -> int:
        """Return the storage host of the next rank, on an NPU; each of those as near has its turn."""
        host = self._graph.npu_host[npu]
        around = tuple(sorted(port.peer for port in self._graph.ports[host]))
        if around not in self._near:
            self._near[around] = self._nearest(host)
        near = self._near[around]
        if not near:
            raise wrong(f"no way leads from NPU {npu} to a storage host")
        graph = self._graph
        turn = self._taken[tuple(near)]
        self._taken[tuple(near)] += 1
        return len(graph.npu_host) + len(graph.reducers) + self._places[near[turn % len(near)]]

    def _nearest(self, host: int) -> list[int]:
        """Return the storage hosts that are fewest links away from a host."""
        seen, ring = {host}, [host]
        while ring:
            found = sorted(node for node in ring if node in self._places)
            if found:
                return found
            ring = _next_ring(self._graph, ring, seen, host)
        return []

    @cached_property
    def _places(self) -> dict[int, int]:
        return {host: place for place, host in enumerate(self._graph.storage)}


def _next_ring(graph: Graph, ring: Iterable[int], seen: set[int], start: int) -> list[int]:
    """Return the nodes one link farther; hosts but the first pass nothing on."""
    found = []
    for node in ring:
        for port in graph.ports[node] if node >= graph.hosts or node == start else ():
            if port.peer not in seen:
                seen.add(port.peer)
                found.append(port.peer)
    return found


def _places(said: StorageConfig, graph: Graph, boxes: Sequence[int]) -> list[list[int]]:
    """Return the nodes that each storage host, or each group of ``count``, has a line to.

    ``boxes``: the server of each host.
    """
    if said.per == "node":
        of_box: dict[int, list[int]] = defaultdict(list)
        for host in sorted(set(graph.npu_host)):
            of_box[boxes[host]].append(host)
        return list(of_box.values())
    outside = [node for node in range(graph.hosts, graph.nodes) if graph.is_outside(node)]
    if said.per == "rack":
        found = [[node] for node in outside if any(not graph.is_outside(port.peer) for port in graph.ports[node])]
    else:
        far = _distances(graph)
        most = max((far[node] for node in outside), default=0)
        top = [node for node in outside if far[node] == most]
        found = [[top[number % len(top)]] for number in range(said.count if top else 0)]
    if not found:
        raise wrong(f"topology: storage per {said.per} hangs on switches, and there is none; expected per: node")
    return found


def _distances(graph: Graph) -> list[int]:
    """Return how many links each node is away from the nearest host of an NPU."""
    found = [graph.nodes] * graph.nodes
    queue = deque(sorted(set(graph.npu_host)))
    for host in queue:
        found[host] = 0
    while queue:
        node = queue.popleft()
        for port in graph.ports[node]:
            if found[port.peer] == graph.nodes:
                found[port.peer] = found[node] + 1
                queue.append(port.peer)
    return [0 if far == graph.nodes else far for far in found]
