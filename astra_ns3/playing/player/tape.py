"""The program of a role, run once and read by each of its NPUs: what they share is worked out once.

A fixed program does the same on every NPU, whatever the time, so one run of it can be written down, block by block as
the first NPU comes to its end, and played back with each NPU's own handles. A block that all NPUs have left is nobody's
and freed: what is held is what they are apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from astra_ns3.playing.programs.operations import Compute, Issue, Move, Program, Receive, Send, Wait, WaitAny
from astra_ns3.system.request import CollectiveRequest, Handle, MessageRequest

_BLOCK_OPERATIONS = 512


class WrittenWait(NamedTuple):
    """A wait for the handle of a posted operation, by its number."""

    posted: int
    tail: bool


class WrittenWaitAny(NamedTuple):
    """A wait for one of several."""

    posted: tuple[int, ...]
    tail: bool


Written = Compute | Move | Issue | Send | Receive | WrittenWait | WrittenWaitAny


class _Block:
    """``fine``: every operation; ``coarse``: without moves, and what is computed without a break as one."""

    __slots__ = ("coarse", "fine", "following")

    def __init__(self, fine: list[Written]) -> None:
        self.fine = fine
        self.coarse = list(_joined(fine))
        self.following: _Block | None = None


class Tape:
    """Writes ``program`` down as readers come to the end of what is written. All readers are made before one reads."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._answer: Handle | None = None
        self._posted = 0
        self._first: _Block | None = _Block([])
        self._over = False

    def reader(self, *, coarse: bool = False) -> Program:
        """A run through the program. ``coarse``: its reader needs no labels of computations, its moves take no time."""
        assert self._first is not None
        return self._read(self._first, coarse)

    def place(self) -> Place:
        """The begin, for who reads coarsely and deals with what is waited for itself."""
        assert self._first is not None
        return Place(self, self._first)

    def close(self) -> None:
        """There will be no more readers: what all have read can go."""
        self._first = None

    def _read(self, block: _Block, coarse: bool) -> Program:
        handles: dict[int, Any] = {}
        posted = 0
        operation: Any
        while True:
            for operation in block.coarse if coarse else block.fine:
                kind = operation.__class__
                if kind is WrittenWait:
                    # What isn't there any more has been waited for.
                    handle = handles.pop(operation.posted, None)
                    if handle is not None and not (coarse and handle.done):
                        yield Wait(handle, operation.tail)
                elif kind is Compute or kind is Move:
                    yield operation
                elif kind is WrittenWaitAny:
                    left = tuple(handles[number] for number in operation.posted if number in handles)
                    if left:
                        yield WaitAny(left, operation.tail)
                else:
                    handle = yield operation
                    handles[posted] = handle
                    posted += 1
            following = self.after(block)
            if following is None:
                return
            block = following

    def after(self, block: _Block) -> _Block | None:
        """What follows; None at the end."""
        if block.following is None:
            self._write(block)
        return block.following

    def _write(self, last: _Block) -> None:
        """Go on after the last block, unless the program is over."""
        operations: list[Written] = []
        while not self._over and len(operations) < _BLOCK_OPERATIONS:
            try:
                operation = self._program.send(self._answer)
            except StopIteration:
                self._over = True
                break
            self._answer = None
            if isinstance(operation, Wait):
                operations.append(WrittenWait(operation.handle.collective, operation.tail))
            elif isinstance(operation, WaitAny):
                operations.append(WrittenWaitAny(tuple(each.collective for each in operation.handles), operation.tail))
            else:
                operations.append(operation)
                if isinstance(operation, Issue | Send | Receive):
                    self._answer = self._handle(operation)
        if operations:
            last.following = _Block(operations)

    def _handle(self, operation: Issue | Send | Receive) -> Handle:
        """Stands for every reader's handle; nobody knows here whether that is done at once."""
        request: CollectiveRequest | MessageRequest
        if isinstance(operation, Issue):
            request = operation.request
        else:
            request = MessageRequest(0, 0, operation.bytes, operation.tag, operation.label, operation.rendezvous)
        handle = Handle(0, self._posted, request, 0, done=False)
        self._posted += 1
        return handle


class Place:
    """How far somebody has read."""

    __slots__ = ("_block", "_next", "_tape", "posted")

    def __init__(self, tape: Tape, block: _Block) -> None:
        self._tape = tape
        self._block = block
        self._next = 0
        self.posted = 0  # the number of what is posted next

    def copy(self) -> Place:
        """Another one there."""
        other = Place(self._tape, self._block)
        other._next, other.posted = self._next, self.posted
        return other

    def read(self) -> Any:
        """The next operation as it is written, coarsely; None at the end."""
        while self._next == len(self._block.coarse):
            following = self._tape.after(self._block)
            if following is None:
                return None
            self._block, self._next = following, 0
        operation = self._block.coarse[self._next]
        self._next += 1
        return operation

    def is_at(self, other: Place) -> bool:
        """Whether both have read as far in the same program."""
        return self._block is other._block and self._next == other._next

    def read_again(self) -> None:
        """The last operation is the next one, too."""
        self._next -= 1


def _joined(operations: list[Written]) -> Iterator[Written]:
    """Operations without moves; what is computed without a break is one."""
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
        return Compute(computes[0].label, time_ps, None, memory_ps)
    even_ps = sum(each.time_ps for each in computes if each.times_ps is None)
    times_ps = tuple(even_ps + sum(times) for times in zip(*uneven, strict=True))
    return Compute(computes[0].label, time_ps, times_ps, memory_ps)
