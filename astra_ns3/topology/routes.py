"""Shortest paths: for each node and group of destinations, the ports that lead nearer.

Distance is the sum of the links' costs, which are 1 unless a builder says otherwise (see ``hierarchical.py``). Hosts
forward nothing, so paths run over switches only. Which of several equal ports a flow takes is the switch's business;
the tables hold them all.

Hosts attached to the same switches are equally far from anywhere and form a *group*. Tables have an entry per group,
and equal sets of ports are stored once, so that 8,192 hosts cost megabytes, not gigabytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from math import gcd

import numpy as np
import numpy.typing as npt

from astra_ns3.frozen import dataclass
from astra_ns3.topology.distances import UNREACHED, Groups, distances_to_groups, host_groups, no_way, unreachable_pair
from astra_ns3.topology.graph import Graph

LOCAL = np.iinfo(np.uint32).max
"""Instead of a set: the group's hosts hang on this node itself, each on its own port."""
MOST_REPEATS = 64
"""A weighted set has no more entries than this for each of its ports; larger ratios of rates are rounded."""

_DIGEST_BYTES = 16
_Numbers = npt.NDArray[np.uint32]
_Integers = npt.NDArray[np.signedinteger] | _Numbers
_Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class NodeRoutes:
    """The ports of one node towards each group.

    ``set_of_group``, shape ``(groups,)``, names a set of ports, or is ``LOCAL``; set s is
    ``set_ports[set_offsets[s]:set_offsets[s + 1]]``, ascending, a port repeated in proportion to its weight. An empty
    set: nothing leads there. ``local_hosts`` and ``local_ports`` pair each host of the groups marked ``LOCAL`` with the
    port it hangs on; a host with several links stands there once for each. Equal arrays of several nodes may be one
    object.
    """

    set_of_group: _Numbers
    set_offsets: _Numbers
    set_ports: _Numbers
    local_hosts: _Numbers
    local_ports: _Numbers

    def towards(self, host: int, group: int) -> tuple[int, ...]:
        """The ports that lead to ``host``, which belongs to ``group``, on a shortest path."""
        chosen = int(self.set_of_group[group])
        if chosen == LOCAL:
            return tuple(int(port) for port in self.local_ports[self.local_hosts == host])
        return tuple(int(port) for port in self.set_ports[self.set_offsets[chosen] : self.set_offsets[chosen + 1]])

    @property
    def branch(self) -> bool:
        """Whether several ports lead to a host on shortest paths."""
        firsts = np.repeat(self.set_ports[self.set_offsets[:-1][self._sizes > 0]], self._sizes[self._sizes > 0])
        return bool((self.set_ports != firsts).any() or len(np.unique(self.local_hosts)) < len(self.local_hosts))

    @property
    def _sizes(self) -> _Integers:
        return self.set_offsets[1:] - self.set_offsets[:-1]


@dataclass(frozen=True, eq=False)
class RouteTables:
    """``group_of_host``, shape ``(hosts,)``; a host with one port has no table of its own (None)."""

    group_of_host: _Numbers
    groups: int
    switches: tuple[NodeRoutes, ...]
    hosts: tuple[NodeRoutes | None, ...]

    def towards(self, node: int, host: int) -> tuple[int, ...]:
        """The ports of ``node`` (hosts first, then switches) that lead to ``host``."""
        own = self.hosts[node] if node < len(self.hosts) else self.switches[node - len(self.hosts)]
        return (0,) if own is None else own.towards(host, int(self.group_of_host[host]))

    @property
    def branch(self) -> bool:
        """Whether any node has several ports to choose from on the way to a host."""
        return any(own is not None and own.branch for own in (*self.switches, *self.hosts))


def shortest_paths(graph: Graph, *, weighted: bool = False) -> RouteTables:
    """The routes of every switch and of every host with several ports.

    ``weighted`` repeats ports in proportion to their rates where those of a set differ. Raises InputError naming two
    hosts with NPUs between which there is no path.
    """
    groups = host_groups(graph)
    distances = distances_to_groups(graph, groups)
    _check_reachable(graph, groups, distances)
    return tables_by_groups(graph, groups, distances, weighted=weighted)


