"""What may help, and at most by how much: no less than a change can save, and no more than the floor allows."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.small_run import small_run

from astra_ns3 import run
from astra_ns3.network.run_document import EventDocument
from astra_ns3.report.explanation.explain import nccl_chose_by_lines
from astra_ns3.report.explanation.explanation import Explanation, Played
from astra_ns3.report.explanation.parts import (
    BUSY,
    COMPUTE,
    ENDPOINT,
    LOSSES_AND_IN_ORDER,
    MESSAGE,
    PARTS,
    WHOLE,
    Segment,
)
from astra_ns3.report.explanation.what_ifs import (
    FASTER_LINES,
    FASTER_NPUS,
    NO_DELAYS,
    NO_SLOW_NPUS,
    ORDER,
    OTHERS,
    Bounds,
    Slowness,
    WhatIf,
    parts_of_messages,
    waited_for_others,
    what_ifs,
)

RATE = "at line rate always"
WINDOW = "with a window that never closes"
CREDIT = "with credit for all of a round trip"
LOSSES = "without losses"
ACKNOWLEDGED = "without waiting for acknowledgements"
NOBODY_SLOW, FREE = Slowness(), Bounds()


def most(
    kinds: dict[str, int],
    parts: dict[str, int],
    bounds: Bounds = FREE,
    others_ps: int = 0,
    slowness: Slowness = NOBODY_SLOW,
) -> dict[str, int]:
    """What each change saves of 100 ps at most."""
    return {each.change: each.time_ps for each in what_ifs(kinds, parts, others_ps, bounds, 100, slowness)}


def test_lines_twice_as_fast_halve_sending_and_may_end_all_waits() -> None:
    """A message is sent for 20 ps, of which 10 go; the 15 ps behind others may go as a whole, and its way stays."""
    parts = {"serialisation_ps": 20, "switch_queue_ps": 10, "turn_ps": 5, "propagation_ps": 65}
    assert most({}, parts) == {FASTER_LINES: 25}


def test_nothing_twice_as_fast_saves_more_than_half_unless_timers_rates_or_windows_decide() -> None:
    parts = {"nic_queue_ps": 80, "serialisation_ps": 20}
    assert most({}, parts)[FASTER_LINES] == 50
    assert most({}, parts, Bounds(by_timers=True))[FASTER_LINES] == 90
    assert most({}, {"pacing_ps": 80, "serialisation_ps": 20}) == {FASTER_LINES: 90, RATE: 80}
    # A window of one and a half packets is one packet, and twice this window is three.
    assert most({}, {"window_ps": 80, "serialisation_ps": 20}) == {FASTER_LINES: 90, WINDOW: 80}
    assert most({COMPUTE: 20}, {"window_ps": 80})[FASTER_NPUS] == 50


def test_time_held_by_a_rate_may_go_as_a_whole_and_the_rest_by_half() -> None:
    """A rate holds a message for 2 ps, and may hold the messages of its queue pair before it for 18 ps."""
    parts = {"pacing_ps": 2, "turn_ps": 18, "nic_queue_ps": 60, "serialisation_ps": 20}
    assert most({}, parts)[FASTER_LINES] == 20 + 80 // 2
    assert most({}, {**parts, "pacing_ps": 0})[FASTER_LINES] == 50
    assert most({COMPUTE: 20}, {"pacing_ps": 2, "switch_queue_ps": 78})[FASTER_NPUS] == 2 + 98 // 2


def test_twice_as_fast_in_another_order_may_save_more_than_half() -> None:
    """Lines twice as fast beside delays as they are may let messages come in a better order (Graham 1969)."""
    parts = {"nic_queue_ps": 80, "serialisation_ps": 20}
    caveats = [each.caveats for time_ps in (100, 200) for each in what_ifs({}, parts, 0, FREE, time_ps, NOBODY_SLOW)]
    assert caveats == [(ORDER,), ()]


def test_no_row_goes_below_the_floor_and_those_that_may_help_most_are_first() -> None:
    """Of 100 ps the lines need 70, and 35 with lines twice as fast."""
    parts = {"pacing_ps": 80, "serialisation_ps": 20}
    found = what_ifs({}, parts, 0, Bounds(70, 35), 100, NOBODY_SLOW)
    assert found == (WhatIf(FASTER_LINES, 65), WhatIf(RATE, 30))
    text = Explanation("run x", 100, 0, 100, what_ifs=found).text()
    rows = text.partition("what may help, and at most by how much (explain --play plays each change)\n")[2].splitlines()
    assert [" ".join(row.split()) for row in rows] == [
        f"{FASTER_LINES} 65.0% less time (65 ps)",
        f"{RATE} 30.0% less time (30 ps)",
    ]


def test_no_row_but_that_of_faster_npus_goes_below_the_longest_chain_of_computations() -> None:
    bounds = Bounds(chain_ps=90)
    found = most({COMPUTE: 90}, {"switch_queue_ps": 10, "serialisation_ps": 0}, bounds)
    assert found == {FASTER_LINES: 10, FASTER_NPUS: 50}
    assert most({COMPUTE: 90}, {"turn_ps": 10}, Bounds(least_ps=95), 10)[FASTER_NPUS] == 5


def test_npus_twice_as_fast_halve_computing_and_end_waits_for_others_that_come_later() -> None:
    """In a NIC the own collective's bytes take as long in any case."""
    parts = {"nic_queue_ps": 10, "switch_queue_ps": 6, "serialisation_ps": 40, "propagation_ps": 4}
    assert most({COMPUTE: 40}, parts, others_ps=3)[FASTER_NPUS] == 20 + 6 + 3
    assert FASTER_NPUS not in most({}, parts)


