"""The time of a message alone over packets: its frames one behind the other, at the rate of each line of its path.

The acknowledgement that completes a message is included. A message that keeps to one way has the ideal of the fastest
of its equal ways. *Model limits*: TCP's ideal is its segments at full rate, without handshake, slow start or windows.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable

import numpy as np
import numpy.typing as npt

from astra_ns3.network.ideal.cut_through import Lines, send_equal, send_few
from astra_ns3.network.ideal.ways import Way, packets_part, plain_way, single_ways, widest_ways
from astra_ns3.network.plan import NetworkPlan
from astra_ns3.topology.graph import Graph
from astra_ns3.transport.transport import Frames
from astra_ns3.transport.wire import PREAMBLE_AND_GAP_BYTES
from astra_ns3.units import PS_PER_SECOND

Numbers = npt.NDArray[np.int64]
_PS_PER_BYTE = 8 * PS_PER_SECOND
_NONE = -1
_FEW_SIZES = 16  # of messages at once: those of a collective, whose times are kept
_MOST_KNOWN = 10_000  # of these times, so that flows of all sizes fill no memory


class PacketIdeal:
    """Times of messages between NPUs of a plan, reducers and storage hosts; 0 over the transports of ``untold``."""

    def __init__(self, plan: NetworkPlan, untold: Collection[str] = ()) -> None:
        self._plan = plan
        self._untold = untold
        self._hosts = np.array(plan.graph.player_host, dtype=np.int64)
        self._class_of, self._members = _classes(plan.graph)
        self._number_of = np.zeros(len(self._members) ** 2, dtype=np.int32)  # from 1 on; 0: not known
        self._ways: dict[Ways, int] = {}
        self._known: dict[tuple[str, Ways, int], int] = {}
        self._parts = packets_part(plan)
        self._splits = any(each.message_parts > 1 for each in plan.transports.values())
        self._differ = not self._parts and plan.ways_differ
        self._rounding_ps = plan.time_rounding_ps

    def __call__(self, sources: npt.NDArray[np.int32], destinations: npt.NDArray[np.int32], sizes: Numbers) -> Numbers:
        """Picoseconds of each message, all columns of shape ``(messages,)``."""
        found = np.zeros(len(sizes), dtype=np.int64)
        inside = self._hosts[sources] == self._hosts[destinations]
        local = self._plan.graph.local
        found[inside] = _line_ps(sizes[inside], local.rate_bps) + local.delay_ps
        kinds = self._kinds(sources, destinations)
        for number, (_, kind) in enumerate(self._plan.transport_of_dimensions):
            if kind in self._untold:
                continue
            own = np.flatnonzero(~inside & (kinds == number))
            for ways, some in self._by_ways(sources[own], destinations[own]):
                found[own[some]] = self._times(kind, ways, sizes[own[some]])
        return found

    def _kinds(self, sources: npt.NDArray[np.int32], destinations: npt.NDArray[np.int32]) -> Numbers:
        """The dimension whose transport carries each: the highest in which its ends differ."""
        a, b = sources.astype(np.int64), destinations.astype(np.int64)
        highest = np.zeros(len(a), dtype=np.int64)
        for dimension, (npus, _) in enumerate(self._plan.transport_of_dimensions):
            highest[a % npus != b % npus] = dimension
            a, b = a // npus, b // npus
        return highest

    def _by_ways(
        self, sources: npt.NDArray[np.int32], destinations: npt.NDArray[np.int32]
    ) -> list[tuple[Ways, npt.NDArray[np.int64]]]:
        """Return the ways of pairs, and for each the places of the messages that may take them."""
        classes = len(self._members)
        from_class, to_class = (self._class_of[self._hosts[ends]] for ends in (sources, destinations))
        pairs = from_class * classes + to_class
        for pair in np.unique(pairs[self._number_of[pairs] == 0]).tolist():
            ways = self._find(*divmod(pair, classes))
            self._number_of[pair] = self._ways.setdefault(ways, len(self._ways) + 1)
        numbers, known = self._number_of[pairs], list(self._ways)
        return [(known[number - 1], np.flatnonzero(numbers == number)) for number in np.unique(numbers).tolist()]

    def _find(self, from_class: int, to_class: int) -> Ways:
        ends = self._members[from_class][0], self._members[to_class][-1]
        if self._differ:
            return single_ways(self._plan.graph, self._plan.tables, *ends)
        if self._parts:
            return widest_ways(self._plan.graph, self._plan.tables, *ends, all_ports=self._splits)
        return (plain_way(self._plan.graph, self._plan.tables, *ends),)

    def _times(self, kind: str, ways: Ways, sizes: Numbers) -> Numbers:
        transport = self._plan.transports[kind]
        answer = transport.answer_wire_bytes if transport.acknowledged else 0
        distinct, place = np.unique(sizes, return_inverse=True)
        if len(distinct) > _FEW_SIZES:
            return _with_answer(ways, transport.frames(sizes), answer, self._rounding_ps)
        keys = [(kind, ways, size) for size in distinct.tolist()]
        if any(key not in self._known for key in keys):
            times = _with_answer(ways, transport.frames(distinct), answer, self._rounding_ps)
            if len(self._known) > _MOST_KNOWN:
                self._known.clear()
            self._known.update(zip(keys, times.tolist(), strict=True))
        found: Numbers = np.array([self._known[key] for key in keys], dtype=np.int64)[place]
        return found


def ideal_over_packets(plan: NetworkPlan) -> PacketIdeal:
    """Return times alone as packets may have them: 0 over transports whose own part keeps messages from them."""
    return PacketIdeal(plan, {kind for kind, each in plan.transports.items() if each.has_part_of_its_own})


Ways = tuple[Way, ...]


def _with_answer(ways: Ways, frames: Frames, answer_bytes: int, rounding_ps: int) -> Numbers:
    """Return the time of a message's frames plus that of the answer that completes it (0 bytes: no answer)."""
    times = _fastest_ps(ways, frames, rounding_ps)
    if not answer_bytes:
        return times
    answer: Frames = [(np.ones(1, dtype=np.int64), np.full(1, answer_bytes))]
    return times + _fastest_ps(tuple(way.back() for way in ways), answer, rounding_ps)


