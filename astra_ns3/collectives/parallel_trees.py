"""PAT, parallel aggregated trees: an all-gather or a reduce-scatter in few steps, for any number of ranks.

The part of each rank goes out by a binomial tree (or comes in, if it is reduced). A rank that is s places before the
part's own has offset s. It gets the part from offset s without its lowest bit, so from 1, 2, 4, ... places on. All
ranks send in all trees at once, and a message has the pieces of several trees. The first ``trees`` offsets are reached
far first, one dimension after the other. The rest of each, ``size / trees`` offsets, is walked branch by branch, so
that a rank keeps only a few pieces at a time. With as many trees as possible there are log2(ranks) steps; with one
there are ranks - 1.

A rank sends a step's pieces once its kernel has handled all that comes before them in its order of work.
Source: S. Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale" (arXiv 2506.20252), and
the order of work of NCCL 2.30 (``src/include/collectives.h``).
*Limits*: no signals of free slots. Ranks in step never need more places than a step has messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain

import numpy as np

from astra_ns3.collectives.columns import assemble, check_messages, column, rotated
from astra_ns3.collectives.schedule import Content, Schedule
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.errors import refuse
from astra_ns3.frozen import dataclass

_GATHER = CollectiveKind.ALL_GATHER
KINDS = (CollectiveKind.ALL_GATHER, CollectiveKind.REDUCE_SCATTER)


@dataclass(frozen=True)
class TreesCut:
    """``chunks`` of a rank's part, one after the other; ``trees`` whose pieces go at once; ``together``: pieces of a
    message. The last two are powers of two."""

    chunks: int
    trees: int
    together: int


@dataclass(frozen=True)
class _Message:
    """``away``: of its receiver; ``offsets``: of its pieces' ranks from its sender; ``waits``: for which message."""

    away: int
    offsets: tuple[int, ...]
    waits: int


def most_trees(ranks: int) -> int:
    """The trees whose pieces may go at once: half of the least power of two that isn't below the number of ranks."""
    return 1 << ((ranks - 1).bit_length() - 1)


def parallel_trees(kind: CollectiveKind, ranks: int, cut: TreesCut) -> Schedule:
    """The schedule of a channel. The pieces of a message are no range, so its blocks give the size only. Raises
    InputError for numbers of trees that don't fit, and for what memory can't hold."""
    name, messages = _name(kind), _messages(kind, ranks, cut)
    rows = cut.chunks * len(messages)
    check_messages(name, ranks, ranks * rows, kept=rows)
    return rotated(_laid_out(kind, 1, ranks, cut, messages), digits=0)


def parallel_trees_told(kind: CollectiveKind, ranks: int, cut: TreesCut) -> Schedule:
    """The same with what each row carries, for the proof. Raises InputError as :func:`parallel_trees` does."""
    messages = _messages(kind, ranks, cut)
    check_messages(_name(kind), ranks, ranks * cut.chunks * len(messages), blocks=ranks * (ranks - 1) * cut.chunks)
    sizes = np.tile(np.array([len(message.offsets) for message in messages], dtype=np.int64), ranks * cut.chunks)
    offsets = np.array([*chain.from_iterable(message.offsets for message in messages)], dtype=np.int64)
    owner = (column(ranks)[:, None, None] + offsets) % ranks
    blocks = owner * cut.chunks + column(cut.chunks)[None, :, None]
    content = Content(np.concatenate([[0], np.cumsum(sizes)]), blocks.reshape(-1).astype(np.int32))
    return _laid_out(kind, ranks, ranks, cut, messages, content)


def _full(kind: CollectiveKind, ranks: int) -> Schedule:
    """All trees at once, in a message a step."""
    return parallel_trees_told(kind, ranks, TreesCut(1, most_trees(ranks), most_trees(ranks)))


pat_all_gather = partial(_full, CollectiveKind.ALL_GATHER)
pat_reduce_scatter = partial(_full, CollectiveKind.REDUCE_SCATTER)


def _name(kind: CollectiveKind) -> str:
    return f"parallel trees {kind.name.lower()}"


def _laid_out(
    kind: CollectiveKind,
    rows_of: int,
    ranks: int,
    cut: TreesCut,
    messages: Sequence[_Message],
    content: Content | None = None,
) -> Schedule:
    """The rows of the first ``rows_of`` ranks: chunk after chunk, each after the one before."""
    count = len(messages)
    rank, chunk = column(rows_of)[:, None, None], column(cut.chunks)[None, :, None]
    columns = ([message.away for message in messages], [len(message.offsets) for message in messages])
    away, pieces = (np.array(each, dtype=np.int32) for each in columns)
    waits = np.array([message.waits for message in messages], dtype=np.int32)
    # Who waits for nothing of its chunk waits for the last message of the chunk before.
    wait_step = chunk * count + waits
    return assemble(
        _name(kind),
        ranks,
        ranks * cut.chunks,
        (rows_of, cut.chunks, count),
        sender=rank,
        receiver=(rank + away) % ranks,
        step=chunk * count + column(count),
        first_block=0,
        block_count=pieces,
        reduces=kind is not _GATHER,
        wait_step=wait_step,
        wait_count=wait_step >= 0,
        expansion=ranks if kind is _GATHER else 1,
        content=content,
    )