@pytest.mark.parametrize(
    ("factor", "most_ps", "twice_ps"), [(Fraction(4), 75, 50), (Fraction(10, 9), 10, 50), (None, None, None)]
)
def test_without_slow_npus_a_run_is_at_most_as_many_times_as_fast_unless_one_is_slow_for_a_while(
    factor: Fraction | None, most_ps: int | None, twice_ps: int | None
) -> None:
    """Late messages of a slow NPU change the order of all, so the chain tells nothing of it."""
    found = most({COMPUTE: 20}, {"serialisation_ps": 80}, slowness=Slowness(factor))
    assert (found.get(NO_SLOW_NPUS), found.get(FASTER_NPUS)) == (most_ps, twice_ps)
    assert most({COMPUTE: 20}, {}, Bounds(least_ps=70), slowness=Slowness(factor))[NO_SLOW_NPUS] == min(
        30, most_ps or 30
    )


@pytest.mark.parametrize(("stand", "rows"), [(False, set()), (True, {NO_SLOW_NPUS})])
def test_slow_npus_cost_nothing_where_nobody_computes_but_they_may_stand_still(stand: bool, rows: set[str]) -> None:
    found = most(
        {}, {"serialisation_ps": 80, "propagation_ps": 20}, Bounds(least_ps=50), slowness=Slowness(None, stand=stand)
    )
    assert found.keys() - {FASTER_LINES} == rows


def test_collectives_that_end_sooner_slow_computing_for_a_shorter_time() -> None:
    """Of 60 ps that the chain computes 15 are because of collectives."""
    found = most({COMPUTE: 60, ENDPOINT: 3}, {"serialisation_ps": 37}, slowness=Slowness(beside_ps=15))
    assert (found[FASTER_LINES], found[NO_DELAYS], found[FASTER_NPUS]) == (18 + 15, 3 + 15, 30)
    assert most({COMPUTE: 60}, {}, slowness=Slowness(beside_ps=15))[FASTER_LINES] == 15


def test_kernels_that_wait_for_messages_may_wait_less() -> None:
    assert most({BUSY: 40}, {"serialisation_ps": 20, "propagation_ps": 40})[FASTER_LINES] == 40 + 10


def test_messages_behind_others_waited_for_what_those_waited_for() -> None:
    """Behind those of their queue pair, and in queues behind any others."""
    parts = {"turn_ps": 40, "switch_queue_ps": 20, "window_ps": 30, "serialisation_ps": 10}
    assert most({}, parts)[WINDOW] == 90
    parts = {"turn_ps": 10, "switch_queue_ps": 20, "acknowledgement_ps": 30, "serialisation_ps": 40}
    assert most({}, parts)[ACKNOWLEDGED] == 60
    assert WINDOW not in most({}, parts, Bounds(windows=False))
    assert WINDOW not in most({}, {"turn_ps": 60, "serialisation_ps": 40})


def test_only_a_control_holds_messages_below_line_rate() -> None:
    """A slower line ahead, or a kernel, paces messages, too."""
    assert RATE not in most({}, {"pacing_ps": 80, "serialisation_ps": 20}, Bounds(controlled=False))


