"""Parts that all kinds of figures share: grids of panels, units on axes, colours, words where a number is missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from astra_ns3.report.alignment import number_text
from astra_ns3.report.figures.figure import Axis, Figure, Panel, Rule, Series, Words
from astra_ns3.report.figures.style import COLOURS, GREY, labels, size_unit, time_unit
from astra_ns3.studies.figures import data
from astra_ns3.studies.figures.config import FigureConfig
from astra_ns3.studies.figures.data import Cell, FigureData, Label, label_text, unit_of
from astra_ns3.studies.measures import MEASURES
from astra_ns3.units import PS_PER_US

HEIGHT_INCHES = 2.3
AROUND_INCHES = 0.5
LEGEND = (5, 5)
MOST_COLUMNS = 3
_LONGEST_NAME = 28
_WIDE = 10
_UNITS = {"us": "_us", "B": "_bytes", "%": "_percent", "s": "_seconds", "10^9 B/s": "_gbytes_per_s"}

OF_ONE = " of the reported NPU"
LOGARITHMIC = ", logarithmic"
# What axes of several measures of a unit count.
_COUNTED = {"us": "time", "s": "time", "B": "size"}


class Unit:
    """A factor that makes numbers handy, and their axis."""

    def __init__(self, series: Sequence[data.Series], figure: FigureConfig, largest: float | None = None) -> None:
        """``largest``: of the numbers, in the measures' own unit; None: of the series."""
        measures = [each.measure for each in series]
        factor, name = 1.0, MEASURES[measures[0]].unit
        if largest is None:
            largest = max((cell.most for each in series for cell in each.cells if cell), default=0.0)
        if figure.relative_to is not None:
            name = "ratio"
        elif name == "us" and largest > 0:
            time_factor, name = time_unit(largest * PS_PER_US)
            factor = time_factor / PS_PER_US
        elif name == "B" and largest > 0:
            factor, name = size_unit(largest)
        self.factor = factor
        self.unit = name
        several = _COUNTED.get(MEASURES[measures[0]].unit, "" if name else "number")
        self.words = named(measures[0]) if len(set(measures)) == 1 else several
        if all(MEASURES[each].of_one for each in measures):
            self.words += OF_ONE

    def axis(self, *, log: bool = False, words: str = "") -> Axis:
        """Return the y-axis, from 0 on or logarithmic; ``words``: where the measures have no common name."""
        return Axis((self.words or words) + LOGARITHMIC * log, self.unit, low=None if log else 0, log=log, grid=True)


def named(measure: str) -> str:
    """Return a measure's name in words, without its unit."""
    return measure.removesuffix(_UNITS.get(MEASURES[measure].unit, " ")).replace("_", " ")


def number_above(place: float, top: float, cell: Cell, factor: float) -> Words:
    """Return the number of a bar above it and its whisker, whose ``top`` is given; with its flaw, inside the bar."""
    number = number_text(cell.mean / factor)
    if cell.flaw:
        return Words(place, None, f" {number}, {cell.flaw}", up="bottom", turned=True)
    return Words(place, top, number, up="bottom", raised=1)


def alike(made: FigureData, panel: data.Panel) -> list[data.Series]:
    """Return the series of all panels that have the unit of this one, and so its scale."""
    unit = unit_of(panel.series[0].measure)
    return [series for each in made.panels for series in each.series if unit_of(series.measure) == unit]


def none_at(place: float) -> Words:
    """Say that there is no number."""
    return Words(place, None, "n/a", up="bottom", letters=5, turned=True, colour=GREY)


def flaw_at(place: float, cell: Cell) -> list[Words]:
    """Say of a bar without a number why the run is impossible, if it is."""
    return [Words(place, None, f" {cell.flaw}", up="bottom", turned=True)] if cell.flaw else []


def rule_of(figure: FigureConfig) -> list[Rule]:
    """Return the line at the reference, if numbers are told as shares of one."""
    return [Rule(1)] if figure.relative_to else []


def names_axis(places: Sequence[Label], x: str) -> Axis:
    """Return the x-axis of places that are no numbers."""
    return Axis(x, names=labels([label_text(place) for place in places], _LONGEST_NAME))


def nth_colour(number: int) -> tuple[str, bool]:
    """Return a colour, and whether it is used a second time."""
    return COLOURS[number % len(COLOURS)], number >= len(COLOURS)


def places_of(made: FigureData) -> dict[str, int]:
    """Return the place of each series among all, by its name: those of one name look alike in all panels."""
    names = dict.fromkeys(series.label for panel in made.panels for series in panel.series)
    return {name: index for index, name in enumerate(names)}


def legend_name_of(series: data.Series, places: dict[str, int]) -> str:
    """Return a series' name in the legend: its measure in words, whose unit stands at the axis."""
    group = series.label.removesuffix(series.measure)
    if group == series.label:
        return legend_name(series.label, places)
    return legend_name(", ".join(words for words in (group.strip(), named(series.measure)) if words), places)


def legend_name(name: str, places: dict[str, int]) -> str:
    """Return a series' name in the legend; none if there is nothing to tell apart."""
    return name if len(places) > 1 else ""


def worth_a_log(series: Sequence[data.Series]) -> bool:
    """Return whether bars differ so much that they need a logarithmic scale, on which lengths say nothing."""
    means = [cell.mean for each in series for cell in each.cells if cell is not None]
    return bool(means) and min(means) > 0 and max(means) >= _WIDE * min(means)


def grid(
    made: FigureData,
    draw: Callable[[data.Panel], tuple[Axis, Axis, Sequence[Series]]],
    height_inches: float = HEIGHT_INCHES,
    columns: int = MOST_COLUMNS,
    *,
    stacked: bool = False,
) -> Figure:
    """Return a figure of panels with the axes and series that ``draw`` gives; words if there is nothing to draw."""
    if not any(cell is not None for panel in made.panels for series in panel.series for cell in series.cells):
        words = made.missing or "no point has such a number"
        return Figure([Panel(Axis(), Axis(), (), empty=words, height=1.2)], around=AROUND_INCHES)
    panels = [
        Panel(*draw(panel), panel.title, centred=True, stacked=stacked, height=height_inches) for panel in made.panels
    ]
    across = min(columns, len(panels))
    return Figure(panels, around=AROUND_INCHES, legend=LEGEND, across=across, share_y=True, missing=made.missing)
