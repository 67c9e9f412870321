"""The acts of each NPU over time: computing, waiting, and the phases of collectives in flight."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle

import numpy as np

from astra_ns3.errors import refuse
from astra_ns3.report.figures import style
from astra_ns3.report.figures.curves import Real, covered, evenly, gathered, heights, in_flight, merged, steps
from astra_ns3.report.figures.figure import Axis, Band, Figure, Panel, Series, Spans
from astra_ns3.report.pictures.kind import Choice, Kind, Section
from astra_ns3.report.pictures.shown import Missing, Shown, remedy_of
from astra_ns3.report.records import (
    COLLECTIVES,
    Recorded,
    by_value,
    changes_of,
    dimension_name,
    end_of,
    ps_of,
    shown_part,
    start_of,
    table_of,
    time_of,
)
from astra_ns3.report.scenario_text import event_spans
from astra_ns3.report.tables import Numbers, Records

MOST_NPUS = 8
"""NPUs of a file, without ``select``: evenly apart."""
MOST_BARS = 600
"""Operations of an NPU's program."""
LEAST_SHARE = 1 / 700
"""Share of the width that an operation has at least."""
MOST_COLLECTIVES = 40
_MOST_ON_PAGE = 12
# Parts of a run's time on a page, at most.
_WIDTH = 1000
_PROGRAM = {"compute": ("computing", style.BLUE), "wait": ("waiting", style.VERMILION)}
_PROGRAM_ON_PAGE = {"compute": style.BLUE, "wait": style.ORANGE}
_CHANGED = "changed"
_NO_SPANS = (np.zeros(0, np.int64),) * 3
_DIMENSIONS = (style.GREEN, style.ORANGE, style.PURPLE, style.SKY)
_DIMENSIONS_ON_PAGE = (style.GREEN, style.PURPLE, style.SKY, style.YELLOW)

Track = tuple[int, str | int]
"""NPU, and what of it: compute, wait, or the number of a dimension, which is -1 of messages between NPUs."""
Tracks = Mapping[Track, tuple[Numbers, Numbers]]


def _in_file(records: Records, choice: Choice) -> Figure:
    """Return a strip per NPU: its program above, the phases in flight in each dimension below."""
    operations, phases = table_of(records, "operations"), table_of(records, "phases")
    if operations is None and phases is None:
        return _collectives(records, choice)
    count, finish_ps = int(records.metadata["npus"]), end_of(records.metadata)
    for word in choice.select:
        refuse(not word.isdecimal() or int(word) >= count, f"NPU '{word}' is not one of 0 to {count - 1}")
    npus = [int(word) for word in choice.select] or evenly(range(count), MOST_NPUS)
    tracks = _tracks(records, npus)
    most: dict[int, int] = {}
    for (_, what), spans in tracks.items():
        if isinstance(what, int):
            most[what] = max(most.get(what, 1), int(in_flight(*spans)[1].max(initial=0)))
    most = dict(sorted(most.items()))
    program = 0 if operations is None else 1
    unit = style.time_unit(finish_ps)
    x = Axis(time_of(records), unit[1], 0, finish_ps / unit[0])
    panels = [
        Panel(x, Axis(f"NPU {npu}", low=-0.1, high=program + len(most), bare=True),
              _strip(records, tracks, npu, most, program, finish_ps, unit),
              note=f"{len(npus)} of {count} NPUs" if npu == npus[0] and len(npus) < count else "",
              height=0.12 * (program + 1.4 * len(most)) + 0.05)
        for npu in npus
    ]  # fmt: skip
    panels += [
        Panel(x, Axis(name, low=-0.1, high=1, bare=True),
              [_visible(*spans, finish_ps, unit, 0.45, 0.9, _CHANGED, style.GREY)], height=0.17)
        for name, spans in _changes(records, finish_ps).items()
    ]  # fmt: skip
    return Figure(panels, share_x=True)


def _strip(
    records: Records,
    tracks: Tracks,
    npu: int,
    most: Mapping[int, int],
    program: int,
    finish_ps: int,
    unit: style.Unit,
) -> list[Series]:
    """Return the strip of an NPU; lanes from top to bottom."""
    series: list[Series] = _program(tracks, npu, len(most), finish_ps, unit) if program else []
    for index, (dimension, highest) in enumerate(most.items()):
        name = f"{'' if dimension < 0 else 'phases, '}{dimension_name(records.metadata, dimension)} (at most {highest})"
        bottom = len(most) - 1 - index
        times, counts = in_flight(*tracks.get((npu, dimension), _NO_SPANS[:2]))
        x, y = steps(times, counts, int(times[-1]) if len(times) else 0)
        height = bottom + 0.9 * y[:-1] / highest
        colour = _DIMENSIONS[dimension % len(_DIMENSIONS)]
        series.append(Band(x / unit[0], np.full(len(height), bottom), height, name=name, colour=colour))
    return series


