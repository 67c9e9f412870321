"""NPUs that a slowdown or an event slows down, and how much sooner a run would end if NPUs computed faster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache, partial, reduce

from astra_ns3.config.compute_slowdown import STANDS_STILL
from astra_ns3.frozen import dataclass
from astra_ns3.network.run_document import RunDocument
from astra_ns3.playing.slowdown.pace import Pace, Span
from astra_ns3.report.alignment import ranges
from astra_ns3.report.explanation.parts import COMPUTE, OTHER, STILL, Segment
from astra_ns3.report.explanation.run_tables import Columns
from astra_ns3.report.explanation.what_ifs import FASTER_NPUS, NO_SLOW_NPUS
from astra_ns3.units import format_time, parse_time_ps


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
    """Return since when an NPU has stood still by each time when it goes on: spans that meet are one."""
    found: list[tuple[int, int]] = []
    stood = (each.span for each in slowed if each.slows(npu) and each.span.factor == STANDS_STILL)
    spans = ((span.from_ps, span.until_ps) for span in stood if span.until_ps is not None)
    for from_ps, until_ps in sorted(spans):
        before = found.pop() if found and from_ps <= found[-1][1] else (from_ps, from_ps)
        found.append((before[0], max(before[1], until_ps)))
    return {until_ps: from_ps for from_ps, until_ps in found}


def computing_saved(
    chain: Sequence[Segment],
    ahead: Sequence[Segment],
    waits_ps: int,
    slowed: Sequence[Slowed],
    messages: Columns | None = None,
) -> Mapping[str, int]:
    """Return how much sooner the end would come if NPUs computed twice as fast, and if none were slowed down.

    ``ahead``: the chain that passes the first of the messages that others waited for. It decides only as far as waits
    of the ``chain`` are as long (``waits_ps``); without them, the chain itself does. Slow times keep their ends, so
    each half of a computation begins as much sooner as those before have saved. What comes to an NPU that stands still
    is handled no sooner, but the NPU can do more before, unless it waited for the first of the ``messages`` then.
    """
    still_since = cache(partial(standing, slowed))

    @cache
    def of_spans(spans: tuple[Span, ...]) -> Pace:
        return Pace(spans)

    @cache
    def pace(npu: int, least: float) -> Pace:
        return of_spans(tuple(each.span for each in slowed if each.slows(npu) and each.span.factor >= least))

    def half(link: Segment, sooner_ps: Fraction) -> Fraction:
        if link.kind == STILL:
            stood_ps = still_since(link.npu)[link.end_ps]
            return -min(sooner_ps, Fraction(_first_due_ps(link, stood_ps, messages) - stood_ps))
        still, start_ps = pace(link.npu, STANDS_STILL), max(0, link.start_ps - int(sooner_ps))
        work_ps = pace(link.npu, 1).work_ps(link.start_ps, link.end_ps)
        end_ps = pace(link.npu, 1).end_ps(start_ps, work_ps / 2)
        return still.work_ps(link.start_ps, link.end_ps) - still.work_ps(start_ps, end_ps)

    def excess(link: Segment, _: Fraction) -> Fraction:
        least = 1 if link.kind == COMPUTE else STANDS_STILL
        return link.time_ps - pace(link.npu, least).work_ps(link.start_ps, link.end_ps)

    def saved(of: Callable[[Segment, Fraction], Fraction], *kinds: str) -> int:
        own, first = (
            reduce(lambda ps, link: ps + of(link, ps), (link for link in links if link.kind in kinds), Fraction())
            for links in (chain, ahead)
        )
        return int(max(own, min(first, own + waits_ps)))

    return {FASTER_NPUS: saved(half, COMPUTE, STILL), NO_SLOW_NPUS: saved(excess, COMPUTE, STILL, OTHER)}


def since_still(chain: Sequence[Segment]) -> Sequence[Segment]:
    """Return the links after the last NPU that stood still, which goes on no sooner if they come sooner."""
    last = max((number for number, link in enumerate(chain) if link.kind == STILL), default=-1)
    return chain[last + 1 :]


def _first_due_ps(link: Segment, from_ps: int, messages: Columns | None) -> int:
    """Return when the first of the messages came that waited until an NPU went on, as far as is known."""
    if messages is None:
        return link.start_ps
    came_ps = messages["end_ps"][messages["destination"] == link.npu]
    return int(min(came_ps[came_ps >= from_ps], default=link.start_ps))