def _fastest_ps(ways: Ways, frames: Frames, rounding_ps: int) -> Numbers:
    """Return the time of frames over the way that takes them in the least."""
    fastest = _travel_ps(ways[0], frames, rounding_ps)
    for way in ways[1:]:
        fastest = np.minimum(fastest, _travel_ps(way, frames, rounding_ps))
    return fastest


def _travel_ps(way: Way, frames: Frames, rounding_ps: int) -> Numbers:
    """From the first bit sent to the last received, when frames leave as fast as the first line takes them.

    A frame leaves a line when it has come and its predecessor has left. So the last of a group leaves a line at the
    latest of: any line before, where it or the group's first waited for the group before, then each line between once,
    and the slowest of these again for every other frame of the group.
    """
    delay_ps, rates, cut_through, widths, _, singles = way
    if widths:
        together_ps = _wide_ps(way, frames, rounding_ps) + delay_ps
        return np.maximum(together_ps, _single_ps(singles, frames, rounding_ps)) if singles else together_ps
    if any(cut_through):
        return _cut_through_ps(rates, cut_through, frames, rounding_ps) + delay_ps
    left = [np.zeros(1, dtype=np.int64) for _ in rates]
    for count, size in frames:
        line_ps = [_frame_ps(size, rate, rounding_ps) for rate in rates]
        after = [np.zeros(len(size), dtype=np.int64) for _ in rates]
        for join in range(len(rates)):
            passed = slowest = np.zeros(len(size), dtype=np.int64)
            for line in range(join, len(rates)):
                passed, slowest = passed + line_ps[line], np.maximum(slowest, line_ps[line])
                after[line] = np.maximum(after[line], left[join] + passed + (count - 1) * slowest)
        left = [np.where(count > 0, new, old) for new, old in zip(after, left, strict=True)]
    return left[-1] + delay_ps


def _cut_through_ps(rates: tuple[int, ...], cut_through: tuple[int, ...], frames: Frames, rounding_ps: int) -> Numbers:
    """The same without the delays where a switch sends frames on before all of them is there."""
    lines = _lines(rates, cut_through, rounding_ps)
    (counts, sizes), *others = frames  # the first are all full
    free_ps = send_equal(lines, counts, int(sizes[0]))
    for count, size in others:
        free_ps = send_few(lines, free_ps, count, size)
    found: Numbers = free_ps[-1]
    return found


def _lines(rates: tuple[int, ...], cut_through: tuple[int, ...], rounding_ps: int) -> Lines:
    heads = (*(size + PREAMBLE_AND_GAP_BYTES if size else 0 for size in cut_through), 0)
    return Lines(lambda sizes, line: _frame_ps(sizes, rates[line], rounding_ps), heads)


def _wide_ps(way: Way, frames: Frames, rounding_ps: int) -> Numbers:
    """Return the least time without the delays over several ways: that of a frame alone, or of all at some step.

    All lines of the step take the frames together. The first frame has come over the lines before, and the last one
    goes over those behind.
    """
    messages = max(len(count) for count, _ in frames)
    smallest = np.full(messages, np.iinfo(np.int64).max)
    longest = np.zeros(messages, dtype=np.int64)
    for count, size in frames:
        there = count > 0
        smallest = np.where(there, np.minimum(smallest, size), smallest)
        longest = np.where(there, np.maximum(longest, _alone_ps(way, size, rounding_ps)), longest)
    for line, (rate, width) in enumerate(zip(way.rates_bps, way.widths, strict=True)):
        every = sum((count * _frame_ps(size, rate, rounding_ps) for count, size in frames), np.zeros(1, dtype=np.int64))
        passed = (every / width).astype(np.int64) + _elsewhere_ps(way, line, smallest, rounding_ps)
        longest = np.maximum(longest, passed)
    return longest


