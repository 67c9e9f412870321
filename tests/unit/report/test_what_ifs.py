"""What would help: no advice promises what the lines can't do, or is waiting for the own bytes on the own line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.small_run import small_run

from astra_ns3 import run
from astra_ns3.network.run_document import EventDocument
from astra_ns3.report.explanation.explain import nccl_chose_by_lines
from astra_ns3.report.explanation.explanation import Explanation
from astra_ns3.report.explanation.parts import (
    COMPUTE,
    ENDPOINT,
    LATENCY,
    LOSSES_AND_IN_ORDER,
    MESSAGE,
    PARTS,
    SIGNAL,
    Segment,
)
from astra_ns3.report.explanation.what_ifs import (
    NO_SLOW_NPUS,
    Lines,
    OfCredit,
    WhatIf,
    parts_of_messages,
    waited_for_others,
    what_ifs,
)

COMPUTING = "with NPUs that compute twice as fast"
LINES = "with lines twice as fast"
RATE = "at line rate always"
WINDOW = "with a window that never closes"
CREDIT = "with credit for all of a round trip"
PAUSED_PARTS = {"nic_paused_ps": 40, "switch_paused_ps": 20, "serialisation_ps": 40}
OTHERS = "without waiting in the NIC for other collectives"


def test_no_advice_goes_below_the_floor_and_the_order_is_that_of_what_is_left() -> None:
    """Of 100 ps the lines need 70: no pace helps more than 30, and lines twice as fast need 35."""
    found = what_ifs({}, {"pacing_ps": 80, "serialisation_ps": 20}, 0, Lines(70, 35), 100, {})
    assert found == (WhatIf(LINES, 50), WhatIf(RATE, 30, bounded=True, bound="lines"))
    text = Explanation("run x", 100, 0, 100, what_ifs=found).text()
    assert "at most 30.0% less time  (30 ps), the lines allow no more; less where queues take its place" in text
    assert what_ifs({}, {"pacing_ps": 80, "serialisation_ps": 20}, 0, Lines(0, 0), 100, {})[0] == WhatIf(RATE, 80)


def test_who_has_no_congestion_control_is_not_told_to_send_at_line_rate() -> None:
    """A slower line ahead, or a kernel, paces messages, too: no line would carry more."""
    parts = {"pacing_ps": 80, "serialisation_ps": 20}
    alone = what_ifs({}, parts, 0, Lines(0, 0, controlled=False), 100, {})
    assert [each.change for each in alone] == [LINES]


def test_lines_twice_as_fast_halve_at_least_what_a_line_needs_that_is_busy_most_of_the_time() -> None:
    parts = {"transport_ps": 80, "propagation_ps": 20}
    assert what_ifs({}, parts, 0, Lines(60, 30, own_part=True), 100, {}) == (WhatIf(LINES, 30),)
    assert what_ifs({}, parts, 0, Lines(50, 25, own_part=True), 100, {}) == ()  # round trips may hide all of it


def test_messages_behind_others_waited_for_what_those_waited_for() -> None:
    """Of 100 ps a message waits 60 for its turn, 30 for its window and is sent for 10: 75 of 100 are the window's."""
    parts = {"turn_ps": 60, "window_ps": 30, "serialisation_ps": 10, "switch_queue_ps": 4}
    found = {each.change: each.time_ps for each in what_ifs({}, parts, 0, Lines(0, 0), 104, {})}
    assert found[WINDOW] == 75


def test_nothing_promises_that_bytes_wait_less_without_pauses_or_queues() -> None:
    """They would wait for the same line elsewhere, and only a faster line carries more."""
    parts = {"switch_queue_ps": 40, "nic_paused_ps": 30, "switch_paused_ps": 20, "serialisation_ps": 10}
    assert what_ifs({}, parts, 0, Lines(0, 0), 100, {}) == (WhatIf(LINES, 50),)


