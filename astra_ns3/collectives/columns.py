"""From broadcastable arrays to the columns of a Schedule; shared by all algorithms."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from astra_ns3.collectives.schedule import Schedule

#: More rows than this (about 30 bytes each) are refused before memory runs out.
MAX_MESSAGES = 20_000_000

_Array = npt.NDArray[np.integer] | npt.NDArray[np.bool_] | int | bool


def column(values: int) -> npt.NDArray[np.int32]:
    """0 to ``values - 1`` as int32, shape ``(values,)``."""
    return np.arange(values, dtype=np.int32)


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
) -> Schedule:
    """Broadcast every argument to ``shape`` and lay the rows out in C order."""

    def int32(values: _Array) -> npt.NDArray[np.int32]:
        return np.ascontiguousarray(np.broadcast_to(np.asarray(values, dtype=np.int32), shape)).reshape(-1)

    return Schedule(
        name=name,
        ranks=ranks,
        blocks=blocks,
        sender=int32(sender),
        receiver=int32(receiver),
        step=int32(step),
        first_block=int32(first_block),
        block_count=int32(block_count),
        reduces=np.ascontiguousarray(np.broadcast_to(np.asarray(reduces, dtype=np.bool_), shape)).reshape(-1),
        wait_step=int32(wait_step),
        wait_count=int32(wait_count),
        expansion=expansion,
    )


def empty(name: str) -> Schedule:
    """The schedule of one rank: it has nothing to send."""
    nothing = np.zeros(0, dtype=np.int32)
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
