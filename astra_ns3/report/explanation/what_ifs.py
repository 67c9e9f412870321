"""Changes and the most that each may save: the time of the chain that it may shorten, as far as the floor allows.

A change may also end waits for others, since these then send at other times, so waits count as a whole. To know how
much a change saves, play it: :mod:`astra_ns3.experiments.replays`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import compress

import numpy as np

from astra_ns3.config.core.plain import JsonObject
from astra_ns3.config.transports.roce import RoceTransport
from astra_ns3.config.transports.roce_control import has_own_window
from astra_ns3.frozen import dataclass
from astra_ns3.network.backends import abilities_of
from astra_ns3.network.run_document import FloorDocument, RunDocument
from astra_ns3.report.explanation.parts import (
    BUSY,
    CHANNEL,
    COMPUTE,
    ENDPOINT,
    IN_ORDER,
    LINE_RATE,
    LOSSES,
    LOSSES_AND_IN_ORDER,
    MESSAGE,
    MORE_CREDIT,
    NIC_WAITS,
    NO_ACKNOWLEDGEMENTS,
    OPEN_WINDOW,
    OTHER,
    PARTS,
    PAUSED,
    REMOTE,
    SIGNAL,
    SLOT_COPYING,
    SLOT_LATENCY,
    STOPPED,
    WHAT_IFS,
    WHOLE,
    Segment,
)
from astra_ns3.report.explanation.run_tables import alone_ps
from astra_ns3.report.own_bytes import Columns, has_accounts
from astra_ns3.transport.transports import TRANSPORTS

FASTER_LINES = "with lines twice as fast"
FASTER_NPUS = "with NPUs that compute twice as fast"
NO_SLOW_NPUS = "without slow NPUs"
OTHERS = "without waiting in the NIC for other collectives"
NO_DELAYS = "without NPUs' own delays"
ORDER = "if messages keep their order"
ANEW = "if NCCL keeps its choices"
# Links of the chain that may end sooner because messages or signals come at another time.
_WAITING = (BUSY, SLOT_LATENCY, SLOT_COPYING, CHANNEL, REMOTE, OTHER, STOPPED)
# Parts of a message's time that are no waits.
_NO_WAITS = ("serialisation_ps", "propagation_ps", "acknowledgement_ps")
_BEHIND_NIC = ("switch_queue_ps", "switch_paused_ps", "propagation_ps", "acknowledgement_ps", "later_ps")
LOST = ("dropped_frames", "lost_frames", "cut_frames", "down_frames", "silent_frames", "unrouted_frames")
"""Counters of frames that were lost, in a queue or on a link."""
# Counters of a run in which something waited for a timer.
_OF_TIMERS = (*LOST, "timeouts", "retransmissions", "out_of_order_packets")


@dataclass(frozen=True)
class WhatIf:
    """A change and how much sooner the end would come, at most; exactly, if it was ``played``.

    ``caveats``: on which conditions. A played change may cost time, which is negative then.
    """

    change: str
    time_ps: int
    played: bool = False
    caveats: tuple[str, ...] = ()


@dataclass(frozen=True)
class Bounds:
    """Bounds of the time that changes save in a run, and conditions of changes.

    ``least_ps``: what lines need for the run's bytes, ``twice_ps`` with twice their rates, and ``chain_ps``: the
    longest chain of computations, which takes its time on any lines (0: not known). ``by_timers``: timers, other jobs
    or events decide, so that a faster run may be more than so many times as fast. ``losses``: what ends losses; packets
    that come out of order are taken for lost, too. ``windows``: of fixed size. ``controlled``: a congestion control may
    slow a message, ``by_window``: by its window, too. ``credits``: lanes wait for credit. ``own_part``: a transport has
    a part of its own in a message's time. ``telemetry``: the share of packets' bytes that a control's telemetry takes,
    at most.
    """

    least_ps: int = 0
    twice_ps: int = 0
    chain_ps: int = 0
    by_timers: bool = False
    losses: str = LOSSES
    windows: bool = True
    controlled: bool = True
    by_window: bool = False
    credits: bool = False
    own_part: bool = False
    telemetry: Fraction = Fraction(0)

    @classmethod
    def of(cls, metadata: RunDocument, *, whole: bool) -> Bounds:
        """Return the bounds of a run; a part of a run, as one that was stopped, has no floor (``whole``)."""
        floor = metadata.get("floor") if whole and metadata["stopped"] is None else None
        in_force = metadata.get("in_force") or {}
        used = [in_force[kind] for kind in TRANSPORTS if kind in in_force]
        losses, counts = LOSSES, metadata["statistics"]
        if counts.get("out_of_order_packets"):
            losses = LOSSES_AND_IN_ORDER if any(counts.get(name) for name in LOST) else IN_ORDER
        lines = floor if _holds_to_lines(metadata) else None
        least_ps = 0 if lines is None else lines.get("lines_ps", lines["time_ps"])
        by_window = _is_by_window(in_force.get("roce"))
        return cls(
            least_ps,
            least_ps // 2 if lines is None else lines.get("twice_ps", least_ps // 2),
            _chain_ps(metadata, floor),
            "job" in metadata or has_losses(metadata),
            losses,
            not (by_window or any(each.get("window_of_path") for each in used)),
            {each.get("congestion_control") for each in used} != {"none"},
            by_window,
            bool(in_force.get("credits")),
            has_own_part(metadata),
            max(map(_telemetry, used), default=Fraction(0)),
        )

    def most_ps(self, change: str, time_ps: int) -> int:
        """Return how much of the time a change may save at most."""
        lines_ps = self.twice_ps if change == FASTER_LINES else self.least_ps
        chain_ps = {FASTER_NPUS: self.chain_ps // 2, NO_SLOW_NPUS: 0}.get(change, self.chain_ps)
        return max(0, time_ps - max(lines_ps, chain_ps))


def _holds_to_lines(metadata: RunDocument) -> bool:
    """Return whether no change takes the run below the floor of its lines; formulas idealise links of packets."""
    abilities, of_packets = abilities_of(metadata["backend"]), metadata.get("in_force") is not None
    return abilities.needs_packets if of_packets else abilities.shared_lines


def has_losses(metadata: RunDocument) -> bool:
    """Return whether packets of a run were lost, or were taken for lost."""
    return any(metadata["statistics"].get(name) for name in _OF_TIMERS)


def has_own_part(metadata: RunDocument) -> bool:
    """Return whether a transport of a run has a part of its own in a message's time, as TCP has."""
    in_force = metadata.get("in_force") or {}
    return any(each.has_part_of_its_own for kind, each in TRANSPORTS.items() if kind in in_force)


