"""Settings and numbers in which two runs differ."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from enum import Enum
from math import inf

from astra_ns3.config.core.plain import Json, JsonObject
from astra_ns3.frozen import dataclass
from astra_ns3.report.alike import name_of_all, together, unnumbered


class Absent(Enum):
    """Stands for the value of a key that a run hasn't."""

    ABSENT = "absent"


ABSENT = Absent.ABSENT
IN_FORCE = "in_force."
"""How settings begin that say what held in the run, whoever set it."""
WITH_UNITS = (IN_FORCE, "job.", "events.", "drawn.")
"""How settings begin whose keys end in the unit of their value."""


@dataclass(frozen=True)
class Setting:
    """A key of the configuration by its dotted path, and what it is in each run."""

    key: str
    a: Json | Absent
    b: Json | Absent

    @property
    def is_default(self) -> bool:
        """Whether one run has no such key, and the file of the other doesn't set it."""
        return ABSENT in (self.a, self.b) and None in (self.a, self.b)

    @property
    def is_in_force_in_one(self) -> bool:
        """Whether only one run has a thing with such a key, as another congestion control has keys of its own."""
        return ABSENT in (self.a, self.b) and self.key.startswith(IN_FORCE)

    @property
    def rank(self) -> tuple[bool, bool, bool]:
        """The place among settings: files and options first, then what was in force, keys of both runs before others.

        Keys at their defaults come last.
        """
        return self.is_default, self.key.startswith(IN_FORCE), ABSENT in (self.a, self.b)

    def document(self) -> JsonObject:
        """Plain data; a run that hasn't the key has no entry."""
        values = {"a": self.a, "b": self.b}
        return {"key": self.key, **{run: value for run, value in values.items() if value is not ABSENT}}


@dataclass(frozen=True)
class Difference:
    """A number that differs. ``unit``: ``ps``, ``bytes``, ``bps``, ``gbytes_per_s``, or nothing for a count."""

    name: str
    unit: str
    a: float | None
    b: float | None

    @property
    def change(self) -> float | None:
        """By how much it is more in B; None where one run has no such number."""
        return None if self.a is None or self.b is None else self.b - self.a

    @property
    def ratio(self) -> float | None:
        """Change over what it is in A; None where that is nothing."""
        return self.change / self.a if self.a and self.change is not None else None

    def document(self) -> JsonObject:
        """Plain data."""
        return {"name": self.name, "unit": self.unit, "a": self.a, "b": self.b, "change": self.change}


@dataclass(frozen=True)
class Group:
    """Numbers of one sort that differ, the largest change first."""

    name: str
    differences: tuple[Difference, ...]

    @property
    def told(self) -> tuple[Difference, ...]:
        """Return the differences for people: those of layers that are alike and change alike are one, their sum."""
        if self.name != "layers":
            return self.differences
        return by_importance([_sum(same) for same in together(self.differences, _likeness, _size)])


def _likeness(one: Difference) -> Hashable:
    return unnumbered(one.name), one.a is None, one.b is None, one.change is not None and one.change > 0


def _size(one: Difference) -> float:
    return abs((one.b or 0) - (one.a or 0))


def _sum(same: Sequence[Difference]) -> Difference:
    if len(same) == 1:
        return same[0]
    a, b = (
        None if None in values else sum(filter(None, values)) for values in ([x.a for x in same], [x.b for x in same])
    )
    return Difference(f"{name_of_all([each.name for each in same])} ({len(same)} of them)", same[0].unit, a, b)


def by_importance(differences: Sequence[Difference]) -> tuple[Difference, ...]:
    """The quantities that differ: what one run lacks, then times, the largest change first, then others by ratio."""

    def rank(difference: Difference) -> tuple[bool, bool, float]:
        is_time = difference.unit == "ps"
        size = difference.change if is_time else difference.ratio
        return (difference.change is not None, not is_time, -abs(inf if size is None else size))

    return tuple(sorted((one for one in differences if one.a != one.b), key=rank))