def _messages(kind: CollectiveKind, ranks: int, cut: TreesCut) -> list[_Message]:
    """The messages of a rank for one chunk, in the order in which it sends them and gets those of others."""
    most = most_trees(ranks)
    for name, number, limit in (("trees", cut.trees, most), ("together", cut.together, cut.trees)):
        refuse(
            number < 1 or number & (number - 1) != 0 or number > limit,
            f"{name} is {number}, expected a power of two up to {limit} for {ranks} ranks",
            _name(kind),
        )
    return list((_Gathering if kind is _GATHER else _Scattering)(ranks, cut).messages())


class _Trees:
    """The order of work of a rank's kernel. ``_rest``: offsets of a tree's part that is walked branch by branch."""

    def __init__(self, ranks: int, cut: TreesCut) -> None:
        self._ranks, self._cut = ranks, cut
        self._rest = (1 << (ranks - 1).bit_length()) // cut.trees
        self._handled = -1  # the last message that the kernel has handled
        self._brought: dict[int, int] = {}  # by which message an offset's piece comes to a rank
        self._sent = 0

    def _send(self, distance: int, offsets: Sequence[int], needs: Sequence[int]) -> Iterator[_Message]:
        """Send pieces, as many as go together in a message. ``offsets``: at the receiver of a gather, at the sender of
        a reduction; some may be no rank's. ``needs``: the offsets whose pieces must have come for each."""
        together = self._cut.together
        for begin in range(0, len(offsets), together):
            here = range(begin, min(begin + together, len(offsets)))
            for place in here:
                self._handle(needs[place])
            pieces = [offsets[place] for place in here if offsets[place] < self._ranks]
            if pieces:
                self._brought |= dict.fromkeys(pieces, self._sent)
                self._sent += 1
                yield self._message(distance, pieces)

    def _message(self, distance: int, pieces: Sequence[int]) -> _Message:
        raise NotImplementedError

    def _handle(self, offset: int) -> None:
        """Handle the message that brings an offset's piece, and all before it."""
        self._handled = max(self._handled, self._brought.get(offset, -1))

    def _scales(self) -> list[int]:
        """Distances of the first dimensions, near first."""
        return [self._rest << power for power in range(self._cut.trees.bit_length() - 1)]


class _Gathering(_Trees):
    """A piece goes far first. A leaf's piece is copied out before the next step."""

    def messages(self) -> Iterator[_Message]:
        """Yield the messages."""
        for distance in reversed(self._scales()):
            above = self._rest * self._cut.trees
            yield from self._step(distance, [*range(distance, above, 2 * distance)])
        for offset in _far_first(self._rest):
            here = [tree * self._rest + offset for tree in range(self._cut.trees)]
            yield from self._step(offset & -offset, here)
            if offset % 2:
                for each in here:
                    self._handle(each)

    def _step(self, distance: int, offsets: Sequence[int]) -> Iterator[_Message]:
        return self._send(distance, offsets, [offset - distance for offset in offsets])

    def _message(self, distance: int, pieces: Sequence[int]) -> _Message:
        return _Message(-distance, tuple(piece - distance for piece in pieces), self._handled)


class _Scattering(_Trees):
    """The last offset first. A rank adds what comes to its own and sends the sum once the last piece has come."""

    def messages(self) -> Iterator[_Message]:
        """Yield the messages."""
        order = _mirrored(self._cut.trees)
        none = [-1] * len(order)
        for offset in range(self._rest - 1, 0, -1):
            here = [tree * self._rest + offset for tree in order]
            if offset % 2:
                yield from self._send(1, here, none)
            else:
                # The sum goes on when the piece from next door has come, which is the last to come.
                yield from self._send(offset & -offset, here, [each + 1 for each in here])
                for each in here:
                    self._handle(each)
        for distance in self._scales():
            half = self._rest * self._cut.trees // (2 * distance)
            here = [(2 * tree + 1) * distance for tree in _mirrored(half)]
            yield from self._send(distance, here, [each + 1 for each in here])
            for each in here:
                self._handle(each)

    def _message(self, distance: int, pieces: Sequence[int]) -> _Message:
        return _Message(distance, tuple(pieces), self._handled)


def _far_first(size: int) -> Iterator[int]:
    """Yield the offsets of a binomial tree below its root: a branch after the other, the largest first."""
    waiting = [1 << power for power in range(size.bit_length() - 1)]
    while waiting:
        offset = waiting.pop()
        yield offset
        waiting += [offset + (1 << power) for power in range((offset & -offset).bit_length() - 1)]


def _mirrored(count: int) -> list[int]:
    """Return 0 to ``count - 1`` in the order in which sums are ready: of 4 it is 3, 1, 2, 0."""
    bits = count.bit_length() - 1
    return [count - 1 - int(format(number, f"0{bits}b")[::-1], 2) if bits else 0 for number in range(count)]
