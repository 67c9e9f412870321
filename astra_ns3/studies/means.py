"""Points that differ in nothing but their seed, as one row: the mean of each measure and its standard deviation."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence

from astra_ns3.studies.figures.data import DONE, Coordinates, Row
from astra_ns3.studies.measures import MEASURES

DEVIATION = "_deviation"
"""Ending of the column of a measure's standard deviation."""
_SEVERAL = 2
MEAN_COLUMNS = tuple(
    column for name in MEASURES for column in (name, f"{name}{DEVIATION}") if column != "fits_deviation"
)


def mean_rows(rows: Iterable[Row], axes: Sequence[str]) -> list[Row]:
    """Return a row for each part and combination of ``axes``: how many seeds, how they ended, means and deviations.

    A deviation is that of a sample, over n - 1; None of fewer than two numbers. Only points that are done count.
    ``fits`` is False if one of the points doesn't fit.
    """
    groups: dict[Coordinates, list[Row]] = {}
    for row in rows:
        groups.setdefault((row["part"], *(row[axis] for axis in axes)), []).append(row)
    found = []
    for (part, *labels), points in groups.items():
        made = {"part": part, **dict(zip(axes, labels, strict=True)), "seeds": len(points), "status": _status(points)}
        done = [point for point in points if point["status"] == DONE]
        for name in MEASURES:
            values = [point[name] for point in done if point[name] is not None]
            made.update(_spread(name, values))
        found.append(made)
    return found


def has_several_seeds(means: Iterable[Row]) -> bool:
    """Whether there is a row of more than one point."""
    return any(row["seeds"] >= _SEVERAL for row in means)


def _spread(name: str, values: Sequence[float]) -> Row:
    if name == "fits":
        return {name: all(values) if values else None}
    if len(values) < _SEVERAL:
        return {name: values[0] if values else None, f"{name}{DEVIATION}": None}
    numbers = [float(value) for value in values]
    return {name: statistics.fmean(numbers), f"{name}{DEVIATION}": statistics.stdev(numbers)}


def _status(points: Sequence[Row]) -> str:
    """The status that all have, or how many have which."""
    counts = Counter(str(point["status"]) for point in points)
    return next(iter(counts)) if len(counts) == 1 else ", ".join(f"{count} {word}" for word, count in counts.items())
