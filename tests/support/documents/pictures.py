"""Pictures of a run looked into: bars, lines and words that are drawn, and whether they find room."""

from __future__ import annotations

import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text

import astra_ns3


def picture(folder: Path, kind: str, **options: Any) -> Figure:
    figure = getattr(astra_ns3.Result.load(folder).plot, kind)(**options)
    assert isinstance(figure, Figure)
    return figure


def bars(figure: Figure, panel: int = 0) -> np.ndarray[Any, Any]:
    """Left, bottom, width and height of each bar, in the order of drawing."""
    found = [patch for patch in figure.axes[panel].patches if isinstance(patch, Rectangle)]
    return np.array([[bar.get_x(), bar.get_y(), bar.get_width(), bar.get_height()] for bar in found])


def lines(figure: Figure, panel: int = 0) -> list[tuple[list[float], list[float]]]:
    drawn = figure.axes[panel].get_lines()
    return [(np.asarray(line.get_xdata()).tolist(), np.asarray(line.get_ydata()).tolist()) for line in drawn]


def words_of(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(Text) if text.get_text() and text.get_visible()]


def check_page(figure: Figure, *, labelled: bool = True) -> None:
    """Draw it; nothing may warn, stand outside, or stand on a name beside it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure.draw_without_rendering()
    page = figure.bbox
    for text in figure.findobj(Text):
        if text.get_text() and text.get_visible():
            box = text.get_window_extent()
            inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= page.x1 + 1 and box.y1 <= page.y1 + 1
            assert inside or _unused_tick(text, figure), f"{text.get_text()!r} leaves the page"
    for axes in figure.axes:
        rows = [label.get_window_extent() for label in axes.get_yticklabels() if label.get_text()]
        rows.sort(key=lambda box: box.y0)
        assert all(low.y1 <= high.y0 + 0.25 * low.height for low, high in pairwise(rows))
    if labelled:
        drawn = [axes for axes in figure.axes if axes.has_data() and axes.get_label() != "<colorbar>"]
        assert drawn
        assert drawn[-1].get_xlabel()
        assert all(axes.get_ylabel() or axes.get_yticklabels() for axes in drawn)


def _unused_tick(text: Text, figure: Figure) -> bool:
    """Whether it is the label of a tick beyond the axis, which is not drawn."""
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                if text in (tick.label1, tick.label2):
                    return not (tick.label1.get_visible() and low <= tick.get_loc() <= high)
    return False
