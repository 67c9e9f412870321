"""Cuts of a network: lines with a joint rate, and the bytes of a run that must cross them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from astra_ns3.config.formats.analytical import AnalyticalDimension
from astra_ns3.config.network.analytical_network import AnalyticalNetwork
from astra_ns3.config.topology.direct import RouterTopology
from astra_ns3.config.topology.routing import VALIANT
from astra_ns3.frozen import dataclass
from astra_ns3.network.floor.carried import CarriedBytes, Numbers
from astra_ns3.network.floor.host_lines import NONE, host_lines
from astra_ns3.network.floor.line_rates import Rates, line_rates
from astra_ns3.network.plan import AnyPlan, NetworkPlan
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.npu_lines import NpuLines
from astra_ns3.topology.parts import joined, parts_of, servers_of
from astra_ns3.topology.routes import LOCAL

Amounts = Numbers | Rates
# Along an axis that is halved: a matrix has a cell for every two.
_MOST_PLACES = 1024
# What blocks are called by how many levels they have outside servers, two or more alike.
_BLOCKS = ("server", "leaf", "pod")


@dataclass(frozen=True)
class Cuts:
    """Alike cuts, one for each place that ``where(place)`` names: ``bytes`` must cross lines of ``bytes_per_ns``.

    ``bytes_per_ns`` has a column for each stretch of time (:class:`LineRates`).
    """

    bytes: Numbers
    bytes_per_ns: Rates
    names: tuple[str, str]
    """The words before and behind the number of a place."""
    places: Numbers
    others: Numbers | None = None
    """The place behind that; None: nothing."""

    def where(self, cut: int) -> str:
        """Return the name of a cut's lines."""
        before, behind = self.names
        return f"{before}{self.places[cut]}{behind}{'' if self.others is None else self.others[cut]}"


def cuts_of(plan: AnyPlan, carried: CarriedBytes) -> Iterator[Cuts]:
    """Yield the cuts around each NPU's ports, and each server, of a network."""
    packets = plan.of_packets
    yield from _of_dimensions(plan.grid.network, carried) if packets is None else _of_graph(packets, carried)


