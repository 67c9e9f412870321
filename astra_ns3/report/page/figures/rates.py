"""How fast senders were allowed to send: rate, window and round trip of pairs of NPUs over time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from astra_ns3.report.page.figure import Data, Figure, Missing, Panel, Shown, axis, line
from astra_ns3.report.page.having import remedy_of
from astra_ns3.report.page.intervals import Steps
from astra_ns3.report.page.scale import TimeScale, significant, time_scale
from astra_ns3.report.records import Recorded, table_of
from astra_ns3.report.tables import how_to_record

_TABLES = ("queue_pairs", "connections")
_MOST_PAIRS = 6
_MOST_BINS = 300
_QUANTITIES = {
    "rate_bps": ("rate (Gb/s)", 10**9),
    "window_bytes": ("window (KB)", 10**3),
    "congestion_window_bytes": ("congestion window (KB)", 10**3),
    "rtt_ps": ("round trip (us)", 10**6),
}
"""What is drawn of ``queue_pairs`` and ``connections``: axis, and how many of the table's units it counts in."""

Pair = tuple[int, int, int]
"""Sender, receiver, and which of their queue pairs; 0 where there is one, or a connection."""


def rates(runs: Sequence[Shown], detail: int) -> Figure | Missing:
    """A plot for each quantity of each run, a line for each of the pairs of which it changed most often."""
    end_ps = max(1, *(shown.run.metadata["finish_ps"] for shown in runs))
    scale = time_scale(end_ps)
    bins = min(_MOST_BINS, detail)
    panels: list[Panel] = []
    notes: list[str] = []
    for quantity, (title, factor) in _QUANTITIES.items():
        found = [(shown, *_curves(shown, quantity, end_ps, bins)) for shown in runs]
        highest = max((float(np.nanmax(steps.curve(pair))) for _, steps, pairs in found for pair in pairs), default=0)
        for shown, steps, pairs in found:
            name = title.partition(" (")[0]
            if pairs and not any(np.nanmax(steps.curve(pair)) for pair in pairs):
                notes.append(f"{shown.name}: no {name} was ever limited.")
            elif pairs:
                axes = {
                    "xaxis": axis(f"time ({scale.unit})", range=[0, end_ps / scale.ps]),
                    "yaxis": axis(title, range=[0, 1.05 * highest / factor]),
                }
                lines = _lines(steps, pairs[:_MOST_PAIRS], factor, scale)
                panels.append(Panel(f"{shown.name}: {name}", lines, axes, 300, of_run=False))
                if len(pairs) > _MOST_PAIRS:
                    notes.append(f"{shown.name}, {name}: {_MOST_PAIRS} pairs of {len(pairs)}, those with most changes.")
    if not panels and not any(table_of(shown.run, name) for shown in runs for name in _TABLES):
        over_tcp = how_to_record(runs[0].run, "connections")
        return Missing(f"{remedy_of(runs[0], 'queue_pairs')} (RoCE), or {over_tcp} (TCP)")
    if not panels:
        return Figure([], notes or ["No rate or window was ever seen."])
    return Figure(panels, [*notes, f"The highest value in each {bins}th of the time."])


def _lines(steps: Steps, pairs: list[Pair], factor: int, scale: TimeScale) -> list[Data]:
    x = scale.of(steps.edges_ps)
    lines = []
    for place, pair in enumerate(pairs):
        y = [None if np.isnan(value) else significant(float(value) / factor) for value in steps.curve(pair)]
        name = f"{pair[0]} → {pair[1]}" + (f", queue pair {pair[2]}" if pair[2] else "")
        lines.append(line(name, x, y, place, line_shape="hv"))
    return lines


def _curves(shown: Shown, quantity: str, end_ps: int, bins: int) -> tuple[Steps, list[Pair]]:
    """The values of each pair, and the pairs, those with most of them first."""
    steps, counts = Steps(end_ps, bins), dict[Pair, int]()
    for table in filter(None, (table_of(shown.run, name) for name in _TABLES)):
        _add(table, quantity, steps, counts)
    return steps, sorted(counts, key=lambda pair: (-counts[pair], pair))


def _add(table: Recorded, quantity: str, steps: Steps, counts: dict[Pair, int]) -> None:
    ends = ["source", "destination", *(["queue_pair"] if "queue_pair" in table.columns else [])]
    for batch in table.batches(["time_ps", *ends, "quantity", "value"]):
        rows = batch["quantity"] == quantity
        times, values = batch["time_ps"][rows], batch["value"][rows].astype(np.float64)
        pairs = np.zeros((3, len(times)), dtype=np.int64)
        for place, name in enumerate(ends):
            pairs[place] = batch[name][rows]
        order = np.lexsort((np.arange(len(times)), *pairs[::-1]))
        edges = np.flatnonzero(np.diff(pairs[:, order]).any(axis=0)) + 1
        for part in np.split(order, edges) if len(order) else ():
            pair = (int(pairs[0, part[0]]), int(pairs[1, part[0]]), int(pairs[2, part[0]]))
            steps.add(pair, times[part], values[part])
            counts[pair] = counts.get(pair, 0) + len(part)