@pytest.mark.parametrize(
    ("control", "numbers", "more", "rows"),
    [
        ("dctcp", {"window": 1}, {"window_of_path": True}, {RATE: 80}),
        ("dctcp", {"window": 1}, {"window_bytes": 65536}, {RATE: 80}),
        ("dctcp", {"window": 0}, {"window_bytes": 65536}, {WINDOW: 80}),
        ("swift", {"ai": 1}, {"window_of_path": True}, {RATE: 80}),
        ("hpcc", {}, {"window_of_path": True, "window_scales": True}, {RATE: 80}),
        ("dcqcn", {}, {"window_bytes": 65536}, {WINDOW: 80}),
        ("static-window", {}, {"window_bytes": 65536}, {WINDOW: 80}),
        ("none", {}, {"window_bytes": 65536}, {WINDOW: 80}),
        ("tight.py:Tight", {}, {}, {RATE: 80}),
    ],
)
def test_a_window_that_a_control_moves_is_the_controls(
    control: str, numbers: dict[str, int], more: dict[str, Any], rows: dict[str, int]
) -> None:
    """``congestion_control: none`` may end all waits for it, and no other window would be open."""
    metadata = run(**small_run()).metadata
    keys = {"window_bytes": 0, "window_of_path": False, "window_scales": False}
    roce = {"congestion_control": control, "control": numbers, **keys, **more}
    metadata = {**metadata, "in_force": {"roce": roce}}
    bounds = Bounds.of(metadata, whole=False)
    assert most({}, {"window_ps": 60, "turn_ps": 20, "serialisation_ps": 20}, bounds) == {FASTER_LINES: 90, **rows}


def test_a_window_of_a_control_may_open_by_any_factor_if_npus_are_faster() -> None:
    parts = {"window_ps": 2, "switch_queue_ps": 78}
    assert most({COMPUTE: 20}, parts)[FASTER_NPUS] == 50
    assert most({COMPUTE: 20}, parts, Bounds(windows=False, by_window=True))[FASTER_NPUS] == 2 + 98 // 2


def test_at_line_rate_packets_have_no_telemetry() -> None:
    """Of HPCC's packets of 210 bytes 42 are telemetry of hops."""
    metadata = run(**small_run()).metadata
    metadata["in_force"] = {"roce": {"congestion_control": "hpcc", "telemetry_bytes": 42, "payload_bytes": 168}}
    bounds = Bounds.of(metadata, whole=False)
    assert most({}, {"pacing_ps": 10, "serialisation_ps": 50, "propagation_ps": 40}, bounds)[RATE] == 20


def test_more_credit_may_end_pauses_where_lanes_have_credit() -> None:
    parts = {"nic_paused_ps": 40, "switch_paused_ps": 20, "serialisation_ps": 40}
    assert most({}, parts) == {FASTER_LINES: 50}
    assert most({}, parts, Bounds(credits=True)) == {FASTER_LINES: 50, CREDIT: 60}


def test_waits_in_nics_and_own_delays_have_rows_of_their_own() -> None:
    parts = {"nic_queue_ps": 50, "serialisation_ps": 40}
    assert most({ENDPOINT: 10}, parts, others_ps=7) == {FASTER_LINES: 50, NO_DELAYS: 10, OTHERS: 7}
    assert OTHERS not in most({}, parts, Bounds(own_part=True), 7)


def test_the_longest_chain_is_that_of_the_floor_or_what_the_reported_npu_computed() -> None:
    metadata = run(**small_run()).metadata
    metadata["compute_ps"] = 40
    floor: Any = {"time_ps": 90, "kind": "lines", "lines_ps": 90, "chain_ps": 60}
    assert Bounds.of({**metadata, "floor": floor}, whole=True).chain_ps == 60
    floor["chain_ps"] = 0  # as with jitter
    assert Bounds.of({**metadata, "floor": floor}, whole=True).chain_ps == 40
    assert Bounds.of({**metadata, "floor": floor}, whole=False).chain_ps == 0
    del floor["chain_ps"]  # as of an earlier run
    assert Bounds.of({**metadata, "floor": floor}, whole=True).chain_ps == 40
    floor["kind"] = "chain"
    assert Bounds.of({**metadata, "floor": floor}, whole=True).chain_ps == 90


