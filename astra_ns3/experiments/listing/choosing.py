"""Which runs of a list are wanted, and in which order."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial

from astra_ns3.config.core.plain import Json
from astra_ns3.errors import refuse, required, some_of
from astra_ns3.experiments.listing.columns import KIND, Column, column_of, is_complete, plain
from astra_ns3.experiments.listing.finding import FoundRun
from astra_ns3.units import PS_PER_SECOND, parse_any

_CONDITION = re.compile(r"\s*([^<>=!\s]+)\s*(<=|>=|!=|==|=|<|>)\s*(.*?)\s*")
_ORDERS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}
_LONGEST_NUMBER = 40
_MOST_KEYS = 12
# What numbers with units are compared to as words: patterns, and nothing.
_FITS_WORDS = re.compile(r"[*?]|^(none|null)?$", re.IGNORECASE)


def wanted(runs: Sequence[FoundRun], conditions: Iterable[str]) -> list[FoundRun]:
    """Return the runs for which all ``COLUMN=VALUE`` hold, with ``!=``, ``<``, ``<=``, ``>`` and ``>=`` besides.

    Values take units (``finish<2ms``), and ``=`` takes what the table shows; ``=`` and ``!=`` of words take ``*`` and
    ``?``. A run that hasn't the key fits ``!=`` alone. Raises InputError for a condition of another form, and where a
    number is needed and there is none.
    """
    kept = list(runs)
    for condition in conditions:
        match = required(
            _CONDITION.fullmatch(condition),
            f"--where is '{condition}', expected COLUMN=VALUE, or with !=, <, <=, >, >= between",
        )
        column, compared, value = column_of(match[1], runs), match[2], match[3]
        _check_no_group(condition, column, runs)
        if compared in _ORDERS:
            kept = _ordered(kept, column, compared, value)
        else:
            a_word = column.in_units and _number(value, column) is None and not _FITS_WORDS.search(value)
            refuse(
                bool(a_word),
                f"--where {match[0].strip()}: '{value}' is no number with a unit, such as {column.in_units}",
            )
            kept = [run for run in kept if _equal(column, run, value) != (compared == "!=")]
    return kept


def in_order(runs: Sequence[FoundRun], by: Iterable[str]) -> list[FoundRun]:
    """Return the runs sorted by columns, the first counts most; ``-COLUMN``: the largest first.

    Empty cells are last, and before them times of runs that weren't played to their end.
    Raises InputError for a column that there isn't.
    """
    found = list(runs)
    for name in reversed(list(by)):
        column, downwards = column_of(name.removeprefix("-"), runs), name.startswith("-")
        having = [run for run in found if column.value(run) is not None]
        having.sort(key=partial(_rank, column), reverse=downwards)
        if column.grows:
            having.sort(key=lambda run: not is_complete(run))
        found = having + [run for run in found if column.value(run) is None]
    return found


def _check_no_group(condition: str, column: Column, runs: Iterable[FoundRun]) -> None:
    """Raise InputError for a group of keys that no kind can stand for."""
    groups = [group for run in runs if isinstance(group := column.value(run), Mapping)]
    keys = dict.fromkeys(f"{column.key}.{key}" for group in groups for key in group if KIND not in group)
    refuse(
        bool(keys),
        f"--where {condition.strip()}: {column.key} is a group of keys, expected one of its own: "
        f"{some_of(keys, _MOST_KEYS)}",
    )


def _ordered(runs: Iterable[FoundRun], column: Column, compared: str, value: str) -> list[FoundRun]:
    limit = required(
        _number(value, column),
        f"--where {column.heading}{compared}{value}: '{value}' is no number, with or without a unit",
    )
    bare = column.in_units and value.lstrip("+-").replace(".", "").isdigit() and limit
    refuse(
        bool(bare),
        f"--where {column.heading}{compared}{value}: '{value}' has no unit, expected one, such as {column.in_units}",
    )
    numbers = ((run, _number(column.value(run), column)) for run in runs)
    return [run for run, number in numbers if number is not None and _ORDERS[compared](number, limit)]


def _equal(column: Column, run: FoundRun, value: str) -> bool:
    """As numbers if both are, exactly or as the table shows them, else as words."""
    found = column.value(run)
    if isinstance(found, bool):
        return value.lower() in (("on", "true", "yes") if found else ("off", "false", "no"))
    number, other = _number(found, column), _number(value, column)
    if number is not None and other is not None:
        return number == other or column.shown(run).replace(" ", "") == value.replace(" ", "")
    if found is None:
        return value.lower() in ("", "none", "null")
    return fnmatchcase(plain(found), value)


def _rank(column: Column, run: FoundRun) -> tuple[int, float, str]:
    """Numbers before words."""
    value = column.value(run)
    number = _number(value, column)
    return (1, 0.0, plain(value)) if number is None else (0, number, "")


def _number(value: Json, column: Column) -> float | None:
    """A number, or text of one with or without a unit, in the column's unit; None for anything else."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        try:
            return float(value)
        except OverflowError:
            return None
    if not isinstance(value, str) or len(value) > _LONGEST_NUMBER:
        return None
    try:
        return float(value)
    except ValueError:
        found = parse_any(value)
    if found is None:
        return None
    return found / PS_PER_SECOND if column.in_seconds else float(found)