@pytest.mark.parametrize(
    ("round_trips", "more_credit", "faster"),
    [
        ((1, 1), 0, 50),  # credit is never used up
        ((1, 1.5), 0, 25),  # faster lines use it up: 100 ps become 75
        ((2, 3.5), 50, 12),  # a lane sends half of the time, and 100 ps become 87.5
        ((5, 10), 60, 12),  # 75 ps wait for round trips, and faster lines halve the rest
    ],
)
def test_waits_for_credit_that_is_on_its_way_end_with_more_credit_and_not_with_faster_lines(
    round_trips: tuple[float, float], more_credit: int, faster: int
) -> None:
    found = {
        each.change: each.time_ps
        for each in what_ifs({}, PAUSED_PARTS, 0, Lines(0, 0), 100, {}, 0, [OfCredit(PAUSED_PARTS, *round_trips)])
    }
    assert found == {LINES: faster} | ({CREDIT: more_credit} if more_credit else {})


def test_lines_change_no_rate_that_a_control_of_the_users_own_sets() -> None:
    parts = {"turn_ps": 60, "pacing_ps": 30, "serialisation_ps": 10}
    for own, saved in ((False, 50), (True, 0)):
        found = what_ifs({}, parts, 0, Lines(0, 0, own_control=own), 100, {})
        assert {each.change: each.time_ps for each in found}.get(LINES, 0) == saved


def test_what_lines_carry_while_the_chain_computes_is_not_saved_by_faster_lines() -> None:
    """The lines are busy for 60 ps of 100, but the chain computes or handles for 90: half of 10 ps is saved."""
    kinds = {COMPUTE: 80, ENDPOINT: 10}
    found = what_ifs(kinds, {"transport_ps": 10}, 0, Lines(60, 30, own_part=True), 100, {})
    assert {each.change: each.time_ps for each in found}[LINES] == 5


def test_what_lines_carry_while_messages_are_on_the_way_is_not_saved_by_faster_lines() -> None:
    """The chain has 50 ps of hops, 30 on the way and 20 on lines, of which faster lines save half. A signal is a link
    of its own, and its way and its time on lines are among the parts.
    """
    parts = {"serialisation_ps": 20, "propagation_ps": 30}
    assert what_ifs({LATENCY: 50}, parts, 0, Lines(60, 30), 100, {}) == (WhatIf(LINES, 10),)
    assert what_ifs(
        {LATENCY: 40, SIGNAL: 20}, {"serialisation_ps": 30, "propagation_ps": 30}, 0, Lines(60, 30), 100, {}
    ) == (WhatIf(LINES, 15),)
    assert what_ifs({LATENCY: 40, SIGNAL: 20}, {"message": 40}, 0, Lines(60, 30), 100, {}) == (WhatIf(LINES, 20),)


def test_without_a_chain_faster_lines_save_no_more_than_the_longest_chain_of_computations_leaves() -> None:
    found = what_ifs({}, {}, 0, Lines(60, 30, chain_ps=98), 100, {})
    assert found == (WhatIf(LINES, 2, bounded=True, bound="chain"),)
    text = Explanation("run x", 100, 0, 100, what_ifs=found).text()
    assert "at most 2.0% less time  (2 ps), the longest chain allows no more" in text
    assert what_ifs({}, {}, 0, Lines(60, 30, chain_ps=70), 100, {}) == (WhatIf(LINES, 30),)


def test_computing_twice_as_fast_halves_the_longest_chain_of_computations() -> None:
    """The chain on the way and the longest one of computations are two: 90 ps become 45 at least."""
    assert what_ifs({}, {}, 0, Lines(0, 0, chain_ps=90), 100, {COMPUTING: 50}) == (WhatIf(COMPUTING, 50),)
    most = WhatIf(RATE, 10, bounded=True, bound="chain")
    assert most in what_ifs({}, {"pacing_ps": 80}, 0, Lines(0, 0, chain_ps=90), 100, {})
    assert what_ifs({}, {}, 0, Lines(0, 0, chain_ps=90), 100, {NO_SLOW_NPUS: 50}) == (WhatIf(NO_SLOW_NPUS, 50),)


