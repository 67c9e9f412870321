"""A figure as numbers: its panels, their series, and which points they lack. Draws nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from astra_ns3.errors import some_of
from astra_ns3.frozen import dataclass, field, replace
from astra_ns3.network.floor.floor import is_below
from astra_ns3.studies.figures.config import FigureConfig
from astra_ns3.studies.measures import MEASURES
from astra_ns3.units import format_bytes, parse_any
from astra_ns3.workload.memory.room import is_tight

Row = dict[str, Any]  # a point: labels, words and measures, by the names of a study's own columns
Label = str | int | float
Coordinates = tuple[Label | None, ...]
DONE = "done"
USUAL_Y = ("finish_us",)
CHANGE = "what is changed"
"""Instead of an axis, where each is changed alone: the base case, and each change of it."""
BASE = "base"
_SEED = "seed"
_MOST_TOLD = 4
_BARE = ("none", "on", "off")


@dataclass(frozen=True)
class AxisView:
    """An axis of a part: the name of its column, and the labels of its values in their order."""

    name: str
    key: str
    labels: tuple[Label, ...]


@dataclass(frozen=True)
class View:
    """A part as figures see it: its rows, whether they were played or not, and its axes."""

    name: str
    title: str
    axes: tuple[AxisView, ...]
    one_at_a_time: bool
    together: bool
    rows: tuple[Row, ...]
    layers: tuple[Row, ...] = ()

    def column(self, name: str) -> str:
        """The column that a figure's word means: a column, or the key of an axis."""
        return next((axis.name for axis in self.axes if name in (axis.name, axis.key)), name)

    def labels(self, column: str) -> list[Label]:
        """The values of a column of coordinates that rows have, in the order of its axis."""
        there = {row[column] for row in self.rows if row.get(column) is not None}
        known = next((list(axis.labels) for axis in self.axes if axis.name == column), [])
        return [label for label in known if label in there] if known else sorted(there)


@dataclass(frozen=True)
class Cell:
    """A number, over seeds: their mean, the least and the most."""

    mean: float
    least: float
    most: float
    flaw: str = ""
    """Why a run is impossible: it needs more memory than there is, or its time is below the floor. Empty: it isn't."""
    of_runs: Mapping[Coordinates, float] = field(default_factory=dict, compare=False, repr=False)
    """The number of each run, by where it stands."""


@dataclass(frozen=True)
class Series:
    """Numbers of one measure at each place of the x-axis; None: there is no point, or it is not done."""

    label: str
    measure: str
    cells: tuple[Cell | None, ...]
    lacking: tuple[bool, ...] = field(default=(), compare=False)
    """Whether a point of the study has no number at a place, for each."""


@dataclass(frozen=True)
class Panel:
    """A picture of a figure."""

    title: str
    x: str
    places: tuple[Label, ...]
    series: tuple[Series, ...]


@dataclass(frozen=True)
class FigureData:
    """All panels, and what they lack, in words."""

    panels: tuple[Panel, ...]
    missing: str


def figure_data(view: View, figure: FigureConfig) -> FigureData:
    """The numbers of a figure: over seeds, over the reference if it has one."""
    x, by, across = _roles(view, figure)
    rows = _shown(view, x, by, across)
    if x == CHANGE:
        rows = [{**row, CHANGE: _change(view, row)} for row in rows]
    keys = [key for key in (x, by, *across) if key is not None]
    measures, reference = figure.y or USUAL_Y, _reference(view, figure, x)
    cells = {measure: _cells(rows, keys, measure, reference, _compared(figure, measure)) for measure in measures}
    places = list(dict.fromkeys(row[x] for row in rows)) if x == CHANGE else view.labels(x)
    panels = []
    for values in dict.fromkeys(tuple(row[column] for column in across) for row in rows):
        title = ", ".join(f"{name} {label_text(value)}" for name, value in zip(across, values, strict=True))
        series = _series(view, rows, cells, places, (x, by, across), values)
        panels += [Panel(name, x, tuple(places), each) for name, each in _by_unit(title, series)]
    told = (missing_words(view, rows), *_empty(rows, by, measures), _without_reference(view, rows, reference))
    return FigureData(tuple(panels), ". ".join(filter(None, told)))


def _empty(rows: Sequence[Row], by: str | None, measures: Sequence[str]) -> Iterator[str]:
    """Yield which series have no number at all, though points of theirs are done."""
    groups: dict[str, list[Row]] = {}
    for row in rows if by is not None else ():
        if row["status"] == DONE:
            groups.setdefault(named(str(by), row[str(by)]), []).append(row)
    for measure in measures:
        empty = [name for name, own in groups.items() if all(row.get(measure) is None for row in own)]
        if empty:
            yield f"No {measure} of {some_of(empty)}"


