"""What an NPU of a stage keeps in its memory over the steps of its schedule, part upon part, and what it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from astra_ns3.errors import InputError, nearest
from astra_ns3.report.plots.kind import Choice, Kind
from astra_ns3.report.plots.style import BLACK, COLOURS, legend_below, new_figure, panels, say_empty, stroke, swatch
from astra_ns3.report.tables import Records

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TABLE = "memory.csv"
MOST_STAGES = 4
"""Drawn, unless some are asked for; of more only the first, the fullest and the last."""
_PARTS = ("weights", "optimizer", "gradients", "activations", "recomputed", "gathered", "buckets", "ring")
_ENDING = "_bytes"
_UNITS = ((10**9, "GB"), (10**6, "MB"), (10**3, "KB"), (1, "B"))

Steps = dict[str, npt.NDArray[np.float64]]
"""Of a stage: bytes of each part in each step."""


def draw(records: Records, choice: Choice) -> Figure:
    """A panel for each stage."""
    stages = _stages(records.rows(TABLE))
    chosen = _chosen(stages, choice)
    figure = new_figure(choice.width_inches, 0.6 + 1.5 * max(1, len(chosen)))
    axes = panels(figure, [1] * max(1, len(chosen)))
    if not chosen:
        say_empty(axes[0], "there are no steps of a schedule")
        return figure
    has = records.metadata.get("memory_by_stage", {}).get("capacity_bytes")
    highest = max(float(_total(stages[name]).max()) for name in chosen)
    factor, unit = next(each for each in _UNITS if highest >= each[0] or each[0] == 1)
    drawn = [part for part in _PARTS if any(stages[name][part].any() for name in chosen)]
    for each, name in zip(axes, chosen, strict=True):
        _draw_stage(each, stages[name], drawn, factor)
        where = name if name == "servers" else f"stage {name}"
        each.set_ylabel(f"{where} ({unit})" if len(stages) > 1 else f"memory ({unit})")
        each.set_ylim(0, 1.08 * highest / factor)
        if has is not None and has <= 1.08 * highest:
            each.axhline(has / factor, color=BLACK, linestyle="--")
    left_out = f"; {len(chosen)} of {len(stages)} stages" if len(chosen) < len(stages) else ""
    axes[-1].set_xlabel(f"step of the schedule{left_out}")
    handles = [swatch(COLOURS[_PARTS.index(part) % len(COLOURS)], part) for part in drawn]
    if has is not None and has <= 1.08 * highest:
        handles.append(stroke(BLACK, "what an NPU has", "--"))
    legend_below(figure, handles, 3 if choice.width_inches < 5 else 5)
    return figure


def _stages(rows: list[dict[str, str]]) -> dict[str, Steps]:
    found: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        found.setdefault(row["stage"], []).append(row)
    return {
        stage: {part: np.array([float(row[part + _ENDING]) for row in own]) for part in _PARTS}
        for stage, own in found.items()
    }


def _total(steps: Steps) -> npt.NDArray[np.float64]:
    whole: npt.NDArray[np.float64] = np.sum(list(steps.values()), axis=0)
    return whole


def _chosen(stages: dict[str, Steps], choice: Choice) -> list[str]:
    """Names of the stages to draw, in their order; raises InputError."""
    for name in choice.select:
        if name not in stages:
            raise InputError(f"stage '{name}' is not one of {', '.join(stages)}{nearest(name, stages)}")
    if choice.select or len(stages) <= MOST_STAGES:
        return [name for name in stages if not choice.select or name in choice.select]
    names = list(stages)
    fullest = max(names, key=lambda name: float(_total(stages[name]).max()))
    return [name for name in names if name in (names[0], fullest, names[-1])]


def _draw_stage(axes: Axes, steps: Steps, parts: list[str], factor: int) -> None:
    from matplotlib.ticker import MaxNLocator

    edges = np.arange(len(steps[_PARTS[0]]) + 1)
    below = np.zeros(len(edges) - 1)
    for part in parts:
        above = below + steps[part] / factor
        axes.stairs(above, edges, baseline=below, fill=True, color=COLOURS[_PARTS.index(part) % len(COLOURS)])
        below = above
    axes.set_xlim(edges[0], edges[-1])
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="y")


KIND = Kind(
    "memory",
    "what NPUs of a stage keep in memory over its schedule",
    draw,
    file=TABLE,
    needs="a model as the workload",
    selects="stages",
    of_flows=False,
)
