"""Algorithms that users write: functions from a number of ranks to a Schedule, proved before they are handed out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from astra_ns3.collectives.columns import empty
from astra_ns3.collectives.proof import ScheduleError, prove
from astra_ns3.collectives.schedule import Content, Schedule
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.errors import failing, of_type, refuse, whole_number, wrong
from astra_ns3.memory import require_memory
from astra_ns3.units import counted
from astra_ns3.user_code import UserPart, a_kind_of, load_pure_part

_Whole = TypeVar("_Whole", bound=np.signedinteger)
_INT32 = "sender", "receiver", "step", "first_block", "block_count", "wait_step", "wait_count"
_LARGEST = np.iinfo(np.int32).max
# Of a block of one rank in the proof, which keeps dictionaries of them.
_BYTES_PER_BLOCK = 100


def own_schedule(part: UserPart, kind: CollectiveKind, ranks: int) -> Schedule:
    """The schedule of the user's function for ``ranks``, proved to do ``kind``; a single rank asks for none.

    Raises InputError, which names the file, if it fails, gives something else, or the proof does.
    """
    if ranks == 1:
        return empty(str(part))
    return _proved(load_pure_part(part, "algorithm"), part, kind, ranks)


def first_own_kind(part: UserPart, ranks: int) -> CollectiveKind:
    """The first collective that the user's schedule for ``ranks`` does; raises InputError if it does none."""
    schedule = _made(load_pure_part(part, "algorithm"), part, ranks)
    why: dict[CollectiveKind, str] = {}
    for kind in CollectiveKind:
        try:
            prove(schedule, kind)
        except ScheduleError as error:
            why[kind] = str(error)
        else:
            return kind
    raise wrong(
        f"the schedule for {counted(ranks, 'rank')} does no collective; as an all_reduce: "
        f"{why[CollectiveKind.ALL_REDUCE]}; with --kind it says why it is not another one",
        str(part),
    )


@lru_cache(maxsize=64)
def _proved(function: Callable[[int], Schedule], part: UserPart, kind: CollectiveKind, ranks: int) -> Schedule:
    schedule = _made(function, part, ranks)
    with failing(ScheduleError, f"the schedule for {counted(ranks, 'rank')} is no {kind.name.lower()}", str(part)):
        prove(schedule, kind)
    return schedule


@lru_cache(maxsize=8)
def _made(function: Callable[[int], Schedule], part: UserPart, ranks: int) -> Schedule:
    """The schedule with columns as the proof and every backend expect them; not proved yet."""
    schedule = function(ranks)
    schedule = of_type(
        schedule,
        Schedule,
        f"gave {a_kind_of(schedule)}, expected a Schedule (astra_ns3.collectives.schedule)",
        str(part),
    )
    gave = f"gave a schedule for {counted(schedule.ranks, 'rank')} when asked for {ranks}"
    refuse(schedule.ranks != ranks, gave, str(part))
    for name in ("blocks", "expansion"):
        whole_number(name, getattr(schedule, name), 1, _LARGEST, str(part))
    size = schedule.blocks * ranks * _BYTES_PER_BLOCK
    require_memory(f"{part}: the proof of {schedule.blocks} blocks on {ranks} ranks", size, "use fewer blocks or ranks")
    columns: dict[str, Any] = {  # what Schedule takes by name
        name: _column(part, name, getattr(schedule, name), np.int32) for name in _INT32
    }
    columns["reduces"] = _column(part, "reduces", schedule.reduces, np.int32).astype(np.bool_)
    rows = {name: len(column) for name, column in columns.items()}
    if len(set(rows.values())) > 1:
        least, most = min(rows, key=rows.__getitem__), max(rows, key=rows.__getitem__)
        raise wrong(f"column '{least}' has {rows[least]} rows, column '{most}' {rows[most]}", str(part))
    return replace(schedule, name=str(schedule.name), content=_content(part, schedule.content), **columns)


def _column(part: UserPart, name: str, values: object, dtype: type[_Whole]) -> npt.NDArray[_Whole]:
    """The values as an array of one dimension; whole numbers that fit."""
    try:
        found = np.asarray(values)
    except (TypeError, ValueError):
        found = np.zeros((0, 0))
    refuse(
        bool(found.ndim != 1 or (len(found) and found.dtype.kind not in "iub")),
        f"column '{name}' is no list of whole numbers, one for each message",
        str(part),
    )
    refuse(
        bool(len(found) and (int(found.min()) < -_LARGEST or int(found.max()) > _LARGEST)),
        f"column '{name}' has a number beyond {_LARGEST}",
        str(part),
    )
    return np.ascontiguousarray(found, dtype=dtype)


def _content(part: UserPart, content: object) -> Content | None:
    if content is None:
        return None
    content = of_type(content, Content, f"content is {a_kind_of(content)}, expected a Content", str(part))
    contributors = content.contributors
    if contributors is not None:
        refuse(
            any(isinstance(each, bool) or not isinstance(each, int) or each < 0 for each in contributors),
            "content.contributors has something else than whole numbers, a bit for each rank",
            str(part),
        )
        contributors = tuple(contributors)
    offsets = _column(part, "content.offsets", content.offsets, np.int64)
    return Content(offsets, _column(part, "content.blocks", content.blocks, np.int32), contributors)