def test_the_longest_chain_is_that_of_the_floor_or_what_the_reported_npu_computed() -> None:
    metadata = run(**small_run()).metadata
    metadata["compute_ps"] = 40
    floor: Any = {"time_ps": 90, "kind": "lines", "lines_ps": 90, "chain_ps": 60}
    assert Lines.of({**metadata, "floor": floor}, whole=True).chain_ps == 60
    floor["chain_ps"] = 0  # as with jitter
    assert Lines.of({**metadata, "floor": floor}, whole=True).chain_ps == 40
    assert Lines.of({**metadata, "floor": floor}, whole=False).chain_ps == 0
    del floor["chain_ps"]  # as of an earlier run
    assert Lines.of({**metadata, "floor": floor}, whole=True).chain_ps == 40
    floor["kind"] = "chain"
    assert Lines.of({**metadata, "floor": floor}, whole=True).chain_ps == 90


@pytest.mark.parametrize(("backend", "saved"), [("analytical", ()), ("analytical-queues", (WhatIf(LINES, 30),))])
def test_a_busy_line_decides_nothing_where_messages_never_meet(backend: str, saved: tuple[WhatIf, ...]) -> None:
    floor: Any = {"time_ps": 60, "kind": "lines", "lines_ps": 60, "chain_ps": 1}
    lines = Lines.of({**run(**small_run()).metadata, "floor": floor, "backend": backend}, whole=True)
    assert what_ifs({}, {}, 0, lines, 100, {}) == saved
    untold = Lines.of(
        {**run(**small_run()).metadata, "floor": floor, "backend": backend}, whole=True, parts_known=False
    )
    assert what_ifs({}, {}, 0, untold, 100, {}) == ()


def test_a_window_that_grows_with_the_lines_is_waiting_for_the_lines() -> None:
    parts = {"window_ps": 60, "serialisation_ps": 20, "propagation_ps": 20}
    assert what_ifs({}, parts, 0, Lines(0, 0, windows_grow=True), 100, {}) == (WhatIf(LINES, 40),)
    fixed = {each.change: each.time_ps for each in what_ifs({}, parts, 0, Lines(0, 0), 100, {})}
    assert fixed == {WINDOW: 60, LINES: 2}  # 20 less three quarters that the window hides


@pytest.mark.parametrize(("queued", "saved"), [(0, 0), (30, 30), (200, 140)])
def test_round_trips_of_a_fixed_window_keep_their_way_there_and_back(queued: int, saved: int) -> None:
    """Four windows take 20 ps each to and fro; faster lines save queues, but no more than half of all."""
    one, none = (np.array([number]) for number in (1, 0))
    messages = dict.fromkeys(PARTS, none) | {"start_ps": none, "end_ps": 90 * one + queued}
    messages |= {"bytes": 4000 * one, "propagation_ps": 10 * one, "window_ps": 60 * one + queued}
    messages["serialisation_ps"] = 20 * one
    parts = parts_of_messages([Segment(MESSAGE, 0, 0, 90 + queued, message=0)], messages, 1000)
    found = {each.change: each.time_ps for each in what_ifs({}, parts, 0, Lines(0, 0), 90 + queued, {})}
    assert found.get(LINES, 0) == saved


@pytest.mark.parametrize(("sending", "saved"), [((20, 20, 20, 20), 0), ((10, 30, 10, 30), 0), ((60, 60, 60, 60), 120)])
def test_messages_behind_each_other_share_the_round_trips_of_a_window(sending: tuple[int, ...], saved: int) -> None:
    """Each has half of a window, which takes 40 ps to and fro; turns of 10 ps are as much shorter as sending."""
    each_ps, none = np.array(sending), np.zeros(4, dtype=np.int64)
    messages = dict.fromkeys(PARTS, none) | {"start_ps": none, "end_ps": each_ps + 30}
    messages |= {"bytes": none + 500, "propagation_ps": none + 20, "turn_ps": none + 10, "serialisation_ps": each_ps}
    segments = [Segment(MESSAGE, 0, 0, took + 30, message=row) for row, took in enumerate(sending)]
    parts = parts_of_messages(segments, messages, 1000)
    found = {each.change: each.time_ps for each in what_ifs({}, parts, 0, Lines(0, 0), 1000, {})}
    assert found.get(LINES, 0) == saved * (1 + 40 / sum(sending))


