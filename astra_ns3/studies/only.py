"""Which points of a study are asked for: ``AXIS=VALUE``, also ``part=NAME`` and ``seed=N``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from astra_ns3.errors import nearest, some_of, wrong
from astra_ns3.studies.figures.data import Label
from astra_ns3.studies.keys import as_text

Coordinates = Mapping[str, Label]
"""The words of a point: its part, the label of each axis, its seed."""


def chosen_by(only: Iterable[str], points: Sequence[Coordinates], keys: Mapping[str, str]) -> Callable[..., bool]:
    """Whether a point's coordinates are asked for: one of the values of each axis that ``only`` names.

    ``keys``: the column of an axis by its key. Raises InputError for an axis or a value that no point has.
    """
    known: dict[str, dict[str, Label]] = {}
    for point in points:
        for axis, value in point.items():
            known.setdefault(axis, {})[as_text(value)] = value
    wanted: dict[str, set[Label]] = {}
    for word in [only] if isinstance(only, str) else only:
        name, equals, text = _split(str(word), (*known, *keys))
        axis = name if name in known else keys.get(name, name)
        if not equals or axis not in known:
            raise wrong(f"only '{word}': expected AXIS=VALUE, AXIS one of {', '.join(known)}{nearest(name, known)}")
        wanted.setdefault(axis, set()).add(_value(str(word), axis, text, known[axis]))
    return lambda point: all(point.get(axis) in values for axis, values in wanted.items())


def _split(word: str, names: Iterable[str]) -> tuple[str, str, str]:
    """The axis and the value; both may hold ``=``."""
    meant = max((name for name in names if word.startswith(f"{name}=")), key=len, default=None)
    return word.partition("=") if meant is None else (meant, "=", word[len(meant) + 1 :])


def _value(word: str, axis: str, text: str, values: Mapping[str, Label]) -> Label:
    if text in values:
        return values[text]
    for value in values.values():
        if isinstance(value, (int, float)) and _number(text) == value:
            return value
    raise wrong(f"only '{word}': {axis} is one of {some_of(values, 20)}{nearest(text, values)}")


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
