"""The time that each layer took: computing and exposed communication of each of its parts, on one NPU of every role."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle

from astra_ns3.errors import check_known
from astra_ns3.report.figures import style
from astra_ns3.report.figures.figure import Axis, Bars, Figure, Panel
from astra_ns3.report.pictures.kind import Choice, Kind, Section
from astra_ns3.report.pictures.shown import Shown
from astra_ns3.report.records import (
    END_TO_END,
    OF_MODELS,
    layers_of_other_parts,
    pass_words,
    ps_of,
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
_AFTER = "exposed, after the last pass"
# Part (nothing in graphs), whether it is exposed, its name and its colour.
_ON_PAGE = (
    ("", 0, "compute", style.BLUE),
    ("forward", 0, "compute, forward", style.BLUE),
    ("input gradient", 0, "compute, input gradient", style.SKY),
    *((part, 0, f"compute, {part}", "#004B76") for part in ("weight gradient", OF_MODELS[0])),
    ("", 1, "exposed", style.VERMILION),
    ("forward", 1, "exposed, forward", style.VERMILION),
    ("input gradient", 1, "exposed, input gradient", style.ORANGE),
    *((part, 1, f"exposed, {part}", "#8F3F00") for part in ("weight gradient", OF_MODELS[1])),
    (_TAIL, 1, _AFTER, style.YELLOW),
    (_OTHERWISE, 1, "exposed, in other parts or after the last pass", style.PURPLE),
)
_KNOWN = {part for part, *_ in _ON_PAGE}
_SPENT = ("compute_ps", "exposed_ps")
# Of parts that only models have; the colours above that no model's bar has besides.
_OTHERS_ON_PAGE = (style.GREY, style.PURPLE, style.GREEN, style.BLACK)
_NONE = (0, 0)

Spent = Mapping[str, tuple[int, int]]
"""Part -> picoseconds of computing, and exposed."""
Times = Sequence[tuple[str, Spent]]
"""Layers and their parts."""


def _in_file(records: Records, choice: Choice) -> Figure:
    """Return a bar per layer, a panel per role."""
    roles = layer_times(records)
    for name in choice.select:
        check_known("role", name, roles)
    shown = {  # a stage of a pipeline has but some layers
        role: _with_rest([each for each in roles[role] if len(roles) == 1 or _whole(each[1])])
        for role in choice.select or roles
    }
    every = [spent for times in shown.values() for _, spent in times]
    parts = list(dict.fromkeys(part for spent in every for part in spent))
    others = [part for part in parts if part not in _COLOURS]
    colours = _COLOURS | dict(zip(others, cycle(_OTHER_COLOURS), strict=False))
    looks = [
        (part, index, _AFTER if part == _TAIL else ", ".join(filter(None, (part, word))), colours[part])
        for index, word in enumerate(("compute", "exposed"))
        for part in parts
    ]
    each = 0.13 if max((len(times) for times in shown.values()), default=0) <= 20 else 0.105
    unit = style.time_unit(max(map(_whole, every), default=0))
    axis = Axis("time of an NPU, all passes", unit[1], low=0, grid=True)
    panels = [
        Panel(axis, Axis(names=style.labels([layer for layer, _ in times])), _bars(times, looks, unit),
              height=each * max(len(times), 2) + 0.22, title=role if len(shown) > 1 else "", stacked=True,
              empty="no layer took any time" if times else "the workload has no layers")
        for role, times in shown.items()
    ]  # fmt: skip
    return Figure(panels, around=0.75 + 0.12 * -(-len(parts) // 2))


def _on_page(runs: Sequence[Shown], detail: int) -> Figure:
    """Return a bar per layer and run, of the NPU that the run reports."""
    found = [_reported(shown.run) for shown in runs]
    looks = _looks_on_page(found)
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


def _looks_on_page(found: Sequence[Times]) -> list[tuple[str, int, str, str]]:
    """Return part, whether it is exposed, name and colour of all pieces of bars."""
    others = dict.fromkeys(part for times in found for _, spent in times for part in spent)
    colours = dict(zip((part for part in others if part not in _KNOWN), cycle(_OTHERS_ON_PAGE), strict=False))
    more = [
        (part, exposed, f"{word}, {part}", colour)
        for exposed, word in enumerate(("compute", "exposed"))
        for part, colour in colours.items()
    ]
    return [*_ON_PAGE, *more]


def _reported(records: Records) -> Times:
    """Return the layers of the reported NPU, with the parts that only models have if they were recorded."""
    table = table_of(records, "layers")
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for npu, layer, part, *spent in () if table is None else table.tuples("npu", "layer", "part", *_SPENT):
        if npu == records.metadata["report_npu"]:
            found.setdefault(layer, {})[shown_part(records, part)] = (spent[0], spent[1])
    has_others = any(part not in _KNOWN for spent in found.values() for part in spent)
    return list(found.items()) if has_others else _end_to_end(records)


def layer_times(records: Records) -> dict[str, Times]:
    """Return each role's layers: of ``layers.parquet``, or of ``EndToEnd.csv``, which has one NPU."""
    table = table_of(records, "layers")
    if table is None:
        return {"all": [(layer, _of_passes(spent)) for layer, spent in _end_to_end(records)]}
    found: dict[str, dict[str, dict[str, tuple[int, int]]]] = {}
    for role, layer, part, *spent in table.tuples("role", "layer", "part", *_SPENT):
        found.setdefault(role, {}).setdefault(layer, {})[shown_part(records, part)] = (spent[0], spent[1])
    return {role: _without_empty_parts(list(times.items())) for role, times in found.items()}


def _end_to_end(records: Records) -> Times:
    """Return the layers of the reported NPU, with what was exposed after the last pass, or otherwise."""
    others = layers_of_other_parts(records)
    tails: dict[str, int] = {}
    for each in records.metadata["exposed_by_layer"]:
        tails[each["layer"]] = tails.get(each["layer"], 0) + each["exposed_ps"]
    found = []
    for row in records.rows(END_TO_END):
        spent: dict[str, tuple[int, int]] = {}
        for part in _PARTS:
            compute_ps, exposed_ps = _cells(row, style.short_part(part))
            computing, waiting = pass_words(records, part)
            spent[computing] = (compute_ps, 0)
            spent[waiting] = (spent.get(waiting, _NONE)[0], exposed_ps)
        found.append((row["layer name"], spent))
        tails[row["layer name"]] = tails.get(row["layer name"], 0) - sum(exposed for _, exposed in spent.values())
    return [
        (layer, {**spent, _OTHERWISE if layer in others else _TAIL: (0, max(0, tails.pop(layer, 0)))})
        for layer, spent in found
    ]


def _of_passes(spent: Spent) -> Spent:
    return {part: pair for part, pair in spent.items() if part not in (_TAIL, _OTHERWISE)}


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