def test_what_is_lost_waits_for_timers_and_not_for_lines() -> None:
    assert what_ifs({}, {"lost_ps": 90, "serialisation_ps": 10}, 0, Lines(0, 0), 100, {}) == (
        WhatIf("without losses", 90),
        WhatIf(LINES, 5),
    )


@pytest.mark.parametrize(
    ("out_of_order", "lost", "words"),
    [
        (0, 3, "without losses"),
        (2, 3, "without losses, and with packets in order"),
        (2, 0, "with packets in order, so that none is taken for lost"),
    ],
)
def test_packets_out_of_order_are_not_called_losses(out_of_order: int, lost: int, words: str) -> None:
    metadata = run(**small_run()).metadata
    metadata["statistics"] = {"out_of_order_packets": out_of_order, "lost_frames": lost, "dropped_frames": 0}
    assert what_ifs({}, {"lost_ps": 90}, 0, Lines.of(metadata, whole=False), 100, {}) == (WhatIf(words, 90),)


@pytest.mark.parametrize("counter", ["dropped_frames", "cut_frames", "down_frames", "silent_frames", "unrouted_frames"])
def test_frames_that_a_link_or_a_switch_lost_are_losses_beside_packets_out_of_order(counter: str) -> None:
    metadata = run(**small_run()).metadata
    metadata = {**metadata, "statistics": {**metadata["statistics"], "out_of_order_packets": 24, counter: 337}}
    assert Lines.of(metadata, whole=False).losses == LOSSES_AND_IN_ORDER


def test_lines_twice_as_fast_save_no_more_than_the_floor_of_such_lines_leaves() -> None:
    """Lines that are slow for the first 60 ps need 80 in all, and 65 with twice their rates."""
    found = what_ifs({}, {"serialisation_ps": 90}, 0, Lines(80, 65), 100, {})
    assert [(each.time_ps, each.bound) for each in found if each.change == LINES] == [(35, "lines")]
    assert what_ifs({}, {}, 0, Lines(80, 65), 100, {}) == (WhatIf(LINES, 15),)
    metadata = run(**small_run()).metadata
    floor: Any = {"time_ps": 80, "kind": "lines", "lines_ps": 80, "twice_ps": 65}
    assert Lines.of({**metadata, "floor": floor}, whole=True).twice_ps == 65


def test_a_longer_chain_of_computations_is_no_time_that_lines_need() -> None:
    metadata = run(**small_run()).metadata
    floor: Any = {"time_ps": 90, "kind": "chain", "lines_ps": 70}
    assert Lines.of({**metadata, "floor": floor}, whole=True).least_ps == 70
    del floor["lines_ps"]  # as of a run before there were chains
    assert Lines.of({**metadata, "floor": floor}, whole=True).least_ps == 90


def test_over_tcp_a_turn_is_round_trips_and_waiting_in_the_nic_is_not_offered() -> None:
    assert what_ifs({}, {"turn_ps": 50, "propagation_ps": 50}, 50, Lines(0, 0, own_part=True), 100, {}) == ()


def test_faster_lines_take_queues_out_of_a_round_trip_but_leave_the_way_to_and_fro() -> None:
    """A round trip has a queue of 20 ps and two ways of 20: of TCP's 60 ps a third goes, besides the queue itself."""
    parts = {"transport_ps": 60, "switch_queue_ps": 20, "propagation_ps": 20}
    found = what_ifs({}, parts, 0, Lines(0, 0, own_part=True), 100, {})
    assert {each.change: each.time_ps for each in found}[LINES] == (20 + 20) // 2


