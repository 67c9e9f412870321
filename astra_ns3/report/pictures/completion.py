"""How long messages took: their distribution by size, and how many times as long as alone on the network."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from astra_ns3.report.figures.curves import MOST_POINTS, Real, shares
from astra_ns3.report.figures.figure import Axis, Curve, Figure, Panel
from astra_ns3.report.figures.style import COLOURS, ON_PAGES, tails, time_unit
from astra_ns3.report.pictures.kind import Choice, Kind, Section
from astra_ns3.report.pictures.shown import Having, Missing, Shown, having
from astra_ns3.report.records import needed
from astra_ns3.report.signals import without_signals
from astra_ns3.report.tables import Numbers, Records, is_of_flows, names_of, recorded
from astra_ns3.units import counted, format_bytes, ordinal

MOST_CLASSES = 4
"""The most sizes; messages of more sizes are put into classes of about as many sizes each."""
ALIKE = 1.01
"""Sizes within this factor are one: equal chunks differ by a byte."""
# On a page.
_MOST_ROWS = 200_000
_COLUMNS = ("bytes", "start_ps", "end_ps", "ideal_ps")
_PERCENTILES = {"p50": 50, "p95": 95, "p99": 99}
_BINS = 20

Flows = dict[str, Numbers]


def _in_file(records: Records, choice: Choice) -> Figure:
    """Return the share of messages that had come by a time; below, if an ideal is known, the slowdown."""
    every = (records, *choice.beside)
    found = [columns_of(each) for each in every]
    sizes = np.unique(np.concatenate([flows["bytes"] for flows in found]))
    factor, unit = time_unit(max((float(_took(flows).max()) for flows in found if len(flows["bytes"])), default=0))
    times, slowdowns = list[Curve](), list[Curve]()
    for index, (run, flows) in enumerate(zip(tails(names_of(every)), found, strict=True)):
        for number, (label, inside) in enumerate(classes(flows["bytes"], sizes) if len(sizes) else ()):
            of = {name: column[inside] for name, column in flows.items()}
            known = with_ideal(of)
            named = f"{run}: {label}" if len(every) > 1 else f"{label} ({len(of['bytes']):,})"
            for curves, values in ((times, _took(of) / factor), (slowdowns, _took(known) / known["ideal_ps"])):
                if len(values):
                    curves.append(_share(values, index, named, COLOURS[number % len(COLOURS)]))
    panels = [_panel("completion of a message", unit, times, "no message was sent")]
    if slowdowns:
        panels.append(_panel("slowdown: time over that alone on an idle network", "", slowdowns))
    return Figure(panels, around=0.6)


def columns_of(records: Records) -> Flows:
    """Return a run's messages but signals; flows of a list have an ideal over any transport, messages over RoCE."""
    table = needed(records, "completions" if recorded(records, "completions") else "flows")
    return without_signals(table, _COLUMNS)[0]


def classes(sizes: Numbers, every: Numbers) -> list[tuple[str, npt.NDArray[np.bool_]]]:
    """Return names of classes of sizes, and which messages are in each; ``every``: the sizes there are, ascending."""
    alike = np.split(every, np.flatnonzero(every[1:] > ALIKE * every[:-1]) + 1)
    groups = np.array_split(np.arange(len(alike)), min(len(alike), MOST_CLASSES))
    found = []
    for group in groups:
        low, high = int(alike[group[0]][0]), int(alike[group[-1]][-1])
        name = f"{format_bytes(low)} to {format_bytes(high)}" if high > ALIKE * low else format_bytes(high)
        found.append((name, (sizes >= low) & (sizes <= high)))
    return found


def _share(values: Real, number: int, name: str, colour: str) -> Curve:
    ordered = np.sort(values)
    share = np.arange(1, len(ordered) + 1) / len(ordered)
    kept = np.unique(np.linspace(0, len(ordered) - 1, min(len(ordered), MOST_POINTS)).astype(np.int64))
    x, y = np.append(ordered[0], ordered[kept]), np.append(0, share[kept])
    return Curve(x, y, step=True, dash=number, name=name, colour=colour)


def _panel(name: str, unit: str, curves: Sequence[Curve], empty: str = "") -> Panel:
    values = np.concatenate([np.zeros(0), *(np.asarray(each.x) for each in curves)])
    log = bool(len(values)) and float(values.max()) > 3 * max(float(values.min()), 1e-9)
    x = Axis(name, unit, log=log, grid=True)
    return Panel(x, Axis("share of messages", low=0, high=1.02, grid=True), curves, empty=empty, height=1.4)


