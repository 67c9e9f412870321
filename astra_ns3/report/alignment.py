"""Plain text for terminals: names on the left, values in a column beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from astra_ns3.config.core.plain import Json

_WHOLE = 999.5


def aligned(rows: Sequence[tuple[str, str]], indent: str = "") -> str:
    """One line per row; the values begin in one column."""
    width = max((len(name) for name, _ in rows), default=0)
    return "\n".join(f"{indent}{name:<{width}}  {value}".rstrip() for name, value in rows)


def percent(part: int, whole: int) -> str:
    """``part`` of ``whole`` with one decimal; a dash if there is no whole."""
    return f"{100 * part / whole:.1f}%" if whole else "-"


def number_text(number: float) -> str:
    """Three digits that count, and all before the point: ``0.123``, ``12.0``, ``1,230``; whole numbers whole."""
    whole = abs(number) >= _WHOLE or float(number).is_integer()
    return f"{number:,.0f}" if whole else f"{number:#.3g}".removesuffix(".")


def ranges(numbers: Sequence[int]) -> list[str]:
    """Numbers in their order, runs of them as ``8-15``."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ["-".join(map(str, part)) for part in parts]


def clock(seconds: float) -> str:
    """Seconds as a person says them: ``0.42 s``, ``12.3 s``, ``4 min 05 s``, ``2 h 10 min``."""
    if seconds < 60:
        return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"


def table(rows: Sequence[Sequence[str]], indent: str = "") -> str:
    """One line per row; every column begins in one place. All rows have the same number of cells."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(f"{indent}{line}".rstrip() for line in lines)


def given_text(value: Json) -> str:
    """Return a value as a file gives it: switches are on and off, also in lists and groups."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {given_text(each)}" for key, each in value.items())
    return ", ".join(map(given_text, value)) if isinstance(value, list) else str(value)
