"""One row of the table: what is compared, with whose figure, how ours is found, and what shows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

Found = tuple[str, str]
"""Ours, and how far it is from theirs, both as they stand in the table."""
EQUAL = "equal"


@dataclass(frozen=True)
class Comparison:
    """A row. ``test`` is a file of ``tests/`` that holds it over more cases; ``fast``: below a second or
    two; ``long``: minutes."""

    key: str
    what: str
    source: str
    theirs: str
    find: Callable[[], Found]
    test: str = ""
    fast: bool = True
    note: str = ""
    long: bool = False


@dataclass(frozen=True)
class Group:
    """Rows under one heading of the table."""

    title: str
    rows: Sequence[Comparison] = field(default_factory=tuple)


def against(ours: float, theirs: float, unit: str, digits: int = 3) -> Found:
    """Ours beside a number; equal where they are the same with so many digits."""
    shown = f"{ours:,.{digits}f} {unit}".strip()
    if round(ours, digits) == round(theirs, digits):
        return shown, EQUAL
    share = ours / theirs - 1
    return shown, f"{share:+.2%}" if abs(share) >= 0.00005 else f"{1e6 * share:+.2g} ppm"


def worst(pairs: Sequence[tuple[float, float]], equal_within: float, per_us: float = 1) -> Found:
    """Many runs: ours in us, and whether all are equal within so much or else the largest difference."""
    equal = sum(abs(ours - theirs) <= equal_within for ours, theirs in pairs)
    largest = max((ours / theirs - 1 for ours, theirs in pairs), key=abs)
    ours_us = [ours / per_us for ours, _ in pairs]
    shown = f"{min(ours_us):,.3f} to {max(ours_us):,.3f} us" if min(ours_us) < max(ours_us) else f"{ours_us[0]:,.3f} us"
    return shown, EQUAL if equal == len(pairs) else f"{largest:+.3%}"


def recorded(ours: str, error: str) -> Callable[[], Found]:
    """Found once, by hand or by a long run; the row's note says where."""
    return lambda: (ours, error)


@cache
def root() -> Path:
    """The folder of the repository."""
    return Path(__file__).resolve().parents[2]
