"""NPUs that a slowdown or an event slows down, and how much sooner a run would end if NPUs computed faster."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import chain as joined

from astra_ns3.config.compute_slowdown import STANDS_STILL
from astra_ns3.frozen import dataclass
from astra_ns3.network.run_document import RunDocument
from astra_ns3.playing.slowdown.pace import Pace, Span
from astra_ns3.report.alignment import ranges
from astra_ns3.report.explanation.parts import CHANNEL, COMPUTE, PHASE, STILL, Segment
from astra_ns3.report.explanation.recorded import Recorded, Times
from astra_ns3.report.explanation.replay import Change, Replay
from astra_ns3.report.explanation.run_tables import Tables
from astra_ns3.report.explanation.what_ifs import FASTER_LINES, FASTER_NPUS, NO_SLOW_NPUS
from astra_ns3.units import format_time, parse_time_ps

_MAY_STAND = (PHASE, CHANNEL)
"""Links that hold all of what NPUs did, standing still included."""


@dataclass(frozen=True)
class Slowed:
    """NPUs that take longer to compute; ``npus``: None if they are all."""

    npus: tuple[int, ...] | None
    span: Span

    @property
    def words(self) -> str:
        """Return which NPUs, by what, and when."""
        factor, until_ps = self.span.factor, self.span.until_ps
        which = "all NPUs" if self.npus is None else f"NPU {', '.join(ranges(self.npus))}"
        begins = f" from {format_time(self.span.from_ps)}" if self.span.from_ps else ""
        ends = "" if until_ps is None else f" until {format_time(until_ps)}"
        by = "standing still" if factor == STANDS_STILL else f"computing {float(factor):g} times as long"
        return f"{which}, {by}{begins}{ends}"


def slowed_npus(metadata: RunDocument) -> tuple[Slowed, ...]:
    """Return what slows NPUs down, by run.json, which has the events of a job, too."""
    given = (metadata.get("compute_slowdown") or {}).get("stragglers", ())
    found = []
    for each in given:
        until_ps = None if each["until"] is None else parse_time_ps(each["until"])
        span = Span(parse_time_ps(each["from"]), until_ps, Fraction(str(each["factor"])))
        if span.factor > 1:
            found.append(Slowed(None if each["npus"] is None else tuple(each["npus"]), span))
    return tuple(found)


def spans_of_npus(slowed: Iterable[Slowed]) -> Callable[[int], tuple[Span, ...]]:
    """Return a function for what slows an NPU down."""
    spans: dict[int | None, list[Span]] = {}
    for each in slowed:
        for npu in (None,) if each.npus is None else each.npus:
            spans.setdefault(npu, []).append(each.span)
    return cache(lambda npu: (*spans.get(npu, ()), *spans.get(None, ())))


def standing(spans: Iterable[Span]) -> Mapping[int, int]:
    """Return from when on an NPU stood still, by when it went on, in order of time; spans that meet are one."""
    found: dict[int, int] = {}
    last_ps = -1
    stood = (span for span in spans if span.factor == STANDS_STILL)
    for from_ps, until_ps in sorted((span.from_ps, span.until_ps) for span in stood if span.until_ps is not None):
        first_ps = found.pop(last_ps) if from_ps <= last_ps else from_ps
        last_ps = max(last_ps, until_ps)
        found[last_ps] = first_ps
    return found


def computing_saved(
    chain: Sequence[Segment],
    ahead: Sequence[Segment],
    waits_ps: int,
    slowed: Sequence[Slowed],
    members: Callable[[int], Iterable[int]] | None = None,
) -> Mapping[str, int]:
    """Return how much sooner the end would come if NPUs computed twice as fast, and if none were slowed down.

    ``ahead``: the chain that passes the first of the messages that others waited for. It decides only as far as waits
    of the ``chain`` are as long (``waits_ps``); without them, the chain itself does. Slow times keep their ends, and
    time that wasn't followed stays as it is. ``members``: the NPUs of a collective.
    """
    spans, of_spans = spans_of_npus(slowed), cache(Pace)
    stands_of, stood = cache(_Stands), cache(lambda npu: standing(spans(npu)))

    def pace(npu: int) -> Pace:
        return of_spans(spans(npu))

    @cache
    def stands(collective: int) -> _Stands:
        npus = members(collective) if members is not None else ()
        return stands_of(tuple(npu for npu in npus if stood(npu)), stood)

    def half_ps(links: Sequence[Segment]) -> int:
        return links[-1].end_ps - _end_if_half(links, pace, stands) if links else 0

    def excess_ps(links: Sequence[Segment]) -> int:
        computing = [link for link in links if link.kind == COMPUTE]
        work_ps = sum((pace(link.npu).work_ps(link.start_ps, link.end_ps) for link in computing), Fraction())
        return int(sum(link.time_ps for link in links if link.kind in (COMPUTE, STILL)) - work_ps)

    def saved_ps(of: Callable[[Sequence[Segment]], int]) -> int:
        own_ps = of(chain)
        return max(own_ps, min(of(ahead), own_ps + waits_ps))

    return {FASTER_NPUS: saved_ps(half_ps), NO_SLOW_NPUS: saved_ps(excess_ps)}


def replay_of(tables: Tables, segments: Iterable[Segment], slowed: Sequence[Slowed]) -> Replay | None:
    """Return a replay of a run that computes; None where its tables don't tell enough for one.

    ``segments``: the chain, whose NPUs are played first, as are those that are slowed down.
    """
    spans, of_spans = spans_of_npus(slowed), cache(Pace)
    untold = tables.of_graphs or tables.stopped_ps is not None or not (tables.kinds == "compute").any()
    if untold or any(each.span.factor == STANDS_STILL for each in slowed):
        return None
    first = (*(each.npu for each in segments), *(npu for each in slowed for npu in each.npus or ()))
    players = dict.fromkeys(npu for npu in first if npu < tables.npus)
    recorded = Recorded(tables, players, lambda npu: of_spans(spans(npu)), slowed_beside(tables.metadata))
    found = Replay(recorded)
    return found if found.is_true else None


def replayed(
    replay: Replay, slowed: Sequence[Slowed], iteration: int | None, lines: Times | None, time_ps: int
) -> dict[str, int]:
    """Return the same as :func:`computing_saved`, and what faster lines save; ``lines``: phases' factors with these.

    What is twice as fast saves at most half of ``time_ps``, of what is explained.
    """
    changes = {FASTER_NPUS: Change(compute=2), FASTER_LINES: None if lines is None else Change(times=lines)}
    changes[NO_SLOW_NPUS] = Change(pace=lambda npu: Pace(())) if slowed else None
    saved = {words: replay.saved_ps(change, iteration) for words, change in changes.items() if change is not None}
    return {words: max(min(ps, ps if words == NO_SLOW_NPUS else time_ps // 2), 0) for words, ps in saved.items()}


def slowed_beside(metadata: RunDocument) -> Fraction:
    """Return how many times as long computing takes beside collectives, of what processors limit."""
    shares = (metadata.get("compute_slowdown") or {}).get("communication")
    if shares is not None:
        return 1 / (1 - Fraction(str(shares["processors"])))
    return Fraction(str((metadata.get("device_losses") or {}).get("overlap_slowdown", 1)))


class _Stands:
    """When any of some NPUs stands still; ``stood``: as :func:`standing`, of each."""

    def __init__(self, npus: Iterable[int], stood: Callable[[int], Mapping[int, int]]) -> None:
        froms_ps: dict[int, int] = {}
        for until_ps, from_ps in joined.from_iterable(stood(npu).items() for npu in npus):
            froms_ps[until_ps] = min(from_ps, froms_ps.get(until_ps, from_ps))
        self._untils_ps = sorted(froms_ps)
        self._froms_ps = [froms_ps[until_ps] for until_ps in self._untils_ps]

    def until_ps(self, time_ps: int, end_ps: int) -> int:
        """Return from when on none stands still, of those that stand still at a time and go on by ``end_ps``."""
        last = bisect(self._untils_ps, end_ps)
        while True:
            meanwhile = range(last - 1, bisect(self._untils_ps, time_ps) - 1, -1)
            place = next((place for place in meanwhile if self._froms_ps[place] <= time_ps), None)
            if place is None:
                return time_ps
            time_ps = self._untils_ps[place]

    def one_goes_on_in(self, link: Segment) -> bool:
        """Return whether an NPU goes on while a link lasts."""
        return bisect(self._untils_ps, link.start_ps) < bisect(self._untils_ps, link.end_ps)


def _end_if_half(links: Sequence[Segment], pace: Callable[[int], Pace], stands: Callable[[int], _Stands]) -> int:
    """Return when links in order end if each computation is half as long by itself.

    ``stands``: of the members of a collective. A link that ended after one of them had stood still doesn't end while
    this one stands still. *Model limit*: not every link needs all members.
    """
    time_ps = links[0].start_ps
    for link in links:
        if link.kind == COMPUTE:
            work_ps = pace(link.npu).work_ps(link.start_ps, link.end_ps)
            time_ps = pace(link.npu).end_ps(time_ps, work_ps / 2)
            continue
        held = stands(link.collective)
        if link.kind in _MAY_STAND and held.one_goes_on_in(link):
            time_ps = link.end_ps
        elif link.kind != STILL:
            time_ps += link.time_ps
        time_ps = held.until_ps(time_ps, link.end_ps)
    return time_ps


def since_still(chain: Sequence[Segment]) -> Sequence[Segment]:
    """Return the links after the last NPU that stood still, which goes on no sooner if they come sooner."""
    last = max((number for number, link in enumerate(chain) if link.kind == STILL), default=-1)
    return chain[last + 1 :]
