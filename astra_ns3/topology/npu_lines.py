"""Lines of NPUs, where an NPU and the router beside it count as one: how they join NPUs, and who shares a server."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from math import inf
from typing import NamedTuple

from astra_ns3.frozen import dataclass
from astra_ns3.topology.graph import INJECTION, Graph, Link
from astra_ns3.topology.grids import grid_links
from astra_ns3.topology.nic_lines import NicLines
from astra_ns3.topology.parts import joined, lines_inside

_NO_NPU = -1
Pair = tuple[int, int]


class Axis(NamedTuple):
    """NPUs along an axis, and the links between each two neighbours; ``ring``: or else each is joined to each."""

    npus: int
    ring: bool
    links: Sequence[Sequence[Link]]


@dataclass(frozen=True, eq=False)
class NpuLines:
    """The lines of NPUs among ``links`` of a graph."""

    graph: Graph
    links: Sequence[Link]

    @cached_property
    def place(self) -> Sequence[int]:
        """The NPU of each node: of a switch, the only host that it has a line to, if that has no other; -1: none.

        That line has no delay, and is as fast as all others of the switch together, so it holds nothing back.
        """
        peers: dict[int, dict[int, list[Link]]] = defaultdict(lambda: defaultdict(list))
        for link in self.links:
            peers[link.a][link.b].append(link)
            peers[link.b][link.a].append(link)
        found = [_NO_NPU] * self.graph.nodes
        for npu, host in enumerate(self.graph.npu_host):
            found[host] = npu
        for node in range(self.graph.hosts, self.graph.nodes):
            hosts = [peer for peer in peers[node] if peer < self.graph.hosts]
            if len(hosts) == 1 and [*peers[hosts[0]]] == [node] and _holds_nothing(peers[node], hosts[0]):
                found[node] = found[hosts[0]]
        return found

    @cached_property
    def of_npus(self) -> Sequence[Sequence[Link]]:
        """The links of each NPU, without that to its router."""
        found: list[list[Link]] = [[] for _ in self.graph.npu_host]
        for link in self.links:
            ends = {self.place[link.a], self.place[link.b]}
            for npu in ends - {_NO_NPU} if len(ends) > 1 else ():
                found[npu].append(link)
        return found

    @property
    def least_bps(self) -> int:
        """The rates of the links of the NPU that has least, together."""
        return min(sum(link.rate_bps for link in links) for links in self.of_npus)

    @property
    def most_bps(self) -> int:
        """The rates of the links of the NPU that has most, together."""
        return max(sum(link.rate_bps for link in links) for links in self.of_npus)

    def axes(self, npus: int) -> Sequence[Axis]:
        """Return the axes, the innermost first, along which links join NPUs in each block of so many.

        There are none where they make no torus and don't join each NPU of a block to each.
        """
        blocks, along = len(self.graph.npu_host) // npus, self.links_along(npus, closed=True)
        if along:
            return [Axis(size, True, links) for size, links in zip(self.shape(npus), along, strict=True)]
        if self.pairs and len(self.pairs) == blocks * (npus * (npus - 1) // 2):
            return [Axis(npus, False, [*self.pairs.values()])]
        return []

    def links_along(self, npus: int, *, closed: bool) -> Sequence[Sequence[Sequence[Link]]]:
        """Return, for each axis of a torus in each block, the links between each two neighbours; empty: it is none.

        ``closed``: or else of a mesh, whose axes have ends.
        """
        blocks = len(self.graph.npu_host) // npus
        steps = [(*sorted((a, b)), axis) for a, b, axis in grid_links(self.shape(npus), wraps=closed)]
        along = [(first + a, first + b, axis) for first in range(0, blocks * npus, npus) for a, b, axis in steps]
        if not steps or {(a, b) for a, b, _ in along} != self.pairs.keys():
            return []
        found = [list[Sequence[Link]]() for _ in self.shape(npus)]
        for a, b, axis in along:
            found[axis].append(self.pairs[a, b])
        return found

    def shape(self, npus: int) -> tuple[int, ...]:
        """Return NPUs along each axis of the first block, as ways from NPU 0 have it; empty if these miss its end."""
        shape, stride = list[int](), 1
        while stride < npus:
            size = 1
            while (stride * (size - 1), stride * size) in self.pairs:
                size += 1
            if size == 1:
                return ()
            shape.append(size)
            stride *= size
        return tuple(shape) if stride == npus else ()

    @cached_property
    def pairs(self) -> Mapping[Pair, Sequence[Link]]:
        """The links between each two NPUs; empty if a link leads to a switch that isn't the router of one."""
        found: dict[Pair, list[Link]] = {}
        for link in self.links:
            a, b = sorted((self.place[link.a], self.place[link.b]))
            if a == _NO_NPU:
                return {}
            if a != b:
                found.setdefault((a, b), []).append(link)
        return found


