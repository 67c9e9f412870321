"""Flows on links by progressive filling over all flows at every event, as docs/flow.md has the rules.

Written apart from the native half: nothing is incremental here, and nothing is kept but what remains of each flow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

RATE_STEP = 0.0937
"""Of a flow's rate: its acknowledgements follow it once it differs by more from what they have or will have."""
LINE_STEP = 0.0083
"""Of a line's rate: what a link keeps for acknowledgements follows what they take once that differs by more."""
_FULL = 1e-12
_ROUNDING_PS = 0.5


@dataclass
class OracleFlow:
    """A message: ``forth`` and ``back`` are links with the share of the bytes that crosses each.

    ``bytes`` on the line, ``back_share`` bytes of acknowledgements for each, sent ``after_ps`` later,
    ``cap`` bytes per ps; where it is below the lines', a window goes out in each ``window_trip_ps``, a round
    trip of ``trip_ps`` and what the first packet's acknowledgement waits for others.
    ``queue``: flows of one queue go one after the other.
    ``data``, ``window``: bytes without headers; ``headroom``: what bytes beyond the first two windows of a queue count
    more; ``start_cost``: round trips that a new queue loses, for each factor e between the rate ``alone`` and its own,
    if its flow begins below its share of its first link. ``rise``: round trips until a flow has come to a higher rate.
    ``step``: bytes that the window grows by in each round trip, until it holds nothing back; ``line_bytes``: of a byte
    in a full packet, whose bytes on the line are ``packet``.
    """

    start_ps: int
    bytes: float
    forth: dict[int, float]
    back: dict[int, float]
    back_share: float
    after_ps: int = 0
    cap: float = float("inf")
    queue: int = -1
    data: int = 0
    window: int = 0
    headroom: float = 0.0
    start_cost: float = 0.0
    alone: float = 1.0
    trip_ps: float = 0.0
    window_trip_ps: float = 0.0
    step: int = 0
    line_bytes: float = 1.0
    packet: float = 0.0
    rise: float = 0.0
    began_ps: float = field(default=-1.0, init=False)
    end_ps: float = field(default=-1.0, init=False)
    left: float = field(default=0.0, init=False)
    rate: float = field(default=0.0, init=False)
    sends: float = field(default=math.inf, init=False)
    gains: float = field(default=0.0, init=False)
    slope: float = field(default=0.0, init=False)
    risen_ps: float = field(default=-1.0, init=False)
    answered: float = field(default=0.0, init=False)

    def rise_from(self, now: float) -> None:
        """Begin to rise to the rate, never slower than before."""
        more = self.rate - self.sends
        slope = max(more * self.gains, self.slope if self.risen_ps > now else 0.0)
        self.slope, self.risen_ps = (slope, now + more / slope) if more > 0 and slope else (0.0, -1.0)

    def ends_ps(self, now: float) -> float:
        """When nothing is left."""
        rises = max(self.risen_ps - now, 0.0)
        end = now + (self.left + self.slope * rises**2 / 2) / self.rate
        if end >= self.risen_ps:
            return end
        low = self.rate - self.slope * rises
        return now + 2 * self.left / (low + math.sqrt(low**2 + 2 * self.slope * self.left))

    def send(self, now: float, then: float) -> None:
        """Send until then."""
        rises, more = max(self.risen_ps - now, 0.0), max(self.risen_ps - then, 0.0)
        self.left -= self.rate * (then - now) - self.slope * (rises**2 - more**2) / 2
        self.sends = self.rate - self.slope * more


def fill(flows: Sequence[OracleFlow], capacities: dict[int, float]) -> None:
    """Set the max-min fair rate of each flow: all rise together until a link is full or a cap is reached."""
    left, rising, level = dict(capacities), list(flows), 0.0
    while rising:
        wanted: dict[int, float] = {}
        for flow in rising:
            for link, share in flow.forth.items():
                wanted[link] = wanted.get(link, 0.0) + share
        step = min(left[link] / share for link, share in wanted.items())
        step = min(step, *(flow.cap - level for flow in rising))
        level += step
        for link, share in wanted.items():
            left[link] -= step * share
        full = {link for link in wanted if left[link] <= _FULL * capacities[link]}
        stopped = [flow for flow in rising if flow.cap <= level * (1 + _FULL) or full.intersection(flow.forth)]
        for flow in stopped:
            flow.rate = level
        rising = [flow for flow in rising if flow not in stopped]


def play(flows: Sequence[OracleFlow], lines: dict[int, float]) -> None:
    """Find when each flow ends; ``lines``: bytes per ps of each link."""
    answers = _Answers(lines)
    waiting = sorted(flows, key=lambda flow: flow.start_ps)
    active: list[OracleFlow] = []
    now = 0.0
    sent: dict[int, int] = {}
    ended: dict[int, float] = {}
    sends: dict[int, float] = {}
    windows: dict[int, tuple[int, float, float]] = {}
    while waiting or active:
        answers.take(now)
        starts = _starting(waiting, active, now)
        waiting = [flow for flow in waiting if flow not in starts]
        active += starts
        for flow in starts:
            line = min(lines[link] for link in flow.forth)
            if flow.window and (flow.step or flow.cap < line):
                _cap(flow, line, now, windows, ended.get(flow.queue, -math.inf))
            flow.cap *= 1 + _more(flow, _sent_before(flow, sent, ended)) / flow.bytes
        fill(active, {link: rate - answers.kept[link] for link, rate in lines.items()})
        for flow in starts:
            first = _sent_before(flow, sent, ended)
            is_new = flow.queue < 0 or flow.queue not in sent
            sent[flow.queue] = first + flow.data
            nic = next(iter(flow.forth))
            own = lines[nic] / sum(nic in other.forth for other in active)
            flow.sends = math.inf if is_new else sends[flow.queue]
            _begin(flow, first, min(flow.alone, own) if is_new else 0.0)
        for flow in active:
            flow.rise_from(now)
            answers.follow(flow, flow.rate, now)
        ends = [flow.ends_ps(now) for flow in active]
        later = [flow.start_ps for flow in waiting if flow.start_ps > now]
        then = min([*ends, *later, *answers.times()])
        for flow, end in zip(active, ends, strict=True):
            flow.send(now, then)
            if end <= then + _ROUNDING_PS:
                flow.end_ps = ended[flow.queue] = end
                sends[flow.queue] = flow.sends
                answers.follow(flow, 0.0, then)
        active = [flow for flow in active if flow.end_ps < 0]
        now = then