def _telemetry(transport: JsonObject) -> Fraction:
    """Return which share of a full packet's bytes is telemetry."""
    own, payload = (transport.get(name, 0) for name in ("telemetry_bytes", "payload_bytes"))
    assert isinstance(own, int)
    assert isinstance(payload, int)
    return Fraction(own, own + payload) if own else Fraction(0)


def _is_by_window(roce: JsonObject | None) -> bool:
    """Return whether a congestion control in force has a window of its own, or one that shrinks with its rate."""
    kind = None if roce is None else roce.get("congestion_control")
    if roce is None or kind in (None, "none", "static-window"):
        return False
    keys, told = RoceTransport.model_validate({"kind": "roce", "congestion_control": kind}), roce.get("control")
    given = told.items() if isinstance(told, Mapping) else ()
    numbers = {name: float(value) for name, value in given if isinstance(value, (int, float))}
    return bool(roce.get("window_scales")) or has_own_window(keys.congestion_control, numbers)


def _chain_ps(metadata: RunDocument, floor: FloorDocument | None) -> int:
    """Return the longest chain of computations that is known; without one what the reported NPU computed."""
    if floor is None:
        return 0
    known_ps = floor.get("chain_ps", floor["time_ps"] if floor.get("kind") == "chain" else 0)
    return known_ps or metadata.get("compute_ps", 0)


@dataclass(frozen=True)
class Slowness:
    """How many times as long computations take because NPUs are slow, at most: ``factor``.

    None if an NPU is slow, or stands still, for a while, which a faster run may be over before, or if slow NPUs change
    the order of collectives (LIFO). ``stand``: NPUs stand
    still. ``beside_ps``: how much longer computations of the chain took beside collectives.
    """

    factor: Fraction | None = Fraction(1)
    stand: bool = False
    beside_ps: int = 0

    @property
    def any_slow(self) -> bool:
        """Whether NPUs are slow."""
        return self.factor != 1


