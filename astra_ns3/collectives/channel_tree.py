"""A tree as a channel of a collective library plays it: chunks go up and are added, and come down again.

Chunks follow each other: while one goes up, another comes down. So each rank has two lanes, one for each way. With
``slots`` given, a rank sends a chunk once the receiver has told, by a signal, that it has handled the chunk
``slots`` before. With ``confirms``, a signal tells of the last chunk too. So a rank that ends by sending isn't done
before all its chunks have been handled. A star is a tree whose root is the parent of all others.
*Limits*: a kernel of NCCL ends a hop earlier, once its last chunk is in the receiver's slot.
Source: the tree and NVLS kernels of NCCL 2.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from astra_ns3.collectives.columns import Int32Array, assemble, check_messages, column, concatenate
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.config.core.collective_kind import CollectiveKind

#: The lanes: of what goes up, and of what comes down.
UP, DOWN, LANES = 0, 1, 2


_WAYS: Mapping[CollectiveKind, tuple[int, ...]] = {
    CollectiveKind.ALL_REDUCE: (UP, DOWN),
    CollectiveKind.BARRIER: (UP, DOWN),
    CollectiveKind.REDUCE: (UP,),
    CollectiveKind.BROADCAST: (DOWN,),
}


def channel_tree(
    kind: CollectiveKind,
    parents: Sequence[int],
    chunks: int,
    slots: int | None,
    together: int = 1,
    *,
    confirms: bool = False,
) -> Schedule:
    """An all-reduce, a reduce to the root or a broadcast from it; ``parents``: of each rank, -1 of the root.

    ``together``: how many chunks a signal tells of, at most as many as there are slots. ``confirms``: whether a signal
    tells of the last chunk too. Raises InputError for what memory can't hold.
    """
    is_turning = _WAYS[kind] == (UP, DOWN)
    edges = _Edges(parents, chunks, slots, together=together, is_turning=is_turning, confirms=confirms)
    name = f"channel tree {kind.name.lower()}"
    check_messages(name, len(parents), (2 if slots is None and not confirms else 4) * (len(parents) - 1) * chunks)
    parts = [edges.up(name) if way == UP else edges.down(name) for way in _WAYS[kind]]
    if edges.have_signals:
        parts += [edges.up_signals(name) if way == UP else edges.down_signals(name) for way in _WAYS[kind]]
    return concatenate(parts, name)


class _Edges:
    """The rows of a tree. In its lane chunk k has step 2k + 1, and the signal that lets a rank send it on step 2k.

    The signal of the last chunk has the step behind all others.
    """

    def __init__(
        self,
        parents: Sequence[int],
        chunks: int,
        slots: int | None,
        *,
        together: int,
        is_turning: bool,
        confirms: bool,
    ) -> None:
        above = np.array(parents, dtype=np.int32)
        self._child: Int32Array = np.flatnonzero(above >= 0).astype(np.int32)[:, None]
        self._parent: Int32Array = above[self._child]
        self._children: Int32Array = np.bincount(above[above >= 0], minlength=len(above)).astype(np.int32)
        self._below_root = above[self._parent] < 0
        self._is_turning = is_turning
        self._ranks, self._chunks = len(above), chunks
        self._slots = chunks if slots is None else min(slots, chunks)
        self._chunk: Int32Array = column(chunks)
        self._together = together
        # The last of those chunks that one signal tells of, and the first of those that it lets go.
        ends = max(-(-(chunks - self._slots) // together), 0)
        last = column(int(confirms)) + chunks - 1
        self._freed: Int32Array = np.concatenate([together * column(ends) + together - 1, last])
        self._goes: Int32Array = np.concatenate([together * column(ends) + self._slots, last + 1])

    @property
    def have_signals(self) -> bool:
        """Whether any chunk waits for a signal, or any rank for its end."""
        return len(self._freed) > 0

    @property
    def _told(self) -> Int32Array:
        """The chunk on whose step the signal comes that lets each chunk go."""
        late: Int32Array = (self._chunk - self._slots) % self._together
        return self._chunk - late

    def up(self, name: str) -> Schedule:
        """A rank sends a chunk up once all its children have; one without children when a place is free."""
        children = self._children[self._child]
        data, place = _step(UP, 2 * self._chunk + 1), _step(UP, 2 * self._told)
        free = self._chunk < self._slots
        return self._rows(
            name,
            self._chunk,
            sender=self._child,
            receiver=self._parent,
            step=data,
            reduces=True,
            wait_step=np.where(children > 0, data, np.where(free, -1, place)),
            wait_count=np.where(children > 0, children, ~free),
        )

    def down(self, name: str) -> Schedule:
        """The root sends a chunk down once it has all of it, other ranks once it has come.

        A root with nothing to add up sends when a place is free, which it hears of in the other lane.
        """
        number = 2 * self._chunk + 1
        free = self._chunk < self._slots
        root_waits = _step(UP, number) if self._is_turning else np.where(free, -1, _step(UP, 2 * self._told))
        root_counts = self._children[self._parent] * (1 if self._is_turning else ~free)
        return self._rows(
            name,
            self._chunk,
            sender=self._parent,
            receiver=self._child,
            step=_step(DOWN, number),
            reduces=False,
            wait_step=np.where(self._below_root, root_waits, _step(DOWN, number)),
            wait_count=np.where(self._below_root, root_counts, 1),
        )

    def up_signals(self, name: str) -> Schedule:
        """A parent has added up a chunk: each child may send the one ``slots`` later, or end."""
        return self._rows(
            name,
            self._freed,
            sender=self._parent,
            receiver=self._child,
            step=_step(UP, 2 * self._goes),
            block_count=0,
            reduces=False,
            wait_step=_step(UP, 2 * self._freed + 1),
            wait_count=self._children[self._parent],
        )

    def down_signals(self, name: str) -> Schedule:
        """A child has handled a chunk that came down. The root waits for this in the lane in which it adds up."""
        number = 2 * self._goes
        return self._rows(
            name,
            self._freed,
            sender=self._child,
            receiver=self._parent,
            step=np.where(self._below_root, _step(UP, number), _step(DOWN, number)),
            block_count=0,
            reduces=False,
            wait_step=_step(DOWN, 2 * self._freed + 1),
            wait_count=1,
        )

    def _rows(
        self,
        name: str,
        chunk: Int32Array,
        *,
        sender: Int32Array,
        receiver: Int32Array,
        step: Int32Array,
        reduces: bool,
        wait_step: Int32Array,
        wait_count: Int32Array | int,
        block_count: int = 1,
    ) -> Schedule:
        return assemble(
            name,
            self._ranks,
            self._chunks,
            (len(self._child), len(chunk)),
            sender=sender,
            receiver=receiver,
            step=step,
            first_block=chunk if block_count else 0,
            block_count=block_count,
            reduces=reduces,
            wait_step=wait_step,
            wait_count=wait_count,
            lanes=LANES,
        )


def _step(lane: int, number: Int32Array) -> Int32Array:
    return LANES * number + lane
