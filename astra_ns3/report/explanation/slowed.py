"""NPUs that a slowdown, an event or collectives beside them slow down, and what this costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cache
from math import ceil, prod

import numpy as np

from astra_ns3.config.compute_slowdown import STANDS_STILL
from astra_ns3.frozen import dataclass
from astra_ns3.network.run_document import RunDocument
from astra_ns3.playing.slowdown.pace import Span
from astra_ns3.report.alignment import ranges
from astra_ns3.report.explanation.parts import COMPUTE, Segment
from astra_ns3.report.explanation.run_tables import Tables
from astra_ns3.report.explanation.what_ifs import Slowness
from astra_ns3.units import format_time, parse_time_ps


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


def slowness_of(metadata: RunDocument) -> Slowness:
    """Return how many times as long computations of a run may take; nobody knows what that costs with LIFO.

    There fast NPUs begin collectives that slow ones haven't issued, and play no others meanwhile.
    """
    slowed, system = slowed_npus(metadata), metadata.get("system", {})
    spans, uneven = [each.span for each in slowed], any(each.npus is not None for each in slowed)
    changes_order = uneven and system.get("scheduling-policy") == "LIFO" and system.get("collectives") != "nccl"
    for_a_while = any(span.from_ps or span.until_ps is not None for span in spans)
    return Slowness(None if for_a_while or changes_order else prod((span.factor for span in spans), start=Fraction(1)))


def slowed_beside(metadata: RunDocument) -> Fraction:
    """Return how many times as long computing takes beside collectives, of what processors limit."""
    shares = (metadata.get("compute_slowdown") or {}).get("communication")
    if shares is not None:
        return 1 / (1 - Fraction(str(shares["processors"])))
    return Fraction(str((metadata.get("device_losses") or {}).get("overlap_slowdown", 1)))


def beside_ps(tables: Tables, npu: int) -> int:
    """Return how long phases of collectives ran beside what an NPU computed."""
    rows = np.flatnonzero((tables.operation_npu == npu) & (tables.kinds == "compute")).tolist()
    return _beside(tables, npu, [(int(tables.operation_start[row]), int(tables.operation_end[row])) for row in rows])


def longer_ps(tables: Tables, segments: Iterable[Segment], factor: Fraction) -> int:
    """Return how much longer computations of the chain took beside collectives, which make them ``factor`` as long."""
    spans: dict[int, list[tuple[int, int]]] = {}
    for each in segments if factor != 1 else ():
        if each.kind == COMPUTE:
            spans.setdefault(each.npu, []).append((each.start_ps, each.end_ps))
    return ceil(sum(_beside(tables, npu, own) for npu, own in spans.items()) * (1 - 1 / factor))


def _beside(tables: Tables, npu: int, spans: Iterable[tuple[int, int]]) -> int:
    """Return how long phases of collectives ran on an NPU within some spans."""
    rows = np.flatnonzero((tables.phase_npu == npu) & (tables.phase_dimension >= 0))
    if not len(rows):
        return 0
    rows = rows[np.argsort(tables.phase_start[rows], kind="stable")]
    starts, until = tables.phase_start[rows], np.maximum.accumulate(tables.phase_end[rows])
    begins = np.append(True, starts[1:] > until[:-1])
    starts, ends = starts[begins], until[np.append(begins[1:], True)]
    both = (np.minimum(ends, end_ps) - np.maximum(starts, start_ps) for start_ps, end_ps in spans)
    return sum(int(np.maximum(each, 0).sum()) for each in both)
