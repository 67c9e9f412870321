"""The time that each layer took: computing and exposed communication of each of its parts, on one NPU of every role."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle

from astra_ns3.errors import check_known
from astra_ns3.network.records import STEPS
from astra_ns3.report.figures import style
from astra_ns3.report.figures.figure import Axis, Bars, Figure, Panel
from astra_ns3.report.pictures.kind import Choice, Kind, Section
from astra_ns3.report.pictures.shown import Shown
from astra_ns3.report.records import (
    OF_MODELS,
    layers_of_other_parts,
    pass_words,
    ps_of,
    rows_of_layers,
    shown_part,
    table_of,
)
from astra_ns3.report.tables import Records
from astra_ns3.units import counted

MOST_LAYERS = 60
"""In a panel; of a file the others, which took least, are drawn as one bar."""
_COLOURS = {
    **dict.fromkeys(("forward", ""), style.BLUE),
    **dict.fromkeys(("weight gradient", *OF_MODELS), style.ORANGE),
    "input gradient": style.GREEN,
    "tail": style.GREY,
}
# Of what only models have, such as weights, gradients, and what is computed again.
_OTHER_COLOURS = (style.PURPLE, style.SKY, style.VERMILION, style.YELLOW, "#004B76", "#8F3F00", style.BLACK)
# Those that ``EndToEnd.csv`` has.
_PARTS = ("forward", "weight gradient", "input gradient")
_TAIL = "tail"
# Also of layers that have other parts, of which the file doesn't say when they came.
_OTHERWISE = "otherwise"
_NAMES = {_TAIL: "exposed, after the last pass", _OTHERWISE: "exposed, in other parts or after the last pass"}
_KNOWN = {*_COLOURS, _OTHERWISE}
_CELLS = ("layer", "part", "compute_ps", "exposed_ps")
_NONE = (0, 0)

Spent = Mapping[str, tuple[int, int]]
"""Part -> picoseconds of computing, and exposed."""
Times = Sequence[tuple[str, Spent]]
"""Layers and their parts."""
_Layers = list[tuple[str, dict[str, tuple[int, int]]]]


def _in_file(records: Records, choice: Choice) -> Figure:
    """Return a bar per layer, a panel per role."""
    roles = layer_times(records)
    for name in choice.select:
        check_known("role", name, roles)
    shown = {  # a stage of a pipeline has but some layers
        role: _with_rest([each for each in roles[role][1] if len(roles) == 1 or _whole(each[1])])
        for role in choice.select or roles
    }
    every = [spent for times in shown.values() for _, spent in times]
    looks = _looks(every)
    each = 0.13 if max((len(times) for times in shown.values()), default=0) <= 20 else 0.105
    unit = style.time_unit(max(map(_whole, every), default=0))
    npus = [f"NPU {roles[role][0]}" for role in shown]
    several = len(shown) != 1
    axis = Axis("time, all passes" if several else f"time of {npus[0]}, all passes", unit[1], low=0, grid=True)
    panels = [
        Panel(axis, Axis(names=style.labels([layer for layer, _ in times])), _bars(times, looks, unit),
              height=each * max(len(times), 2) + 0.22, title=f"{role}, {npu}" if several else "", stacked=True,
              empty="no layer took any time" if times else "the workload has no layers")
        for npu, (role, times) in zip(npus, shown.items(), strict=True)
    ]  # fmt: skip
    return Figure(panels, around=0.75 + 0.12 * -(-len(looks) // 4))


def _on_page(runs: Sequence[Shown], detail: int) -> Figure:
    """Return a bar per layer and run, of the NPU that the run reports."""
    found = [_reported(shown.run) for shown in runs]
    looks = _looks([spent for times in found for _, spent in times], -1)
    longest = max((_whole(spent) for times in found for _, spent in times), default=1)
    unit, most = style.time_unit(longest, 1), min(MOST_LAYERS, detail)
    notes, panels = [], []
    for shown, times in zip(runs, found, strict=True):
        kept = [times[index] for index in sorted(_ranked(times)[:most])]
        if len(kept) < len(times):
            notes.append(f"{shown.name}: the {len(kept)} layers that took longest, of {len(times)}.")
        bars = _bars(kept, looks, unit)
        x = Axis(f"time of NPU {shown.run.metadata['report_npu']}", unit[1], 0, 1.04 * longest / unit[0])
        y = Axis(names=style.cut(layer for layer, _ in kept))
        height = 1.2 + 0.13 * len(bars) + 0.19 * len(kept)
        panels.append(Panel(x, y, bars, shown.name, stacked=True, of_run=True, height=height))
    return Figure(panels, notes)


def _looks(every: Iterable[Spent], order: int = 1) -> list[tuple[str, int, str, str]]:
    """Return part, whether it is exposed, name and colour of all pieces of bars. ``order`` -1: names end with parts."""
    parts = list(dict.fromkeys(part for spent in every for part in spent))
    others = (part for part in parts if part not in _COLOURS)
    colours = _COLOURS | dict(zip(others, cycle(_OTHER_COLOURS), strict=False))
    return [
        (part, index, _NAMES.get(part) or ", ".join(filter(None, (part, word)[::order])), colours[part])
        for index, word in enumerate(("compute", "exposed"))
        for part in parts
    ]


def _reported(records: Records) -> Times:
    """Return the layers of the reported NPU, with the parts that only models have if they were recorded."""
    table = table_of(records, "layers")
    found: _Layers = []
    for npu, layer, part, *spent in () if table is None else table.tuples("npu", *_CELLS):
        if npu == records.metadata["report_npu"]:
            _put(found, layer, shown_part(records, part), *spent)
    has_others = any(part not in _KNOWN for _, spent in found for part in spent)
    return found if has_others else _end_to_end(records)


def layer_times(records: Records) -> dict[str, tuple[int, Times]]:
    """Return each role's NPU and layers: of ``layers.parquet``, or of what a run tells without it of one NPU."""
    metadata, table = records.metadata, table_of(records, "layers")
    if table is None:
        return {"all": (metadata["report_npu"], _without_empty_parts(_end_to_end(records)))}
    found: dict[tuple[str, int], _Layers] = {}
    for role, npu, layer, part, *spent in table.tuples("role", "npu", *_CELLS):
        _put(found.setdefault((role, npu), []), layer, shown_part(records, part), *spent)
    groups = {each["role"]: each["groups"] for each in metadata.get("exposed_by_group_of_roles", ())}
    for (role, _), times in found.items():
        for each in groups.get(role, metadata.get("exposed_by_group", ())):
            if each["group"] == STEPS:  # which are of no layer
                times.append((STEPS, {_OTHERWISE: (0, each["exposed_ps"])}))
    return {role: (npu, _without_empty_parts(times)) for (role, npu), times in found.items()}


