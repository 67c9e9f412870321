"""Who did what when: computing and waiting of NPUs, and under these the phases that ran in each dimension."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from astra_ns3.report.page.figure import Data, Figure, Missing, Panel, Shown, axis
from astra_ns3.report.page.having import remedy_of
from astra_ns3.report.page.intervals import Numbers, joined
from astra_ns3.report.page.scale import TimeScale, sample, time_scale
from astra_ns3.report.plots.style import BLUE, GREEN, ORANGE, PURPLE, SKY, YELLOW
from astra_ns3.report.records import Recorded, by_value, table_of

_MOST_NPUS = 12
_WIDTH = 1000
"""Gaps below this part of the run's time are not drawn."""
_KINDS = {"compute": BLUE, "wait": ORANGE}
_DIMENSIONS = (GREEN, PURPLE, SKY, YELLOW)

Track = tuple[int, str]
"""NPU, and what of it."""
Tracks = Mapping[Track, tuple[Numbers, Numbers]]


def timeline(runs: Sequence[Shown], detail: int) -> Figure | Missing:
    """Bars on a lane for each NPU and each of its dimensions."""
    found = {shown.place: _tracks(shown, detail) for shown in runs}
    if not any(found.values()):
        return Missing(remedy_of(runs[0], "operations"))
    scale = time_scale(max(shown.run.metadata["finish_ps"] for shown in runs))
    notes, panels = [], []
    for shown in runs:
        tracks = found[shown.place]
        if tracks is None:
            notes.append(f"{shown.name}: not recorded; {remedy_of(shown, 'operations')}.")
            continue
        shown_npus = len({npu for npu, _ in tracks})
        if shown_npus < shown.run.metadata["npus"]:
            notes.append(f"{shown.name}: {shown_npus} of {shown.run.metadata['npus']} NPUs.")
        panels.append(_panel(shown, tracks, scale, max(each.run.metadata["finish_ps"] for each in runs)))
    notes.append(f"Intervals of one kind less than 1/{_resolution(detail)} of the run apart are drawn as one.")
    return Figure(panels, notes)


def _resolution(detail: int) -> int:
    return min(_WIDTH, 2 * detail)


def _tracks(shown: Shown, detail: int) -> Tracks | None:
    run = shown.run
    operations, phases = table_of(run, "operations"), table_of(run, "phases")
    if operations is None and phases is None:
        return None
    every = sample(list(range(run.metadata["npus"])), max(2, min(_MOST_NPUS, detail // 16)))
    npus = np.array(sorted({*every, run.metadata["report_npu"]}))
    gap_ps = run.metadata["finish_ps"] // _resolution(detail)
    parts: dict[Track, list[tuple[Numbers, Numbers]]] = defaultdict(list)
    for track, starts, ends in (*_operations(operations, npus), *_phases(phases, npus)):
        parts[track].append(joined(starts, ends, gap_ps))
    return {
        track: joined(
            np.concatenate([starts for starts, _ in found]), np.concatenate([ends for _, ends in found]), gap_ps
        )
        for track, found in sorted(parts.items())
    }


def _operations(table: Recorded | None, npus: Numbers) -> Iterator[tuple[Track, Numbers, Numbers]]:
    for batch in table.batches(["npu", "kind", "start_ps", "end_ps"]) if table else ():
        for kind in _KINDS:
            chosen = (batch["kind"] == kind) & np.isin(batch["npu"], npus) & (batch["end_ps"] > batch["start_ps"])
            yield from _by_npu(kind, batch["npu"][chosen], batch["start_ps"][chosen], batch["end_ps"][chosen])


def _phases(table: Recorded | None, npus: Numbers) -> Iterator[tuple[Track, Numbers, Numbers]]:
    for batch in table.batches(["npu", "dimension", "start_ps", "end_ps"]) if table else ():
        inside = np.isin(batch["npu"], npus) & (batch["end_ps"] > batch["start_ps"])
        for dimension in np.unique(batch["dimension"][inside]):
            chosen = inside & (batch["dimension"] == dimension)
            name = f"dimension {dimension}"
            yield from _by_npu(name, batch["npu"][chosen], batch["start_ps"][chosen], batch["end_ps"][chosen])


def _by_npu(what: str, npus: Numbers, starts: Numbers, ends: Numbers) -> Iterator[tuple[Track, Numbers, Numbers]]:
    for npu, chosen in by_value(npus):
        yield (int(npu), what), starts[chosen].astype(np.int64), ends[chosen].astype(np.int64)


def _panel(shown: Shown, tracks: Tracks, scale: TimeScale, end_ps: int) -> Panel:
    dimensions = sorted({what for _, what in tracks if what not in _KINDS})
    colours = {**_KINDS, **{what: _DIMENSIONS[place % len(_DIMENSIONS)] for place, what in enumerate(dimensions)}}
    lanes = [lane for npu in sorted({npu for npu, _ in tracks}) for lane in (f"NPU {npu}", *(
        f"{npu}, {what}" for what in dimensions if (npu, what) in tracks))]  # fmt: skip
    height = {lane: place for place, lane in enumerate(lanes)}
    traces: list[Data] = []
    for what, colour in colours.items():
        base: list[float] = []
        length: list[float] = []
        places: list[int] = []
        for (npu, of), (starts, ends) in tracks.items():
            if of == what:
                base += scale.of(starts)
                length += scale.of(ends - starts)
                places += [height[f"NPU {npu}" if what in _KINDS else f"{npu}, {what}"]] * len(starts)
        traces.append(_bars(what, colour, base, length, places, scale))
    layout = {
        "barmode": "overlay",
        "xaxis": axis(f"time ({scale.unit})", range=[0, end_ps / scale.ps]),
        "yaxis": {"autorange": "reversed", "tickmode": "array", "tickvals": list(range(len(lanes))), "ticktext": lanes,
                  "showgrid": False, "zeroline": False},
    }  # fmt: skip
    return Panel(shown.name, traces, layout, 150 + 17 * len(lanes))


def _bars(name: str, colour: str, base: list[float], length: list[float], places: list[int], scale: TimeScale) -> Data:
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "base": base,
        "x": length,
        "y": places,
        "width": 0.8 if name in _KINDS else 0.5,
        "marker": {"color": colour, "line": {"width": 0}},
        "hovertemplate": f"{name}<br>from %{{base}} for %{{x}} {scale.unit}",
    }
