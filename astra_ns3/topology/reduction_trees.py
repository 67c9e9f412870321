"""Trees of reducing switches over the shortest paths of a network.

A tree's root is a reducing switch that is as near as any to the member farthest from it. Each member sends to the first
reducing switch on its shortest path to the root, and that one to the next. A switch with one child has nothing to
combine and is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from astra_ns3.config.core.reduction import ABSENT, NOBODY, Trees
from astra_ns3.config.topology.switch import ReductionConfig
from astra_ns3.errors import refuse, wrong
from astra_ns3.topology.distances import UNREACHED, Groups, distances_to_groups, host_groups
from astra_ns3.topology.graph import Graph

ONE_SWITCH, ONE_TREE = "nvls", "sharp"
"""The algorithms whose members share a switch, and those that have one tree."""
MOST_TREES = 64
"""The trees of one group, where many switches could be roots."""


class GraphTrees:
    """The trees of a graph; ``npus``: the NPU of each rank that asks; ``first_root``: of its first group.

    ``of_server``: NPUs of a server, whose own switches join no others. ``joins``: whether trees are played.
    """

    def __init__(
        self, graph: Graph, npus: Sequence[int], first_root: int = 0, *, of_server: int = 1, joins: bool = True
    ) -> None:
        self._graph = graph
        self._of_server = of_server
        self._joins = joins
        self._npus = npus
        self._first_root = first_root
        self._known: dict[tuple[tuple[int, ...], int, str, int | None], Trees] = {}

    def joining(self, ranks: Sequence[int], group: int, *, algorithm: str, pool: int | None = None) -> Trees:
        """Return the trees of a group; see :class:`~astra_ns3.config.core.reduction.ReductionTrees`."""
        key = tuple(ranks), group if algorithm == ONE_TREE else 0, algorithm, pool
        if key not in self._known:
            self._known[key] = self._found(*key)
        return self._known[key]

    def can_join(self, ranks: Sequence[int]) -> bool:
        """Return whether some reducing switch can be reached from all of some ranks, each on a host of its own."""
        hosts = [self._graph.npu_host[self._npus[rank]] for rank in ranks]
        if not self._joins or not self._graph.reducers or len(set(hosts)) < len(hosts):
            return False
        worst = self._distances[list(self._graph.reducers)][:, self._groups.of_host[hosts]].max(axis=1)
        return bool(worst.min() < UNREACHED)

    def players(self, ranks: Sequence[int], trees: Trees) -> tuple[int, ...]:
        """Return the ranks, and behind the network's last NPU its reducers."""
        first = len(self._graph.npu_host)
        return (*ranks, *(first + reducer for reducer in trees.reducers))

    def shared(self, ranks: Sequence[int]) -> tuple[int, ...]:
        """Return the players of the switches in a server that reduce, nearest to all of some ranks; or none."""
        hosts = [self._graph.npu_host[self._npus[rank]] for rank in ranks]
        if not self._graph.reducers or len(set(hosts)) < len(hosts):
            return ()
        switches = [switch for switch in self._in_servers if self._hang_on(hosts, switch)]
        first = len(self._graph.npu_host)
        near = {switch: sum(self._hung_on[host][switch] for host in hosts) for switch in switches}
        return tuple(first + self.reducer_of[switch] for switch in switches if near[switch] == min(near.values()))

    @cached_property
    def _in_servers(self) -> list[int]:
        """The switches that reduce and that NPUs of one server alone hang on."""
        servers: dict[int, set[int]] = {}
        for npu, host in enumerate(self._graph.npu_host):
            for switch in self._hung_on[host]:
                servers.setdefault(switch, set()).add(npu // self._of_server)
        return [switch for switch in self._graph.reducers if len(servers.get(switch, ())) == 1]

    @cached_property
    def _groups(self) -> Groups:
        return host_groups(self._graph)

    @cached_property
    def _distances(self) -> npt.NDArray[np.int32]:
        """From each switch to each group of hosts."""
        return distances_to_groups(self._graph, self._groups)

    def _found(self, ranks: tuple[int, ...], group: int, algorithm: str, pool: int | None) -> Trees:
        refuse(not self._graph.reducers, "no switch of the network reduces; give one 'reduction'", algorithm)
        hosts = [self._graph.npu_host[self._npus[rank]] for rank in ranks]
        if pool is not None:
            hosts.append(self._graph.storage[pool - len(self._graph.npu_host) - len(self._graph.reducers)])
        roots = self._roots(hosts, algorithm)
        if algorithm == ONE_TREE:
            roots = [roots[(self._first_root + group) % len(roots)]]
        paths = [_Upwards(self, root).parents(hosts) for root in roots]
        found = sorted({reducer for tree in paths for reducer in tree if reducer >= 0})
        configs = [self._config(reducer) for reducer in found]
        return Trees(
            tuple(found),
            tuple(_numbered(tree, len(hosts), found) for tree in paths),
            max(config.piece_bytes for config in configs),
            min(config.buffer_bytes for config in configs),
        )

    def _config(self, reducer: int) -> ReductionConfig:
        config = self._graph.switch_configs[self._graph.reducers[reducer]].reduction
        assert config is not None
        return config

    def _roots(self, hosts: Sequence[int], algorithm: str) -> list[int]:
        """Return the reducers that are nearest to the farthest of some hosts, of these those nearest to all."""
        of_hosts = np.unique(self._groups.of_host[hosts])
        distances = self._distances[list(self._graph.reducers)][:, of_hosts].astype(np.int64)
        worst, together = distances.max(axis=1), distances.sum(axis=1)
        refuse(
            int(worst.min()) >= UNREACHED,
            f"no reducing switch can be reached from all of hosts {_listed(hosts)}",
            algorithm,
        )
        near = np.flatnonzero(worst == worst.min())
        near = near[together[near] == together[near].min()]
        if algorithm == ONE_SWITCH:
            refuse(
                not all(self._hang_on(hosts, self._graph.reducers[reducer]) for reducer in near.tolist()),
                f"hosts {_listed(hosts)} hang on no reducing switch that all of them share",
                algorithm,
            )
        return [int(reducer) for reducer in near[:MOST_TREES]]

    def _hang_on(self, hosts: Sequence[int], switch: int) -> bool:
        return all(switch in self._hung_on[host] for host in hosts)

    @cached_property
    def _hung_on(self) -> list[dict[int, int]]:
        """The switches that each host hangs on, with the cost of the last line; behind its own where it forwards."""
        graph, inner = self._graph, self._graph.inner_switch
        of_hosts, adjacency = set(inner.values()), graph.adjacency
        found: list[dict[int, int]] = []
        for host in range(graph.hosts):
            around = adjacency.of(inner.get(host, host))
            near: dict[int, int] = {}
            for port in np.flatnonzero(adjacency.up[around]) + around.start:
                peer, cost = int(adjacency.peers[port]), int(adjacency.costs[port])
                if peer >= graph.hosts and peer not in of_hosts:
                    near[peer - graph.hosts] = min(cost, near.get(peer - graph.hosts, cost))
            found.append(near)
        return found

    def attached(self, host: int) -> tuple[tuple[int, int], ...]:
        """Return the switches that a host hangs on, each with the cost of the way."""
        return self._groups.attached[int(self._groups.of_host[host])]

    def distances_to(self, reducer: int) -> npt.NDArray[np.int32]:
        """Return the distance of each switch from a reducer's host."""
        host = self._graph.hosts - len(self._graph.reducers) + reducer
        return self._distances[:, int(self._groups.of_host[host])]

    def to_reducers(self, host: int) -> npt.NDArray[np.int64]:
        """Return the distance of each reducer's host from a host."""
        ways = [cost + self._from_switch(switch) for switch, cost in self.attached(host)]
        found: npt.NDArray[np.int64] = np.min([np.full(len(self._graph.reducers), UNREACHED), *ways], axis=0)
        return found

    def between_reducers(self) -> npt.NDArray[np.int64]:
        """Return the distance of each reducer's host from each reducing switch, a row per switch."""
        return np.stack([self._from_switch(switch) for switch in self._graph.reducers])

    def _from_switch(self, switch: int) -> npt.NDArray[np.int64]:
        """Return the distance of each reducer's host from a switch."""
        groups = self._groups.of_host[self._graph.hosts - len(self._graph.reducers) :]
        found: npt.NDArray[np.int64] = self._distances[switch, groups].astype(np.int64)
        return found

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self._graph

    @cached_property
    def reducer_of(self) -> Mapping[int, int]:
        """The reducer of each switch that has one."""
        return {switch: reducer for reducer, switch in enumerate(self._graph.reducers)}


def exchanging(graph: Graph, of_host: npt.NDArray[np.int64 | np.uint32]) -> npt.NDArray[np.bool_]:
    """Return which groups of hosts may send to which, shape ``(groups, groups)``; ``of_host``: the group of each host.

    NPUs and storage hosts send to all NPUs, and NPUs to storage hosts. A member of a tree and a reducer, or two
    reducers, send to each other if both are on a shortest path from a member to a reducer that may be a root.
    """
    npus, storage = (np.unique(of_host[list(hosts)]) for hosts in (graph.npu_host, graph.storage))
    found = np.zeros((int(of_host.max()) + 1,) * 2, dtype=np.bool_)
    found[np.ix_(npus, np.union1d(npus, storage))] = True
    if graph.reducers:
        trees, reducers = GraphTrees(graph, ()), of_host[graph.hosts - len(graph.reducers) :]
        between = trees.between_reducers()
        away = {int(of_host[host]): trees.to_reducers(host) for host in (*graph.storage, *graph.npu_host)}
        nearer = np.logical_and.reduce([away[group][:, None] <= away[group] for group in npus.tolist()])
        for group, distances in away.items():
            # A tree's root is never farther from all members, and from one of them really so, than another reducer.
            is_no_root = group not in npus and (nearer & (distances[:, None] < distances)).any(axis=0)
            roots = (distances < UNREACHED) & ~np.asarray(is_no_root, dtype=np.bool_)
            passed = distances[:, None] - between.diagonal()[:, None] + between == distances
            above = passed[:, roots].any(axis=1)
            found[group, reducers[above]] = True
            first, second = np.nonzero(passed & above)
            found[reducers[first], reducers[second]] = True
    both: npt.NDArray[np.bool_] = found | found.T
    return both


class _Upwards:
    """The ways from hosts up to one root."""

    def __init__(self, trees: GraphTrees, root: int) -> None:
        self._trees = trees
        self._root = root
        self._distances = trees.distances_to(root)
        self._next: dict[int, int] = {}
        """The switch after each that is on a way already."""

    def parents(self, hosts: Sequence[int]) -> list[int]:
        """Return for each host, and then for each reducer of the network, its parent: a reducer, or none."""
        reducers = len(self._trees.graph.reducers)
        above: dict[int, int] = {}
        """The parent of each host's place, and of each reducer behind the last host."""
        for place, host in enumerate(hosts):
            below = place
            for reducer in self._way(host):
                known = below in above
                above.setdefault(below, reducer)
                if known:
                    break
                below = len(hosts) + reducer
        return self._without_only_children(len(hosts), reducers, above)

    def _without_only_children(self, hosts: int, reducers: int, above: dict[int, int]) -> list[int]:
        """Leave out reducers that have one child, and let a root with one child be that child."""
        children: dict[int, list[int]] = {}
        for below, reducer in above.items():
            children.setdefault(reducer, []).append(below)
        single = {reducer for reducer, below in children.items() if len(below) == 1}
        found = [ABSENT] * (hosts + reducers)
        for below in above:
            if below >= hosts and below - hosts in single:
                continue
            parent: int | None = above[below]
            while parent in single:
                parent = above.get(hosts + parent)
            found[below] = NOBODY if parent is None else parent
        top = self._root
        if top not in single:
            found[hosts + top] = NOBODY
        return found

    def _way(self, host: int) -> list[int]:
        """Return the reducers on the way from a host to the root."""
        costs = {switch: cost + int(self._distances[switch]) for switch, cost in self._trees.attached(host)}
        least = min(costs.values(), default=UNREACHED)
        near = [switch for switch, cost in costs.items() if cost == least]
        switch = self._preferred(near, host)
        found = []
        while True:
            if switch in self._trees.reducer_of:
                found.append(self._trees.reducer_of[switch])
            if found and found[-1] == self._root:
                return found
            if switch not in self._next:
                self._next[switch] = self._onwards(switch)
            switch = self._next[switch]

    def _onwards(self, switch: int) -> int:
        graph, left = self._trees.graph, int(self._distances[switch])
        around = graph.adjacency.of(graph.hosts + switch)
        ports = zip(
            graph.adjacency.peers[around].tolist(),
            graph.adjacency.costs[around].tolist(),
            graph.adjacency.up[around].tolist(),
            strict=True,
        )
        nearer = [
            peer - graph.hosts
            for peer, cost, up in ports
            if up and peer >= graph.hosts and int(self._distances[peer - graph.hosts]) + cost == left
        ]
        if not nearer:
            raise wrong(f"no way leads from switch {switch} to reducing switch {graph.reducers[self._root]}")
        return self._preferred(nearer, switch)

    def _preferred(self, switches: Sequence[int], spread: int) -> int:
        """Return one of several: on a way already, else one that reduces, by turns where there are several."""
        known = [switch for switch in switches if switch in self._next]
        reducing = [switch for switch in switches if switch in self._trees.reducer_of]
        among = known or sorted(set(reducing)) or sorted(set(switches))
        return among[0] if known else among[spread % len(among)]


def _numbered(parents: Sequence[int], hosts: int, reducers: Sequence[int]) -> tuple[int, ...]:
    """Return the parents by the players of a group: its members, then some of the network's reducers."""
    player = {reducer: hosts + place for place, reducer in enumerate(reducers)}
    kept = [*parents[:hosts], *(parents[hosts + reducer] for reducer in reducers)]
    return tuple(player[parent] if parent >= 0 else parent for parent in kept)


def _listed(hosts: Sequence[int]) -> str:
    shown = ", ".join(map(str, hosts[:4]))
    return shown if len(hosts) <= 4 else f"{shown}, ... ({len(hosts)})"
