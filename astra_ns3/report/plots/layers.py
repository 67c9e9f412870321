"""What each layer took: computing and exposed communication of each of its parts, on one NPU of every role."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from astra_ns3.errors import InputError, nearest
from astra_ns3.report.plots.kind import Choice, Kind
from astra_ns3.report.plots.style import (
    BLUE,
    GREEN,
    GREY,
    HATCH,
    ORANGE,
    PURPLE,
    SKY,
    labels,
    legend_below,
    new_figure,
    panels,
    say_empty,
    swatch,
    time_unit,
)
from astra_ns3.report.tables import Records, numbers, recorded, words
from astra_ns3.units import PS_PER_US

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_LAYERS = 60
"""In a panel; the others, which took least, are drawn as one bar."""
_COLOURS = {"forward": BLUE, "weight gradient": ORANGE, "input gradient": GREEN, "tail": GREY}
_OTHER_COLOURS = (PURPLE, SKY)
_PARTS = {"forward": "fwd", "weight gradient": "wg", "input gradient": "ig"}
"""The parts that ``EndToEnd.csv`` has, with its words for them."""

_NONE = (0.0, 0.0)

Times = dict[str, dict[str, tuple[float, float]]]
"""Layer -> part -> picoseconds of computing, and exposed."""


def draw(records: Records, choice: Choice) -> Figure:
    """A bar per layer, a panel per role."""
    roles = layer_times(records)
    chosen = _chosen(roles, choice.select)
    shown = {role: _largest(times) for role, times in chosen.items()}
    parts = list(dict.fromkeys(part for times in shown.values() for each in times.values() for part in each))
    rows = [max(len(times), 2) for times in shown.values()]
    each = 0.13 if max(rows) <= 20 else 0.105
    figure = new_figure(choice.width_inches, 0.75 + 0.12 * -(-len(parts) // 2) + sum(each * n + 0.22 for n in rows))
    unit = time_unit(max((sum(map(sum, each.values())) for t in shown.values() for each in t.values()), default=0))
    colours = _colours(parts)
    for axes, (role, times) in zip(panels(figure, rows), shown.items(), strict=True):
        _draw_role(axes, times, colours, unit)
        if len(shown) > 1:
            axes.set_title(role, loc="left")
    every = [each for times in shown.values() for each in times.values()]
    computed = [part for part in parts if any(each.get(part, _NONE)[0] for each in every)]
    exposed = [part for part in parts if any(each.get(part, _NONE)[1] for each in every)]
    handles = [swatch(colours[part], f"{part}, compute") for part in computed]
    handles += [swatch(colours[part], f"{part}, exposed", hatched=True) for part in exposed]
    legend_below(figure, handles, 2 if choice.width_inches < 5 else 4)
    return figure


def layer_times(records: Records) -> dict[str, Times]:
    """Each role's layers: of ``layers.parquet``, or of ``EndToEnd.csv``, which has one NPU."""
    if recorded(records, "layers") is None:
        return {"all": {row["layer name"]: _of_row(row) for row in records.rows("EndToEnd.csv")}}
    role, layer, part = (words(records, "layers", name) for name in ("role", "layer", "part"))
    compute, exposed = numbers(records, "layers", "compute_ps", "exposed_ps")
    found: dict[str, Times] = {}
    for row, codes in enumerate(zip(role.codes, layer.codes, part.codes, strict=True)):
        of_role, of_layer, of_part = (
            column.texts[code] for column, code in zip((role, layer, part), codes, strict=True)
        )
        times = found.setdefault(of_role, {}).setdefault(of_layer, {})
        times[of_part] = (float(compute[row]), float(exposed[row]))
    return {name: _without_empty_parts(times) for name, times in found.items()}


def _of_row(row: Mapping[str, str]) -> dict[str, tuple[float, float]]:
    return {
        part: (PS_PER_US * float(row[f"{short} compute"]), PS_PER_US * float(row[f"{short} exposed comm"]))
        for part, short in _PARTS.items()
    }


def _without_empty_parts(times: Times) -> Times:
    """Without parts that no layer has spent time on."""
    used = {part for parts in times.values() for part, spent in parts.items() if any(spent)}
    return {layer: {part: spent for part, spent in parts.items() if part in used} for layer, parts in times.items()}


def _chosen(roles: dict[str, Times], select: tuple[str, ...]) -> dict[str, Times]:
    for name in select:
        if name not in roles:
            raise InputError(f"role '{name}' is not one of {', '.join(roles)}{nearest(name, roles)}")
    return {name: roles[name] for name in select or roles}


def _largest(times: Times) -> Times:
    """The layers that took most, in their order, and what the others took together."""
    if len(times) <= MOST_LAYERS:
        return times
    ranked = sorted(times, key=lambda layer: -sum(map(sum, times[layer].values())))
    kept = set(ranked[: MOST_LAYERS - 1])
    shown = {layer: parts for layer, parts in times.items() if layer in kept}
    rest: dict[str, tuple[float, float]] = {}
    for layer in ranked[MOST_LAYERS - 1 :]:
        for part, (compute, exposed) in times[layer].items():
            before = rest.get(part, _NONE)
            rest[part] = (before[0] + compute, before[1] + exposed)
    return {**shown, f"{len(times) - len(shown)} other layers": rest}


def _colours(parts: list[str]) -> dict[str, str]:
    others = [part for part in parts if part not in _COLOURS]
    return {**_COLOURS, **{part: _OTHER_COLOURS[place % 2] for place, part in enumerate(others)}}


def _draw_role(axes: Axes, times: Times, colours: Mapping[str, str], unit: tuple[int, str]) -> None:
    if not times:
        say_empty(axes, "the workload has no layers")
        return
    factor, name = unit
    left = np.zeros(len(times))
    places = np.arange(len(times))
    parts = list(dict.fromkeys(part for each in times.values() for part in each))
    for place, hatch in ((0, None), (1, HATCH)):
        for part in parts:
            spent = np.array([each.get(part, _NONE)[place] for each in times.values()]) / factor
            style: dict[str, Any] = {"facecolor": "white" if hatch else colours[part], "edgecolor": colours[part]}
            axes.barh(places, spent, left=left, height=0.78, hatch=hatch, linewidth=0.4, **style)
            left += spent
    dense = len(times) > 20
    axes.set_yticks(places, labels(list(times)), fontsize=5 if dense else 6)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(times) - 0.4, -0.6)
    axes.set_xlim(left=0)
    axes.set_xlabel(f"time of an NPU, all passes ({name})")
    axes.grid(axis="x")


KIND = Kind(
    "layers",
    "computing and exposed communication of each layer",
    draw,
    more=("layers",),
    selects="roles",
    of_flows=False,
)