def _roles(view: View, figure: FigureConfig) -> tuple[str, str | None, tuple[str, ...]]:
    """The columns of the x-axis, of the series, and of the panels; axes that no word names are panels, too."""
    axes = [axis.name for axis in view.axes]
    if figure.x is not None:
        x = view.column(figure.x)
    elif view.one_at_a_time and not figure.panels:
        x = CHANGE
    else:
        x = axes[0] if axes else _SEED
    by = None if figure.by is None else view.column(figure.by)
    across = [] if figure.panels is None else [view.column(figure.panels)]
    if not view.one_at_a_time and not view.together:
        many = [axis for axis in axes if len(view.labels(axis)) > 1]
        across += [axis for axis in many if axis not in (x, by, *across)]
    return x, by, tuple(across)


def _shown(view: View, x: str, by: str | None, across: Sequence[str]) -> list[Row]:
    """Where each axis is changed alone, a figure of one shows the points in which the others have their first value."""
    if not view.one_at_a_time or x == CHANGE:
        return list(view.rows)
    fixed = {axis.name: axis.labels[0] for axis in view.axes if axis.name not in (x, by, *across)}
    return [row for row in view.rows if all(row[name] == first for name, first in fixed.items())]


def _change(view: View, row: Row) -> str:
    changed = [axis for axis in view.axes if row[axis.name] != axis.labels[0]]
    return ", ".join(f"{axis.name} {label_text(row[axis.name])}" for axis in changed) or BASE


def _reference(view: View, figure: FigureConfig, x: str) -> dict[str, Label]:
    """The coordinates of the rows that others are compared with: of changes, else those of the base case."""
    found = {axis.name: axis.labels[0] for axis in view.axes} if figure.relative_to and x == CHANGE else {}
    for name, wanted in (figure.relative_to or {}).items():
        column, text = view.column(name), label_text(wanted)
        found[column] = next((label for label in view.labels(column) if label_text(label) == text), text)
    if view.together and found:  # one point may be the only one with these coordinates: the others are its own
        names = [axis.name for axis in view.axes]
        rows = (row for row in view.rows if all(row[name] == label for name, label in found.items()))
        alike = {tuple(row[name] for name in names) for row in rows}
        if len(alike) == 1:
            found.update(zip(names, alike.pop(), strict=True))
    return found


def _cells(
    rows: Sequence[Row], keys: Sequence[str], measure: str, reference: Mapping[str, Label], compared: Sequence[str]
) -> dict[Coordinates, Cell]:
    """The cell of each place, series and panel. A ratio, to the sum of ``compared``, is taken seed by seed."""
    found: dict[Coordinates, dict[Coordinates, float]] = {}
    flaws: dict[Coordinates, str] = {}
    known = {_place(row, rows): row for row in rows if row["status"] == DONE} if reference else {}
    for row in rows:
        value = row.get(measure)
        if row["status"] != DONE or value is None:
            continue
        if reference:
            other = known.get(_place({**row, **reference}, rows))
            if other is None or any(other.get(name) is None for name in compared):
                continue
            whole = sum(other[name] for name in compared)
            if not whole:
                continue
            value = value / whole
        place = tuple(row[key] for key in keys)
        found.setdefault(place, {})[_place(row, rows)] = float(value)
        flaws[place] = flaws.get(place, "") or _flaw(row)
    return {key: cell_of(values, flaws[key]) for key, values in found.items()}


def cell_of(values: Mapping[Coordinates, float], flaw: str = "") -> Cell:
    """Over runs."""
    every = list(values.values())
    return Cell(sum(every) / len(every), min(every), max(every), flaw, values)


def _compared(figure: FigureConfig, measure: str) -> tuple[str, ...]:
    """Return the number of the row of reference that a measure is divided by: pieces of a bar by the whole bar."""
    if figure.kind != "stacked":
        return (measure,)
    return tuple(name for name in figure.y or USUAL_Y if unit_of(name) == unit_of(measure))


def unit_of(measure: str) -> str:
    """Return what measures that stand in a panel have in common: their unit, or a measure without one itself."""
    return MEASURES[measure].unit or measure


def _place(row: Row, rows: Sequence[Row]) -> Coordinates:
    """Return the coordinates of a row: all that is no number of its run."""
    left_out = {*MEASURES, "status", "address", "error", CHANGE}
    return tuple(row[name] for name in rows[0] if name not in left_out)


