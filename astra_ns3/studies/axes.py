"""Axes of a part: their values as labels with changes, how they are combined, and which points are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod

from astra_ns3.config.core.document import KeyPath
from astra_ns3.config.core.model import shown
from astra_ns3.config.core.plain import Json
from astra_ns3.errors import nearest, refuse, wrong
from astra_ns3.frozen import dataclass
from astra_ns3.studies.changes import Change
from astra_ns3.studies.columns import columns_of, short_key
from astra_ns3.studies.file import PartConfig, PresetPart, Study
from astra_ns3.studies.keys import FILES_OF_POINTS, as_text, is_key, lacks_key, why_no_key
from astra_ns3.studies.sources import summary_of

Label = str | int | float
Values = Mapping[str, "Json"] | Sequence["Json"]
"""The values of an axis as a study's file has them: labels with changes, or the values alone."""
PRODUCT, ONE_AT_A_TIME, TOGETHER = "product", "one-at-a-time", "together"


@dataclass(frozen=True)
class AxisValue:
    """One value of an axis: what its column says, and what it changes."""

    label: Label
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class Axis:
    """An axis as its column is named, with its values in their order."""

    name: str
    key: str
    values: tuple[AxisValue, ...]


Choice = tuple[AxisValue, ...]
"""A value of each axis."""


def axes_of(study: Study, name: str, part: PartConfig, preset: tuple[str, PresetPart] | None) -> tuple[Axis, ...]:
    """The axes of the part ``name``, those of the preset's instead where it has them; raises InputError."""
    names = columns_of(study.config, part)
    others = preset[1].axes if preset else {}
    for other in others:
        if other not in part.axes:
            where = study.document.where(("presets", preset[0], "parts", name, "axes", other) if preset else ())
            allowed = f"part '{name}' has {', '.join(part.axes) or 'no axes'}{nearest(other, part.axes)}"
            raise wrong(f"axis '{other}' is not one of the part's: {allowed}", where)
    found = []
    for key, values in part.axes.items():
        path: KeyPath = ("parts", name, "axes", key)
        axis = _axis(study, key, names[key], values, path)
        if preset and key in others:
            path = ("presets", preset[0], "parts", name, "axes", key)
            axis = _instead(study, axis, values, others[key], path)
        found.append(axis)
    return tuple(found)


def _instead(study: Study, axis: Axis, values: Values, others: Values, path: KeyPath) -> Axis:
    """The axis with a preset's values: labels of those that it has, or values of its own."""
    labels = {value.label: value for value in axis.values}
    if isinstance(values, Mapping) and not isinstance(others, Mapping):
        chosen = []
        for index, label in enumerate(others):
            if not isinstance(label, (str, int, float)) or label not in labels:
                words = f"'{as_text(label)}' is not one of {', '.join(map(as_text, labels))}"
                near = nearest(as_text(label), map(as_text, labels))
                raise wrong(f"axis '{axis.key}': {words}{near}", study.document.where((*path, index)))
            chosen.append(labels[label])
        return Axis(axis.name, axis.key, tuple(chosen))
    return _axis(study, axis.key, axis.name, others, path)


def _axis(study: Study, key: str, column: str, values: Values, path: KeyPath) -> Axis:
    if isinstance(values, Mapping):
        found = [_labelled(study, key, str(label), value, (*path, label)) for label, value in values.items()]
    elif lacks_key(key, values):
        raise wrong(f"axis '{key}' with a list of values {why_no_key(key)}", study.document.where(path))
    elif not is_key(key):
        changes = [each for each in values if isinstance(each, Mapping)]
        found = [_labelled(study, key, _made_label(each), each, (*path, n)) for n, each in enumerate(changes)]
    else:
        found = [
            AxisValue(_label(key, value), (Change(key, value, study.document.line((*path, index))),))
            for index, value in enumerate(values)
        ]
    known: set[Label] = set()
    for label in (value.label for value in found):
        refuse(label in known, f"axis '{key}' has two values '{as_text(label)}'", study.document.where(path))
        known.add(label)
    return Axis(column, key, tuple(found))


def _labelled(study: Study, key: str, label: str, value: Json, path: KeyPath) -> AxisValue:
    """A label with changes; or, on an axis that is a key itself, with its value."""
    if not isinstance(value, Mapping):
        refuse(
            not is_key(key),
            f"'{label}' of axis '{key}' is {shown(value)}, expected changes",
            study.document.where(path),
        )
        return AxisValue(label, (Change(key, value, study.document.line(path)),))
    for changed in value:
        if not is_key(str(changed)):
            raise wrong(f"key '{changed}' {why_no_key(str(changed))}", study.document.where((*path, changed)))
    changes = tuple(Change(str(each), what, study.document.line((*path, each))) for each, what in value.items())
    return AxisValue(label, changes)


def _made_label(changes: Mapping[str, Json]) -> str:
    """Return the label of a value without one: its changed keys with their values, ``tensor 4, pipeline 2``."""
    return ", ".join(f"{short_key(str(key))} {_label(str(key), value)}" for key, value in changes.items())


def _label(key: str, value: Json) -> Label:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    return summary_of(value) if key in FILES_OF_POINTS else as_text(value)


def count_of(axes: Sequence[Axis], combine: str) -> int:
    """How many choices :func:`combined` gives."""
    sizes = [len(axis.values) for axis in axes]
    if combine == PRODUCT:
        return prod(sizes)
    if combine == ONE_AT_A_TIME:
        return 1 + sum(size - 1 for size in sizes)
    return max(sizes, default=1)


def combined(axes: Sequence[Axis], combine: str, where: str) -> Iterator[Choice]:
    """Every choice of a value for each axis that the part wants; raises InputError."""
    if combine == PRODUCT:
        yield from product(*(axis.values for axis in axes))
    elif combine == ONE_AT_A_TIME:
        base = tuple(axis.values[0] for axis in axes)
        yield base
        for index, axis in enumerate(axes):
            yield from ((*base[:index], value, *base[index + 1 :]) for value in axis.values[1:])
    else:
        counts = {axis.key: len(axis.values) for axis in axes}
        if len(set(counts.values())) > 1:
            said = ", ".join(f"{key} {count}" for key, count in counts.items())
            raise wrong(f"axes that go together need equally many values, found {said}", where)
        yield from zip(*(axis.values for axis in axes), strict=True) if axes else [()]
