"""What a figure of the page is: panels of plain data for plotly.js, or what to record so that there is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from astra_ns3.report.plots.style import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, YELLOW
from astra_ns3.report.tables import Records

Data = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Shown:
    """A run on the page: its short name, unlike those of the others, and its place among them."""

    run: Records
    name: str
    place: int


@dataclass(frozen=True)
class Panel:
    """One plot. ``title``: the run's name if it is ``of_run``, else what it shows; ``height`` in pixels."""

    title: str
    traces: Sequence[Data]
    layout: Data
    height: int = 320
    of_run: bool = True


@dataclass(frozen=True)
class Figure:
    """Panels under one heading, side by side where the page is wide enough.

    ``notes``: what was left out or made coarser.
    """

    panels: Sequence[Panel]
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Missing:
    """No data for a figure, and ``remedy``: how a run gets them."""

    remedy: str


COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, YELLOW, GREY)
"""All eyes can tell them apart, on white and on black."""
LINES = ("solid", "dash", "dot", "dashdot")


def axis(title: str, **more: Any) -> Data:
    """An axis with a title."""
    return {"title": {"text": title}, **more}


def line(name: str, x: Sequence[Any], y: Sequence[Any], place: int, run: int = 0, **more: Any) -> Data:
    """A line in the colour of its place; lines of further runs are broken."""
    style = {"color": COLOURS[place % len(COLOURS)], "width": 2, "dash": LINES[run % len(LINES)]}
    return {"type": "scatter", "mode": "lines", "name": name, "x": list(x), "y": list(y), "line": style, **more}