def _single_ps(ways: Ways, frames: Frames, rounding_ps: int) -> Numbers:
    """Return the least time of the longest of the frames by itself, which takes one of the ways."""
    longest = np.zeros(max(len(count) for count, _ in frames), dtype=np.int64)
    for count, size in frames:
        times = _frame_alone_ps(ways[0], size, rounding_ps)
        for way in ways[1:]:
            times = np.minimum(times, _frame_alone_ps(way, size, rounding_ps))
        longest = np.maximum(longest, np.where(count > 0, times, 0))
    return longest


def _frame_alone_ps(way: Way, sizes: Numbers, rounding_ps: int) -> Numbers:
    """Return the time of one frame of each size over one way."""
    if any(way.cut_through):
        lines = _lines(way.rates_bps, way.cut_through, rounding_ps)
        free_ps = send_few(lines, lines.idle(len(sizes)), np.ones(len(sizes), dtype=np.int64), sizes)
        passed: Numbers = free_ps[-1]
    else:
        passed = np.zeros(len(sizes), dtype=np.int64)
        for rate in way.rates_bps:
            passed = passed + _frame_ps(sizes, rate, rounding_ps)
    return passed + way.delay_ps


def _elsewhere_ps(way: Way, line: int, sizes: Numbers, rounding_ps: int) -> Numbers:
    """Return the least time of a frame on all lines but one.

    Before a switch that cuts through its head alone counts, and behind one nothing.
    """
    passed = np.zeros(len(sizes), dtype=np.int64)
    heads = [bytes + PREAMBLE_AND_GAP_BYTES if bytes else 0 for bytes in way.cut_through]
    for other, rate in enumerate(way.rates_bps):
        if other == line:
            continue
        head = heads[other if other < line else other - 1]
        cuts = (sizes > head) if head else np.zeros(len(sizes), dtype=np.bool_)
        shorter = np.minimum(sizes, head) if other < line else np.zeros_like(sizes)
        passed = passed + _frame_ps(np.where(cuts, shorter, sizes), rate, rounding_ps)
    return passed


def _alone_ps(way: Way, sizes: Numbers, rounding_ps: int) -> Numbers:
    """Return the least time of one frame of each size by itself.

    Where lines of a step differ, the fastest may not be the one that sends a frame on soonest: a switch can't cut
    through to a line that would run out of bits. So each line counts by itself.
    """
    times = np.zeros(len(sizes), dtype=np.int64)
    if not way.alike:
        for line, rate in enumerate(way.rates_bps):
            whole = _frame_ps(sizes, rate, rounding_ps) + _elsewhere_ps(way, line, sizes, rounding_ps)
            times = np.maximum(times, whole)
        return times
    plain = Way(0, way.rates_bps, way.cut_through)
    for size in np.unique(sizes).tolist():
        one = [(np.ones(1, dtype=np.int64), np.full(1, size))]
        times[sizes == size] = _travel_ps(plain, one, rounding_ps)[0]
    return times


def _frame_ps(size: Numbers, rate_bps: int, rounding_ps: int) -> Numbers:
    """How long a line is busy with frames of these sizes: to the nearest picosecond, or multiple of ``rounding_ps``."""
    times: Numbers = (size * _PS_PER_BYTE + rate_bps // 2) // rate_bps
    return (times + rounding_ps // 2) // rounding_ps * rounding_ps if rounding_ps else times


def _line_ps(size: Numbers, rate_bps: int) -> Numbers:
    """The same of messages inside a host, which may be large, to the nearest picosecond."""
    if _PS_PER_BYTE % rate_bps == 0:
        return size * (_PS_PER_BYTE // rate_bps)
    return np.array([(each * _PS_PER_BYTE + rate_bps // 2) // rate_bps for each in size.tolist()], dtype=np.int64)


def _classes(graph: Graph) -> tuple[Numbers, list[list[int]]]:
    """The class of each host, and its first and last member: hosts with like links to the same switches are alike."""
    numbers: dict[Hashable, int] = {}
    members: list[list[int]] = []
    class_of = np.full(graph.hosts, _NONE, dtype=np.int64)
    for host in dict.fromkeys(graph.player_host):
        number = numbers.setdefault(_surroundings(graph, host), len(numbers))
        class_of[host] = number
        if number == len(members):
            members.append([host])
        else:
            members[number][1:] = [host]
    return class_of, members


def _surroundings(graph: Graph, host: int) -> Hashable:
    links = [(port.peer, graph.links[port.link]) for port in graph.ports[host]]
    if any(peer < graph.hosts for peer, _ in links):
        return host
    return tuple(sorted((peer, link.cost, link.delay_ps, link.rate_bps) for peer, link in links))