def _program(tracks: Tracks, npu: int, bottom: int, finish_ps: int, unit: style.Unit) -> list[Series]:
    """Return bars, or where there are too many for the width, which share of each moment went into what."""
    spans = {kind: tracks.get((npu, kind), _NO_SPANS[:2]) for kind in _PROGRAM}
    if sum(len(starts) for starts, _ in spans.values()) <= MOST_BARS:
        # waits are drawn last, so no short one is hidden
        return [
            _visible(*times, finish_ps, unit, bottom + 0.45, 0.9, name, colour)
            for times, (name, colour) in zip(spans.values(), _PROGRAM.values(), strict=True)
        ]
    edges = np.linspace(0, finish_ps, MOST_BARS + 1)
    below, series = np.full(MOST_BARS, float(bottom)), list[Series]()
    for (starts, ends), (name, colour) in zip(spans.values(), _PROGRAM.values(), strict=True):
        share = covered(starts, ends, edges)
        above = below + 0.9 * heights(share)
        series.append(Band(edges / unit[0], below, above, name=name, colour=colour))
        below = above
    return series


def _visible(
    starts: Numbers, ends: Numbers, finish_ps: int, unit: style.Unit, lane: float, thick: float, name: str, colour: str
) -> Spans:
    """Return intervals on a lane, none of them too short to be seen."""
    lengths = np.maximum(ends - starts, LEAST_SHARE * finish_ps)
    begins = np.minimum(starts, finish_ps - lengths)
    lanes = np.full(len(starts), lane)
    return Spans(begins / unit[0], lengths / unit[0], lanes, thick, name=name, colour=colour)


def _collectives(records: Records, choice: Choice) -> Figure:
    """Return a bar per collective, from its first issue to its end, of a run without what its NPUs did."""
    refuse(
        bool(choice.select),
        "NPUs can be selected only with --record timeline; without it this shows collectives of all",
    )
    rows = records.rows(COLLECTIVES)
    shown, finish_ps = rows[:MOST_COLLECTIVES], end_of(records.metadata)
    unit = style.time_unit(finish_ps)
    passes = len({row["iteration"] for row in shown}) > 1
    layers = list(dict.fromkeys(row["layer"] for row in rows))
    called = dict(zip(layers, style.labels(layers, 16), strict=True))
    names = [
        style.of_part(called[row["layer"]], shown_part(records, row["part"]))
        + (f" {row['iteration']}" if passes else "")
        for row in shown
    ]
    kinds = list(dict.fromkeys(row["kind"] for row in shown))
    start = np.array([ps_of(row["start_us"]) or 0 for row in shown])
    end = np.array([ps_of(row["end_us"]) or finish_ps for row in shown])
    series: list[Series] = []
    for kind, colour in zip(kinds, cycle(style.COLOURS), strict=False):
        own = np.flatnonzero([row["kind"] == kind for row in shown])
        series.append(Spans(start[own] / unit[0], (end - start)[own] / unit[0], own, name=kind, colour=colour))
    for name, spans in _changes(records, finish_ps).items():
        series.append(_visible(*spans, finish_ps, unit, len(names), 0.8, _CHANGED, style.GREY))
        names.append(name)
    note = f"the first {len(shown)} of {len(rows)} collectives" if len(shown) < len(rows) else ""
    x = Axis(time_of(records), unit[1], 0, finish_ps / unit[0], grid=True)
    panel = Panel(x, Axis(names=names, letters=5), series, note=note, empty="no collective was issued",
                  height=0.11 * max(len(names), 4))  # fmt: skip
    return Figure([panel], legend=(3, 3))