def what_ifs(
    kinds: Mapping[str, int],
    parts: Mapping[str, int],
    others_ps: int,
    bounds: Bounds,
    time_ps: int,
    slowness: Slowness,
) -> tuple[WhatIf, ...]:
    """Return the changes that may help, those first that may help most.

    ``kinds``: times of the chain that are no messages; ``parts``: of its messages; ``others_ps``: what they waited in
    NICs for other collectives; ``time_ps``: the whole.
    """
    of_parts = sum(parts.get(name, 0) for name in (*PARTS, WHOLE))
    waits = sum(kinds.get(kind, 0) for kind in _WAITING) + of_parts - sum(parts.get(name, 0) for name in _NO_WAITS)
    in_nics = sum(parts.get(name, 0) for name in NIC_WAITS)
    computing = kinds.get(COMPUTE, 0)
    found: dict[str, int] = {words: parts.get(gone, 0) for words, gone in WHAT_IFS}
    found[LINE_RATE] += found[OPEN_WINDOW] if bounds.by_window else 0
    found[bounds.losses] = found.pop(LOSSES)
    found[MORE_CREDIT] = sum(parts.get(name, 0) for name in PAUSED) if bounds.credits else 0
    # Messages wait behind others that are held back in the same way, too.
    found = {words: waits if ps else 0 for words, ps in found.items()}
    found[NO_ACKNOWLEDGEMENTS] += parts.get("acknowledgement_ps", 0)
    found[LINE_RATE] += int(parts.get("serialisation_ps", 0) * bounds.telemetry) if found[LINE_RATE] else 0
    if not bounds.controlled:
        del found[LINE_RATE]
    if not bounds.windows:
        del found[OPEN_WINDOW]  # it is closed while a queue stands on the path
    found[OTHERS] = 0 if bounds.own_part else others_ps
    sent = waits + parts.get("serialisation_ps", 0) // 2 + parts.get("acknowledgement_ps", 0)
    found[FASTER_LINES], found[NO_DELAYS] = sent, kinds.get(ENDPOINT, 0)
    # Collectives that end sooner slow computing for a shorter time.
    found = {words: ps + slowness.beside_ps if ps or words == FASTER_LINES else 0 for words, ps in found.items()}
    found[FASTER_NPUS] = computing // 2 + waits - in_nics + others_ps if computing else 0
    if slowness.any_slow:  # whose late messages may change the order of all
        computes = computing or bounds.chain_ps
        found[FASTER_NPUS] = time_ps if computes else 0
        found[NO_SLOW_NPUS] = time_ps if computes or slowness.stand else 0
    shares = {} if bounds.by_timers or slowness.factor is None else _shares_ps(parts, time_ps, slowness.factor, bounds)
    most = ((words, min(ps, bounds.most_ps(words, time_ps)), shares.get(words, time_ps)) for words, ps in found.items())
    rows = (WhatIf(words, min(ps, share), caveats=(ORDER,) if share < ps else ()) for words, ps, share in most)
    known = (each for each in rows if 0 < each.time_ps < time_ps)  # all of the time says nothing
    return tuple(sorted(known, key=lambda each: -each.time_ps))


def _shares_ps(parts: Mapping[str, int], time_ps: int, factor: Fraction, bounds: Bounds) -> dict[str, int]:
    """Return how much changes save that make everything faster by a factor at most, if messages keep their order.

    Rates, and windows of whole packets or of controls, may rise by any factor, for earlier messages of a queue pair as
    well.
    """
    rates, windows = (parts.get(name, 0) for name in ("pacing_ps", "window_ps"))
    rates, windows = (rates + windows, 0) if bounds.by_window else (rates, windows)
    changes = {FASTER_LINES: (rates + windows, Fraction(2)), FASTER_NPUS: (rates, Fraction(2))}
    changes[NO_SLOW_NPUS] = rates, factor
    held = {words: ps + parts.get("turn_ps", 0) if ps else 0 for words, (ps, _) in changes.items()}
    return {words: time_ps - int((time_ps - held[words]) / factor) for words, (_, factor) in changes.items()}


def parts_of_messages(segments: Sequence[Segment], messages: Columns | None) -> Counter[str]:
    """Return the times of the chain's messages and signals, part by part.

    A message that is sent again behind its own bytes loses no more than it takes longer than alone. Without accounts
    a message waits for as long as it takes longer than alone, where that is known.
    """
    links = [each for each in segments if each.kind in (MESSAGE, SIGNAL)]
    told = [has_accounts(messages) and each.whole and each.message >= 0 for each in links]
    rows = list(compress((each.message for each in links), told))
    found = Counter[str]() if messages is None or not rows else _parts_of(messages, rows)
    untold = [each for each, known in zip(links, told, strict=True) if not known and each.kind != SIGNAL]
    alone = None if messages is None or has_accounts(messages) else alone_ps(messages)
    for each in untold:
        least_ps = int(alone[each.message]) if alone is not None and each.whole and each.message >= 0 else 0
        found[WHOLE] += each.time_ps - least_ps
    return found


def _parts_of(messages: Columns, rows: Sequence[int]) -> Counter[str]:
    """Return the times of messages at ``rows``, which have accounts, part by part."""
    found = Counter({name: int(messages[name][rows].sum()) for name in PARTS})
    alone = alone_ps(messages)
    if alone is not None:
        more = np.maximum(messages["end_ps"] - messages["start_ps"] - alone, 0)[rows]
        hidden_ps = int(np.maximum(messages["lost_ps"][rows] - more, 0).sum())
        found["lost_ps"] -= hidden_ps
        found["serialisation_ps"] += hidden_ps
    return found


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
