"""A picture of a graph's levels: how many nodes of each kind may run when those before them have."""

from __future__ import annotations

import os

import numpy as np

from astra_ns3.errors import refuse
from astra_ns3.report.saving_figure import drawing
from astra_ns3.workload.graphs.overview import Overview

_MOST_BARS = 400
_DOTS_PER_INCH = 120
_COLOURS = ("#1d4ed8", "#c2410c", "#15803d", "#a21caf", "#0e7490", "#b45309", "#6b7280", "#be123c", "#4d7c0f")


def draw_levels(found: Overview, path: str | os.PathLike[str], title: str) -> None:
    """Write it in the format of the file's ending. Raises InputError: no matplotlib, a file that can't be written."""
    refuse(not found.levels, "has no nodes to draw", title)
    width = -(-len(found.levels) // _MOST_BARS)
    starts = np.arange(0, len(found.levels), width)
    with drawing(path, (9, 3.6), _DOTS_PER_INCH) as axes:
        below = np.zeros(len(starts))
        for number, (kind, _) in enumerate(found.kinds.most_common()):
            counts = np.array([level[kind] for level in found.levels], dtype=float)
            heights = np.add.reduceat(counts, starts) / np.diff([*starts, len(counts)])
            colour = _COLOURS[number % len(_COLOURS)]
            axes.bar(starts, heights, width=width, align="edge", bottom=below, color=colour, label=kind)
            below += heights
        axes.set_xlabel(
            "level: nodes before it in its NPU's longest chain" + (f" ({width} together)" if width > 1 else "")
        )
        axes.set_ylabel("nodes")
        axes.set_xlim(0, len(found.levels))
        axes.locator_params("x", integer=True)
        axes.set_title(title, fontsize="medium")
        axes.legend(fontsize="small", frameon=False, bbox_to_anchor=(1, 1), loc="upper left")