def _holds_nothing(lines: Mapping[int, Sequence[Link]], host: int) -> bool:
    """Return whether a switch's lines to a host hold back nothing that its others bring."""
    own, others = lines[host], (link for peer, links in lines.items() if peer != host for link in links)
    fast = sum(link.rate_bps for link in own) >= sum(link.rate_bps for link in others)
    return all(link.kind == INJECTION or (fast and not link.delay_ps) for link in own)


def npu_lines_inside(graph: Graph) -> NpuLines:
    """Return the lines of NPUs to others of their servers, whichever servers these are."""
    return _with_routers(graph, [graph.links[number] for number in lines_inside(graph)])


def _with_routers(graph: Graph, lines: Sequence[Link]) -> NpuLines:
    routers = (link for link in graph.links if link.kind == INJECTION and not graph.leads_out(link))
    return NpuLines(graph, [*lines, *routers])


class Servers(NamedTuple):
    """Servers of equally many NPUs, one after the other, and the NICs of each, as many as the first has.

    ``routes_choose``: whether routes choose among NICs, which are on the lines that join NPUs.
    """

    npus: int
    inside: NpuLines
    nics: NicLines
    routes_choose: bool


def equal_servers(graph: Graph) -> Servers | None:
    """Return the servers of a graph; None if they are unlike, mixed in number, or each NPU is one."""
    inside = [link for link in graph.links if not graph.leads_out(link)]
    parts = joined(graph.nodes, [(link.a, link.b) for link in inside])
    server_of = {part: number for number, part in enumerate(dict.fromkeys(parts[host] for host in graph.npu_host))}
    npus = len(graph.npu_host) // len(server_of)
    of_npus = [server_of[parts[host]] for host in graph.npu_host]
    if npus == 1 or of_npus != [npu // npus for npu in range(len(server_of) * npus)]:
        return None
    outwards_bps, nics = [0] * len(server_of), set[Pair]()
    for number, link in enumerate(graph.links):
        for end in (link.a, link.b) if graph.leads_out(link) else ():
            server = server_of.get(parts[end])
            if server is not None:
                outwards_bps[server] += link.rate_bps
            if server == 0:
                nics.add((end, -1 if end < graph.hosts else number))  # a host's lines are ports of its NIC
    numbers = dict.fromkeys(lines_inside(graph))
    lines = [graph.links[number] for number in numbers]
    near = _with_routers(graph, lines)
    if not near.least_bps:
        return None
    others = [link for number, link in enumerate(graph.links) if number not in numbers and link.kind != INJECTION]
    leading = {end for link in graph.links if graph.leads_out(link) for end in (link.a, link.b) if end >= graph.hosts}
    out_by_near = any(link.a in leading or link.b in leading for link in lines)
    own = near if out_by_near else _with_routers(graph, others)
    groups = 1 if out_by_near else _groups(graph, others, npus)
    nic_lines = NicLines(npus, len(nics), min(outwards_bps), own.least_bps or inf, groups)
    routes_choose = out_by_near and len(server_of) > 1 and 1 < nic_lines.even_nics < npus
    return Servers(npus, near, nic_lines, routes_choose)


def _groups(graph: Graph, lines: Sequence[Link], npus: int) -> int:
    """Return in how many groups NPUs of a server share NICs, as ``lines`` other than NVLinks join both; else 1.

    Each group has as many NPUs, one after the other, and as many ends of lines outwards.
    """
    routers = [link for link in graph.links if link.kind == INJECTION]
    parts = joined(graph.nodes, [(link.a, link.b) for link in (*lines, *routers) if not graph.leads_out(link)])
    of_npus = [parts[host] for host in graph.npu_host]
    firsts = list(dict.fromkeys(of_npus))
    sharing, rest = divmod(len(of_npus), len(firsts))
    ends = Counter(parts[end] for link in lines if graph.leads_out(link) for end in (link.a, link.b))
    is_even = not rest and npus % sharing == 0 and len({ends[part] for part in firsts}) == 1
    in_order = of_npus == [firsts[npu // sharing] for npu in range(len(of_npus))]
    return npus // sharing if is_even and in_order and ends[firsts[0]] else 1


def bandwidths_along(graph: Graph, dimensions: Sequence[int]) -> tuple[float, ...] | None:
    """Return bits per second that the lines of an NPU carry along each dimension; None: lines make other dimensions."""
    npus, servers = len(graph.npu_host), equal_servers(graph)
    if servers is not None:
        is_grid = tuple(dimensions) == (servers.npus, npus // servers.npus)
        return (float(servers.inside.least_bps), servers.nics.share_bps) if is_grid else None
    lines = NpuLines(graph, graph.links)
    axes = [(axis.npus, axis.links) for axis in lines.axes(npus)]
    axes = axes or [*zip(lines.shape(npus), lines.links_along(npus, closed=False), strict=False)]
    if tuple(dimensions) != tuple(size for size, _ in axes):
        return None
    slowest = [min(sum(link.rate_bps for link in links) for links in along) for _, along in axes]
    return tuple(float(rate_bps * min(size - 1, 2)) for rate_bps, (size, _) in zip(slowest, axes, strict=True))
