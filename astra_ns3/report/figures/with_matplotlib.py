"""Draws figures with matplotlib, for files. The one place that knows whether matplotlib is there."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable, Iterator, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from astra_ns3.errors import ends_in
from astra_ns3.report.figures.figure import (
    Axis,
    Band,
    Bars,
    Cells,
    Curve,
    Figure,
    Heat,
    Panel,
    Rule,
    Series,
    Spans,
    Whiskers,
    Words,
)
from astra_ns3.report.figures.style import GREY
from astra_ns3.report.saving_figure import SUFFIXES, in_legend, save_figure, settings
from astra_ns3.units import format_bytes

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import XAxis, YAxis
    from matplotlib.figure import Figure as Drawing
    from matplotlib.legend import Legend
    from matplotlib.table import Table

HEAT_MAP = "cividis"
HATCH = "//////"
DOTS_PER_INCH = 300
# Solid, dashed, dotted, dashes and dots; then long, with two dots, sparse dots, long and short: as many as colours.
_DASHES = ("-", "--", ":", "-.", (0, (10, 2.5)), (0, (5, 1.5, 1, 1.5, 1, 1.5)), (0, (1, 4)), (0, (10, 2, 3, 2)))
_MARKS = "osD^vP*Xx"
_SMALL = 6
_FEW_NAMES = 20
# A logarithmic axis whose last number is at most so many times its first has values at 1, 2, 5, 10, ...
_NARROW = 300
# So many times: values at even distances, and how many distances there are at most.
_EVEN = 4
_MOST_EVEN = 5
# So many times: values near both ends, too, so that nobody takes the scale for an even one.
_SHORT = 30
# Letters of all names on the x-axis of a panel of full width, beyond which they are turned.
_LONG_LABELS = 44
# Letters of a title that a panel of full width has room for.
_TITLE_LETTERS = 96
# Letters of the title of a picture for each inch of its width.
_LETTERS_PER_INCH = 17
_SMALL_LETTERS_PER_INCH = 21
# Letters of a y-axis' title for each inch of a panel's height, beyond which it takes another line.
_TITLE_LETTERS_PER_INCH = 18
# Length of a line in a legend, in letters' heights, that shows each kind of short dashes twice, and of all.
_DASHED_LENGTH = 3.3
_LONG_DASHED_LENGTH = 5.0
_SHORT_DASHES = 4
# Height of a legend that a figure has room for; a higher one makes the figure higher.
_LEGEND_INCHES = 0.6
# Share of the width that a table takes at most: letters don't shrink evenly.
_TABLE_WIDTH = 0.98
_ROW_INCHES = 0.17

Base = float | npt.NDArray[np.float64]
Style = dict[str, Any]  # by the names that matplotlib gives them
SETTINGS: Style = {
    "font.size": 7,
    "axes.titlesize": 7.5,
    "axes.labelsize": 7,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "legend.fontsize": 6.5,
    "legend.frameon": False,
    "legend.handlelength": 1.4,
    "legend.columnspacing": 1.0,
    "legend.labelspacing": 0.3,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.linewidth": 0.4,
    "grid.color": "#D9D9D9",
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "lines.linewidth": 1.0,
    "hatch.linewidth": 0.5,
    "figure.dpi": DOTS_PER_INCH,
    "savefig.dpi": DOTS_PER_INCH,
    "pdf.fonttype": 42,
}


def is_installed() -> bool:
    """Whether matplotlib is installed; it is not loaded."""
    return importlib.util.find_spec("matplotlib") is not None


def drawn(figure: Figure, width_inches: float, title: str) -> Drawing:
    """Return the figure drawn; raises InputError if matplotlib is missing."""
    down = -(-len(figure.panels) // figure.across)
    heights = [
        max(panel.height for panel in figure.panels[row * figure.across :][: figure.across]) for row in range(down)
    ]
    with settings(SETTINGS):
        from matplotlib.figure import Figure as Drawing

        drawing = Drawing(figsize=(width_inches, sum(heights) + figure.around), layout="constrained")
        axes = drawing.subplots(
            down,
            figure.across,
            squeeze=False,
            sharex=figure.share_x,
            height_ratios=heights if figure.across == 1 else None,
        )
        for index, each in enumerate(axes.flat):
            if index < len(figure.panels):
                last = index >= len(figure.panels) - figure.across or not figure.share_x
                _draw(each, figure.panels[index], figure.across, last=last)
            else:
                each.set_visible(False)
        if figure.share_y:
            _share_y(axes.flat, figure.panels)
        _say_what_is_what(drawing, figure, figure.legend[width_inches >= 5])
        if title:
            drawing.suptitle(fill(title, round(_LETTERS_PER_INCH * width_inches)), fontsize=8)
        for each in axes.flat:
            for table in each.tables:
                _fit(drawing, each, table)
    return drawing


def write(drawing: Drawing, path: str | os.PathLike[str]) -> None:
    """Write a picture in the format of the file's ending; equal pictures give equal files. Raises InputError."""
    target = os.fspath(path)
    check_target(target)
    with settings(SETTINGS):
        save_figure(drawing, target)


