"""Schedules for property tests: any pair of a collective and an algorithm, on any number of ranks, and changed ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import strategies as st

from astra_ns3.collectives.algorithms import ALGORITHMS
from astra_ns3.collectives.halving_doubling import owned_blocks
from astra_ns3.collectives.lookup import lookup
from astra_ns3.collectives.schedule import Content, Schedule
from astra_ns3.config.core.collective_kind import CollectiveKind

COLUMNS = ("sender", "receiver", "step", "first_block", "block_count", "reduces", "wait_step", "wait_count")


def rank_counts(kind: CollectiveKind, name: str, largest: int) -> list[int]:
    """Numbers of ranks from 2 on that an algorithm can do, few enough for a symbolic play."""
    if kind is CollectiveKind.ALL_TO_ALL and name.lower().endswith(("ring", "anticlockwise")):
        largest = min(largest, 13)
    return [
        ranks for ranks in range(2, largest + 1) if not ALGORITHMS[name].needs_power_of_two or not ranks & ranks - 1
    ]


def draw_schedule(data: st.DataObject, kind: CollectiveKind, name: str, largest: int = 33) -> Schedule:
    """A schedule of a pair; windows and variants included."""
    ranks = data.draw(st.sampled_from(rank_counts(kind, name, largest)), label="ranks")
    algorithm = name
    if kind in ALGORITHMS[name].windowed:
        window = data.draw(st.none() | st.integers(1, ranks - 1), label="window")
        algorithm = name if window is None else f"{name}{window}"
    return lookup(kind, algorithm, ranks, data.draw(st.integers(0, 3), label="variant"))


def owner_of(name: str, ranks: int) -> Sequence[int] | None:
    """The part that each rank owns, as the proof takes it."""
    owner: list[int] | None = owned_blocks(ranks).tolist() if name == "halvingDoubling" else None
    return owner


def rows_of(schedule: Schedule, rows: list[int]) -> Schedule:
    """The schedule made of some of the rows, in the order given."""
    columns: dict[str, Any] = {name: getattr(schedule, name)[rows] for name in COLUMNS}
    return replace(schedule, content=_content_of(schedule.content, rows), **columns)


def without(schedule: Schedule, row: int) -> Schedule:
    """All rows but one."""
    return rows_of(schedule, [other for other in range(schedule.messages) if other != row])


def with_row_again(schedule: Schedule, row: int) -> Schedule:
    """All rows, and one of them once more."""
    return rows_of(schedule, [*range(schedule.messages), row])


def changed(schedule: Schedule, column: str, row: int, value: int) -> Schedule:
    """One cell replaced."""
    values = getattr(schedule, column).copy()
    values[row] = value
    changes: dict[str, Any] = {column: values}
    return replace(schedule, **changes)


def _content_of(content: Content | None, rows: list[int]) -> Content | None:
    if content is None:
        return None
    spans = [list(range(begin, end)) for begin, end in pairwise(content.offsets.tolist())]
    places = [place for row in rows for place in spans[row]]
    offsets = np.cumsum([0, *(len(spans[row]) for row in rows)], dtype=np.int64)
    contributors = content.contributors
    kept = None if contributors is None else tuple(contributors[place] for place in places)
    return Content(offsets, content.blocks[places], kept)
