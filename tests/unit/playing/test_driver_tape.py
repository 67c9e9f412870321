"""The program of a role, run once and read by all its NPUs: waits name what was posted by its number."""

from __future__ import annotations

import gc
import weakref

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.network.records import Label
from astra_ns3.playing.player import tape as tapes
from astra_ns3.playing.player.held import Joined
from astra_ns3.playing.player.tape import Place, Tape, WrittenWait
from astra_ns3.playing.programs.operations import Compute, Move, Program, Wait, WaitAny
from astra_ns3.system.request import CollectiveRequest, Handle

REQUEST = CollectiveRequest(CollectiveKind.ALL_REDUCE, 8, Label())


def compute(time_ps: int, times_ps: tuple[int, ...] | None = None) -> Compute:
    return Compute(Label(part="forward"), time_ps, times_ps)


def read(place: Place) -> list[object]:
    """What a reader does, waits as the numbers of what is waited for."""
    found: list[object] = []
    while (operation := place.read()) is not None:
        if isinstance(operation, CollectiveRequest):
            place.post([Handle(7, 100, operation, 0, done=False)])
            found.append("issue")
        else:
            found.append(list(operation.posted) if isinstance(operation, WrittenWait) else operation)
    return found


def example() -> Program:
    """Two collectives, the first waited for among both, then each."""
    yield compute(1)
    yield Move()
    yield compute(2)
    first = yield REQUEST
    second = yield REQUEST
    assert first is not None
    assert second is not None
    yield compute(4)
    yield WaitAny((first, second))
    yield Wait(second)
    yield Wait(first, tail=True)
    yield Wait(first)
    yield compute(8)


def test_a_reader_does_what_the_program_does_with_the_numbers_of_its_handles() -> None:
    tape = Tape(example())
    expected = [compute(1), Move(), compute(2), "issue", "issue", compute(4), [0, 1], [1], [0], [0], compute(8)]
    assert read(tape.place(fine=True)) == expected
    assert read(tape.place(fine=True)) == expected


def test_a_coarse_reader_computes_without_a_break() -> None:
    both = Joined(Label(part="forward"), 3, None, 0, (compute(1), compute(2)))
    coarse = [both, "issue", "issue", compute(4), [0, 1], [1], [0], [0], compute(8)]
    assert read(Tape(example()).place()) == coarse


def test_a_live_program_sees_what_is_done_and_is_read_as_a_written_one() -> None:
    seen: list[bool] = []

    def program() -> Program:
        first = yield REQUEST
        second = yield REQUEST
        assert first is not None
        assert second is not None
        yield WaitAny((first, second))
        seen.extend([first.done, second.done])
        yield Wait(second)

    place = Tape(program(), live=True).place(fine=True)
    handles = [Handle(7, 100 + number, REQUEST, 0, done=False) for number in range(2)]
    for handle in handles:
        assert place.read() == REQUEST
        place.post([handle])
    assert place.read() == WrittenWait((0, 1), tail=False)
    handles[1].done = True
    assert place.read() == WrittenWait((1,), tail=False)
    assert seen == [False, True]
    assert place.read() is None


def test_times_that_differ_by_place_are_added_place_by_place() -> None:
    def program() -> Program:
        yield compute(5)
        yield compute(3, (1, 3))
        yield compute(9, (9, 0))

    (joined,) = read(Tape(program()).place())
    assert isinstance(joined, Joined)
    assert (joined.time_ps, joined.times_ps) == (17, (15, 8))
    assert joined.parts == (compute(5), compute(3, (1, 3)), compute(9, (9, 0)))


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
    readers = [tape.place(fine=True), tape.place(fine=True)]
    tape.close()
    for _ in range(40):
        for reader in readers:
            reader.read()
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
                handle = yield REQUEST
                assert handle is not None
                handles.append(handle)
            elif handles:
                yield Wait(handles.pop())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tapes, "_BLOCK_OPERATIONS", block)
        tape = Tape(program())
        fine = read(tape.place(fine=True))
        assert fine == read(Tape(program(), live=True).place(fine=True))
        coarse = read(tape.place())
        times = [operation.time_ps for operation in coarse if isinstance(operation, Compute)]
        assert sum(times) == sum(number + 1 for number, kind in enumerate(kinds) if kind == "compute")
        assert [each for each in coarse if not isinstance(each, Compute)] == [
            each for each in fine if not isinstance(each, Compute | Move)
        ]
