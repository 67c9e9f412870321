"""From broadcastable arrays to the columns of a Schedule; shared by all algorithms."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from astra_ns3.collectives.rotation import Rotation
from astra_ns3.collectives.schedule import COLUMNS, Content, Schedule
from astra_ns3.errors import refuse
from astra_ns3.memory import require_memory

MOST_MESSAGES = 2**31 - 1
"""Rows are numbered in 32 bits."""
BYTES_PER_MESSAGE = 30
"""A row while it is built: seven numbers of 32 bits and a flag (measured: 26 to 36)."""
BYTES_PER_BLOCK = 13
"""A block of ``Schedule.content`` while it is built, its temporary copies counted (measured on Bruck's)."""

Int32Array = npt.NDArray[np.int32]
_Kind = TypeVar("_Kind", np.int32, np.bool_)
_Array = npt.NDArray[np.integer] | npt.NDArray[np.bool_] | int | bool


def column(values: int) -> Int32Array:
    """0 to ``values - 1`` as int32, shape ``(values,)``."""
    return np.arange(values, dtype=np.int32)


def check_messages(name: str, ranks: int, messages: int, blocks: int = 0, *, kept: int | None = None) -> None:
    """Raise InputError for a schedule that memory can't hold.

    ``blocks``: those of its content; ``kept``: the rows that are kept of it, if not those of all messages.
    """
    whole = f"the schedule {name} on {ranks} ranks, {messages} messages,"
    needed = (messages if kept is None else kept) * BYTES_PER_MESSAGE + blocks * BYTES_PER_BLOCK
    require_memory(whole, needed, "use fewer ranks, or an algorithm with fewer messages")
    refuse(messages > MOST_MESSAGES, f"{whole} has more than {MOST_MESSAGES}")


def assemble(
    name: str,
    ranks: int,
    blocks: int,
    shape: tuple[int, ...],
    *,
    sender: _Array,
    receiver: _Array,
    step: _Array,
    first_block: _Array,
    wait_step: _Array,
    wait_count: _Array,
    block_count: _Array = 1,
    reduces: _Array = False,
    expansion: int = 1,
    content: Content | None = None,
    parts: npt.NDArray[np.int64] | None = None,
    keep: npt.NDArray[np.bool_] | None = None,
    lanes: int = 1,
) -> Schedule:
    """Broadcast every argument to ``shape`` and lay the rows out in C order, only those of ``keep`` if given."""
    check_messages(name, ranks, prod(shape))
    kept = slice(None) if keep is None else np.broadcast_to(keep, shape).reshape(-1)

    def laid_out(values: _Array, kind: type[_Kind]) -> npt.NDArray[_Kind]:
        wide = np.broadcast_to(np.asarray(values, dtype=kind), shape).reshape(-1)
        return np.ascontiguousarray(wide[kept])

    return Schedule(
        name=name,
        ranks=ranks,
        blocks=blocks,
        sender=laid_out(sender, np.int32),
        receiver=laid_out(receiver, np.int32),
        step=laid_out(step, np.int32),
        first_block=laid_out(first_block, np.int32),
        block_count=laid_out(block_count, np.int32),
        reduces=laid_out(reduces, np.bool_),
        wait_step=laid_out(wait_step, np.int32),
        wait_count=laid_out(wait_count, np.int32),
        expansion=expansion,
        content=content,
        parts=parts,
        lanes=lanes,
    )


def rotated(first: Schedule, *, digits: int, inner: int = 0) -> Schedule:
    """The schedule in which every rank has the rows of ``first``, rank 0's, turned by its number.

    ``digits``, ``inner``: see :mod:`astra_ns3.collectives.rotation`.
    """
    rotation = Rotation(first.ranks, first.blocks, digits, {name: getattr(first, name) for name in COLUMNS}, inner)
    return Schedule.rotated(first.name, rotation, first.expansion, first.lanes)


def empty(name: str) -> Schedule:
    """The schedule of one rank: it has nothing to send."""
    nothing = column(0)
    return assemble(
        name,
        1,
        1,
        (0,),
        sender=nothing,
        receiver=nothing,
        step=nothing,
        first_block=nothing,
        wait_step=nothing,
        wait_count=nothing,
    )


def signals(
    name: str,
    ranks: int,
    shape: tuple[int, ...],
    *,
    sender: _Array,
    receiver: _Array,
    step: _Array,
    wait_step: _Array,
    wait_count: _Array,
) -> Schedule:
    """A barrier: messages without data."""
    return assemble(
        name,
        ranks,
        1,
        shape,
        sender=sender,
        receiver=receiver,
        step=step,
        first_block=0,
        block_count=0,
        wait_step=wait_step,
        wait_count=wait_count,
    )


def concatenate(parts: list[Schedule], name: str) -> Schedule:
    """The rows of schedules over the same ranks and blocks, one after the other."""
    first = parts[0]

    def joined(values: Callable[[Schedule], npt.NDArray[_Kind]]) -> npt.NDArray[_Kind]:
        return np.concatenate([values(part) for part in parts])

    return Schedule(
        name=name,
        ranks=first.ranks,
        blocks=first.blocks,
        sender=joined(lambda part: part.sender),
        receiver=joined(lambda part: part.receiver),
        step=joined(lambda part: part.step),
        first_block=joined(lambda part: part.first_block),
        block_count=joined(lambda part: part.block_count),
        reduces=joined(lambda part: part.reduces),
        wait_step=joined(lambda part: part.wait_step),
        wait_count=joined(lambda part: part.wait_count),
        expansion=first.expansion,
        lanes=first.lanes,
    )
