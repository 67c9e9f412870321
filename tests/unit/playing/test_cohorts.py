"""NPUs in step: what parts them, what puts them together again, and what each of them has done."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, cast

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.network.records import Label
from astra_ns3.playing.player.cohort import Cohort, Member, met, shares
from astra_ns3.playing.player.cohort_player import CohortPlayer
from astra_ns3.playing.player.tape import Tape
from astra_ns3.playing.programs.operations import Compute, Posting, Program, Wait, WaitAny
from astra_ns3.system.launch_buffer import LaunchBuffer
from astra_ns3.system.request import CollectiveRequest, Handle, Joint

REQUEST = CollectiveRequest(CollectiveKind.ALL_REDUCE, 8, Label())


class Network:
    """Notes what is handed to it; timers are played by :meth:`play`."""

    def __init__(self) -> None:
        self.launched: list[tuple[int, ...]] = []
        self.timers: list[tuple[int, int, Callable[[int], None]]] = []
        self.together: list[int] = []

    def launch(self, *row: int) -> None:
        self.launched.append(row)

    def launch_all(self, rows: Sequence[tuple[int, ...]]) -> None:
        self.launched.extend(rows)
        self.together.append(len(rows))

    def call_later(self, npu: int, delay_ps: int, callback: Callable[[int], None]) -> None:
        self.timers.append((npu, delay_ps, callback))


class Stage:
    """``npus`` that play ``program`` in step; what they post is done when a test says so."""

    def __init__(self, npus: int, program: Program, *, done_at_once: bool = False) -> None:
        self.network = Network()
        self.posted: list[list[Handle]] = []  # of each call, those of its NPUs
        self.ended = 0
        self._done_at_once = done_at_once
        tape = Tape(program)
        self.cohort = Cohort(list(range(npus)), tape.place())
        tape.close()
        self.players: list[Cohort] = [self.cohort] * npus
        self.player = CohortPlayer(
            LaunchBuffer(cast(Any, self.network)), self.players, list(range(npus)), self._post_all, self._end
        )
        self.player.start()

    def play(self, time_ps: int) -> list[int]:
        """Play the timers that are set; the NPUs they were set for."""
        timers, self.network.timers = self.network.timers, []
        for _, _, callback in timers:
            callback(time_ps)
        return [npu for npu, _, _ in timers]

    def done(self, number: int, npus: Sequence[int], time_ps: int) -> None:
        """What these NPUs posted, the ``number``-th of each, is done at one moment."""

        def phase_done(npu: int, instance: int, time_ps: int) -> None:
            mine = [handle for handles in self.posted for handle in handles if handle.npu == npu]
            self.player.handle_done(mine[instance], time_ps)

        self.player.phases_done(npus, [number] * len(npus), time_ps, phase_done)

    def sizes(self) -> list[int]:
        """How many NPUs each cohort has, in the order of their first NPUs."""
        return [len(cohort.npus) for cohort in dict.fromkeys(self.players)]

    def totals(self, time_ps: int) -> list[tuple[int, int, int]]:
        """When each NPU was done, for how long it computed, and for how long it waited."""
        records = [Member(npu, cohort).record(time_ps) for npu, cohort in enumerate(self.players)]
        return [(record.finish_ps, record.compute_ps, record.exposed_ps) for record in records]

    def _post_all(self, npus: Sequence[int], turns: Sequence[int], operation: Posting) -> list[Handle]:
        assert isinstance(operation, CollectiveRequest)
        handles = [Handle(npu, len(self.posted), REQUEST, 0, done=self._done_at_once) for npu in npus]
        self.posted.append(handles)
        return handles

    def _end(self, npus: int) -> None:
        self.ended += npus


def compute(time_ps: int, times_ps: tuple[int, ...] | None = None) -> Compute:
    return Compute(Label(part="forward"), time_ps, times_ps)


def issued() -> Generator[CollectiveRequest, Handle | None, Handle]:
    handle = yield REQUEST
    assert handle is not None
    return handle


def two_rounds() -> Program:
    for _ in range(2):
        handle = yield from issued()
        yield Wait(handle)
        yield compute(10)


def test_those_in_step_go_on_together() -> None:
    stage = Stage(4, two_rounds())
    assert stage.play(0) == [0]
    stage.done(0, [2, 0, 1, 3], 100)
    assert stage.sizes() == [4]
    assert stage.totals(104) == [(104, 4, 100)] * 4
    assert stage.play(110) == [2]  # a timer for all of them, in the order in which they went on
    stage.done(1, [0, 1, 2, 3], 200)
    stage.play(210)
    assert stage.ended == 4
    assert stage.totals(210) == [(210, 20, 190)] * 4


def test_who_is_let_go_on_earlier_leaves_and_who_meets_again_is_together() -> None:
    stage = Stage(4, two_rounds())
    stage.play(0)
    stage.done(0, [1, 3], 100)
    assert stage.sizes() == [2, 2]
    stage.play(110)
    stage.done(0, [0, 2], 150)
    stage.play(160)
    assert stage.sizes() == [2, 2]
    stage.done(1, [0, 1, 2, 3], 200)
    assert stage.sizes() == [4]
    stage.play(210)
    assert stage.ended == 4
    assert stage.totals(210) == [(210, 20, 190)] * 4


def test_one_that_comes_alone_scatters_them_until_they_meet() -> None:
    stage = Stage(3, two_rounds())
    stage.play(0)
    for npu in range(3):
        stage.done(0, [npu], 100 + npu)
    assert stage.sizes() == [1, 1, 1]
    assert stage.play(120) == [0, 1, 2]
    stage.done(1, [2, 1, 0], 300)
    assert stage.sizes() == [3]
    assert stage.play(310) == [2]
    assert stage.totals(310) == [(310, 20 + extra, 290 - extra) for extra in (10, 9, 8)]


def test_who_has_nothing_to_wait_for_does_not_wait_for_the_others() -> None:
    def program() -> Program:
        handle = yield from issued()
        yield compute(10)
        yield Wait(handle)
        yield compute(5)

    stage = Stage(3, program())
    stage.play(0)
    stage.done(0, [1], 4)
    stage.play(10)
    assert stage.sizes() == [2, 1]
    assert stage.play(15) == [1]
    assert stage.ended == 1
    stage.done(0, [0, 2], 20)
    stage.play(25)
    assert stage.totals(25) == [(25, 15, 10), (15, 15, 0), (25, 15, 10)]


def test_of_several_each_waits_for_its_first() -> None:
    def program() -> Program:
        first = yield from issued()
        second = yield from issued()
        yield WaitAny((first, second))
        yield compute(10)
        yield Wait(first)
        yield Wait(second)

    stage = Stage(2, program())
    stage.play(0)
    assert stage.sizes() == [2]
    stage.done(0, [0], 50)
    assert stage.sizes() == [1, 1]
    stage.done(1, [1], 60)
    stage.play(70)
    stage.done(1, [0], 80)
    assert stage.ended == 1
    stage.done(0, [1], 90)
    assert stage.totals(90) == [(80, 20, 60), (90, 10, 80)]


def test_what_is_done_at_once_stops_nobody() -> None:
    stage = Stage(2, two_rounds(), done_at_once=True)
    stage.play(0)
    stage.play(10)
    stage.play(20)
    assert stage.totals(20) == [(20, 20, 0)] * 2


def test_different_times_part_neighbours_that_do_not_compute_as_long() -> None:
    def program() -> Program:
        yield compute(9, (7, 7, 9, 7))

    stage = Stage(4, program())
    stage.play(0)
    assert [(npu, delay_ps) for npu, delay_ps, _ in stage.network.timers] == [(0, 7), (2, 9)]
    assert stage.sizes() == [2, 1, 1]
    assert shares([5, 6, 7], [1, 1, 2]) == [(1, [5, 6]), (2, [7])]


def test_a_stuck_member_tells_what_it_waits_for() -> None:
    stage = Stage(2, two_rounds())
    stage.play(0)
    blocking = Member(1, stage.players[1]).blocking
    assert isinstance(blocking, WaitAny)
    assert blocking.handle is stage.posted[0][1]


def test_launches_of_a_moment_keep_the_order_of_those_who_make_them() -> None:
    network: Any = Network()
    launches = LaunchBuffer(network)
    launches.launch(0, 1, 1, 1, 1)
    launches.keep()
    for place, npu in ((2, 7), (0, 5), (2, 8), (1, 6)):
        launches.place = place
        launches.launch(npu, 1, 1, 1, 1)
        launches.call_later(npu, 10, lambda _: None)
    assert [row[0] for row in network.launched] == [0]
    launches.hand_over()
    assert [row[0] for row in network.launched] == [0, 5, 6, 7, 8]
    assert [npu for npu, _, _ in network.timers] == [5, 6, 7, 8]
    assert network.together == [4]
    launches.launch(9, 1, 1, 1, 1)
    assert network.launched[-1][0] == 9


def test_what_is_over_counts_once_though_the_program_goes_on() -> None:
    cohort = Cohort([0], Tape(iter_of()).place())
    cohort.hold(Compute(Label(), 10), 0)
    cohort.release(10)
    record = Member(0, cohort).record(15)
    assert (record.compute_ps, record.exposed_ps) == (10, 0)


def test_who_waits_for_either_of_two_goes_on_when_one_is_done_though_nobody_has_the_other() -> None:
    cohort = Cohort([0, 1], Tape(iter_of()).place())
    open_one = Joint([Handle(npu, 0, REQUEST, 0, done=False) for npu in (0, 1)], 0)
    half_done = Joint([Handle(npu, 1, REQUEST, 0, done=npu == 1) for npu in (0, 1)], 1)
    assert cohort.finished([open_one]) == []
    assert cohort.finished([open_one, half_done]) == [1]


def _cohort_with(npus: list[int], done: list[bool]) -> Cohort:
    """A cohort that has posted something for each of ``done``, in this order."""
    cohort = Cohort(npus, Tape(iter_of()).place())
    for number, each in enumerate(done):
        cohort.posted[number] = Joint([Handle(npu, number, REQUEST, 0, done=each) for npu in npus], number)
    return cohort


def test_who_parts_takes_along_only_what_is_not_done() -> None:
    """Else long pipelines, whose sends nobody waits for, would take CPU time by their square."""
    parts = _cohort_with([0, 1, 2], [True] * 100 + [False]).split([[0], [1, 2]])
    assert [list(part.posted) for part in parts] == [[100], [100]]
    assert [[handle.npu for handle in part.posted[100].handles] for part in parts] == [[0], [1, 2]]


def test_those_meet_who_lack_the_same_whatever_else_they_had_posted() -> None:
    place = Tape(iter_of()).place()
    one, other, behind = _cohort_with([0], [True, False]), _cohort_with([1], [True, False]), _cohort_with([2], [False])
    one.place = other.place = behind.place = place
    other.posted.pop(0)
    assert one.meets(other)
    assert not one.meets(behind)
    assert list(met([one, other]).posted) == [1]


def iter_of() -> Program:
    """A program that does nothing."""
    yield from ()
