"""Changes that would help, were all else the same: parts of messages that would go, as far as the floor allows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import compress

import numpy as np

from astra_ns3.frozen import dataclass
from astra_ns3.network.backends import abilities_of
from astra_ns3.network.run_document import FloorDocument, RunDocument
from astra_ns3.report.explanation.parts import (
    BUSY,
    CHANNEL,
    COPYING,
    ENDPOINT,
    IN_ORDER,
    KERNEL,
    LATENCY,
    LINE_RATE,
    LOSSES,
    LOSSES_AND_IN_ORDER,
    MESSAGE,
    MORE_CREDIT,
    NIC_WAITS,
    OF_SENDERS,
    OPEN_WINDOW,
    OTHER,
    PACED_BY_LINES,
    PARTS,
    PAUSED,
    PHASE,
    QUEUES,
    SIGNAL,
    SLOT_COPYING,
    SLOT_LATENCY,
    WHAT_IFS,
    WHOLE,
    Segment,
)
from astra_ns3.report.explanation.recorded import Times
from astra_ns3.report.explanation.run_tables import Tables, alone_ps
from astra_ns3.report.own_bytes import Columns, Real, has_accounts, with_headers
from astra_ns3.report.records import by_value
from astra_ns3.report.tables import Numbers
from astra_ns3.transport.transports import TRANSPORTS
from astra_ns3.units import LARGEST_INTEGER

FASTER_LINES = "with lines twice as fast"
FASTER_NPUS = "with NPUs that compute twice as fast"
NO_SLOW_NPUS = "without slow NPUs"
IN_ORDER_AS_NOW = "messages keep their order; in another, the run may end sooner or later"
AT_LEAST = "at least, for it isn't known what messages waited for"
LATE = "messages that slow NPUs send late, and together, wait for each other, too"
ANEW = "NCCL's choices are kept, and NCCL may choose anew: not counted"
OTHERS = "without waiting in the NIC for other collectives"
SLOWED_BESIDE = "collectives then slow computing for another time: not counted"
MEET = "phases that meet then may slow each other otherwise: not counted"
OTHER_JOBS = "other jobs may then send at other times: not counted"
RATES = "rates of a congestion control may then rise and fall otherwise: not counted"
RATES_OF_EVENTS = "rates that events set count as twice as fast, too"
WINDOWS = "windows may then open and close otherwise: not counted"
FASTER = "faster_ps"
_WITH_WINDOW = tuple(name for name in OF_SENDERS if name not in ("lost_ps", "transport_ps"))
# Links within phases: messages, and what NPUs do with them.
_MESSAGES, _BESIDE = (MESSAGE, PHASE), (ENDPOINT, CHANNEL, KERNEL, LATENCY, COPYING, BUSY, SLOT_LATENCY, SLOT_COPYING)
# Parts of a message's time at the pace of its line, or of its rate.
_AT_A_PACE = ("serialisation_ps", "pacing_ps")
_OF_SWITCHES = ("switch_queue_ps", "switch_paused_ps")
# Parts of a message's time after its last packet has left the NIC.
_BEHIND_NIC = (*_OF_SWITCHES, "propagation_ps", "acknowledgement_ps", "later_ps")
# Counters of frames that were lost, in a queue or on a link.
_LOST = ("dropped_frames", "lost_frames", "cut_frames", "down_frames", "silent_frames", "unrouted_frames")


@dataclass(frozen=True)
class WhatIf:
    """A change and how much sooner the end would come; ``bounded``: it would be more, but the floor allows no more.

    ``bound``: which kind of floor it is then, ``lines`` or the longest ``chain``. ``caveats``: what
    may change besides and isn't counted.
    """

    change: str
    time_ps: int
    bounded: bool = False
    bound: str = ""
    caveats: tuple[str, ...] = ()


@dataclass(frozen=True)
class Lines:
    """How a network's lines bound a run, and what else of a run's network decides what would help.

    ``least_ps``: what they need for its bytes, ``twice_ps`` with twice their rates, and ``chain_ps``: the longest chain
    of its computations, which takes its time on any lines (0: not known). ``windows_grow``: a window is bandwidth times
    delay of its path, so it grows with the lines. ``own_part``: a transport has a part of its own in a message's time.
    ``losses``: what ends them; packets that come out of order are taken for lost, too. ``shared``: messages on one line
    slow each other down, so a line's bytes take their time; False, too, where parts of messages aren't known, which may
    hide it. ``controlled``: a congestion control may slow a message; else only a slower line ahead or a kernel paces
    it. ``own_control``: a control of the user's own sets rates, and not by the line's. ``with_headers``: bytes on the
    line over data.
    """

    least_ps: int
    twice_ps: int
    windows_grow: bool = False
    own_part: bool = False
    losses: str = LOSSES
    chain_ps: int = 0
    shared: bool = True
    controlled: bool = True
    own_control: bool = False
    with_headers: float = 1

    @classmethod
    def of(cls, metadata: RunDocument, *, whole: bool, parts_known: bool = True) -> Lines:
        """Return the lines of a run; a part of a run, as one that was stopped, has no floor (``whole``).

        ``parts_known``: the chain tells what its messages waited for. Without, a busy line alone would promise less or
        more than the same run with accounts.
        """
        floor = metadata.get("floor") if whole and metadata["stopped"] is None else None
        in_force = metadata.get("in_force") or {}
        used = [kind for kind in TRANSPORTS if kind in in_force]
        grow = any(in_force[kind].get("window_of_path") for kind in used)
        losses, counts = LOSSES, metadata["statistics"]
        if counts.get("out_of_order_packets"):
            losses = LOSSES_AND_IN_ORDER if any(counts.get(name) for name in _LOST) else IN_ORDER
        least_ps = 0 if floor is None else floor.get("lines_ps", floor["time_ps"])
        abilities = abilities_of(metadata.get("backend"))
        shared = parts_known and abilities.shared_lines
        controls = {in_force[kind].get("congestion_control") for kind in used}
        own_part = has_own_part(metadata) and abilities.packets  # flows tell waits for windows and lines apart
        chain_ps = _chain_ps(metadata, floor)
        twice_ps = least_ps // 2 if floor is None else floor.get("twice_ps", least_ps // 2)
        is_own = any(":" in str(control) for control in controls)  # FILE:CLASS
        controlled = controls != {"none"}
        flags = shared, controlled, is_own, with_headers(in_force) if abilities.needs_packets else 1
        return cls(least_ps, twice_ps, grow, own_part, losses, chain_ps, *flags)


RoundTrips = tuple[Real, Real]
"""How many times as long each message takes because its credit must come back, and with lines twice as fast."""


@dataclass(frozen=True)
class OfCredit:
    """The parts of those messages of the chain that credit limits alike, times as :func:`parts_of_messages` has them.

    ``round_trips``: how many times as long they take because credit must come back, at least 1; ``round_trips_twice``:
    the same with lines twice as fast.
    """

    parts: Mapping[str, int]
    round_trips: float = 1
    round_trips_twice: float = 1

    def more_credit_ps(self) -> int:
        """Return how long they waited for credit because it takes long to come back, and not because it is used up.

        Else they would wait in a queue instead. A lane sends all its credit once in a round trip.
        """
        parts = _with_turns(self.parts)
        waited_ps = sum(parts.get(name, 0) for name in PAUSED)
        all_ps = waited_ps + sum(parts.get(name, 0) for name in ("serialisation_ps", *QUEUES))
        return min(waited_ps, round(all_ps * (1 - 1 / self.round_trips)))

    def limited_ps(self, paced_ps: int) -> float:
        """Return how much of ``paced_ps``, which lines set, has the pace of credit, now or with faster lines."""
        if self.round_trips == 1:
            return paced_ps
        return min(paced_ps, self.more_credit_ps() * self.round_trips / (self.round_trips - 1))

    @property
    def saved_share(self) -> float:
        """The share of that time that lines twice as fast save."""
        return 1 - self.round_trips_twice / (2 * self.round_trips)


def has_own_part(metadata: RunDocument) -> bool:
    """Return whether a transport of a run has a part of its own in a message's time, as TCP has."""
    in_force = metadata.get("in_force") or {}
    return any(each.has_part_of_its_own for kind, each in TRANSPORTS.items() if kind in in_force)


