"""What congestion control did: rates and windows of queue pairs, windows and round trips of connections."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from astra_ns3.errors import InputError
from astra_ns3.report.plots.kind import Choice, Kind
from astra_ns3.report.plots.style import (
    COLOURS,
    legend_below,
    new_figure,
    panels,
    say_empty,
    size_unit,
    steps,
    stroke,
    time_unit,
)
from astra_ns3.report.tables import Numbers, Records, columns_of, numbers, recorded, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PAIRS = 6
"""Without ``select``: those whose rate, or window, was changed most often."""
_QUANTITIES = {
    "rate_bps": "rate",
    "window_bytes": "window",
    "congestion_window_bytes": "window",
    "rtt_ps": "round trip",
}
_PAIR = re.compile(r"(\d+)[->,](\d+)")

Pair = tuple[int, int, int]
"""Sender, receiver, and which of their queue pairs; 0 where there is one, or a connection."""
Line = tuple[Numbers, Numbers]


def draw(records: Records, choice: Choice) -> Figure:
    """A panel per quantity that was recorded, a line per queue pair or connection."""
    table = next(name for name in ("queue_pairs", "connections") if recorded(records, name) is not None)
    quantity = words(records, table, "quantity")
    columns = numbers(records, table, "time_ps", "source", "destination", "value")
    several = "queue_pair" in columns_of(records, table)
    columns += numbers(records, table, "queue_pair") if several else (np.zeros_like(columns[0]),)
    pairs = _chosen(columns, choice.select) or _foremost(quantity.codes, columns)
    lines = {name: _lines(quantity.codes == code, columns, pairs)
             for code, name in enumerate(quantity.texts) if name in _QUANTITIES}  # fmt: skip
    lines = {name: lines[name] for name in _QUANTITIES if _varied(lines.get(name, {}))}
    figure = new_figure(choice.width_inches, 0.7 + 1.2 * max(1, len(lines)))
    axes = panels(figure, [1] * max(1, len(lines)), share_time=True)
    if not lines:
        say_empty(axes[0], "no rate or window was recorded of these pairs")
        return figure
    until_ps = int(records.metadata["finish_ps"])
    factor, unit = time_unit(until_ps)
    for place, name in enumerate(lines):
        _draw_quantity(axes[place], name, lines[name], pairs, until_ps, factor)
    axes[-1].set_xlim(0, until_ps / factor)
    axes[-1].set_xlabel(f"time ({unit})")
    handles = [stroke(_colour(pairs, pair), _name(pair)) for pair in pairs]
    legend_below(figure, handles, 3 if choice.width_inches < 5 else 6)
    return figure


def _chosen(columns: tuple[Numbers, ...], select: tuple[str, ...]) -> list[Pair]:
    """The pairs named, as 0-1, with all their queue pairs."""
    found: list[Pair] = []
    for word in select:
        match = _PAIR.fullmatch(word)
        if match is None:
            raise InputError(f"pair '{word}' is not two NPUs: write 0-1 for what NPU 0 sends to NPU 1")
        source, destination = int(match[1]), int(match[2])
        recorded_pairs = np.unique(columns[4][(columns[1] == source) & (columns[2] == destination)])
        if not len(recorded_pairs):
            raise InputError(f"pair '{word}': nothing was recorded from NPU {source} to NPU {destination}")
        found += [(source, destination, number) for number in recorded_pairs.tolist()]
    if len(found) > len(COLOURS):
        raise InputError(f"{len(found)} pairs are selected, expected at most {len(COLOURS)}")
    return found


def _foremost(codes: Numbers, columns: tuple[Numbers, ...]) -> list[Pair]:
    """The pairs with most rows."""
    if not len(codes):
        return []
    pairs, counts = np.unique(np.stack((columns[1], columns[2], columns[4])), axis=1, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:MOST_PAIRS]
    return sorted((int(source), int(destination), int(number)) for source, destination, number in pairs.T[order])


def _lines(wanted: npt.NDArray[np.bool_], columns: tuple[Numbers, ...], pairs: list[Pair]) -> dict[Pair, Line]:
    times, source, destination, values, numbers_of = (column[wanted] for column in columns)
    found = {}
    for pair in pairs:
        inside = (source == pair[0]) & (destination == pair[1]) & (numbers_of == pair[2])
        if inside.any():
            found[pair] = times[inside], values[inside]
    return found


def _varied(lines: dict[Pair, Line]) -> bool:
    """Whether there is anything to see: a window of 0 throughout means that there is none."""
    return any((values != 0).any() for _, values in lines.values())


def _draw_quantity(
    axes: Axes, name: str, lines: dict[Pair, Line], pairs: list[Pair], until_ps: int, factor: int
) -> None:
    most = max(int(values.max()) for _, values in lines.values())
    scale, unit = {"rate_bps": (10**9, "Gb/s"), "rtt_ps": time_unit(most)}.get(name) or size_unit(most)
    for pair, (times, values) in lines.items():
        x, y = steps(times, values, until_ps)
        axes.step(x / factor, y / scale, where="post", color=_colour(pairs, pair), linewidth=0.8)
    axes.set_ylim(0, 1.06 * most / scale)
    axes.set_ylabel(f"{_QUANTITIES[name]} ({unit})")
    axes.grid()


def _name(pair: Pair) -> str:
    return f"NPU {pair[0]} to {pair[1]}" + (f", queue pair {pair[2]}" if pair[2] else "")


def _colour(pairs: list[Pair], pair: Pair) -> str:
    return COLOURS[pairs.index(pair)]


KIND = Kind(
    "rates",
    "rates and windows of queue pairs or connections, over time",
    draw,
    any_of=("queue_pairs", "connections"),
    selects="pairs of NPUs, as 0-1",
)