def _cap(
    flow: OracleFlow, line: float, now: float, windows: dict[int, tuple[int, float, float]], idle_ps: float
) -> None:
    """Set the most that a window lets out: as much as it has alone, but never more than of a fresh window."""
    enough = line / flow.line_bytes * flow.window_trip_ps
    sent, since, window = windows.get(flow.queue, (0, now, float(flow.window)))
    if flow.queue < 0 or flow.queue not in windows:
        sent, since, window = 0, now, float(flow.window)

    def course(data: int) -> tuple[float, float, float]:
        """When the last byte has left, when its window was opened, and that window."""
        gone, trips, opened = 0.0, 0.0, window
        while flow.step and opened < enough and data - gone > opened:
            gone, trips, opened = gone + opened, trips + 1, opened + flow.step
        whole = max((data - gone - 1) // opened, 0)
        of_last = (data - gone - whole * opened) * flow.line_bytes / line
        if opened < enough:
            gone, trips = gone + whole * opened, trips + whole
        ends_ps = trips * flow.window_trip_ps + (data - gone) * flow.line_bytes / line
        return ends_ps, ends_ps - of_last, opened

    def left_ps(data: int) -> float:
        return course(data)[0]

    _, opens_ps, opened = course(sent)
    if sent and (now >= idle_ps + flow.window_trip_ps or now - since >= opens_ps + flow.window_trip_ps):
        sent, since, window = 0, now, opened

    least_ps = flow.bytes / line if flow.step else left_ps(flow.data)
    flow.cap = flow.bytes / max(left_ps(sent + flow.data) - (now - since), least_ps)
    windows[flow.queue] = sent + flow.data, since, window


def _sent_before(flow: OracleFlow, sent: dict[int, int], ended: dict[int, float]) -> int:
    """What its queue has sent since it was idle."""
    return 0 if flow.start_ps >= ended.get(flow.queue, 0.0) or flow.queue < 0 else sent[flow.queue]


def _more(flow: OracleFlow, sent: int) -> float:
    """How much longer its bytes are counted: those beyond two windows of its queue."""
    free = max(2 * flow.window - sent, 0)
    return flow.bytes * flow.headroom * max(flow.data - free, 0) / max(flow.data, 1)


def _begin(flow: OracleFlow, sent: int, most: float) -> None:
    """Set what a flow at its first rate has to send, and what its control loses.

    ``sent``: by its queue before it; ``most``: rate that its own line lets it begin with; 0: its queue has sent before.
    """
    more = _more(flow, sent)
    flow.back_share *= flow.bytes / (flow.bytes + more)
    flow.left = flow.bytes + more
    flow.gains = 1 / (flow.rise * flow.trip_ps) if flow.rise else 0.0
    if most and flow.window:
        most = max(most, flow.rate)
        window = flow.window * flow.bytes / flow.data
        flow.after_ps += round(max(min(window, flow.left) / flow.rate - flow.trip_ps, 0.0))
        beyond = max(flow.left - window * (0.5 + most / flow.alone), 0.0)
        hears_ps = flow.trip_ps + 2 * flow.packet / flow.rate
        trips = flow.start_cost * math.log(flow.alone / flow.rate) * (1 - flow.rate / most)
        flow.gains *= flow.trip_ps / hears_ps if beyond else 0.0
        flow.left += min(trips * hears_ps * flow.rate, beyond / 4)


def _starting(waiting: Sequence[OracleFlow], active: Sequence[OracleFlow], now: float) -> list[OracleFlow]:
    busy = {flow.queue for flow in active if flow.queue >= 0}
    starts = []
    for flow in waiting:
        if flow.start_ps <= now and flow.queue not in busy:
            starts.append(flow)
            busy |= {flow.queue} if flow.queue >= 0 else set()
    return starts


class _Answers:
    """What acknowledgements take, and what links keep for them."""

    def __init__(self, lines: dict[int, float]) -> None:
        self.kept = dict.fromkeys(lines, 0.0)
        self._lines = lines
        self._taken = dict.fromkeys(lines, 0.0)
        self._due: list[tuple[float, OracleFlow, float]] = []

    def times(self) -> list[float]:
        return [time for time, _, _ in self._due]

    def follow(self, flow: OracleFlow, rate: float, now: float) -> None:
        if abs(rate - flow.answered) > RATE_STEP * flow.answered:
            self._due.append((now + flow.after_ps, flow, rate - flow.answered))
            flow.answered = rate

    def take(self, now: float) -> None:
        for _, flow, more in (each for each in self._due if each[0] <= now):
            for link, share in flow.back.items():
                self._taken[link] += more * flow.back_share * share
        self._due = [each for each in self._due if each[0] > now]
        for link, rate in self._lines.items():
            if abs(self._taken[link] - self.kept[link]) > LINE_STEP * rate:
                self.kept[link] = self._taken[link]
