"""The program of a role, run once and read by all its NPUs: the same operations, each reader with its own handles."""

from __future__ import annotations

import gc
import weakref

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.network.records import Label
from astra_ns3.playing.player import tape as tapes
from astra_ns3.playing.player.tape import Tape
from astra_ns3.playing.programs.operations import Compute, Issue, Move, Program, Wait, WaitAny
from astra_ns3.system.request import CollectiveRequest, Handle

REQUEST = CollectiveRequest(CollectiveKind.ALL_REDUCE, 8, Label())


def compute(time_ps: int, times_ps: tuple[int, ...] | None = None) -> Compute:
    return Compute(Label(part="forward"), time_ps, times_ps)


def read(program: Program, *, done: bool = False) -> list[object]:
    """What a reader does, waits as the numbers of what is waited for."""
    found: list[object] = []
    answer = None
    posted: list[Handle] = []
    while True:
        try:
            operation = program.send(answer)
        except StopIteration:
            return found
        answer = None
        if isinstance(operation, Issue):
            answer = Handle(7, len(posted) + 100, operation.request, 0, done=done)
            posted.append(answer)
            found.append("issue")
        elif isinstance(operation, Wait | WaitAny):
            found.append([posted.index(handle) for handle in operation.handles])
        else:
            found.append(operation)


def example() -> Program:
    """Two collectives, the first waited for among both, then each."""
    yield compute(1)
    yield Move()
    yield compute(2)
    first = yield Issue(REQUEST)
    second = yield Issue(REQUEST)
    assert first is not None
    assert second is not None
    yield compute(4)
    yield WaitAny((first, second))
    yield Wait(second)
    yield Wait(first, tail=True)
    yield Wait(first)
    yield compute(8)


def test_a_reader_does_what_the_program_does_with_handles_of_its_own() -> None:
    tape = Tape(example())
    expected = [compute(1), Move(), compute(2), "issue", "issue", compute(4), [0, 1], [1], [0], compute(8)]
    assert read(tape.reader()) == expected
    assert read(tape.reader()) == expected


def test_a_coarse_reader_computes_without_a_break_and_skips_what_is_done() -> None:
    tape = Tape(example())
    assert read(tape.reader(coarse=True)) == [compute(3), "issue", "issue", compute(4), [0, 1], [1], [0], compute(8)]
    assert read(Tape(example()).reader(coarse=True), done=True) == [
        compute(3),
        "issue",
        "issue",
        compute(4),
        [0, 1],
        compute(8),
    ]


def test_times_that_differ_by_place_are_added_place_by_place() -> None:
    def program() -> Program:
        yield compute(5)
        yield compute(3, (1, 3))
        yield compute(9, (9, 0))

    assert read(Tape(program()).reader(coarse=True)) == [compute(17, (15, 8))]


def test_what_all_readers_have_left_is_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tapes, "_BLOCK_OPERATIONS", 4)
    seen: list[weakref.ref[Compute]] = []

    def program() -> Program:
        for number in range(64):
            operation = compute(number)
            seen.append(weakref.ref(operation))
            yield operation
            del operation

    tape = Tape(program())
    readers = [tape.reader(), tape.reader()]
    tape.close()
    for _ in range(40):
        for reader in readers:
            next(reader)
    gc.collect()
    assert sum(reference() is not None for reference in seen) <= 8


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(["compute", "move", "issue", "wait"]), max_size=40), st.integers(1, 7))
def test_any_program_is_read_as_it_is_whatever_the_size_of_a_block(kinds: list[str], block: int) -> None:
    def program() -> Program:
        handles: list[Handle] = []
        for number, kind in enumerate(kinds):
            if kind == "compute":
                yield compute(number + 1)
            elif kind == "move":
                yield Move()
            elif kind == "issue":
                handle = yield Issue(REQUEST)
                assert handle is not None
                handles.append(handle)
            elif handles:
                yield Wait(handles.pop())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tapes, "_BLOCK_OPERATIONS", block)
        tape = Tape(program())
        assert read(tape.reader()) == read(program())
        coarse = read(tape.reader(coarse=True))
        times = [operation.time_ps for operation in coarse if isinstance(operation, Compute)]
        assert sum(times) == sum(number + 1 for number, kind in enumerate(kinds) if kind == "compute")
        assert [each for each in coarse if not isinstance(each, Compute)] == [
            each for each in read(program()) if not isinstance(each, Compute | Move)
        ]
