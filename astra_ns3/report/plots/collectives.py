"""When collectives ran: what a timeline shows of a run that did not record what its NPUs did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astra_ns3.errors import InputError
from astra_ns3.report.plots.kind import Choice
from astra_ns3.report.plots.style import (
    COLOURS,
    labels,
    legend_below,
    new_figure,
    panels,
    say_empty,
    short_part,
    swatch,
    time_unit,
)
from astra_ns3.report.tables import Records
from astra_ns3.units import PS_PER_US

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_COLLECTIVES = 40


def draw_collectives(records: Records, choice: Choice) -> Figure:
    """A bar per collective, from its first issue to its end on the last NPU."""
    if choice.select:
        raise InputError("NPUs can be selected only with --record timeline; without it this shows collectives of all")
    rows = records.rows("collectives.csv")
    shown = rows[:MOST_COLLECTIVES]
    figure = new_figure(choice.width_inches, 0.75 + 0.11 * max(len(shown), 4))
    (axes,) = panels(figure, [1])
    if not rows:
        say_empty(axes, "no collective was issued")
        return figure
    finish_ps = int(records.metadata["finish_ps"])
    factor, unit = time_unit(finish_ps)
    kinds = list(dict.fromkeys(row["kind"] for row in shown))
    for place, row in enumerate(shown):
        start = PS_PER_US * float(row["start_us"])
        end = PS_PER_US * float(row["end_us"]) if row["end_us"] else finish_ps
        colour = _kind_colour(kinds, row["kind"])
        axes.barh(place, (end - start) / factor, left=start / factor, color=colour, height=0.75)
    passes = len({row["iteration"] for row in shown}) > 1
    layers = list(dict.fromkeys(row["layer"] for row in rows))
    called = dict(zip(layers, labels(layers, 16), strict=True))
    names = [f"{called[row['layer']]}, {short_part(row['part'])}" for row in shown]
    if passes:
        names = [f"{name} {row['iteration']}" for name, row in zip(names, shown, strict=True)]
    axes.set_yticks(range(len(shown)), names, fontsize=5)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xlim(0, finish_ps / factor)
    axes.set_xlabel(f"time ({unit})")
    axes.grid(axis="x")
    if len(shown) < len(rows):
        axes.set_title(f"the first {len(shown)} of {len(rows)} collectives", loc="right", fontsize=6)
    legend_below(figure, [swatch(_kind_colour(kinds, kind), kind) for kind in kinds], 3)
    return figure


def _kind_colour(kinds: list[str], kind: str) -> str:
    return COLOURS[kinds.index(kind) % len(COLOURS)]
