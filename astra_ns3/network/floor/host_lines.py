"""The lines of each host, and which parts of the network they lead to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache

import numpy as np

from astra_ns3.network.floor.carried import Numbers
from astra_ns3.network.floor.line_rates import Rates, line_rates
from astra_ns3.network.plan import AnyPlan, NetworkPlan
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.parts import parts_of, servers_of

NONE = -1
# Of a host, as bits of a word.
_MOST_COMPONENTS = 62


@lru_cache(maxsize=1)
def host_lines(plan: NetworkPlan) -> HostLines:
    """Return the lines of a network's hosts, which each job's floor asks for."""
    may_fail = any(change.state.up is not None for change in plan.changes)
    return HostLines(plan.graph, line_rates(plan).bytes_per_ns, may_fail)


class HostLines:
    """The lines of hosts, and which part of the network each leads to: hosts forward nothing between two parts.

    ``rates`` as :class:`LineRates` has them; rates of hosts have a column for each stretch of time, too. ``may_fail``:
    links go down; then a message between hosts that are joined to each other may go over a third.
    """

    def __init__(self, graph: Graph, rates: Rates, may_fail: bool) -> None:
        self._graph = graph
        self._rates = rates
        self._part = parts_of(graph)
        lines: list[dict[int, Rates]] = [{} for _ in range(graph.hosts)]
        self._none = np.zeros(rates.shape[1])
        beside = np.flatnonzero((graph.ends < graph.hosts).any(axis=1))
        for number, (a, b) in zip(beside.tolist(), graph.ends[beside].tolist(), strict=True):
            for host, peer in ((a, b), (b, a)):
                if host < graph.hosts:
                    # A line from host to host is a part of its own.
                    part = self._part[peer] if peer >= graph.hosts else graph.nodes + number
                    lines[host][part] = lines[host].get(part, self._none) + rates[number]
        self._lines = lines
        most = max((len(each) for each in lines), default=1)
        self._most = min(max(most, 1), _MOST_COMPONENTS)
        self._parts = np.full((graph.hosts, self._most), NONE, dtype=np.int64)
        for host, each in enumerate(lines):
            for index, part in enumerate(list(each)[: self._most]):
                self._parts[host, index] = part
        self._rates_of: dict[int, Rates] = {}
        passes_on = [may_fail and any(part >= graph.nodes for part in each) for each in lines]
        self._not_all_known = np.array([len(each) > self._most for each in lines]) | np.array(passes_on, dtype=np.bool_)

    def common(self, own: Numbers, other: Numbers) -> Numbers:
        """Return, a bit for each of a host's parts, which of them lead to the other host, too; 0: none is known to."""
        found = np.zeros(len(own), dtype=np.int64)
        for index in range(self._most):
            mine = self._parts[own, index]
            leads = (self._parts[other] == mine[:, None]).any(axis=1) & (mine != NONE)
            found |= leads.astype(np.int64) << index
        # What shares no part goes another way, such as over hosts that forward: it may leave by any line.
        found[(found == 0) | self._not_all_known[own] | self._not_all_known[other]] = (1 << self._most) - 1
        return found

    def own(self) -> Rates:
        """Return the joint rate of each host's lines."""
        return np.array([sum(each.values(), self._none) for each in self._lines])

    def rates(self, mask: int) -> Rates:
        """Return the joint rate of each host's lines into the parts of ``mask``."""
        if mask not in self._rates_of:
            every = mask == (1 << self._most) - 1
            found = [
                sum((rate for index, rate in enumerate(each.values()) if every or mask >> index & 1), self._none)
                for each in self._lines
            ]
            self._rates_of[mask] = np.array(found)
        return self._rates_of[mask]

    @cached_property
    def around_hosts(self) -> Rates:
        """Return the joint rate of the lines around each host."""
        return self._around(np.arange(self._graph.hosts))

    @cached_property
    def around_boxes(self) -> Rates:
        """Return the joint rate of the lines around each box of hosts."""
        return self._around(np.array(servers_of(self._graph), dtype=np.int64))

    def _around(self, owners: Numbers) -> Rates:
        """Return the joint rate of the lines between what each owner has and all else.

        ``owners`` has the owner of each host. A switch that only hosts of one owner are joined to is that owner's:
        routers beside the hosts of a ring, switches inside a server; as is one all of whose links lead to what is that
        owner's: switches inside a server whose NPUs forward.
        """
        graph, ends = self._graph, self._graph.ends
        owner = np.full(graph.nodes, NONE, dtype=np.int64)
        owner[: graph.hosts] = owners
        to_host = (ends < graph.hosts).any(axis=1)
        host, switch = ends[to_host].min(axis=1), ends[to_host].max(axis=1)
        several = np.zeros(graph.nodes, dtype=np.bool_)
        owner[switch] = owner[host]
        several[switch[owner[switch] != owner[host]]] = True
        owner[several] = NONE
        owner[: graph.hosts] = owners
        lowest, highest = np.full(graph.nodes, graph.nodes), np.full(graph.nodes, NONE)
        for near, far in ((0, 1), (1, 0)):
            np.minimum.at(lowest, ends[:, near], owner[ends[:, far]])
            np.maximum.at(highest, ends[:, near], owner[ends[:, far]])
        owner = np.where((owner == NONE) & (lowest == highest), lowest, owner)
        found = np.zeros((int(owners.max()) + 1, *self._none.shape))
        mine = owner[ends]
        crossing = mine[:, 0] != mine[:, 1]
        for column in (0, 1):
            counted = crossing & (mine[:, column] != NONE)
            np.add.at(found, mine[counted, column], self._rates[counted])
        return found


def widest_rates(plan: AnyPlan, dimensions: Sequence[int]) -> tuple[float, ...]:
    """Return the joint rate of the lines that an NPU has towards all that differ from it in a dimension, and no higher.

    In bytes per nanosecond, of the NPU that has most. ``dimensions``: NPUs along each, the innermost first. Nothing
    that an NPU sends along a dimension is on its way for less than its bytes need at this rate.
    """
    packets = plan.of_packets
    if packets is None:
        grid = plan.grid.network.grid
        return tuple(dimension.ports * dimension.bytes_per_ns for dimension in grid)
    graph = packets.graph
    hosts = np.array(graph.npu_host, dtype=np.int64)
    lines = host_lines(packets)
    found, stride = [], 1
    for size in dimensions:
        most, inside = 0.0, np.arange(stride * size) // stride
        for npu in range(len(hosts)) if size > 1 else ():
            first = npu - npu % (stride * size)
            others = hosts[first : first + stride * size][inside != (npu - first) // stride]
            masks = lines.common(np.full(len(others), hosts[npu]), others)
            most = max(most, float(lines.rates(int(np.bitwise_or.reduce(masks)))[hosts[npu]].max()))
        found.append(most)
        stride *= size
    return tuple(found)