def test_lines_need_what_the_floor_says_of_them_where_messages_share_them() -> None:
    metadata = run(**small_run()).metadata
    metadata["backend"] = "analytical"
    floor: Any = {"time_ps": 90, "kind": "chain", "lines_ps": 70, "twice_ps": 65}
    found = Bounds.of({**metadata, "floor": floor}, whole=True)
    assert (found.least_ps, found.twice_ps) == (0, 0)
    metadata["backend"] = "flow"
    found = Bounds.of({**metadata, "floor": floor}, whole=True)
    assert (found.least_ps, found.twice_ps) == (70, 65)
    # Formulas idealise what packets share, so a run of theirs may end below the lines of packets.
    metadata["backend"] = "analytical-queues"
    for in_force, least_ps in ((metadata["in_force"], 0), (None, 70)):
        assert Bounds.of({**metadata, "in_force": in_force, "floor": floor}, whole=True).least_ps == least_ps
    metadata["backend"] = "flow"
    del floor["lines_ps"], floor["twice_ps"]  # as of a run before there were chains
    found = Bounds.of({**metadata, "floor": floor}, whole=True)
    assert (found.least_ps, found.twice_ps) == (90, 45)


@pytest.mark.parametrize(
    ("out_of_order", "lost", "words"),
    [
        (0, 3, LOSSES),
        (2, 3, "without losses, and with packets in order"),
        (2, 0, "with packets in order, so that none is taken for lost"),
    ],
)
def test_packets_out_of_order_are_not_called_losses(out_of_order: int, lost: int, words: str) -> None:
    metadata = run(**small_run()).metadata
    metadata["statistics"] = {"out_of_order_packets": out_of_order, "lost_frames": lost, "dropped_frames": 0}
    bounds = Bounds.of(metadata, whole=False)
    assert bounds.by_timers
    assert most({}, {"lost_ps": 90}, bounds) == {FASTER_LINES: 90, words: 90}


@pytest.mark.parametrize("counter", ["dropped_frames", "cut_frames", "down_frames", "silent_frames", "unrouted_frames"])
def test_frames_that_a_link_or_a_switch_lost_are_losses_beside_packets_out_of_order(counter: str) -> None:
    metadata = run(**small_run()).metadata
    metadata = {**metadata, "statistics": {**metadata["statistics"], "out_of_order_packets": 24, counter: 337}}
    assert Bounds.of(metadata, whole=False).losses == LOSSES_AND_IN_ORDER


def test_what_was_played_stands_apart_from_what_may_help() -> None:
    rows = (WhatIf(FASTER_LINES, 40, played=True), WhatIf(RATE, -3, played=True), WhatIf(OTHERS, 9))
    played = Played("flow", 200, "ns3", 100, ((FASTER_NPUS, "why not"),))
    text = Explanation("run x", 100, 0, 100, what_ifs=rows, played=played).text()
    assert "what helps, played on flow, where it takes 200 ps and not 100 ps\n" in text
    words = [" ".join(line.split()) for line in text.splitlines()]
    assert f"{FASTER_LINES} 20.0% less time (40 ps)" in words
    assert f"{RATE} 1.5% more time (3 ps)" in words
    assert f"{FASTER_NPUS} not played: why not" in words
    assert words.index("what else may help, and at most by how much") < words.index(f"{OTHERS} 9.0% less time (9 ps)")
    untold = Played("flow", 200, "ns3", 100, ((OTHERS, "why not"),))
    text = Explanation("run x", 100, 0, 100, what_ifs=rows, played=untold).text()
    (once,) = [" ".join(line.split()) for line in text.splitlines() if OTHERS in line]
    assert once == f"{OTHERS} 9.0% less time (9 ps), not played: why not"
    own = Explanation("run x", 100, 0, 100, what_ifs=rows, played=Played("ns3", 100, "ns3", 100)).text()
    assert "what helps, played on ns3\n" in own


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


def test_a_message_without_accounts_waits_for_as_long_as_it_takes_longer_than_alone() -> None:
    """One takes 5 ps longer than alone; of the second only the last part is on the chain, which may be all a wait."""
    zeros = np.zeros(2, np.int64)
    messages = {"start_ps": zeros, "end_ps": zeros + 100, "ideal_ps": np.array([95, 100])}
    chain = [Segment(MESSAGE, 0, 0, 100, message=0), Segment(MESSAGE, 0, 100, 130, message=1, whole=False)]
    assert parts_of_messages(chain, messages)[WHOLE] == 5 + 30