def check_target(target: str) -> None:
    """Raise InputError if a picture can't have that name."""
    ends_in("a picture's file", target, SUFFIXES)


def _draw(axes: Axes, panel: Panel, across: int, *, last: bool) -> None:
    if not panel.series:
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_visible(False)
        axes.text(0.5, 0.5, panel.empty, ha="center", va="center", wrap=True, color=GREY, transform=axes.transAxes)
        return
    base: Base = 0.0
    for series in panel.series:
        top = _draw_series(axes, series, base)
        if panel.stacked and top is not None:
            base = base + top
    lanes = panel.y.at is None and panel.y.names
    if lanes:
        axes.set_ylim(len(panel.y.names) - 0.4, -0.6)
    _scale(axes, "x", panel.x)
    _scale(axes, "y", panel.y)
    _name_places(axes, panel, across, labelled=last)
    if panel.title:
        axes.set_title(fill(panel.title, _TITLE_LETTERS // across), loc="center" if panel.centred else "left")
    if panel.note:
        axes.set_title(panel.note, loc="right", fontsize=_SMALL)


def _share_y(axes: Iterable[Axes], panels: Sequence[Panel]) -> None:
    """Give the panels of a unit one scale."""
    units: dict[str, list[tuple[Axes, Axis]]] = {}
    for each, panel in zip(axes, panels, strict=False):
        if panel.series and not panel.y.names:
            units.setdefault(panel.y.unit or panel.y.name, []).append((each, panel.y))
    for together in units.values():
        limits = [limit for each, _ in together for limit in each.get_ylim()]
        for each, axis in together:
            each.set_ylim(min(limits), max(limits))
            if axis.log:
                _log_ticks(each.yaxis, axis)


def _draw_series(axes: Axes, series: Series, base: Base) -> Base | None:
    """Draw it, and return what bars add to the base of those that stand on them."""
    match series:
        case Bars():
            return _bars(axes, series, base)
        case Curve():
            _curve(axes, series)
        case Spans():
            width = 1.0 if series.outlined else 0.0
            starts, lengths, lanes = map(np.asarray, (series.starts, series.lengths, series.lanes))
            for lane in np.unique(lanes):
                bars = list(zip(starts[lanes == lane], lengths[lanes == lane], strict=True))
                axes.broken_barh(bars, (lane - series.thick / 2, series.thick), color=series.colour, linewidth=width)
        case Band():
            axes.stairs(series.high, series.edges, baseline=series.low, fill=True, color=series.colour, linewidth=0)
        case Heat():
            _heat(axes, series)
        case Whiskers():
            _whiskers(axes, series.at, series.least, series.most)
        case Rule():
            axes.axhline(series.y, color=series.colour, linewidth=series.width, **_line(series.dash))
        case Words():
            _words(axes, series)
        case Cells():
            _cells(axes, series)
    return None


def _look(series: Bars) -> Style:
    """Return how bars and their entry in the legend are filled."""
    if series.hatched:
        return {"facecolor": "white", "edgecolor": series.colour, "hatch": HATCH}
    return {"facecolor": series.colour, **({"edgecolor": series.colour} if series.outlined else {})}


def _bars(axes: Axes, series: Bars, base: Base) -> Base | None:
    values = np.asarray(series.values, dtype=np.float64)
    places = np.arange(len(values)) if series.at is None else np.asarray(series.at)
    look = {**_look(series), **({"linewidth": 0.4} if series.outlined else {})}
    if series.upright:
        axes.bar(places, values, series.thick, bottom=base, **look)
    else:
        axes.barh(places, values, series.thick, left=base, **look)
    return values


def _curve(axes: Axes, series: Curve) -> None:
    style: Style = {"color": series.colour, **_stroke(series)}
    if series.faint:
        style |= {"alpha": 0.5, "markeredgewidth": 0}
    style |= {"linewidth": series.width, "markersize": series.size}
    axes.plot(series.x, series.y, drawstyle="steps-post" if series.step else "default", **style)
    if len(series.least):
        _whiskers(axes, np.asarray(series.x), series.least, series.most)


def _whiskers(axes: Axes, places: Iterable[float], least: Iterable[float], most: Iterable[float]) -> None:
    """Draw strokes from the least to the most, where these differ."""
    for place, low, high in zip(places, least, most, strict=True):
        if high > low:
            axes.plot([place, place], [low, high], color="black", linewidth=0.8, zorder=5)


def _stroke(series: Curve) -> Style:
    return {**_line(series.dash), "marker": "" if series.mark is None else _MARKS[series.mark % len(_MARKS)]}


def _line(dash: int | None) -> Style:
    return {"linestyle": "none" if dash is None else _DASHES[dash % len(_DASHES)]}


def _heat(axes: Axes, series: Heat) -> None:
    from matplotlib.colors import LogNorm
    from matplotlib.ticker import MaxNLocator

    values = np.asarray(series.values, dtype=np.float64)
    extent = None if series.edges is None else (*series.edges, len(values), 0)
    limits: Style = {"vmin": series.of.low, "vmax": series.of.high}
    norm = LogNorm(series.of.low, series.of.high) if series.of.log else None
    image = axes.imshow(values, aspect="auto", interpolation="nearest", cmap=HEAT_MAP, extent=extent, norm=norm,
                        **({} if norm else limits))  # fmt: skip
    figure = axes.figure
    if series.edges is None:
        ticks = MaxNLocator(integer=True) if series.of.whole else None
        bar = figure.colorbar(image, ax=axes, label=series.of.title, ticks=ticks)
        if series.of.log:
            _log_ticks(bar.ax.yaxis, series.of)
        axes.spines[:].set_visible(False)
        return
    bar = figure.colorbar(image, ax=axes, location="top", fraction=0.05, aspect=40)
    bar.set_label(series.of.title)
    bar.outline.set_linewidth(0.4)


def _words(axes: Axes, series: Words) -> None:
    on_axis = series.y is None
    axes.annotate(
        series.text, (series.x, series.y or 0), (0, series.raised), textcoords="offset points",
        xycoords=axes.get_xaxis_transform() if on_axis else "data", ha=series.across, va=series.up,
        fontsize=series.letters, color=series.colour, rotation=90 if series.turned else 0, zorder=6,
    )  # fmt: skip


def _cells(axes: Axes, series: Cells) -> None:
    axes.set_axis_off()
    table = axes.table(
        [list(row) for row in series.rows],
        colLabels=list(series.header),
        loc="center",
        cellLoc="center",
        edges="horizontal",
    )
    table.set_in_layout(False)  # the axes keep their width, whatever the table's
    table.auto_set_font_size(False)
    table.set_fontsize(_SMALL)
    for (row, _), cell in table.get_celld().items():
        cell.set_linewidth(0.4)
        if row == 0:
            cell.get_text().set_fontweight("bold")


def _fit(drawing: Drawing, axes: Axes, table: Table) -> None:
    """Make the figure as high as the rows need, and each column as wide as its texts.

    All letters get smaller if the columns together exceed the figure.
    """
    drawing.draw_without_rendering()  # now the axes are as large as the figure, its title and its notes let them
    around = axes.get_window_extent()
    rows = 1 + max(row for row, _ in table.get_celld())
    drawing.set_figheight(drawing.get_figheight() + rows * _ROW_INCHES - around.height / drawing.dpi)
    widths: dict[int, float] = {}
    for (_, column), cell in table.get_celld().items():
        width = cell.get_text().get_window_extent().width / around.width * (1 + 2 * cell.PAD)
        widths[column] = max(width, widths.get(column, 0))
    shrunk = min(1.0, _TABLE_WIDTH / sum(widths.values()))
    table.set_fontsize(_SMALL * shrunk)
    for (_, column), cell in table.get_celld().items():
        cell.set_width(widths[column] * shrunk)
        cell.set_height(1 / rows)


def _log_ticks(own: XAxis | YAxis, axis: Axis) -> None:
    """Set the ticks of a logarithmic axis, which matplotlib would write as formulas."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    low, high = own.get_view_interval()
    if high < _EVEN * low:
        own.set_major_locator(MaxNLocator(_MOST_EVEN, steps=(1, 2, 5, 10)))
    elif high < _SHORT * low:
        own.set_major_locator(LogLocator(subs=(1.0, 1.5, 2.0, 3.0, 5.0, 7.0), numticks=99))
    else:
        own.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < _NARROW * low else (1.0,)))
    own.set_major_formatter(FuncFormatter(lambda value, _: format_bytes(round(value)) if axis.sizes else f"{value:g}"))
    own.set_minor_formatter(NullFormatter())


def _scale(axes: Axes, which: str, axis: Axis) -> None:
    """Set the scale of an axis, its range, its ticks and its grid."""
    from matplotlib.ticker import MaxNLocator

    own = axes.xaxis if which == "x" else axes.yaxis
    if axis.log:
        axes.set(**{f"{which}scale": "log"})
        _log_ticks(own, axis)
    elif axis.low != axis.high:  # a run may take no time at all
        high = axis.high
        if axis.low is not None and high is None:  # marks of the highest points stay whole
            own_high, top = getattr(axes, f"get_{which}lim")()[1], getattr(axes.dataLim, f"{which}1")
            high = max(own_high, axis.low + 1.05 * (top - axis.low))
        axes.set(**{f"{which}lim": (axis.low, high)})
    if axis.whole:
        own.set_major_locator(MaxNLocator(integer=True))
    if axis.grid:
        axes.grid(axis="x" if which == "x" else "y")


def _name_places(axes: Axes, panel: Panel, across: int, *, labelled: bool) -> None:
    """Set titles of the axes, and names of places on them; turned where they have no room below."""
    x, y = panel.x, panel.y
    axes.set_xlabel(x.title if labelled else "")
    if y.bare:
        axes.set_ylabel(y.title, rotation=0, ha="right", va="center", fontsize=_SMALL)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="x", length=2 if labelled else 0)
        axes.spines["bottom"].set_visible(labelled)
    else:
        axes.set_ylabel(fill(y.title, round(_TITLE_LETTERS_PER_INCH * panel.height)))
    if y.names:
        letters = y.letters or (_SMALL if len(y.names) <= _FEW_NAMES else 5)
        axes.set_yticks(range(len(y.names)) if y.at is None else y.at, list(y.names), fontsize=letters)
        axes.tick_params(axis="y", length=0)
    if x.names:
        axes.set_xticks(range(len(x.names)) if x.at is None else x.at, list(x.names))
        longest = max(len(line) for name in x.names for line in name.split("\n"))
        if x.at is None:
            axes.tick_params(axis="x", length=0)
            if x.turned or longest * len(x.names) > _LONG_LABELS * 2 / across:
                several = any("\n" in name for name in x.names)  # lines of slanting names would run into each other
                for tick in axes.get_xticklabels():
                    tick.set(rotation=90) if several else tick.set(rotation=35, ha="right", rotation_mode="anchor")
        else:
            axes.minorticks_off()
    elif x.at is not None:
        axes.set_xticks(list(x.at))


def _say_what_is_what(drawing: Drawing, figure: Figure, columns: int) -> None:
    """Draw a legend for the whole figure under it, and above the legend what is missing."""
    named: dict[str, Series] = {}
    for series in (each for panel in figure.panels for each in panel.series if each.name):
        named.setdefault(series.name, series)
    notes = filter(None, [figure.missing, *dict.fromkeys(note for panel in figure.panels for note in _covered(panel))])
    words = "\n".join(fill(note, round(_SMALL_LETTERS_PER_INCH * drawing.get_figwidth())) for note in notes)
    if not named:
        if words:
            drawing.supxlabel(words, fontsize=_SMALL, color=GREY)
        return
    handles = [_entry(series) for series in named.values()]
    line = _line_length(named.values())
    legend = _fitting(drawing, handles, min(columns, len(handles)), line)
    if words:
        legend.set_title(words)
        legend.get_title().set(color=GREY, fontsize=_SMALL, multialignment="center")
    more = legend.get_window_extent().height / drawing.dpi - _LEGEND_INCHES
    drawing.set_figheight(drawing.get_figheight() + max(0, more))


def _line_length(series: Iterable[Series]) -> float | None:
    """Return how long a legend's lines are, if they differ by dashes alone, or else by colours, lost in grey prints."""
    lines = {(each.mark, each.dash) for each in series if isinstance(each, Curve) and each.dash is not None}
    if len(lines) == len({mark for mark, _ in lines}):
        return None
    return _DASHED_LENGTH if all(dash < _SHORT_DASHES for _, dash in lines) else _LONG_DASHED_LENGTH


def _covered(panel: Panel) -> Iterator[str]:
    """Yield which curves through time hide each other, as they are the same."""
    alike: dict[bytes, list[str]] = {}
    for each in panel.series:
        if isinstance(each, Curve) and each.step:
            alike.setdefault(np.stack([each.x, each.y]).tobytes(), []).append(each.name)
    yield from (f"same {panel.y.name}: {', '.join(names)}" for names in alike.values() if len(names) > 1)


def _fitting(drawing: Drawing, handles: Sequence[Artist], columns: int, line: float | None) -> Legend:
    """Return a legend under the figure, with fewer columns if it were wider than the figure.

    ``line``: the length of its lines, in letters' heights; None: as the settings have it.
    """
    legend = drawing.legend(handles=handles, loc="outside lower center", ncols=columns, handlelength=line)
    if columns > 1 and legend.get_window_extent().width > drawing.bbox.width:
        legend.remove()
        return _fitting(drawing, handles, columns - 1, line)
    return legend


def _entry(series: Series) -> Artist:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    name = in_legend(series.name)
    match series:
        case Curve():
            return Line2D([], [], color=series.colour, markersize=3, label=name, **_stroke(series))
        case Rule():
            return Line2D([], [], color=series.colour, label=name, **_line(series.dash))
        case Bars(hatched=True):
            return Patch(**_look(series), linewidth=0.6, label=name)
    return Patch(facecolor=series.colour, label=name)