def _on_page(runs: Sequence[Shown], detail: int) -> Figure:
    """Return bars on a lane for each NPU and each of its dimensions."""
    resolution = min(_WIDTH, 2 * detail)
    end_ps = max(shown.finish_ps for shown in runs)
    unit = style.time_unit(end_ps, 1)
    notes, panels = [], []
    for shown in runs:
        operations, phases = table_of(shown.run, "operations"), table_of(shown.run, "phases")
        if operations is None and phases is None:
            notes.append(f"{shown.name}: not recorded; {remedy_of(shown, 'operations')}.")
            continue
        count = shown.run.metadata["npus"]
        npus = {*evenly(range(count), max(2, min(_MOST_ON_PAGE, detail // 16))), shown.run.metadata["report_npu"]}
        tracks = _drawable(_tracks(shown.run, sorted(npus), 0), shown.finish_ps, resolution)
        there = len({npu for npu, _ in tracks})
        if there < count:
            notes.append(f"{shown.name}: {there} of {count} NPUs.")
        panels.append(_lanes(shown, tracks, end_ps, unit))
    if not panels:
        raise Missing(remedy_of(runs[0], "operations"))
    told = f"Lanes with over {resolution} changes are drawn in {resolution} equal parts; total lengths are right."
    return Figure(panels, [*notes, told])


def _drawable(tracks: Tracks, finish_ps: int, parts: int) -> Tracks:
    """Return the same with few enough intervals on each lane to be drawn; each kind keeps its share of the time."""
    edges = np.linspace(0, finish_ps, parts + 1)
    lanes: dict[tuple[int, int | None], dict[str | int, tuple[Numbers, Numbers]]] = {}
    for (npu, what), spans in tracks.items():
        lanes.setdefault((npu, what if isinstance(what, int) else None), {})[what] = spans
    found: dict[Track, tuple[Numbers, Numbers]] = {}
    for (npu, _), kinds in lanes.items():
        many = sum(len(starts) for starts, _ in kinds.values()) > parts
        drawn = _one_of_each(kinds, edges) if many else kinds
        found |= {(npu, what): spans for what, spans in drawn.items() if len(spans[0])}
    return found


def _one_of_each(
    kinds: Mapping[str | int, tuple[Numbers, Numbers]], edges: Real
) -> dict[str | int, tuple[Numbers, Numbers]]:
    """Return one kind, or none, for each part of the time: the kind that lags most behind its share so far."""
    amounts = np.array([covered(*spans, edges) for spans in kinds.values()])
    amounts = np.vstack([amounts, 1 - amounts.sum(axis=0)])
    owed, chosen = np.zeros(len(amounts)), np.zeros(len(edges) - 1, dtype=np.int64)
    for part, amount in enumerate(amounts.T):
        owed += amount
        chosen[part] = owed.argmax()
        owed[chosen[part]] -= 1
    whole = np.rint(edges).astype(np.int64)
    return {
        kind: merged(whole[:-1][chosen == number], whole[1:][chosen == number], 0) for number, kind in enumerate(kinds)
    }


def _lanes(shown: Shown, tracks: Tracks, end_ps: int, unit: style.Unit) -> Panel:
    dimensions = sorted({what for _, what in tracks if isinstance(what, int)})
    lanes: dict[Track, int] = {}
    names: list[str] = []
    for npu in sorted({npu for npu, _ in tracks}):
        lanes |= {(npu, kind): len(names) for kind in _PROGRAM_ON_PAGE}
        names.append(f"NPU {npu}")
        for each in dimensions:
            if (npu, each) in tracks:
                lanes[npu, each] = len(names)
                names.append(f"{npu}, {dimension_name(shown.run.metadata, each)}")
    looks: list[tuple[str | int, str, float, str]] = [
        (kind, kind, 0.8, colour) for kind, colour in _PROGRAM_ON_PAGE.items()
    ]
    for each, colour in zip(dimensions, cycle(_DIMENSIONS_ON_PAGE), strict=False):
        looks.append((each, dimension_name(shown.run.metadata, each), 0.5, colour))
    series = []
    for what, name, thick, colour in looks:
        found = [(np.full(len(spans[0]), lanes[track]), *spans) for track, spans in tracks.items() if track[1] == what]
        lane, starts, ends = (np.concatenate(each) for each in zip(*(found or [_NO_SPANS]), strict=True))
        series.append(Spans(starts / unit[0], (ends - starts) / unit[0], lane, thick, name=name, colour=colour))
    for name, changed in _changes(shown.run, shown.finish_ps).items():
        series.append(_visible(*changed, shown.finish_ps, unit, len(names), 0.5, _CHANGED, style.GREY))
        names.append(name)
    x = Axis(time_of(shown.run), unit[1], 0, end_ps / unit[0], grid=True)
    return Panel(x, Axis(names=names), series, shown.name, of_run=True, height=1.5 + 0.17 * len(names))


def _changes(records: Records, finish_ps: int) -> dict[str, tuple[Numbers, Numbers]]:
    """Return when parts of the network are changed, and NPUs slow, while a job plays, on its own clock."""
    begin_ps, found = start_of(records.metadata), dict[str, tuple[Numbers, Numbers]]()
    for name, of_npus in (("network", False), ("slow NPUs", True)):
        events = [each for each in changes_of(records) if of_npus == ("slower" in each or "still" in each)]
        spans = [span for event in events for span in event_spans(event, begin_ps + finish_ps)]
        times = np.clip(np.array(spans, np.int64).reshape(-1, 2) - begin_ps, 0, finish_ps)
        times = times[times[:, 0] < times[:, 1]]
        if len(times):
            found[name] = merged(times[:, 0], times[:, 1], 0)
    return found


def _tracks(records: Records, npus: Sequence[int], gap_ps: int | None = None) -> Tracks:
    """Return the intervals of some NPUs, by NPU; those no further apart than the gap as one, if there is one."""
    operations, phases = table_of(records, "operations"), table_of(records, "phases")
    of_phases = (
        *_rows(phases, "dimension", npus, gap_ps),
        *_messages(phases, table_of(records, "flows"), npus, gap_ps),
    )
    found = gathered((*_rows(operations, "kind", npus, gap_ps), *of_phases))
    ordered = sorted(found, key=lambda track: (track[0], str(track[1])))
    return {track: _joined(*found[track], gap_ps) for track in ordered}


def _messages(
    phases: Recorded | None, flows: Recorded | None, npus: Sequence[int], gap_ps: int | None
) -> Iterator[tuple[Track, Numbers, Numbers]]:
    """Yield when messages between NPUs were on their way, which are no phases of a dimension, for both NPUs.

    Without single messages they are told as far as receivers wait for them. Of a message's two rows the sender's ends
    first. The receiver's begins when the NPU is ready to receive, which may be long before the message is sent.
    """
    names = ("collective", "npu", "start_ps", "end_ps")
    parts = [_NO_SPANS[:1] * len(names)]
    for batch in phases.batches([*names, "dimension"]) if phases else ():
        parts.append(tuple(batch[name][batch["dimension"] < 0] for name in names))
    collectives, of, starts, ends = (np.concatenate(each) for each in zip(*parts, strict=True))
    sent = np.zeros(collectives.max(initial=-1) + 1, np.int64)
    latest_first = np.argsort(-ends, kind="stable")
    sent[collectives[latest_first]] = starts[latest_first]
    found = [(of, np.maximum(starts, sent[collectives]), ends)]
    if flows and len(collectives):
        found = []
        for batch in flows.batches(["collective", "source", "destination", "start_ps", "end_ps"]):
            own = np.isin(batch["collective"], collectives)
            for end in ("source", "destination"):
                found.append((batch[end][own], batch["start_ps"][own], batch["end_ps"][own]))
    for of, starts, ends in found:
        inside = np.isin(of, npus) & (ends > starts)
        for npu, rows in by_value(of[inside]):
            yield (npu, -1), *_joined(starts[inside][rows], ends[inside][rows], gap_ps)


def _rows(
    table: Recorded | None, column: str, npus: Sequence[int], gap_ps: int | None
) -> Iterator[tuple[Track, Numbers, Numbers]]:
    for batch in table.batches(["npu", column, "start_ps", "end_ps"]) if table else ():
        inside = np.isin(batch["npu"], npus) & (batch["end_ps"] > batch["start_ps"])
        npu, starts, ends = (batch[name][inside] for name in ("npu", "start_ps", "end_ps"))
        for what, rows in by_value(batch[column][inside]):
            if what in _PROGRAM or (isinstance(what, int) and what >= 0):
                for of, own in by_value(npu[rows]):
                    yield (of, what), *_joined(starts[rows][own], ends[rows][own], gap_ps)


def _joined(starts: Numbers, ends: Numbers, gap_ps: int | None) -> tuple[Numbers, Numbers]:
    return (starts, ends) if gap_ps is None else merged(starts, ends, gap_ps)


KIND = Kind(
    "timeline",
    "what each NPU did when",
    _in_file,
    Section("Timeline", "What NPUs did when, and the phases of collectives that ran in each dimension.", _on_page),
    more=("operations", "phases"),
    selects="NPUs",
    of_flows=False,
)
