"""DCQCN in a running network: use of the link, queue, equal shares, and the fixed point of the fluid model.

Two settings. *Paper*: reaction point as in SIGCOMM 2015 (the program's defaults) and RED of 5 KB, 200 KB and 1%, with
which it was analysed. *Deployment*: the public configuration of its authors: RED of 40 KB, 1000 KB and 100%, a timer of
60 us, a byte counter of 300 MB, 5 fast recoveries, additive 40 Mb/s, hyper 200 Mb/s.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from oracles.roce_fluid import Dcqcn, red_queue
from oracles.roce_times import ACK, CNP, HEADERS, Star, wire
from support.lengths import some_slow
from support.roce_network import LOSSLESS, Flow, arrived_bytes, jain, play_flows, roce_star, sampled_queue
from support.star_network import Played, incast, play

MS = 10**9
US = 10**6
RATE_BPS = 40 * 10**9
LINE = Star(RATE_BPS, 500_000)
PAYLOAD = 1000
WIRE = wire(PAYLOAD + HEADERS)
MESSAGE = 50_000
WARM_UP_PS = 40 * MS
"""All open at line rate, are cut to a few percent of it, and come back in some 20 ms; twice that is left out."""
PORT = "switch0:0"
SAMPLE_PS = 5 * US
RED = {"kmin": 5_000, "kmax": 200_000, "pmax": 0.01}
DEPLOYED_RED = {"kmin": 40_000, "kmax": 1_000_000, "pmax": 1.0}
PAPER = {"kind": "dcqcn", "parameters": "paper"}
DEPLOYED = {**PAPER, "increase_timer": "60us", "byte_counter": 300_000_000}
LEAST_USE = 0.98
LONGEST_QUEUE_BYTES = 100_000
EQUAL_SHARES = 0.95
"""Jain's index over 60 ms: a flow's rate swings by alpha / 2, some 5%, with hundreds of CNPs in that time."""
FLUID_TOLERANCE = 0.15
"""Of the mean queue. The fluid model has small p, a queue that stands still and timers that marks restart (see
oracles/roce_fluid.py); seeds differ by some 5% over the time looked at."""
RENEWAL_TOLERANCE = 0.12
"""Of the mean queue: the same seeds; and where the queue touches 0, p isn't linear in it."""


def long_flows(
    folder: Path, senders: int, red: dict[str, Any], control: object, milliseconds: int, late_ps: int = 0
) -> Played:
    """Hosts 1, 2, ... send all the time to host 0; all but the first begin late."""
    network = roce_star(
        senders + 1,
        rate="40Gbps",
        delay="1us",
        switch={"buffer": "32MiB", "ecn": red, "pfc": LOSSLESS},
        observe={"queues": [PORT], "queue_interval": f"{SAMPLE_PS}ps"},
        congestion_control=control,
    )
    messages = RATE_BPS * milliseconds // 8000 // MESSAGE
    flows = [Flow(host, 0, MESSAGE, messages, late_ps if host > 1 else 0) for host in range(1, senders + 1)]
    return play_flows(network, flows, folder, until_ps=milliseconds * MS)


def link_use(played: Played, begin_ps: int, end_ps: int) -> float:
    """Share of the time in which the port sent data, headers, preamble and gap counted."""
    bits = sum(arrived_bytes(played, begin_ps, end_ps)) // PAYLOAD * WIRE * 8
    return bits * 10**12 / RATE_BPS / (end_ps - begin_ps)


@pytest.mark.parametrize(
    ("red", "control"),
    [
        pytest.param(RED, PAPER, id="paper"),
        pytest.param(RED, {**PAPER, "decrease_timer": "4us"}, id="paper, clocked cuts"),
        pytest.param(DEPLOYED_RED, DEPLOYED, id="deployment"),
        pytest.param(DEPLOYED_RED, {**DEPLOYED, "decrease_timer": "4us"}, id="deployment, clocked cuts"),
    ],
)
def test_two_into_one_use_the_link_and_keep_the_queue_below_100_kb(
    red: dict[str, Any], control: object, tmp_path: Path
) -> None:
    played = long_flows(tmp_path, 2, red, control, 100)
    assert link_use(played, WARM_UP_PS, 100 * MS) >= LEAST_USE
    assert sampled_queue(played, PORT, WARM_UP_PS, 100 * MS, SAMPLE_PS).quantile(0.9) < LONGEST_QUEUE_BYTES
    assert jain(arrived_bytes(played, WARM_UP_PS, 100 * MS)) > EQUAL_SHARES
    assert played.statistics["dropped_frames"] == 0


