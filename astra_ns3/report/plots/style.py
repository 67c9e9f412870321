"""How all pictures of runs look: sizes for a paper's column, colours that all eyes can tell apart, units on axes.

The colours are those of Okabe and Ito, "Color Universal Design" (2008); the heat map's is matplotlib's ``cividis``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from astra_ns3.report.tables import Numbers
from astra_ns3.units import PS_PER_MS, PS_PER_NS, PS_PER_SECOND, PS_PER_US

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, VERMILION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, YELLOW, BLACK, GREY = "#CC79A7", "#56B4E9", "#F0E442", "#000000", "#8C8C8C"
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK, YELLOW)
LINES = ("-", "--", ":", "-.")
HEAT_MAP = "cividis"
HATCH = "//////"
DOTS_PER_INCH = 300
MOST_POINTS = 1_500
"""Of a line: more can't be told apart at a column's width."""

SETTINGS: Any = {
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
    "svg.fonttype": "none",
    "svg.hashsalt": "astra-ns3",
    "pdf.fonttype": 42,
}

_TIMES = (("s", PS_PER_SECOND), ("ms", PS_PER_MS), ("us", PS_PER_US), ("ns", PS_PER_NS))
_SIZES = (("GB", 10**9), ("MB", 10**6), ("KB", 10**3), ("B", 1))


def new_figure(width_inches: float, height_inches: float) -> Figure:
    """An empty figure whose parts find room for themselves."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width_inches, height_inches), layout="constrained")


def panels(figure: Figure, heights: Sequence[float], *, share_time: bool = False) -> list[Axes]:
    """Axes one below the other, of these relative heights."""
    made = figure.subplots(len(heights), 1, squeeze=False, sharex=share_time, height_ratios=list(heights))
    return list(made[:, 0])


def time_unit(longest_ps: float) -> tuple[int, str]:
    """Picoseconds of the unit in which a time is a handy number, and its name."""
    found = next(((name, factor) for name, factor in _TIMES if longest_ps >= 2 * factor), _TIMES[-1])
    return found[1], found[0]


def size_unit(largest_bytes: float) -> tuple[int, str]:
    """The same of bytes, in powers of ten."""
    found = next(((name, factor) for name, factor in _SIZES if largest_bytes >= factor), _SIZES[-1])
    return found[1], found[0]


def say_empty(axes: Axes, words: str) -> None:
    """Say in the axes' place why nothing is drawn."""
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.text(0.5, 0.5, words, ha="center", va="center", wrap=True, color=GREY, transform=axes.transAxes)


def legend_below(figure: Figure, handles: Sequence[Any], columns: int) -> None:
    """A legend for the whole figure, under it."""
    if handles:
        figure.legend(handles=list(handles), loc="outside lower center", ncols=min(columns, len(handles)))


def swatch(colour: str, label: str, *, hatched: bool = False) -> Any:
    """A legend's entry for bars of a colour."""
    from matplotlib.patches import Patch

    if hatched:
        return Patch(facecolor="white", edgecolor=colour, hatch=HATCH, linewidth=0.6, label=label)
    return Patch(facecolor=colour, label=label)


def stroke(colour: str, label: str, line: Any = "-", mark: str = "") -> Any:
    """A legend's entry for lines of a colour."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color=colour, linestyle=line, marker=mark, markersize=3, label=label)


def shortened(text: str, most: int = 22) -> str:
    """A long text without its middle."""
    if len(text) <= most:
        return text
    kept = most - 1
    return f"{text[: kept // 2]}…{text[len(text) - (kept - kept // 2) :]}"


def labels(names: Sequence[str], most: int = 22) -> list[str]:
    """Long names without what they have in common; numbered where they would look alike even so."""
    if all(len(name) <= most for name in names):
        return list(names)
    head, tail = _alike(names), _alike([name[::-1] for name in names])
    if len(set(names)) > 1 and head > 3:
        head = max((place + 1 for place in range(head) if not names[0][place].isalnum()), default=0)  # whole words
        cut = [f"{shortened(name[:head], most // 2)}{name[head:]}" for name in names]
        if any(len(name) > most for name in cut) and tail > 3:
            cut = [f"{name[: len(name) - tail]}…" for name in cut]
    else:
        cut = list(names)
    short = [shortened(name, most) for name in cut]
    alike = len(set(short)) < len(set(names))
    return [f"{place}: {shortened(name, most - 4)}" for place, name in enumerate(cut)] if alike else short


def _alike(names: Sequence[str]) -> int:
    """With how many letters all names begin."""
    first, last = min(names), max(names)
    return next((place for place, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))


def steps(times: Numbers, values: Numbers, until: int, most: int = MOST_POINTS) -> tuple[Numbers, Numbers]:
    """Points of a line that holds each value until the next time, and the last one up to ``until``.

    ``times`` ascending. Of more points than can be told apart, those stay that are first, last, least or highest within
    one of ``most`` equal spans of time, so that the picture is the same.
    """
    if not len(times):
        return times, values
    times, values = np.append(times, max(until, int(times[-1]))), np.append(values, values[-1])
    if len(times) <= 4 * most:
        return times, values
    first, last = int(times[0]), int(times[-1])
    span = (times - first) // max(1, -(-(last + 1 - first) // most))
    rank = np.lexsort((values, span))  # by span, and by value in it
    edge = np.flatnonzero(np.diff(span)) + 1  # each span has its rows at the same places, sorted or not
    begins, ends = np.append(0, edge), np.append(edge, len(span)) - 1
    kept = np.unique(np.concatenate([begins, ends, rank[begins], rank[ends]]))
    return times[kept], values[kept]


def merged(starts: Numbers, ends: Numbers, gap: float) -> tuple[Numbers, Numbers]:
    """Intervals that overlap, or lie closer together than ``gap``, as one."""
    if not len(starts):
        return starts, ends
    order = np.argsort(starts, kind="stable")
    starts, reached = starts[order], np.maximum.accumulate(ends[order])
    new = np.append(True, starts[1:] > reached[:-1] + gap)
    last = np.append(np.flatnonzero(new)[1:] - 1, len(starts) - 1)
    return starts[new], reached[last]


def evenly(items: Sequence[Any], most: int) -> list[Any]:
    """At most ``most`` of the items, the first and the last among them, evenly apart."""
    if len(items) <= most:
        return list(items)
    places = np.linspace(0, len(items) - 1, most).round().astype(int)
    return [items[place] for place in places]


def log_axis(axes: Axes, form: Callable[[float], str], *, narrow: bool) -> None:
    """A logarithmic x-axis with values that can be read: 1, 2, 5, 10, ... where it is ``narrow``."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if narrow else (1.0,)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: form(value)))
    axes.xaxis.set_minor_formatter(NullFormatter())


def short_part(part: str) -> str:
    """A part of a layer's pass in a few letters, as ``EndToEnd.csv`` has it."""
    return {"forward": "fwd", "weight gradient": "wg", "input gradient": "ig"}.get(part, part)


def listed(names: Iterable[str], most: int = 8) -> str:
    """Names with commas between them, and how many more there are."""
    every = list(names)
    return ", ".join(every[:most]) + (f" and {len(every) - most} more" if len(every) > most else "")