def tables_by_groups(
    graph: Graph, groups: Groups, distances: npt.NDArray[np.int32], *, weighted: bool = False
) -> RouteTables:
    """The same for groups and their distances, whoever can't be reached; nothing leads there."""
    maker = _Maker(graph, groups, distances, weighted)
    return RouteTables(
        group_of_host=groups.of_host.astype(np.uint32),
        groups=groups.count,
        switches=tuple(maker.routes(graph.hosts + switch) for switch in range(graph.switches)),
        hosts=tuple(_host_routes(graph, maker)),
    )


def _host_routes(graph: Graph, maker: _Maker) -> Iterator[NodeRoutes | None]:
    ports = np.diff(graph.adjacency.offsets[: graph.hosts + 1])
    for host in range(graph.hosts):
        yield None if ports[host] == 1 else maker.routes(host)


class _Maker:
    """Makes the routes of one node after the other; arrays that recur are kept once.

    Nodes whose ports lead to switches with the same distances, and to the same groups, have the same sets: all core
    switches of a fat tree, and those of a pod that are in its middle. They are worked out once.
    """

    def __init__(self, graph: Graph, groups: Groups, distances: npt.NDArray[np.int32], weighted: bool) -> None:
        self._hosts = graph.hosts
        self._adjacency = graph.adjacency
        self._groups = groups
        self._distances = distances
        self._weighted = weighted
        self._known: dict[bytes, _Numbers] = {}  # by a digest: the bytes themselves would be kept a second time
        rows: dict[bytes, int] = {}
        self._row_like = np.array([rows.setdefault(_digest(row), len(rows)) for row in distances], dtype=np.int64)
        self._made: dict[bytes, tuple[_Numbers, _Numbers, _Numbers, _Flags]] = {}

    def routes(self, node: int) -> NodeRoutes:
        """The routes of one node."""
        own = self._adjacency.of(node)
        peers, up = self._adjacency.peers[own], self._adjacency.up[own]
        to_switch = np.flatnonzero(up & (peers >= self._hosts))
        to_host = np.flatnonzero(up & (peers < self._hosts))
        near_groups = self._groups.of_host[peers[to_host]]
        led = np.array([len(peers), len(to_switch), self._row_like[node - self._hosts] if node >= self._hosts else -1])
        all_that_tells = (led, to_switch, to_host, self._row_like[peers[to_switch] - self._hosts], near_groups)
        key = _digest(np.concatenate((*all_that_tells, self._adjacency.costs[own], self._adjacency.rates_bps[own])))
        if key not in self._made:
            self._made[key] = self._sets(node, to_switch, to_host, near_groups)
        sets, offsets, ports, direct = self._made[key]
        hung = to_host[direct]
        return NodeRoutes(sets, offsets, ports, self._once(peers[hung]), self._once(hung))

    def _sets(
        self, node: int, to_switch: npt.NDArray[np.int64], to_host: npt.NDArray[np.int64], near: npt.NDArray[np.int64]
    ) -> tuple[_Numbers, _Numbers, _Numbers, _Flags]:
        """Return the set of each group, the sets' offsets and ports, and which of ``to_host`` are the way there."""
        own = self._adjacency.of(node)
        peers, costs = self._adjacency.peers[own], self._adjacency.costs[own]
        beyond = self._distances[peers[to_switch] - self._hosts] + costs[to_switch, None]
        here = beyond.min(axis=0, initial=UNREACHED)
        if node >= self._hosts:
            here = np.minimum(here, self._distances[node - self._hosts])
        np.minimum.at(here, near, costs[to_host])
        direct = costs[to_host] == here[near]
        local = np.zeros(self._groups.count, dtype=np.bool_)
        local[near[direct]] = True
        chosen = (beyond == here) & (here < UNREACHED)
        sets = np.full(self._groups.count, LOCAL, dtype=np.int64)
        sets[~local], offsets, rows = _distinct_columns(chosen, ~local)
        offsets, ports = self._weigh(offsets, to_switch[rows], self._adjacency.rates_bps[own])
        return self._once(sets), self._once(offsets), self._once(ports), direct

    def _once(self, numbers: _Integers) -> _Numbers:
        array = np.ascontiguousarray(numbers, dtype=np.uint32)
        return self._known.setdefault(_digest(array), array)

    def _weigh(
        self, offsets: npt.NDArray[np.int64], ports: npt.NDArray[np.int64], rates: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        if not self._weighted or len(set(rates[ports].tolist())) < 2:
            return offsets, ports
        sets = [np.repeat(one, _repeats(rates[one])) for one in np.split(ports, offsets[1:-1])]
        ends = np.cumsum([0, *(len(one) for one in sets)])
        return ends, np.concatenate(sets)


def _digest(array: _Integers) -> bytes:
    return hashlib.blake2b(array.data, digest_size=_DIGEST_BYTES).digest()


def _repeats(rates: npt.NDArray[np.int64]) -> list[int]:
    """The smallest whole numbers in proportion to ``rates``, none above ``MOST_REPEATS``."""
    values = rates.tolist()
    shared = gcd(*values) if values else 1
    largest = max(values, default=1)
    if largest // shared <= MOST_REPEATS:
        return [value // shared for value in values]
    return [max(1, round(value * MOST_REPEATS / largest)) for value in values]


def _distinct_columns(
    chosen: _Flags, wanted: _Flags
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Number of each wanted column's set; the sets' offsets and, set after set, their rows."""
    rows, columns = len(chosen), int(wanted.sum())
    packed = np.packbits(chosen, axis=0, bitorder="little")[:, wanted]
    width = next((width for width in (1, 2, 8) if packed.shape[0] <= width), -(-packed.shape[0] // 8) * 8)
    padded = np.zeros((columns, width), dtype=np.uint8)
    padded[:, : packed.shape[0]] = packed.T
    if width <= 2:
        # So few ports have few sets of them: a table is faster than to sort.
        keys = padded.view(np.uint8 if width == 1 else np.uint16)[:, 0]
        seen = np.zeros(256**width, dtype=np.bool_)
        seen[keys] = True
        distinct = np.flatnonzero(seen).astype(keys.dtype)
        number = np.empty(256**width, dtype=np.int64)
        number[distinct] = np.arange(len(distinct))
        sets = number[keys]
    elif width == 8:
        distinct, sets = np.unique(padded.view(np.uint64)[:, 0], return_inverse=True)
    else:
        distinct, sets = np.unique(padded.view(np.uint64), axis=0, return_inverse=True)
    bits = np.ascontiguousarray(distinct).view(np.uint8).reshape(len(distinct), width)
    member = np.unpackbits(bits, axis=1, count=rows, bitorder="little")
    place, row = np.nonzero(member)
    offsets = np.concatenate(([0], np.cumsum(np.bincount(place, minlength=len(distinct)))))
    return sets.reshape(columns).astype(np.int64), offsets.astype(np.int64), row.astype(np.int64)


def _check_reachable(graph: Graph, groups: Groups, distances: npt.NDArray[np.int32]) -> None:
    """Raise InputError if an NPU's host can't reach another's."""
    lost = unreachable_pair(graph, groups, distances)
    if lost is not None:
        raise no_way(graph, *lost)


def pinned_choices(graph: Graph, tables: RouteTables, sender: int, receiver: int, path: int) -> tuple[int, ...]:
    """Which of the ports towards ``receiver`` the sender's host takes, then each switch of the path.

    A node with c such ports takes number ``path mod c`` and hands ``path div c`` to the next.
    """
    node, target = graph.npu_host[sender], graph.npu_host[receiver]
    choices: list[int] = []
    while node != target:
        ports = tables.towards(node, target)
        choices.append(path % len(ports))
        path //= len(ports)
        node = graph.ports[node][ports[choices[-1]]].peer
    return tuple(choices)