def test_only_other_collectives_are_others() -> None:
    """NPU 0's first message waits 30 ps beside one of its collective and one three times as large of another.

    Of the wait for the line no more counts than the other collective's bytes need there.
    """
    messages = {
        "source": np.array([0, 0, 0, 0, 1]),
        "collective": np.array([0, 0, 1, 1, 1]),
        "bytes": np.array([200, 100, 300, 7, 9]),
        "start_ps": np.array([0, 0, 0, 50, 0]),
        "end_ps": np.array([50, 50, 110, 90, 50]),
        "turn_ps": np.array([10, 0, 0, 0, 8]),
        "nic_queue_ps": np.array([20, 40, 0, 0, 0]),
        "serialisation_ps": np.array([20, 10, 90, 1, 1]),
        "later_ps": np.array([0, 0, 60, 0, 0]),
    }
    nothing = ("switch_queue_ps", "switch_paused_ps", "propagation_ps", "acknowledgement_ps")
    messages |= {name: np.zeros(5, dtype=np.int64) for name in nothing}
    first, alone = Segment(MESSAGE, 0, 0, 50, message=0), Segment(MESSAGE, 1, 0, 50, message=4)
    assert waited_for_others([first], messages) == 10 * 300 // 400 + 20 * 300 // 400
    messages["serialisation_ps"][2] = 65
    assert waited_for_others([first], messages) == 10 * 300 // 400 + 5
    messages["switch_queue_ps"][2] = 49  # its last byte leaves the NIC at 1 ps: a fifth of its bytes is still to go
    assert waited_for_others([first], messages) == 10 * 60 // 160 + 1
    messages["start_ps"][0] = 1
    assert waited_for_others([first], messages) == 0
    assert waited_for_others([alone], messages) == 0  # its NPU sends nothing else
    assert waited_for_others([Segment(MESSAGE, 0, 20, 50, message=0, whole=False)], messages) == 0
    assert waited_for_others([first], None) == 0


class _Chosen:
    """A run of two collectives, of which NCCL chose the second; ``server``: of its system file, None: the lines'."""

    def __init__(self, server: str | None = None) -> None:
        self.metadata: Any = {"system": {"nccl": None if server is None else {"server": server}}}
        self.folder = None
        self.events: tuple[EventDocument, ...] = ()
        self.scenario_keys = self.chosen_seed = None
        self.network_finish_ps = 0

    def rows(self, name: str) -> list[dict[str, str]]:
        assert name == "collectives.csv"
        names = ("direct", "nccl Ring LL128 x8")
        return [{"collective": str(number), "algorithm": words} for number, words in enumerate(names)]

    def file(self, name: str) -> Path:
        raise AssertionError(name)


@pytest.mark.parametrize(
    ("server", "on_chain", "chosen"),
    [(None, 1, True), (None, 0, False), (None, -1, False), ("dgx-h100", 1, False)],
)
def test_only_what_nccl_chose_for_the_chain_by_lines_may_be_chosen_anew(
    server: str | None, on_chain: int, chosen: bool
) -> None:
    """Other lines change a choice of the second collective alone, and only where no server decides it."""
    segments = [Segment(COMPUTE, 0, 0, 5), Segment(MESSAGE, 0, 5, 9, collective=on_chain)]
    assert nccl_chose_by_lines(_Chosen(server), segments) == chosen


def test_what_is_sent_again_behind_own_bytes_costs_what_the_message_takes_longer_than_alone() -> None:
    """Of two messages of the chain, one ends no later than alone, one 5 ps later."""
    zeros = np.zeros(2, np.int64)
    messages = {name: zeros.copy() for name in PARTS} | {"start_ps": zeros, "end_ps": zeros + 100}
    messages |= {"lost_ps": np.array([40, 20]), "serialisation_ps": np.array([60, 80]), "ideal_ps": np.array([100, 95])}
    chain = [Segment(MESSAGE, 0, 100 * row, 100 * row + 100, message=row) for row in range(2)]
    found = parts_of_messages(chain, messages)
    assert (found["lost_ps"], found["serialisation_ps"]) == (5, 195)