def _of_dimensions(network: AnalyticalNetwork, carried: CarriedBytes) -> Iterator[Cuts]:
    """Around each NPU, and each block of NPUs that differ in inner dimensions only.

    A message crosses the dimensions that its ends differ in, in any order: on its way out of a block it takes a port of
    one of those that the block is whole in.
    """
    grid, npus = network.grid, network.npus
    ports = np.array([dimension.ports * dimension.bytes_per_ns for dimension in grid])
    yield from _to_switches(grid[0], npus, carried)
    among = (carried.sender < npus) & (carried.receiver < npus)
    carried = CarriedBytes(carried.sender[among], carried.receiver[among], carried.bytes[among])
    differs = _differing(grid, carried)
    size = 1
    for level, dimension in enumerate(grid):
        leaves = differs >> level << level
        for mask in np.unique(leaves[leaves > 0]).tolist():
            inside = (leaves > 0) & ((leaves | mask) == mask)
            crossed = [number for number in range(len(grid)) if mask >> number & 1]
            rates = np.full((npus // size, 1), size * ports[crossed].sum())
            for way, ends in (("out of", carried.sender), ("into", carried.receiver)):
                sums = _summed(ends[inside] // size, carried.bytes[inside], npus // size)
                yield Cuts(sums, rates, _port_words(way, size, crossed), np.arange(npus // size) * size)
        size *= dimension.npus
    yield from _of_single_lines(grid, carried, differs)


def _to_switches(inner: AnalyticalDimension, npus: int, carried: CarriedBytes) -> Iterator[Cuts]:
    """Around each NPU by its port to the switch of the innermost dimension, which reduces and has no number of an NPU.

    Bytes between NPUs that differ in that dimension alone take the port, too.
    """
    if not (np.maximum(carried.sender, carried.receiver) >= npus).any():
        return
    inside = carried.sender // inner.npus == carried.receiver // inner.npus
    rates = np.full((npus, 1), inner.bytes_per_ns)
    for way, ends, others in (("out of", carried.sender, carried.receiver), ("into", carried.receiver, carried.sender)):
        own = (ends < npus) & ((others >= npus) | (inside & (ends != others)))
        sums = _summed(ends[own], carried.bytes[own], npus)
        yield Cuts(sums, rates, _port_words(way, 1, [0]), np.arange(npus))


def _of_single_lines(grid: Sequence[AnalyticalDimension], carried: CarriedBytes, differs: Numbers) -> Iterator[Cuts]:
    """Lines of an NPU that messages along one dimension can't choose between: to a peer, or the shorter way round."""
    stride = 1
    for number, dimension in enumerate(grid):
        along, places = differs == 1 << number, dimension.npus
        steps = (carried.receiver // stride - carried.sender // stride)[along] % places
        stride *= places
        if dimension.topology == "switch" or dimension.ports == 1:
            continue
        for way, ends in (("out of", carried.sender), ("into", carried.receiver)):
            line = ends[along] * places + steps
            sizes = carried.bytes[along]
            if dimension.topology == "ring":
                one_way = 2 * steps != places
                line = (ends[along] * 2 + (2 * steps > places))[one_way]
                sizes = sizes[one_way]
            lines, row = np.unique(line, return_inverse=True)
            rates = np.full((len(lines), 1), dimension.bytes_per_ns)
            names = f"the busiest line {way} NPU ", f" in dimension {number}"
            owners = lines // (2 if dimension.topology == "ring" else places)
            if len(lines):
                yield Cuts(_summed(row, sizes, len(lines)), rates, names, owners)


def _differing(grid: Sequence[AnalyticalDimension], carried: CarriedBytes) -> Numbers:
    """Return of each message, a bit for each dimension, in which its ends differ."""
    found = np.zeros(len(carried.bytes), dtype=np.int64)
    sender, receiver = carried.sender, carried.receiver
    for number, dimension in enumerate(grid):
        found |= (sender % dimension.npus != receiver % dimension.npus).astype(np.int64) << number
        sender, receiver = sender // dimension.npus, receiver // dimension.npus
    return found


def _port_words(way: str, size: int, dimensions: Sequence[int]) -> tuple[str, str]:
    """Return the words before and behind the number of a block's first NPU."""
    numbers = f"dimension{'s' if len(dimensions) > 1 else ''} {' and '.join(map(str, dimensions))}"
    if size == 1:
        return f"the lines {way} NPU ", f" in {numbers}"
    return f"the lines {way} the {size:,} NPUs from ", f" on in {numbers}"


def _of_graph(plan: NetworkPlan, carried: CarriedBytes) -> Iterator[Cuts]:
    """Around each host by what its messages may leave through, hosts with their own router, servers, and switches."""
    graph = plan.graph
    hosts = np.array(graph.player_host, dtype=np.int64)
    source, destination = hosts[carried.sender], hosts[carried.receiver]
    apart = source != destination
    source, destination, all_sizes = source[apart], destination[apart], carried.bytes[apart]
    lines = host_lines(plan)
    first_npu = np.zeros(graph.hosts, dtype=np.int64)
    first_npu[hosts[::-1]] = np.arange(len(hosts))[::-1]
    host = "NPU " if len(set(graph.npu_host)) == len(graph.npu_host) else "the host of NPU "
    of_npus = graph.hosts - len(graph.reducers) - len(graph.storage)
    for way, ends, others in (("out of", source, destination), ("into", destination, source)):
        own, other, sizes = (column[ends < of_npus] for column in (ends, others, all_sizes))
        common = lines.common(own, other)
        for mask in sorted(set(common.tolist())):  # as in topology/distances.py
            inside = (common | mask) == mask
            sums = _summed(own[inside], sizes[inside], graph.hosts)
            yield Cuts(sums, lines.rates(mask), (f"the lines {way} {host}", ""), first_npu)
        every = np.arange(graph.hosts)
        yield Cuts(_summed(own, sizes, graph.hosts), lines.around_hosts, (f"the lines {way} {host}", ""), first_npu)
        if graph.storage:
            at = np.isin(ends, graph.storage)
            sums = _summed(ends[at], all_sizes[at], graph.hosts)
            yield Cuts(sums, lines.around_hosts, (f"the lines {way} storage host ", ""), every - graph.storage[0])
        if graph.reducers:
            reducers = np.array(graph.player_host[len(graph.npu_host) :][: len(graph.reducers)], dtype=np.int64)
            sums = _summed(ends, all_sizes, graph.hosts)[reducers]
            words = f"the line {way} the reducer of switch ", ""
            yield Cuts(sums, lines.own()[reducers], words, np.array(graph.reducers, dtype=np.int64))
        boxes = np.array(servers_of(graph), dtype=np.int64)
        if len(np.unique(boxes)) < graph.hosts:
            box = "group" if plan.config.topology.kind == "dragonfly" else "server"
            outside = boxes[own] != boxes[other]
            sums = _summed(boxes[own][outside], sizes[outside], int(boxes.max()) + 1)
            yield Cuts(sums, lines.around_boxes, (f"the lines {way} {box} ", ""), np.arange(len(sums)))
    yield from _below_switches(plan, source, destination, all_sizes, first_npu)
    if plan.config.topology.routing.kind != VALIANT:  # which leaves by lines that no shortest way has
        yield from _along_axes(plan, source, destination, all_sizes, first_npu)
        yield from _towards(plan, source, destination, all_sizes, first_npu, host)


def _towards(
    plan: NetworkPlan, source: Numbers, destination: Numbers, sizes: Numbers, first_npu: Numbers, name: str
) -> Iterator[Cuts]:
    """The lines that a host, or the switch that it hangs on, has towards others: as its routes say, all shortest ways.

    A message comes in over the lines that its receiver has towards its sender. ``name``: what a host is called.
    """
    if any(change.state.up is not None for change in plan.changes):
        return  # there may be other ways then
    graph, tables = plan.graph, plan.tables
    node_of = np.arange(graph.hosts)
    alone = np.array([own is None for own in tables.hosts], dtype=np.bool_)
    node_of[alone] = graph.adjacency.peers[graph.adjacency.offsets[: graph.hosts][alone]]
    known = ~alone | (node_of >= graph.hosts)  # of one that only hangs on another host its ports tell
    several = np.bincount(node_of, minlength=graph.nodes) > 1
    # Reducers have one line, and no number among NPUs; so have storage hosts, which have cuts of their own.
    known[graph.hosts - len(graph.reducers) - len(graph.storage) :] = False
    for way, behind, own, other in (
        ("from", f" towards {name}", source, destination),
        ("into", f" from {name}", destination, source),
    ):
        rows_of = np.flatnonzero(known[own])
        order = rows_of[np.argsort(node_of[own[rows_of]], kind="stable")]
        nodes, starts = np.unique(node_of[own[order]], return_index=True)
        for node, rows in zip(nodes.tolist(), np.split(order, starts[1:])[: len(nodes)], strict=True):
            joint, row = _joint_rates(plan, node, other[rows])
            away = row != NONE
            used, row, count = np.unique(row[away], return_inverse=True, return_counts=True)
            if len(used):
                one = rows[away][np.argsort(row, kind="stable")[np.cumsum(count) - count]]
                sums = _summed(row, sizes[rows[away]], len(used))
                before = f"the lines {way} {'the switch of ' if several[node] else ''}{name}"
                yield Cuts(sums, joint[used], (before, behind), first_npu[own[one]], first_npu[other[one]])


def _joint_rates(plan: NetworkPlan, node: int, others: Numbers) -> tuple[Rates, Numbers]:
    """Return the rates of sets of lines that a node has towards others, and which set leads to each of ``others``.

    Hosts that hang on a switch have their own ports, and no set; a host has one to each host that it is joined to.
    """
    graph, tables = plan.graph, plan.tables
    routes = tables.hosts[node] if node < graph.hosts else tables.switches[node - graph.hosts]
    assert routes is not None
    rates = line_rates(plan).bytes_per_ns[graph.adjacency.links[graph.adjacency.of(node)]]
    sets = np.split(routes.set_ports, routes.set_offsets[1:-1])
    joint = [rates[np.unique(ports)].sum(axis=0) for ports in sets]
    row = routes.set_of_group[tables.group_of_host[others]].astype(np.int64)
    set_of_host = np.full(graph.hosts, NONE)
    for host in np.unique(routes.local_hosts).tolist() if node < graph.hosts else []:
        set_of_host[host] = len(joint)
        joint.append(rates[routes.local_ports[routes.local_hosts == host]].sum(axis=0))
    return np.array(joint), np.where(row == LOCAL, set_of_host[others], row)


def _along_axes(
    plan: NetworkPlan, source: Numbers, destination: Numbers, sizes: Numbers, first_npu: Numbers
) -> Iterator[Cuts]:
    """Around each half of an axis of a ring, torus or mesh, which may be closed, and around all before a place.

    Hosts that are joined to each other without switches are one axis, in the order of their numbers.
    """
    for place, places, sets in _axes(plan):
        moved = _between(place[source], place[destination], sizes, len(places))
        for inside, rates, (before, behind) in sets:
            for way, amounts in (("out of", moved), ("into", moved.T)):
                sums = _crossing(inside, amounts).astype(np.int64)
                yield Cuts(sums, rates, (f"the lines {way} {before}", behind), first_npu[places])


@lru_cache(maxsize=1)
def _axes(plan: NetworkPlan) -> Sequence[tuple[Numbers, Numbers, Sequence[tuple[Rates, Rates, tuple[str, str]]]]]:
    """Return the place of each host along each axis, the first host of each place, and sets of places.

    A row for each set says which places are in it; besides, the rate of the lines around each set, and its name.
    """
    graph, topology = plan.graph, plan.config.topology
    host_of = np.full(graph.nodes, NONE, dtype=np.int64)
    host_of[: graph.hosts] = np.arange(graph.hosts)
    ends = graph.ends
    to_host = (ends < graph.hosts).sum(axis=1) == 1
    host_of[ends[to_host].max(axis=1)] = ends[to_host].min(axis=1)
    if to_host.sum() != graph.nodes - graph.hosts or (host_of == NONE).any():
        return ()  # a switch that isn't the router of one host
    found, stride, rates = [], 1, line_rates(plan).bytes_per_ns
    shape = topology.grid() if isinstance(topology, RouterTopology) else NpuLines(graph, graph.links).shape(graph.hosts)
    for axis, size in enumerate(shape or (graph.hosts,)):
        place = np.arange(graph.hosts) // stride % size
        if 2 < size <= _MOST_PLACES:
            a, b = place[host_of[ends]].T
            starts = np.arange(size)
            half, before = (starts - starts[:, None]) % size < size // 2, starts < starts[:, None]
            named = (
                (half, (f"half of dimension {axis}, from NPU ", " on")),
                (before, ("all before NPU ", f" along dimension {axis}")),
            )
            around = [
                (inside.astype(np.float64), np.array([(one[a] != one[b]) @ rates for one in inside]), names)
                for inside, names in named
            ]
            found.append((place, starts * stride, around))
        stride *= size
    return found


def _between(a: Numbers, b: Numbers, amounts: Amounts, size: int) -> Rates:
    """Return the amounts between every two of ``size`` places."""
    found = np.zeros((size, size))
    np.add.at(found, (a, b), amounts)
    return found


def _crossing(sets: Rates, amounts: Rates) -> Rates:
    """Return the amounts that leave each set of places, a row of ``sets`` each."""
    rows, columns = (np.flatnonzero(amounts.any(axis=axis)) for axis in (1, 0))
    leaving: Rates = ((sets[:, rows] @ amounts[np.ix_(rows, columns)]) * (1 - sets[:, columns])).sum(axis=1)
    return leaving


def _below_switches(
    plan: NetworkPlan, source: Numbers, destination: Numbers, sizes: Numbers, first_npu: Numbers
) -> Iterator[Cuts]:
    """Around the switches of each level with all below them: leaves, then pods, then what the next level joins.

    A switch's level is its distance from the nearest host. Hosts forward nothing, so a message whose ends meet in one
    part of the network alone stays in this part. All messages count where the parts count together.
    """
    graph = plan.graph
    for switches, blocks in _blocks(plan):
        met, own, other = _meeting(switches, source, destination)
        for block, capacity, name in blocks:
            leaves = block[own] != block[other]
            for way, side, hosts in (("out of", own, source[met]), ("into", other, destination[met])):
                first = np.full(graph.nodes, len(graph.npu_host))
                np.minimum.at(first, block[side], first_npu[hosts])
                sums = _summed(block[side[leaves]], sizes[met][leaves], graph.nodes)
                sums[first >= len(graph.npu_host)] = 0  # of reducers alone, which have no number of an NPU
                yield Cuts(sums, capacity, (f"the lines {way} the {name} of NPU ", ""), first)


@lru_cache(maxsize=1)
def _blocks(plan: NetworkPlan) -> Sequence[tuple[Numbers, Sequence[tuple[Numbers, Rates, str]]]]:
    """Return the switches beside each host, and the blocks of each level, where parts count apart and together.

    A block has the same number at each of its nodes; besides, the rate of each block's lines, and its name.
    """
    graph, rates = plan.graph, line_rates(plan).bytes_per_ns
    ends = np.sort(graph.ends, axis=1)
    between, from_host = ends[:, 0] >= graph.hosts, (ends < graph.hosts).sum(axis=1) == 1
    level, trunks, lines = _levels(graph, ends), ends[between], ends[from_host].tolist()
    if not len(trunks) or not (between | from_host).all():
        return ()
    found = []
    for part in (parts_of(graph), [0] * graph.nodes):
        switch_of = {(host, part[switch]): switch for host, switch in lines}
        beside = [(switch, switch_of[host, part[switch]]) for host, switch in lines]
        blocks = []
        for highest in np.unique(level[trunks]).tolist():
            rising = trunks[(level[trunks[:, 0]] != level[trunks[:, 1]]) & (level[trunks] <= highest).all(axis=1)]
            block = np.array(joined(graph.nodes, [*beside, *rising.tolist()]), dtype=np.int64)
            crossing, capacity = np.diff(block[trunks])[:, 0] != 0, np.zeros((graph.nodes, rates.shape[1]))
            np.add.at(capacity, block[trunks[crossing]], rates[between][crossing, None])
            blocks.append((block, capacity, _BLOCKS[min(max(highest - graph.inside_levels, 0), 2)]))
        found.append((_switches_beside(graph.hosts, switch_of), blocks))
    return found


def _levels(graph: Graph, ends: Numbers) -> Numbers:
    """Return how many links each node is from the nearest host."""
    level, before = np.where(np.arange(graph.nodes) < graph.hosts, 0, graph.nodes), None
    while before is None or (level != before).any():
        before = level.copy()
        for near, far in ((0, 1), (1, 0)):
            np.minimum.at(level, ends[:, far], before[ends[:, near]] + 1)
    return level


def _switches_beside(hosts: int, switch_of: Mapping[tuple[int, int], int]) -> Numbers:
    """Return the parts beside each host, each with its switch, shape ``(hosts, parts, 2)``.

    ``switch_of``: a switch beside a host in a part, by host and part.
    """
    rows: list[list[tuple[int, int]]] = [[] for _ in range(hosts)]
    for (host, part), switch in switch_of.items():
        rows[host].append((part, switch))
    most = max(map(len, rows))
    return np.array([row + [(NONE, NONE)] * (most - len(row)) for row in rows], dtype=np.int64)


def _meeting(table: Numbers, own: Numbers, other: Numbers) -> tuple[npt.NDArray[np.bool_], Numbers, Numbers]:
    """Return which messages have ends that meet in one part alone, and the switches of each such message's ends there.

    ``table``: the parts and switches beside each host.
    """
    times, near, far = (np.zeros(len(own), dtype=np.int64) for _ in range(3))
    for index in range(table.shape[1]):
        mine = table[own, index]
        same = (table[other, :, 0] == mine[:, :1]) & (mine[:, :1] != NONE)
        found = same.any(axis=1)
        times += found
        near[found] = mine[found, 1]
        far[found] = table[other[found], same[found].argmax(axis=1), 1]
    met = times == 1
    return met, near[met], far[met]


def _summed(places: Numbers, sizes: Numbers, count: int) -> Numbers:
    sums = np.zeros(count, dtype=np.int64)
    np.add.at(sums, places, sizes)
    return sums
