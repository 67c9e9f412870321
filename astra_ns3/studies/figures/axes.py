"""What all kinds of figures share: grids of panels, units on axes, whiskers, what is missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from textwrap import fill
from typing import TYPE_CHECKING, Any

from astra_ns3.report.alignment import number_text
from astra_ns3.report.plots.style import COLOURS, GREY, HATCH, labels, new_figure, say_empty, size_unit, time_unit
from astra_ns3.studies.figures.config import FigureConfig
from astra_ns3.studies.figures.data import Cell, FigureData, Label, Panel, Series, label_text
from astra_ns3.studies.measures import MEASURES
from astra_ns3.units import PS_PER_US

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_INCHES = 7.0
PANEL_HEIGHT_INCHES = 2.3
_MOST_COLUMNS = 3
_SMALL = 6
_LINE_LETTERS = 150
_NARROW = 200
_WIDE = 10
_TITLE_LETTERS = 96
"""Letters of a title that a panel of full width has room for."""
_LONG_LABELS = 44
"""Letters of all labels of a panel of full width, beyond which they are turned."""


def panel_grid(
    count: int, height_inches: float = PANEL_HEIGHT_INCHES, columns: int = _MOST_COLUMNS
) -> tuple[Figure, list[Axes]]:
    """A figure with so many panels, side by side and below each other; those left over are not shown."""
    across = _across(count, columns)
    down = max(1, ceil(count / across))
    figure = new_figure(WIDTH_INCHES, down * height_inches + 0.5)
    axes = list(figure.subplots(down, across, squeeze=False).flat)
    for each in axes[count:]:
        each.set_visible(False)
    return figure, axes[:count]


def _across(count: int, columns: int) -> int:
    """How many of so many panels stand side by side."""
    return max(1, min(columns, count))


class Unit:
    """What numbers are divided by to be handy, and what stands on their axis."""

    def __init__(self, measures: Sequence[str], largest: float, *, ratio: bool) -> None:
        """``largest``: of the numbers, in the measures' own unit."""
        first = MEASURES[measures[0]]
        factor, name = 1.0, first.unit
        if ratio:
            name = "ratio"
        elif first.unit == "us" and largest > 0:
            time_factor, name = time_unit(largest * PS_PER_US)
            factor = time_factor / PS_PER_US
        elif first.unit == "B" and largest > 0:
            factor, name = size_unit(largest)
        self.factor = factor
        words = named(measures[0]) if len(set(measures)) == 1 else ""
        self.label = " ".join(word for word in (words, f"({name})" if name else "") if word) or "number"


def named(measure: str) -> str:
    """A measure's name in words, without its unit."""
    unit = {"us": "_us", "B": "_bytes", "%": "_percent", "s": "_seconds", "10^9 B/s": "_gbytes_per_s"}
    return measure.removesuffix(unit.get(MEASURES[measure].unit, " ")).replace("_", " ")


def unit_of(series: Sequence[Series], figure: FigureConfig, *, stacked: bool = False) -> Unit:
    """The unit in which the numbers of a panel are handy."""
    cells = [[cell.most if cell else 0.0 for cell in each.cells] for each in series]
    if stacked:
        largest = max((sum(column) for column in zip(*cells, strict=True)), default=0.0)
    else:
        largest = max((value for each in cells for value in each), default=0.0)
    return Unit([each.measure for each in series], largest, ratio=figure.relative_to is not None)


def whiskers(axes: Axes, places: Sequence[float], cells: Sequence[Cell | None], factor: float) -> None:
    """From the least to the most over seeds, where these differ."""
    for place, cell in zip(places, cells, strict=True):
        if cell is not None and cell.most > cell.least:
            axes.plot([place, place], [cell.least / factor, cell.most / factor], color="black", linewidth=0.8, zorder=5)


def say_number(axes: Axes, place: float, top: float, number: float) -> None:
    """A number above a bar and its whisker, whose ``top`` is given."""
    axes.annotate(
        number_text(number), (place, top), (0, 1), textcoords="offset points", ha="center", va="bottom", fontsize=5.5
    )