@pytest.mark.parametrize("senders", [2, 4, 8, 16])
def test_flows_have_equal_shares_though_one_was_first(senders: int, tmp_path: Path) -> None:
    played = long_flows(tmp_path, senders, RED, PAPER, 100, late_ps=5 * MS)
    alone = arrived_bytes(played, 0, 5 * MS)
    assert alone[0] > 0.95 * RATE_BPS / 8 * 5e-3 * PAYLOAD / WIRE
    assert sum(alone[1:]) == 0
    assert jain(arrived_bytes(played, WARM_UP_PS, 100 * MS)) > EQUAL_SHARES
    assert link_use(played, WARM_UP_PS, 100 * MS) >= LEAST_USE


@pytest.mark.parametrize("senders", some_slow([2, 3, 4, 6], [2]))
def test_the_queue_rests_at_the_fixed_point_of_the_fluid_model(senders: int, tmp_path: Path) -> None:
    """Up to 6 flows: with more of them the queue swings into 200 KB, where the marking jumps from 1% to all."""
    played = long_flows(tmp_path, senders, RED, PAPER, 200)
    queue = sampled_queue(played, PORT, WARM_UP_PS, 200 * MS, SAMPLE_PS).mean()
    per_packet = 8 * WIRE
    model = Dcqcn(senders, RATE_BPS / per_packet, 40e6 / per_packet, 10e6 / WIRE)
    assert queue == pytest.approx(red_queue(model.fluid_marking(), **RED), rel=FLUID_TOLERANCE)
    assert queue == pytest.approx(red_queue(model.renewal_marking(), **RED), rel=RENEWAL_TOLERANCE)


def test_more_flows_stand_on_a_longer_queue(tmp_path: Path) -> None:
    """The fluid model's p grows with the number of flows."""
    queues = []
    for senders in (2, 4, 8):
        folder = tmp_path / str(senders)
        folder.mkdir()
        played = long_flows(folder, senders, RED, PAPER, 100)
        queues.append(sampled_queue(played, PORT, WARM_UP_PS, 100 * MS, SAMPLE_PS).mean())
    assert queues[0] * 1.5 < queues[1] < queues[2] / 1.5


def cnps_of_an_incast(senders: int, size: int, interval: str) -> tuple[Played, int]:
    """Nobody reacts and everything that waits is marked; how many CNPs host 0 sent besides its ACKs."""
    ecn = {"kmin": 1, "kmax": 1}
    network = roce_star(senders + 1, rate="40Gbps", switch={"ecn": ecn}, cnp_interval=interval)
    played = play(network, incast(senders), size, stop_when_done=False)
    cnps = played.ports["host0"]["sent_frames"] - played.ports[PORT]["sent_frames"]
    assert played.ports["host0"]["sent_bytes"] == played.ports[PORT]["sent_frames"] * ACK + cnps * CNP
    return played, cnps


@pytest.mark.parametrize("interval_us", [10, 50, 200])
def test_cnps_of_a_flow_are_their_interval_apart(interval_us: int) -> None:
    """Each flow has one right away, and the next with its first packet after the interval."""
    senders, size = 4, 1_000_000
    played, cnps = cnps_of_an_incast(senders, size, f"{interval_us}us")
    round_ps = senders * LINE.data_ps(PAYLOAD)
    lasted_ps = played.finish_ps - 2 * round_ps  # from the first mark to the last, a little less
    assert senders * (1 + lasted_ps // (interval_us * US + round_ps)) <= cnps
    assert cnps <= senders * (1 + played.finish_ps // (interval_us * US))


def test_without_an_interval_each_marked_packet_has_its_cnp() -> None:
    played, cnps = cnps_of_an_incast(4, 200_000, "0")
    assert cnps == played.ports[PORT]["marked_frames"]
    # All wait but those that found the port free: the first one.
    assert cnps >= 4 * 200 - 4
