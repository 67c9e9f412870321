"""The memory of an NPU of a stage over the steps of its schedule, part upon part, and what it has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from astra_ns3.errors import check_known
from astra_ns3.report.figures.curves import Real
from astra_ns3.report.figures.figure import Axis, Band, Figure, Panel, Rule, Series
from astra_ns3.report.figures.style import COLOURS, size_unit
from astra_ns3.report.pictures.kind import Choice, Kind
from astra_ns3.report.tables import Records

TABLE = "memory.csv"
MOST_STAGES = 4
"""Drawn, unless some are asked for; of more only the first, the fullest and the last."""
_PARTS = ("weights", "optimizer", "gradients", "activations", "recomputed", "gathered", "buckets", "ring")


def _in_file(records: Records, choice: Choice) -> Figure:
    """Return a panel for each stage."""
    found: dict[str, list[list[float]]] = {}
    for row in records.rows(TABLE):
        found.setdefault(row["stage"], []).append([float(row[f"{part}_bytes"]) for part in _PARTS])
    stages = {name: np.array(steps).T for name, steps in found.items()}
    chosen = _chosen(stages, choice.select)
    if not chosen:
        return Figure([Panel(Axis(), Axis(), (), empty="there are no steps of a schedule", height=1.5)], around=0.6)
    highest = max(float(stages[name].sum(axis=0).max()) for name in chosen)
    factor, unit = size_unit(highest)
    has = records.metadata.get("memory_by_stage", {}).get("capacity_bytes")
    top = 1.08 * highest
    rule = [] if has is None or has > top else [Rule(has / factor, 1, 1.0, name="what an NPU has")]
    left_out = f"; {len(chosen)} of {len(stages)} stages" if len(chosen) < len(stages) else ""
    panels = []
    for name in chosen:
        where = ("servers" if name == "servers" else f"stage {name}") if len(stages) > 1 else "memory"
        words = f"step of the schedule{left_out}" if name == chosen[-1] else ""
        x = Axis(words, low=0, high=stages[name].shape[1], whole=True)
        series = [*_bands(stages[name], factor), *rule]
        panels.append(Panel(x, Axis(where, unit, 0, top / factor, grid=True), series, height=1.5))
    return Figure(panels, around=0.6, legend=(3, 5))


def _bands(steps: Real, factor: int) -> list[Series]:
    """Return the parts of a stage that are ever there, each upon those before."""
    edges, tops = np.arange(steps.shape[1] + 1), np.cumsum(steps, axis=0) / factor
    return [
        Band(edges, tops[index] - steps[index] / factor, tops[index], name=part, colour=COLOURS[index % len(COLOURS)])
        for index, part in enumerate(_PARTS)
        if steps[index].any()
    ]


def _chosen(stages: Mapping[str, Real], select: Sequence[str]) -> list[str]:
    """Return names of the stages to draw, in their order; raises InputError."""
    for name in select:
        check_known("stage", name, stages)
    names = list(stages)
    if select or len(names) <= MOST_STAGES:
        return [name for name in names if not select or name in select]
    fullest = max(names, key=lambda name: float(stages[name].sum(axis=0).max()))
    return [name for name in names if name in (names[0], fullest, names[-1])]


KIND = Kind(
    "memory",
    "what NPUs of a stage keep in memory over its schedule",
    _in_file,
    file=TABLE,
    needs="a model as the workload",
    selects="stages",
    of_flows=False,
)