def say_none(axes: Axes, place: float) -> None:
    """That there is no number."""
    bottom = axes.get_xaxis_transform()  # whatever the numbers of others make of the axis
    axes.text(place, 0, "n/a", ha="center", va="bottom", fontsize=5, color=GREY, rotation=90, transform=bottom)


def say_too_large(axes: Axes, place: float) -> None:
    """That the run of a bar doesn't fit into the memory of an NPU."""
    bottom = axes.get_xaxis_transform()
    axes.text(place, 0, " doesn't fit", ha="center", va="bottom", fontsize=5.5, rotation=90, zorder=6, transform=bottom)


def name_places(axes: Axes, places: Sequence[Label], x: str) -> None:
    """Labels of the x-axis, turned where they have no room."""
    words = labels([label_text(place) for place in places])
    share = axes.get_subplotspec()
    across = share.get_gridspec().ncols if share is not None else 1
    longest = max((len(line) for word in words for line in word.split("\n")), default=0)
    turned = longest * len(words) > _LONG_LABELS * 2 / across
    axes.set_xticks(range(len(words)), words)
    if turned:
        for tick in axes.get_xticklabels():
            tick.set(rotation=35, ha="right", rotation_mode="anchor")
    axes.tick_params(axis="x", length=0)
    axes.set_xlabel(x)


def finish(figure: Figure, missing: str, handles: Sequence[Any] = (), columns: int = 5) -> Figure:
    """The legend below, and above it what is missing."""
    words = fill(missing, _LINE_LETTERS)
    if not handles:
        if words:
            figure.supxlabel(words, fontsize=_SMALL, color=GREY)
        return figure
    legend = figure.legend(handles=list(handles), loc="outside lower center", ncols=min(columns, len(handles)))
    if words:
        legend.set_title(words)
        legend.get_title().set(color=GREY, fontsize=_SMALL, multialignment="center")
    return figure


def legend_names(data: FigureData) -> list[str]:
    """The series' names, each once; none if there is nothing to tell apart."""
    names = list(dict.fromkeys(series.label for panel in data.panels for series in panel.series))
    return names if len(names) > 1 else []


def colour_of(series: Series, data: FigureData) -> tuple[str, bool]:
    """Of a series, the same in all panels; and whether it is one of those for which no colour was left."""
    names = list(dict.fromkeys(each.label for panel in data.panels for each in panel.series))
    return nth_colour(names.index(series.label))


def nth_colour(place: int) -> tuple[str, bool]:
    """A colour, and whether it is used a second time."""
    return COLOURS[place % len(COLOURS)], place >= len(COLOURS)


def fill_of(colour: str, *, again: bool) -> dict[str, Any]:
    """How bars of a colour look; ``again``: those for which none was left."""
    return {"facecolor": "white", "edgecolor": colour, "hatch": HATCH} if again else {"color": colour}


def worth_a_log(series: Sequence[Series]) -> bool:
    """Whether bars differ so much that they need a logarithmic scale, on which lengths say nothing."""
    means = [cell.mean for each in series for cell in each.cells if cell is not None]
    return bool(means) and min(means) > 0 and max(means) >= _WIDE * min(means)


def scale_y(axes: Axes, *, log: bool) -> None:
    """The y-axis from 0 on, or logarithmic, with values that can be read."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    if not log:
        axes.set_ylim(bottom=0)
        return
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < _NARROW * low else (1.0,)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def empty(data: FigureData) -> Figure | None:
    """A figure that says so, if there is nothing to draw."""
    if any(cell is not None for panel in data.panels for series in panel.series for cell in series.cells):
        return None
    figure, (axes,) = panel_grid(1, 1.2)
    say_empty(axes, data.missing or "no point has such a number")
    return figure


def each_panel(
    data: FigureData,
    draw: Callable[[Axes, Panel], None],
    height_inches: float = PANEL_HEIGHT_INCHES,
    columns: int = _MOST_COLUMNS,
) -> Figure:
    """A figure whose panels ``draw`` fills."""
    nothing = empty(data)
    if nothing is not None:
        return nothing
    figure, axes = panel_grid(len(data.panels), height_inches, columns)
    for place, panel in zip(axes, data.panels, strict=True):
        draw(place, panel)
        if panel.title:
            place.set_title(fill(panel.title, _TITLE_LETTERS // _across(len(data.panels), columns)))
    return figure
