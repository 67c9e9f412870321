"""NPUs that a slowdown or an event slows down, and how much sooner a run would end if NPUs computed faster."""

from __future__ import annotations

from bisect import bisect
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from heapq import heappop, heappush

from astra_ns3.config.compute_slowdown import STANDS_STILL
from astra_ns3.frozen import dataclass
from astra_ns3.network.run_document import RunDocument
from astra_ns3.playing.slowdown.pace import Pace, Span
from astra_ns3.report.alignment import ranges
from astra_ns3.report.explanation.parts import CHANNEL, COMPUTE, PHASE, STILL, Segment
from astra_ns3.report.explanation.what_ifs import FASTER_NPUS, NO_SLOW_NPUS
from astra_ns3.units import format_time, parse_time_ps

_MAY_STAND = (PHASE, CHANNEL)
"""Links that hold all of what NPUs did, standing still included."""


@dataclass(frozen=True)
class Slowed:
    """NPUs that take longer to compute; ``npus``: None if they are all."""

    npus: tuple[int, ...] | None
    span: Span

    def slows(self, npu: int) -> bool:
        """Return whether an NPU is one of them."""
        return self.npus is None or npu in self.npus

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


def standing(slowed: Sequence[Slowed], npu: int) -> Mapping[int, int]:
    """Return from when on an NPU stood still, by when it went on; spans that meet are one."""
    found: dict[int, int] = {}
    last_ps = -1
    for from_ps, until_ps in sorted(_stood(each for each in slowed if each.slows(npu))):
        first_ps = found.pop(last_ps) if from_ps <= last_ps else from_ps
        last_ps = max(last_ps, until_ps)
        found[last_ps] = first_ps
    return found


def computing_saved(
    chain: Sequence[Segment], ahead: Sequence[Segment], waits_ps: int, slowed: Sequence[Slowed]
) -> Mapping[str, int]:
    """Return how much sooner the end would come if NPUs computed twice as fast, and if none were slowed down.

    ``ahead``: the chain that passes the first of the messages that others waited for. It decides only as far as waits
    of the ``chain`` are as long (``waits_ps``); without them, the chain itself does. Slow times keep their ends, and
    time that wasn't followed stays as it is.
    """
    pace = _paces(slowed)

    def half_ps(links: Sequence[Segment]) -> int:
        return links[-1].end_ps - _end_if_half(links, pace, slowed) if links else 0

    def excess_ps(links: Sequence[Segment]) -> int:
        computing = [link for link in links if link.kind == COMPUTE]
        work_ps = sum((pace(link.npu).work_ps(link.start_ps, link.end_ps) for link in computing), Fraction())
        return int(sum(link.time_ps for link in links if link.kind in (COMPUTE, STILL)) - work_ps)

    def saved_ps(of: Callable[[Sequence[Segment]], int]) -> int:
        own_ps = of(chain)
        return max(own_ps, min(of(ahead), own_ps + waits_ps))

    return {FASTER_NPUS: saved_ps(half_ps), NO_SLOW_NPUS: saved_ps(excess_ps)}


def _paces(slowed: Iterable[Slowed]) -> Callable[[int], Pace]:
    """Return a function for the pace of an NPU; NPUs with the same spans share one."""
    spans = defaultdict[int | None, list[Span]](list)
    for each in slowed:
        for npu in (None,) if each.npus is None else each.npus:
            spans[npu].append(each.span)
    of_spans = cache(Pace)
    return cache(lambda npu: of_spans((*spans[npu], *spans[None])))


def _end_if_half(links: Sequence[Segment], pace: Callable[[int], Pace], slowed: Iterable[Slowed]) -> int:
    """Return when links in order end if each computation is half as long by itself.

    A message that was handled after an NPU had stood still isn't handled while this NPU stands still: it may need the
    NPU. *Model limit*: some messages don't.
    """
    stands = sorted(_stood(slowed), reverse=True)
    untils_ps = sorted(until_ps for _, until_ps in stands)
    under_way: list[int] = []  # when NPUs go on that stand still now
    time_ps = links[0].start_ps
    for link in links:
        if link.kind == COMPUTE:
            work_ps = pace(link.npu).work_ps(link.start_ps, link.end_ps)
            time_ps = pace(link.npu).end_ps(time_ps, work_ps / 2)
            continue  # no other NPU has a part in it
        if link.kind in _MAY_STAND and bisect(untils_ps, link.end_ps) > bisect(untils_ps, link.start_ps):
            time_ps = link.end_ps
        elif link.kind != STILL:
            time_ps += link.time_ps
        while True:
            while stands and stands[-1][0] <= time_ps:
                heappush(under_way, stands.pop()[1])
            while under_way and under_way[0] <= time_ps:
                heappop(under_way)
            if not under_way or under_way[0] > link.end_ps:
                break
            time_ps = under_way[0]
    return time_ps


def _stood(slowed: Iterable[Slowed]) -> Iterator[tuple[int, int]]:
    """Yield from when until when NPUs stand still that go on."""
    for span in (each.span for each in slowed):
        if span.factor == STANDS_STILL and span.until_ps is not None:
            yield span.from_ps, span.until_ps


def since_still(chain: Sequence[Segment]) -> Sequence[Segment]:
    """Return the links after the last NPU that stood still, which goes on no sooner if they come sooner."""
    last = max((number for number, link in enumerate(chain) if link.kind == STILL), default=-1)
    return chain[last + 1 :]
