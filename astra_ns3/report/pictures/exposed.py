"""Computing against exposed communication: the mean over all NPUs, one NPU of each role, and every NPU."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from astra_ns3.report.figures.curves import Real, evenly
from astra_ns3.report.figures.figure import Axis, Band, Bars, Figure, Panel, Series, Words
from astra_ns3.report.figures.style import BLUE, VERMILION, tails, time_unit
from astra_ns3.report.pictures.kind import Choice, Kind, Section
from astra_ns3.report.pictures.layers import layer_times
from astra_ns3.report.pictures.shown import Shown
from astra_ns3.report.records import NPUS, ps_of
from astra_ns3.report.tables import Records, name_of, names_of

# More NPUs than this are drawn without gaps between them.
_MOST_BARS = 40
# On a page.
_MOST_NPUS = 128
_LOOKS = (("compute", BLUE), ("exposed communication", VERMILION))

Spent = tuple[str, float, float]
"""A bar's name, and picoseconds of computing and exposed."""


def _in_file(records: Records, choice: Choice) -> Figure:
    """Return bars of means above, a bar per NPU below; with other runs beside it, a mean for each."""
    every = (records, *choice.beside)
    if choice.beside:
        means = [(name, *_mean(each)) for name, each in zip(names_of(every), every, strict=True)]
        return Figure([_means(means, "time, mean of NPUs")], around=0.35)
    npus = _npus(records)
    whose = f"mean of {name_of(records)}" if "job" in records.metadata else "mean of NPUs"
    bars: list[Spent] = [("NPU 0" if len(npus) == 1 else whose, *_mean(records))]
    roles = layer_times(records)
    for role, (npu, times) in roles.items() if len(roles) > 1 else ():
        spent = [pair for _, parts in times for pair in parts.values()]
        bars.append((f"NPU {npu} of {role}", sum(pair[0] for pair in spent), sum(pair[1] for pair in spent)))
    return Figure([_means(bars), *([_each(npus)] if len(npus) > 1 else [])], around=0.35 if len(npus) == 1 else 0.25)


def _on_page(runs: Sequence[Shown], detail: int) -> Figure:
    """Return a bar per NPU: what it computed, and above that what it could only wait."""
    found = [_npus(shown.run) for shown in runs]
    longest = max((float(times.sum(axis=1).max(initial=1)) for times in found), default=1)
    factor, unit = time_unit(longest, 1)
    notes, panels = [], []
    for shown, times in zip(runs, found, strict=True):
        kept = evenly(range(len(times)), min(_MOST_NPUS, detail))
        if len(kept) < len(times):
            notes.append(f"{shown.name}: {len(kept)} of {len(times)} NPUs, evenly spread.")
        bars = [
            Bars(times[kept, index] / factor, upright=True, name=name, colour=colour)
            for index, (name, colour) in enumerate(_LOOKS)
        ]
        x, y = Axis("NPU", names=[str(npu) for npu in kept]), Axis("time", unit, 0, 1.04 * longest / factor)
        gap = 0.15 if len(kept) <= _MOST_BARS else 0
        panels.append(Panel(x, y, bars, shown.name, stacked=True, of_run=True, height=2.8, gap=gap))
    return Figure(panels, notes)


def _npus(records: Records) -> Real:
    """Return compute and exposed picoseconds of each NPU."""
    rows = records.rows(NPUS)
    found = [[float(ps_of(row[name]) or 0) for name in ("compute_us", "exposed_us")] for row in rows]
    return np.array(found).reshape(-1, 2)


def _mean(records: Records) -> tuple[float, float]:
    compute, exposed = _npus(records).mean(axis=0)
    return float(compute), float(exposed)


def _means(bars: Sequence[Spent], what: str = "time") -> Panel:
    factor, unit = time_unit(max(compute + exposed for _, compute, exposed in bars))
    spent = np.array([bar[1:] for bar in bars]) / factor
    whole = spent.sum(axis=1)
    series: list[Series] = [
        Bars(spent[:, index], thick=0.7, name=name, colour=colour) for index, (name, colour) in enumerate(_LOOKS)
    ]
    for index, each in enumerate(whole):
        share = 100 * spent[index, 1] / each if each else 0.0
        series.append(Words(float(each), index, f" {share:.1f}% exposed", "left", letters=6))
    x = Axis(what, unit, 0, 1.5 * float(whole.max() or 1.0), grid=True)
    y = Axis(names=tails([bar[0] for bar in bars], 18), letters=6.5)
    return Panel(x, y, series, stacked=True, height=0.6 + 0.17 * len(bars))


def _each(npus: Real) -> Panel:
    factor, unit = time_unit(float(npus.sum(axis=1).max()))
    compute, exposed = npus.T / factor
    edges = np.arange(len(npus) + 1) - 0.5
    series: list[Series]
    if len(npus) <= _MOST_BARS:
        series = [Bars(compute, upright=True, colour=BLUE), Bars(exposed, upright=True, colour=VERMILION)]
    else:
        series = [
            Band(edges, 0 * compute, compute, colour=BLUE),
            Band(edges, compute, compute + exposed, colour=VERMILION),
        ]
    x, y = Axis("NPU", low=edges[0], high=edges[-1], whole=True), Axis("time", unit, low=0, grid=True)
    return Panel(x, y, series, stacked=True, height=1.4)


KIND = Kind(
    "exposed",
    "computing against exposed communication, of all NPUs and of each",
    _in_file,
    Section(
        "Compute against exposed communication",
        "Both add up to an NPU's finish; after a restart, to its last try's time.",
        _on_page,
    ),
    more=("layers",),
    compares=True,
    of_flows=False,
)