def _chain_ps(metadata: RunDocument, floor: FloorDocument | None) -> int:
    """Return the longest chain of computations that is known; without one what the reported NPU computed."""
    if floor is None:
        return 0
    known_ps = floor.get("chain_ps", floor["time_ps"] if floor.get("kind") == "chain" else 0)
    return known_ps or metadata.get("compute_ps", 0)


def what_ifs(
    kinds: Mapping[str, int],
    parts: Mapping[str, int],
    others_ps: int,
    lines: Lines,
    time_ps: int,
    others: Mapping[str, int],
    before_ps: int = 0,
    by_credit: Sequence[OfCredit] = (),
) -> tuple[WhatIf, ...]:
    """Return the changes that would help, the most first.

    ``kinds``: times of the chain that are no messages; ``parts``: of its messages; ``others_ps``: what they waited in
    NICs for other collectives; ``time_ps``: the whole; ``others``: what other changes would save; what a replay tells
    of faster lines goes first. All but ``time_ps`` and ``others`` without ``before_ps``, until the last NPU that stood
    still went on. ``by_credit``: the messages by their credit; none: credit limits nothing.
    """
    by_credit = by_credit or (OfCredit(parts),)
    with_turns = _with_turns(parts)
    found = {words: with_turns.get(gone, 0) for words, gone in WHAT_IFS}
    found[lines.losses] = found.pop(LOSSES)
    found[MORE_CREDIT] = sum(each.more_credit_ps() for each in by_credit)
    found[OTHERS] = 0 if lines.own_part else others_ps
    if not lines.controlled:
        del found[LINE_RATE]
    if lines.windows_grow:
        del found[OPEN_WINDOW]  # it is closed while a queue stands on the path: other lines would help, no other window
    saved_ps = _of_a_busy_line_ps(kinds, parts, lines, time_ps, before_ps)
    found[FASTER_LINES] = _by_faster_lines_ps(by_credit, saved_ps, lines)
    found |= others
    found["without NPUs' own delays"] = kinds.get(ENDPOINT, 0)
    bounded = []
    for words, ps in found.items():
        lines_ps = lines.twice_ps if words == FASTER_LINES else lines.least_ps
        chain_ps = {FASTER_NPUS: lines.chain_ps // 2, NO_SLOW_NPUS: 0}.get(words, lines.chain_ps)
        most_ps = max(0, time_ps - max(lines_ps, chain_ps))
        if ps > most_ps:
            bound = "chain" if chain_ps > lines_ps else "lines"
            bounded.append(WhatIf(words, most_ps, bounded=True, bound=bound))
        else:
            bounded.append(WhatIf(words, ps))
    return tuple(sorted((each for each in bounded if each.time_ps), key=lambda each: -each.time_ps))


def _of_a_busy_line_ps(
    kinds: Mapping[str, int], parts: Mapping[str, int], lines: Lines, time_ps: int, before_ps: int
) -> int:
    """Return what faster lines save of the time of a line that is busy most of it; parameters as :func:`what_ifs`.

    Round trips may hide what a line is busy with. Waits behind others' bytes may go, which hid messages' ways.
    """
    if not lines.shared or not time_ps < 2 * lines.least_ps <= 2 * time_ps:
        return 0
    round_trips_ps = 0 if lines.windows_grow else _with_turns(parts).get("window_ps", 0)
    most_ps = max(time_ps - before_ps - _hiding_ps(kinds, parts) - round_trips_ps, 0) // 2
    if not lines.own_part and not round_trips_ps:
        waits_ps = sum(parts.get(name, 0) for name in PACED_BY_LINES if name not in _AT_A_PACE)
        most_ps = max(most_ps, waits_ps + sum(parts.get(name, 0) for name in _AT_A_PACE) // 2)
    return min(round((lines.least_ps - lines.twice_ps) * lines.with_headers), most_ps)


def parts_of_messages(segments: Sequence[Segment], messages: Columns | None, window_bytes: int = 0) -> Counter[str]:
    """Return the times of the chain's messages and signals, part by part.

    A message that is sent again behind its own bytes loses no more than it takes longer than alone. ``window_bytes``:
    of a window of fixed size; then there is :data:`FASTER`, what senders save if lines are twice as fast.
    """
    links = [each for each in segments if each.kind in (MESSAGE, PHASE, SIGNAL)]
    told = [has_accounts(messages) and each.whole and each.message >= 0 for each in links]
    rows = list(compress((each.message for each in links), told))
    found = Counter[str]() if messages is None or not rows else _parts_of(messages, rows, window_bytes)
    pairs = zip(links, told, strict=True)
    found[WHOLE] += sum(each.time_ps for each, known in pairs if not known and each.kind != SIGNAL)
    return found


def _parts_of(messages: Columns, rows: Sequence[int] | Numbers, window_bytes: int) -> Counter[str]:
    """Return the times of messages at ``rows``, which have accounts, part by part."""
    found = Counter({name: int(messages[name][rows].sum()) for name in PARTS})
    if window_bytes:
        of = {name: column[rows] for name, column in messages.items()}
        windows, sending = of["bytes"] / window_bytes, np.sum([of[name] for name in _WITH_WINDOW], axis=0)
        behind = of["turn_ps"] > 0  # messages that follow each other on a queue pair share its windows
        round_trips = 2 * of["propagation_ps"] * windows * ((windows > 1) | (of["window_ps"] > 0) | behind)
        groups = np.where(behind, 0, np.arange(1, len(behind) + 1))
        own, trips = np.bincount(groups, sending), np.bincount(groups, round_trips)
        found[FASTER] = int(np.minimum(own / 2, np.maximum(own - trips, 0)).sum())
    alone = alone_ps(messages)
    if alone is not None:
        more = np.maximum(messages["end_ps"] - messages["start_ps"] - alone, 0)[rows]
        hidden_ps = int(np.maximum(messages["lost_ps"][rows] - more, 0).sum())
        found["lost_ps"] -= hidden_ps
        found["serialisation_ps"] += hidden_ps
    return found


def times_on_faster_lines(
    tables: Tables,
    messages: Columns,
    segments: Sequence[Segment],
    lines: Lines,
    window_bytes: int = 0,
    trips: RoundTrips | None = None,
) -> Times:
    """Return the factor of each phase's time if lines are twice as fast, by the accounts of its collective's messages.

    Each dimension counts by itself. ``segments``: the chain, which tells how much of phases messages take, beside what
    NPUs do with them; ``trips``: the round trips of each message's credit.
    """
    groups = tables.phase_collective * 256 + tables.phase_dimension + 1
    factors, of_messages = np.ones(len(groups)), groups[tables.phase_of_messages()]
    in_phases = Counter({of: sum(each.time_ps for each in segments if each.kind in of) for of in (_MESSAGES, _BESIDE)})
    share = in_phases[_MESSAGES] / max(in_phases.total(), 1) if in_phases[_MESSAGES] else 1
    for group, same in by_value(of_messages):
        took_ps = (messages["end_ps"] - messages["start_ps"])[same].sum()
        saved_ps = _by_faster_lines_ps(_by_credit(messages, same, window_bytes, trips), 0, lines)
        saved = max(saved_ps / max(int(took_ps), 1), 0 if lines.own_part else _of_busy_lines(messages, same))
        factors[groups == group] = 1 - share * min(saved, 1)
    return factors


def _of_busy_lines(messages: Columns, rows: Numbers) -> float:
    """Return what faster lines save of the time of messages that keep their senders' lines busy; 0 if they don't.

    As :func:`_of_a_busy_line_ps`: waits behind others' bytes may go, which hid messages' ways.
    """
    of = {name: messages[name][rows] for name in (*PACED_BY_LINES, *_BEHIND_NIC, "window_ps", "start_ps", "end_ps")}
    _, senders = np.unique(messages["source"][rows], return_inverse=True)
    begins, ends = np.full(senders.max() + 1, LARGEST_INTEGER), np.zeros(senders.max() + 1, np.int64)
    np.minimum.at(begins, senders, of["start_ps"])
    np.maximum.at(ends, senders, of["end_ps"] - sum(of[name] for name in _BEHIND_NIC))
    line, span = int((of["serialisation_ps"] - of["later_ps"]).sum()), int((ends - begins).sum())
    if of["window_ps"].any() or not span < 2 * line:
        return 0
    paces = sum(int(of[name].sum()) for name in _AT_A_PACE)
    waits = sum(int(of[name].sum()) for name in PACED_BY_LINES) - paces
    return min(line / span / 2, (waits + paces / 2) / max(int((of["end_ps"] - of["start_ps"]).sum()), 1), 0.5)


def _by_credit(messages: Columns, rows: Numbers, window_bytes: int, trips: RoundTrips | None) -> Sequence[OfCredit]:
    """Return the parts of messages at ``rows`` by how credit limits them."""
    if trips is None:
        return [OfCredit(_parts_of(messages, rows, window_bytes))]
    now, twice = (each[rows] for each in trips)
    return [
        OfCredit(_parts_of(messages, rows[(now == one) & (twice == other)], window_bytes), one, other)
        for one, other in np.unique(np.stack([now, twice], 1), axis=0).tolist()
    ]


def _with_turns(parts: Mapping[str, int]) -> Mapping[str, int]:
    """Return the parts, those of senders with the turns that messages waited for: others ahead had the same parts."""
    sent_ps, turn_ps = sum(parts.get(name, 0) for name in OF_SENDERS), parts.get("turn_ps", 0)
    more = {name: turn_ps * parts[name] // sent_ps for name in OF_SENDERS if parts.get(name, 0)}
    return {name: ps + more.get(name, 0) for name, ps in parts.items()}


def _hiding_ps(kinds: Mapping[str, int], parts: Mapping[str, int]) -> int:
    """Return the time of the chain that hides what a line is busy with: it computes, or its messages are on the way.

    Signals are links that are no messages. Where parts are known, theirs are among them.
    """
    on_the_way_ps = parts.get("propagation_ps", 0)
    told_apart = {OTHER, SIGNAL} if on_the_way_ps else {OTHER}
    return sum(ps for kind, ps in kinds.items() if kind not in told_apart) + on_the_way_ps


def waited_for_others(segments: Sequence[Segment], messages: Columns | None) -> int:
    """Return how long the messages of the chain waited in their NICs for other collectives.

    A message shares its line with its NPU's other messages. If they are of the same collective, the line is busy with
    what the collective must send, and no other order would help. So a wait counts by the bytes that other collectives
    still had to send meanwhile, as a share of what the NPU had; all of it, if the NPU had nothing else of this one.
    If the NPU had nothing else at all, none counts: it waited for another NPU of its host, or for its own
    acknowledgements. The line can't have been busy with others for longer than their bytes take.
    """
    if messages is None or not has_accounts(messages):
        return 0
    waits_ps = np.sum([messages[name] for name in NIC_WAITS], axis=0)
    sent = (each for each in segments if each.kind in (MESSAGE, SIGNAL))
    rows = [each.message for each in sent if each.whole and waits_ps[each.message]]
    order = np.argsort(messages["source"], kind="stable")
    sources = messages["source"][order]
    behind_ps = np.sum([messages[name] for name in _BEHIND_NIC], axis=0)
    left_ps = np.maximum(messages["end_ps"] - behind_ps, messages["start_ps"] + 1)
    total_ps = 0
    for row in rows:
        first, last = np.searchsorted(sources, (messages["source"][row], messages["source"][row] + 1))
        same = order[first:last]
        same = same[
            (messages["start_ps"][same] < left_ps[row]) & (left_ps[same] > messages["start_ps"][row]) & (same != row)
        ]
        line_ps = np.maximum(messages["serialisation_ps"][same] - messages["later_ps"][same], 1)
        in_time_ps = np.minimum(line_ps, left_ps[same] - messages["start_ps"][row])
        sizes = messages["bytes"][same] * in_time_ps // line_ps
        is_other = messages["collective"][same] != messages["collective"][row]
        share = int(sizes[is_other].sum()), max(int(sizes.sum()), 1)
        turn_ps, queue_ps = (int(messages[name][row]) * share[0] // share[1] for name in ("turn_ps", "nic_queue_ps"))
        total_ps += turn_ps + min(queue_ps, int(in_time_ps[is_other].sum()))
    return total_ps


def _by_faster_lines_ps(by_credit: Sequence[OfCredit], saved_ps: int, lines: Lines) -> int:
    """Return what lines twice as fast save: half, but little where the round trip of credit sets the pace.

    ``saved_ps``: half of what a busy line needs.
    """
    paced = [_paced_by_lines_ps(each.parts, lines) for each in by_credit]
    limited = [each.limited_ps(ps) for each, ps in zip(by_credit, paced, strict=True)]
    by_credit_ps = sum(each.saved_share * ps for each, ps in zip(by_credit, limited, strict=True))
    saved_ps = int(2 * saved_ps * by_credit_ps / sum(limited)) if sum(limited) else saved_ps
    return max(int((sum(paced) - sum(limited)) / 2 + by_credit_ps), saved_ps)


def _paced_by_lines_ps(parts: Mapping[str, int], lines: Lines) -> int:
    """Return the time of messages that lines set.

    A sender with a window of fixed size sends that much in a round trip, which has twice its way in it. Another closed
    window hides a sender's time on the line: the more so the less it sends meanwhile. TCP's own part is round trips,
    too, as is waiting for a message of the connection that has them; what else TCP's account has comes after them.
    Faster lines take queues out of a round trip and leave its propagation, to and fro. A window that grows with the
    line lets out twice as much in a round trip, so waiting for it is waiting for the line.
    """
    paced = sum(parts.get(name, 0) for name in PACED_BY_LINES)
    if lines.own_control and parts.get("pacing_ps", 0):  # what lines no longer take, its rates do
        with_turns = _with_turns(parts)
        paced -= with_turns["pacing_ps"] + with_turns.get("serialisation_ps", 0)
    window, transport = parts.get("window_ps", 0), parts.get("transport_ps", 0)
    if FASTER in parts and not lines.windows_grow:
        own = sum(parts.get(name, 0) for name in _WITH_WINDOW)
        share = 2 * parts[FASTER] / max(own, 1)
        return round(share * (own + parts.get("turn_ps", 0)) + sum(parts.get(name, 0) for name in _OF_SWITCHES))
    if lines.windows_grow:
        paced, window = paced + window, 0
    if lines.own_part:
        paced, transport = paced - parts.get("turn_ps", 0), transport + parts.get("turn_ps", 0)
    queues, both_ways = sum(parts.get(name, 0) for name in QUEUES), 2 * parts.get("propagation_ps", 0)
    hidden = paced * window / max(window + parts.get("serialisation_ps", 0), 1)
    return round(paced - hidden + (hidden + window + transport) * queues / max(queues + both_ways, 1))