def _on_page(runs: Sequence[Shown], detail: int) -> Figure:
    """Return distributions of completion time and slowdown, and the slowdown by size; all runs in one plot."""
    tables: Having = []
    notes: list[str] = []
    of_flows = [shown for shown in runs if is_of_flows(shown.run)]
    for name, some in (("completions", of_flows), ("flows", [shown for shown in runs if shown not in of_flows])):
        try:
            with_rows, said = having(some, name, "no message arrived") if some else ([], [])
        except Missing as missing:
            if len(some) == len(runs):
                raise
            with_rows, said = [], [f"{', '.join(shown.name for shown in some)}: not recorded; {missing}."]
        tables += with_rows
        notes += said
    found: list[tuple[Shown, Flows]] = []
    for shown, table in tables:
        flows, signals = without_signals(table, _COLUMNS, _MOST_ROWS)
        found.append((shown, flows))
        if table.rows > _MOST_ROWS:
            notes.append(f"{shown.name}: every {ordinal(-(-table.rows // _MOST_ROWS))} of {table.rows:,} messages.")
        if signals:
            notes.append(f"{shown.name}: without signals of one byte.")
    if not found:
        return Figure([], notes)
    times = [(shown, _took(flows).astype(np.float64)) for shown, flows in found]
    factor, unit = time_unit(float(np.median(np.concatenate([each for _, each in times]))), 1)
    panels = [
        _shares("completion time", Axis("time", unit, log=True), [(s, each / factor) for s, each in times], detail)
    ]
    known = [(shown, ideal) for shown, flows in found if len((ideal := with_ideal(flows))["bytes"])]
    if known:
        slowdowns = [(shown, _took(flows) / flows["ideal_ps"]) for shown, flows in known]
        axis = Axis("time / time alone on the network", log=True)
        panels += [_shares("slowdown", axis, slowdowns, detail), _by_size(known)]
    else:
        notes.append("Slowdown needs RoCE: over other transports the time of a message alone isn't known.")
    return Figure(panels, notes)


def _shares(title: str, x: Axis, values: Sequence[tuple[Shown, Real]], detail: int) -> Panel:
    curves = [
        Curve(*shares(each, min(200, detail)), step=True, dash=index, name=shown.name,
              colour=ON_PAGES[index % len(ON_PAGES)])
        for index, (shown, each) in enumerate(values)
    ]  # fmt: skip
    return Panel(x, Axis("share of messages", low=0, high=1.01), curves, title)


def _by_size(found: Sequence[tuple[Shown, Flows]]) -> Panel:
    """Return percentiles of the slowdown in bins of about as many messages each."""
    curves = []
    for index, (shown, flows) in enumerate(found):
        x, lines, counts = slowdowns_by_size(flows)
        notes = [f"{format_bytes(int(size))}, {counted(n, 'message')}" for size, n in zip(x, counts, strict=True)]
        for number, (name, y) in enumerate(lines.items()):
            curves.append(
                Curve(x, y, dash=number, mark=0, size=7, notes=notes,
                      name=f"{shown.name}, {name}", colour=ON_PAGES[index % len(ON_PAGES)])
            )  # fmt: skip
    return Panel(
        Axis("message", "bytes", log=True, sizes=True), Axis("time / time alone", low=0), curves, "slowdown by size"
    )


def slowdowns_by_size(flows: Flows) -> tuple[list[float], dict[str, list[float]], list[int]]:
    """Return bins of about as many messages: their largest sizes, percentiles of slowdowns by name, their messages."""
    order = np.argsort(flows["bytes"], kind="stable")
    sizes, slowdown = flows["bytes"][order], (_took(flows) / flows["ideal_ps"])[order]
    bins = min(_BINS, len(sizes))
    last = np.unique(sizes[np.arange(1, bins + 1) * len(sizes) // bins - 1])
    parts = np.split(slowdown, np.searchsorted(sizes, last, side="right")[:-1])
    lines = {
        name: [float(np.percentile(part, percent, method="inverted_cdf")) for part in parts]
        for name, percent in _PERCENTILES.items()
    }
    return last.astype(np.float64).tolist(), lines, [len(part) for part in parts]


def _took(flows: Flows) -> Numbers:
    return flows["end_ps"] - flows["start_ps"]


def with_ideal(flows: Flows) -> Flows:
    """Return the messages whose time alone is known."""
    known = flows["ideal_ps"] > 0
    return {name: column[known] for name, column in flows.items()}


KIND = Kind(
    "completion",
    "how long messages took, by size, and their slowdown",
    _in_file,
    Section("Message completion", "How long messages took; slowdown 1 is a message alone.", _on_page),
    any_of=("completions", "flows"),
    compares=True,
    most_runs=len(COLOURS),
)
