"""A picture of a graph's levels: how many nodes of each kind may run when those before them have."""

from __future__ import annotations

import os

import numpy as np

from astra_ns3.errors import ends_in, needing, refuse
from astra_ns3.report.saving_figure import save_figure
from astra_ns3.workload.graphs.overview import Overview

SUFFIXES = (".png", ".svg", ".pdf")
_MOST_BARS = 400
_DOTS_PER_INCH = 120
_COLOURS = ("#1d4ed8", "#c2410c", "#15803d", "#a21caf", "#0e7490", "#b45309", "#6b7280", "#be123c", "#4d7c0f")


def draw_levels(found: Overview, path: str | os.PathLike[str], title: str) -> None:
    """Write it in the format of the file's ending. Raises InputError: no matplotlib, a file that can't be written."""
    target = os.fspath(path)
    ends_in("a figure's file", target, SUFFIXES)
    refuse(not found.levels, "has no nodes to draw", title)
    with needing("matplotlib", "figures need"):
        import matplotlib as mpl
        from matplotlib.figure import Figure
    width = -(-len(found.levels) // _MOST_BARS)
    starts = np.arange(0, len(found.levels), width)
    with mpl.rc_context({"svg.hashsalt": "astra-ns3", "svg.fonttype": "none"}):
        figure = Figure(figsize=(9, 3.6))
        axes = figure.add_subplot()
        below = np.zeros(len(starts))
        for number, (kind, _) in enumerate(found.kinds.most_common()):
            counts = np.array([level[kind] for level in found.levels], dtype=float)
            heights = np.add.reduceat(counts, starts) / np.diff([*starts, len(counts)])
            colour = _COLOURS[number % len(_COLOURS)]
            axes.bar(starts, heights, width=width, align="edge", bottom=below, color=colour, label=kind)
            below += heights
        axes.set_xlabel("level: nodes before it in the longest chain" + (f" ({width} together)" if width > 1 else ""))
        axes.set_ylabel("nodes")
        axes.set_xlim(0, len(found.levels))
        axes.set_title(title, fontsize="medium")
        axes.legend(fontsize="small", frameon=False, bbox_to_anchor=(1, 1), loc="upper left")
        figure.tight_layout()
        save_figure(figure, target, dpi=_DOTS_PER_INCH)