def _put(layers: _Layers, layer: str, part: str, compute_ps: int, exposed_ps: int) -> None:
    """Add a part of a layer; one that the layer before has, is of another layer of that name."""
    if not layers or layers[-1][0] != layer or part in layers[-1][1]:
        layers.append((layer, {}))
    layers[-1][1][part] = (compute_ps, exposed_ps)


def _end_to_end(records: Records) -> Times:
    """Return the layers of the reported NPU, with what was exposed after the last pass or otherwise, and the steps."""
    others = layers_of_other_parts(records)
    times: list[tuple[str, Spent]] = []
    for row, tail_ps in rows_of_layers(records):
        spent: dict[str, tuple[int, int]] = {}
        for part in _PARTS:
            compute_ps, exposed_ps = _cells(row, style.short_part(part))
            computing, waiting = pass_words(records, part)
            spent[computing] = (compute_ps, 0)
            spent[waiting] = (spent.get(waiting, _NONE)[0], exposed_ps)
            tail_ps -= exposed_ps
        layer = row["layer name"]
        times.append((layer, {**spent, _OTHERWISE if layer in others else _TAIL: (0, max(0, tail_ps))}))
    steps = records.metadata["exposed_by_layer"][len(times) :]
    return [*times, *((each["layer"], {_OTHERWISE: (0, each["exposed_ps"])}) for each in steps)]


def _cells(row: Mapping[str, str], part: str) -> tuple[int, int]:
    return ps_of(row[f"{part} compute"]) or 0, ps_of(row[f"{part} exposed comm"]) or 0


def _without_empty_parts(times: Times) -> Times:
    """Return layers without parts that none has spent time on."""
    used = {part for _, spent in times for part, pair in spent.items() if any(pair)}
    return [(layer, {part: pair for part, pair in spent.items() if part in used}) for layer, spent in times]


def _whole(spent: Spent) -> int:
    return sum(map(sum, spent.values()))


def _ranked(times: Times) -> list[int]:
    """Return the places of layers, of those first that took most."""
    return sorted(range(len(times)), key=lambda index: -_whole(times[index][1]))


def _with_rest(times: Times) -> Times:
    """Return the layers that took most, in their order, and what the others took together."""
    if len(times) <= MOST_LAYERS:
        return times
    ranked = _ranked(times)
    kept, others = sorted(ranked[: MOST_LAYERS - 1]), ranked[MOST_LAYERS - 1 :]
    rest: dict[str, tuple[int, int]] = {}
    for index in others:
        for part, (compute, exposed) in times[index][1].items():
            before = rest.get(part, _NONE)
            rest[part] = (before[0] + compute, before[1] + exposed)
    return [*(times[index] for index in kept), (counted(len(others), "other layer"), rest)]


def _bars(times: Times, looks: Sequence[tuple[str, int, str, str]], unit: style.Unit) -> list[Bars]:
    """Return a piece of each bar for each part that took time."""
    names, bars = [layer for layer, _ in times], []
    for part, exposed, name, colour in looks:
        values = [spent.get(part, _NONE)[exposed] / unit[0] for _, spent in times]
        if any(values):
            bars.append(
                Bars(values, thick=0.78, hatched=bool(exposed), outlined=True, notes=names, name=name, colour=colour)
            )
    return bars


KIND = Kind(
    "layers",
    "computing and exposed communication of each layer",
    _in_file,
    Section("Layers", "How long the reported NPU computed and how long it could only wait, by layer.", _on_page),
    more=("layers",),
    selects="roles",
    of_flows=False,
)
