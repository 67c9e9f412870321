"""The program of a role as its NPUs read it: blocks of operations, whose waits name what was posted by its number.

A fixed program does the same on every NPU, whatever the time. So one run of it can be written down, block by block as
the first NPU comes to its end, and read by all. A block that all NPUs have left is nobody's and freed: what is held is
what they are apart. A live program may ask what is done by now: one NPU reads it alone, and a block is one operation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from astra_ns3.playing.player.held import Joined
from astra_ns3.playing.programs.operations import Access, Compute, Move, Posting, Program, Waiting
from astra_ns3.system.request import CollectiveRequest, Handle, Joint, MessageRequest

_BLOCK_OPERATIONS = 512
# The number of what no program has posted: there is nothing to wait for.
_OF_NOTHING = -1


class WrittenWait(NamedTuple):
    """A wait for one of several posted operations, by their numbers."""

    posted: tuple[int, ...]
    tail: bool


Written = Compute | Move | Posting | WrittenWait


class _Block:
    """``fine``: every operation."""

    __slots__ = ("_coarse", "fine", "following")

    def __init__(self, fine: list[Written]) -> None:
        self.fine = fine
        self.following: _Block | None = None
        self._coarse: list[Written] | None = None

    @property
    def coarse(self) -> list[Written]:
        """The operations without moves, and what is computed without a break as one."""
        if self._coarse is None:
            self._coarse = list(_joined(self.fine))
        return self._coarse


class Tape:
    """Writes ``program`` down as readers come to the end of what is written. All places are made before one is read.

    ``live``: the program may ask what is done by now, and there is one reader.
    """

    def __init__(self, program: Program, *, live: bool = False) -> None:
        self._program = program
        self.live = live
        self._block_operations = 1 if live else _BLOCK_OPERATIONS
        self._answer: Handle | None = None
        self._posted = 0
        self._first: _Block | None = _Block([])
        self._over = False

    def place(self, *, fine: bool = False) -> Place:
        """Return the begin. ``fine``: moves take time, or each computation has a length of its own.

        All readers of a tape read alike. Timers of one moment fire in the order in which they were set, so a reader who
        sets a timer for each computation would come after those who set one for several.
        """
        assert self._first is not None
        return Place(self, self._first, fine=fine)

    def close(self) -> None:
        """There will be no more places: what all have read can go."""
        self._first = None

    def after(self, block: _Block) -> _Block | None:
        """Return what follows; None at the end."""
        if block.following is None:
            self._write(block)
        return block.following

    def answer(self, handle: Handle) -> None:
        """The last operation of a live program was posted: it gets a handle that tells what is done."""
        self._answer = handle

    def _write(self, last: _Block) -> None:
        """Go on after the last block, unless the program is over."""
        operations: list[Written] = []
        while not self._over and len(operations) < self._block_operations:
            try:
                operation = self._program.send(self._answer)
            except StopIteration:
                self._over = True
                break
            self._answer = None
            if isinstance(operation, Waiting):
                operations.append(WrittenWait(tuple(map(self._number, operation.handles)), operation.tail))
                continue
            operations.append(operation)
            if not self.live and not isinstance(operation, Compute | Move):
                self._answer = self._stand_in(operation)
        if operations:
            last.following = _Block(operations)

    def _stand_in(self, operation: Posting) -> Handle:
        """Return what stands for every reader's handle; nobody knows here whether that is done at once."""
        request: CollectiveRequest | MessageRequest
        if isinstance(operation, CollectiveRequest):
            request = operation
        elif isinstance(operation, Access):
            request = operation.request(0)
        else:
            request = MessageRequest(0, 0, operation.bytes, operation.tag, operation.label, operation.rendezvous)
        handle = Handle(0, self._posted, request, 0, done=False)
        self._posted += 1
        return handle

    def _number(self, handle: Handle) -> int:
        if not self.live:
            return handle.collective
        return _OF_NOTHING if handle.joint is None else handle.joint.number


class Place:
    """A reader's place in a tape."""

    __slots__ = ("_block", "_fine", "_next", "_operations", "_posted", "_tape")

    def __init__(self, tape: Tape, block: _Block, *, fine: bool) -> None:
        self._tape = tape
        self._fine = fine
        self._block = block
        self._operations = block.fine if fine else block.coarse
        self._next = 0
        self._posted = 0

    @property
    def live(self) -> bool:
        """Whether the program asks handles what is done."""
        return self._tape.live

    def copy(self) -> Place:
        """Return another one there."""
        other = Place(self._tape, self._block, fine=self._fine)
        other._next, other._posted = self._next, self._posted
        return other

    def read(self) -> Written | None:
        """Return the next operation as it is written; None at the end."""
        while self._next == len(self._operations):
            following = self._tape.after(self._block)
            if following is None:
                return None
            self._block, self._next = following, 0
            self._operations = following.fine if self._fine else following.coarse
        operation = self._operations[self._next]
        self._next += 1
        return operation

    def post(self, handles: list[Handle]) -> Joint:
        """Return what was posted by the last operation, with its number."""
        joint = Joint(handles, self._posted)
        self._posted += 1
        if self._tape.live:
            self._tape.answer(handles[0])
        return joint

    def is_at(self, other: Place) -> bool:
        """Return whether both have read as far in the same program."""
        return self._block is other._block and self._next == other._next

    def read_again(self) -> None:
        """The last operation is the next one, too."""
        self._next -= 1


def _joined(operations: Sequence[Written]) -> Iterator[Written]:
    """Yield operations without moves; what is computed without a break is one."""
    computes: list[Compute] = []
    for operation in operations:
        if isinstance(operation, Compute):
            computes.append(operation)
        elif not isinstance(operation, Move):
            if computes:
                yield _sum(computes)
                computes.clear()
            yield operation
    if computes:
        yield _sum(computes)


def _sum(computes: list[Compute]) -> Compute:
    if len(computes) == 1:
        return computes[0]
    time_ps = sum(each.time_ps for each in computes)
    memory_ps = sum(each.memory_ps for each in computes)
    uneven = [each.times_ps for each in computes if each.times_ps is not None]
    if not uneven:
        return Joined(computes[0].label, time_ps, None, memory_ps, tuple(computes))
    even_ps = sum(each.time_ps for each in computes if each.times_ps is None)
    times_ps = tuple(even_ps + sum(times) for times in zip(*uneven, strict=True))
    return Joined(computes[0].label, time_ps, times_ps, memory_ps, tuple(computes))