def _series(
    view: View,
    rows: Sequence[Row],
    cells: Mapping[str, Mapping[Coordinates, Cell]],
    places: Sequence[Label],
    roles: tuple[str, str | None, tuple[str, ...]],
    values: Coordinates,
) -> list[Series]:
    x, by, across = roles
    groups: Sequence[Label] = ("",) if by is None else view.labels(by)
    keys = (x, *(() if by is None else (by,)), *across)
    there = {tuple(row[key] for key in keys) for row in rows}
    made = []
    for group in groups:
        for measure, found in cells.items():
            own = () if by is None else (group,)
            words = [*([] if by is None else [named(by, group)]), *([measure] if len(cells) > 1 else [])]
            where = [(place, *own, *values) for place in places]
            each = tuple(map(found.get, where))
            lacking = tuple(key in there and key not in found for key in where)
            made.append(Series(" ".join(words), measure, each, lacking))
    return made


def _by_unit(title: str, series: list[Series]) -> list[tuple[str, tuple[Series, ...]]]:
    """Measures of different units, or of none, each in a panel of its own; those of one unit together."""
    units: dict[str, list[Series]] = {}
    for each in series:
        units.setdefault(unit_of(each.measure), []).append(each)
    if len(units) == 1:
        return [(title, tuple(series))]
    # The axis beside a label says what is measured.
    return [
        (title, tuple(replace(each, label=each.label.removesuffix(each.measure).strip()) for each in group))
        for group in units.values()
    ]


def named(axis: str, label: Label) -> str:
    """A value of an axis for a legend: a number, ``none``, ``on`` or ``off`` alone would say nothing."""
    bare = not isinstance(label, str) or label in _BARE or parse_any(label) is not None
    return f"{axis} {label_text(label)}" if bare else str(label)


def missing_words(view: View, rows: Iterable[Row]) -> str:
    """Which points a figure lacks, which need more memory than there is or less time than can be; empty: none."""
    every = list(rows)
    lacking = {_name(view, row): str(row["status"]) for row in every if row["status"] != DONE}
    too_large = {_name(view, row): why_not(row) for row in every if row.get("fits") is False}
    too_fast = {_name(view, row): why_too_fast(row) for row in every if below_floor(row)}
    told = [("Missing {} points", lacking), ("{} points don't fit in memory", too_large)]
    told.append(("{} points are below the floor", too_fast))
    return ". ".join(
        f"{words.format(f'{len(points)} of {len(every)}')}: {_told(points)}" for words, points in told if points
    )


def _without_reference(view: View, rows: Sequence[Row], reference: Mapping[str, Label]) -> str:
    """Return which points that are done have no point that they could be compared with; empty: all have one."""
    there = {_place(row, rows) for row in rows} if reference else set()
    lacking = [
        _name(view, row)
        for row in rows
        if reference and row["status"] == DONE and _place({**row, **reference}, rows) not in there
    ]
    if not lacking:
        return ""
    words = ", ".join(f"{name} {label_text(label)}" for name, label in reference.items())
    told = some_of(lacking, _MOST_TOLD, "; ", "; and")
    return f"{len(lacking)} of {len(rows)} points have no point with {words} to be compared with: {told}"


def _flaw(row: Row) -> str:
    if row.get("fits") is False:
        return "doesn't fit"
    return "below the floor" if below_floor(row) else ""


def below_floor(row: Row) -> bool:
    """Return whether a row's time is less than what lines allow, rounding aside."""
    return is_below(row.get("of_floor"))


def why_too_fast(row: Row) -> str:
    """Return how far the point of a row is below the floor."""
    return f"takes {row['of_floor']:.2g} of the least time that lines allow"


def is_tight_row(row: Row) -> bool | None:
    """Whether the point of a row leaves little of an NPU's memory; None: that isn't known."""
    return is_tight(row.get("npu_memory_bytes"), row.get("npu_memory_capacity_bytes"))


def why_not(row: Row) -> str:
    """How much the point of a row needs of the memory of an NPU."""
    needed, capacity = row["npu_memory_bytes"], row["npu_memory_capacity_bytes"]
    return f"needs {format_bytes(int(needed))} of {format_bytes(int(capacity))}"


def _name(view: View, row: Row) -> str:
    return ", ".join((*(f"{axis.name} {label_text(row[axis.name])}" for axis in view.axes), f"seed {row[_SEED]}"))


def _told(points: Mapping[str, str]) -> str:
    """The first few, each with what is said of it."""
    return some_of((f"{name} ({why})" for name, why in points.items()), _MOST_TOLD, "; ", "; and")


def label_text(label: object) -> str:
    """A label as a study's file has it."""
    if isinstance(label, float):
        return f"{label:g}"
    return "none" if label is None else str(label)
