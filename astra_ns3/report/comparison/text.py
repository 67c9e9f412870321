"""Differences in words."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor

from astra_ns3.config.core.plain import Json
from astra_ns3.report.alignment import given_text, ranges, table
from astra_ns3.report.comparison.differences import ABSENT, WITH_UNITS, Absent, Difference
from astra_ns3.report.comparison.settings import INPUT_FILES
from astra_ns3.units import EXACT_BY_KEY, format_rate, format_time, with_unit, without_unit

MOST_ROWS = 20
"""Rows of each group; the rest is counted, and in the JSON."""
_LONGEST_VALUE = 40
_DIGITS = 10  # so that values that differ look different
_MANY_TIMES = 10
"""From here on B is so many times A: percents of four digits say little."""
_TOO_NEAR_ALL = 1000
"""A part as small as one of so many would be 100% less."""


def difference_row(difference: Difference) -> tuple[str, str, str, str, str]:
    """A difference in words: name, A, B, change, and that in percent of A or, where it is large, how many times A."""
    change, ratio = difference.change, difference.ratio
    return (
        difference.name,
        quantity_text(difference.a, difference.unit),
        quantity_text(difference.b, difference.unit),
        "" if change is None else quantity_text(change, difference.unit, signed=True),
        "" if ratio is None else _ratio_text(ratio),
    )


def _ratio_text(ratio: float) -> str:
    times = ratio + 1
    if times >= _MANY_TIMES:
        return f"{times:,.0f} times"
    return f"1/{1 / times:,.0f}" if 0 < times <= 1 / _TOO_NEAR_ALL else f"{100 * ratio:+.1f}%"


def quantity_text(value: float | None, unit: str, *, signed: bool = False) -> str:
    """A number with its unit; a dash if there is none."""
    if value is None:
        return "-"
    sign = "-" if value < 0 else "+" if signed else ""
    if unit == "ps":
        return f"{sign}{format_time(floor(abs(value)))}"
    if unit == "bps":
        return f"{sign}{format_rate(floor(abs(value)))}"
    number = f"{abs(value):,}" if isinstance(value, int) else f"{abs(value):.4g}"
    return f"{sign}{number} GB/s" if unit == "gbytes_per_s" else f"{sign}{number}"


def key_text(key: str) -> str:
    """Return a setting's key; of what held in the run without the unit at its end, which :func:`value_text` has."""
    return without_unit(key) if key.startswith(WITH_UNITS) else key.removeprefix(f"{INPUT_FILES}.")


def value_text(key: str, value: Json | Absent) -> str:
    """Return what a setting is, as a file would have it, shortened; a key that its file leaves out has its default."""
    if value is ABSENT:
        return "-"
    if key.startswith(INPUT_FILES) and isinstance(value, str):
        return f"content {value[:_DIGITS]}"
    if isinstance(value, list):
        words = ", ".join(ranges(value) if key == "job.npus" else (_single_text(key, each) for each in value)) or "none"
    else:
        words = "default" if value is None else _single_text(key, value)
    return words if len(words) <= _LONGEST_VALUE else f"...{words[3 - _LONGEST_VALUE :]}"


def _single_text(key: str, value: Json) -> str:
    """Return a setting's value, or one of its values: a whole number of times or bytes with its unit."""
    form = EXACT_BY_KEY.get(key.rpartition(".")[2])
    if isinstance(value, int) and not isinstance(value, bool):
        if form is not None:
            return form(value)
        if key.startswith(WITH_UNITS):
            return with_unit(key, value, _DIGITS) or str(value)
    return given_text(value)


def part_text(name: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows below their name and head; nothing if there are none."""
    if not rows:
        return ""
    shown = table([head, *rows[:MOST_ROWS]], indent="  ")
    left_out = len(rows) - MOST_ROWS
    return f"{name}\n{shown}" + (f"\n  and {left_out:,} more (--json has all)" if left_out > 0 else "")
