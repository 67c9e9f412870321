"""Congestion controls against their papers: rules step by step, fixed points, and outcomes that others report."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from bridge.test_roce_control_rules import CLOCKED
from oracles.roce_control import US
from oracles.roce_fluid import Dcqcn, red_queue
from oracles.roce_times import TELEMETRY
from physics import test_roce_congestion as others
from physics.test_roce_dcqcn import (
    DEPLOYED,
    DEPLOYED_RED,
    MS,
    PAPER,
    PORT,
    RATE_BPS,
    RED,
    SAMPLE_PS,
    WARM_UP_PS,
    WIRE,
    link_use,
    long_flows,
)
from support.roce_control_replay import LINE, Story, make_replay
from support.roce_network import LOSSLESS, arrived_bytes, jain, roce_star, sampled_queue
from support.star_network import incast, play

from validation.comparison import Comparison, Found, Group, against, recorded

DCQCN, REST = "tests/physics/test_roce_dcqcn.py", "tests/physics/test_roce_congestion.py"
RULES = "tests/bridge/test_roce_control_rules.py"
PER_PACKET = 8 * WIRE
SENDERS = 8


def _first_cut() -> Found:
    """One CNP at time 0; alpha was multiplied by 255/256 four times when the rate is first cut."""
    replay = make_replay("dcqcn", Story(1).path, {**CLOCKED, "g": 1 / 256})
    replay.Cnp()
    replay.Advance(4 * US + 2_000)
    return against(replay.GetRateBps() / LINE, 0.50777, "of the line", 5)


def _fixed_point(senders: int) -> tuple[str, Callable[[], Found]]:
    model = Dcqcn(senders, RATE_BPS / PER_PACKET, 40e6 / PER_PACKET, 10e6 / WIRE)
    expected = red_queue(model.fluid_marking(), **RED) / 1000

    def find() -> Found:
        with tempfile.TemporaryDirectory() as folder:
            played = long_flows(Path(folder), senders, RED, PAPER, 200)
            queue = sampled_queue(played, PORT, WARM_UP_PS, 200 * MS, SAMPLE_PS).mean()
        return against(queue / 1000, expected, "KB", 1)

    return f"{expected:.1f} KB", find


def _deployed() -> Found:
    with tempfile.TemporaryDirectory() as folder:
        played = long_flows(Path(folder), 2, DEPLOYED_RED, DEPLOYED, 100)
        use = link_use(played, WARM_UP_PS, 100 * MS)
        queue = sampled_queue(played, PORT, WARM_UP_PS, 100 * MS, SAMPLE_PS).quantile(0.9)
        shares = jain(arrived_bytes(played, WARM_UP_PS, 100 * MS))
    fine = use > 0.985 and queue < 100_000 and shares > 0.95
    return (
        f"{100 * use:.1f} %, 90% of the time below {queue / 1000:.0f} KB, Jain {shares:.3f}",
        "as said" if fine else "not so",
    )


def _pauses() -> Found:
    """Of 16 that send 500 KB to one, without and with a window."""
    pauses = []
    for window in ("none", "bdp"):
        switch = {"buffer": "8MB", "pfc": LOSSLESS, "ecn": {"kmin": "100KB", "kmax": "400KB", "pmax": 0.2}}
        network = roce_star(17, delay="1us", switch=switch, congestion_control=PAPER, window=window)
        pauses.append(play(network, incast(16), 500_000).statistics["pauses"])
    fine = pauses[0] > 0 and pauses[1] == 0
    return f"{pauses[0]} pauses; {pauses[1]}", "as said" if fine else "not so"


def _long_flows(name: str, senders: int) -> tuple[float, float]:
    """Mean queue in KB, and use of the line, once all is settled."""
    setting = others.SETTINGS[name]
    with tempfile.TemporaryDirectory() as folder:
        played = others.long_flows(Path(folder), setting, senders)
        queue = others.settled_queue(played, setting)
        return queue.mean() / 1000, others.settled_use(played, setting)


def _use() -> Found:
    use = 100 * _long_flows("hpcc", 1)[1]
    return f"{use:.1f} %", "within" if 95.0 <= use <= 97.2 else "outside"


def _near_zero() -> Found:
    queue = _long_flows("hpcc", SENDERS)[0]
    packets = queue * 1000 / (others.FRAME + TELEMETRY)
    return f"{packets:.1f} packets", "within" if packets < SENDERS else "outside"


def _dctcp_kb() -> float:
    return _long_flows("dctcp", SENDERS)[0]


def _timely_kb() -> float:
    setting = others.SETTINGS["timely"]
    with tempfile.TemporaryDirectory() as folder:
        played = others.long_flows(Path(folder), setting, SENDERS)
        return float(others.settled_queue(played, setting).quantile(0.9)) / 1000


_TWO, _FOUR = _fixed_point(2), _fixed_point(4)
_SWIFT_KB = others.swift_queue_bytes(SENDERS, 100 * 10**9, 10) / 1000
GROUPS = [
    Group(
        "Congestion controls of RoCE: papers and authors' words",
        [
            Comparison(
                "control-rules",
                "eight controls, 23 settings, 8,000 random events each: rate and window after each",
                "oracles written from the papers",
                "1e-9 of the rate",
                recorded("1e-9 of the rate", "equal"),
                RULES,
                note="by its test",
            ),
            Comparison(
                "dcqcn-first-cut",
                "DCQCN, one CNP, g 1/256, alpha every 1 us, cut after 4 us: rate",
                "HPCC's public code, by hand: 1 - (255/256)^4 / 2",
                "0.50777 of the line",
                _first_cut,
                "ns3-scratch/roce/test/roce-control-dcqcn-test-suite.cc",
            ),
            Comparison(
                "dcqcn-two",
                "DCQCN, two flows at 40 Gb/s: mean queue",
                "fixed point of its fluid model, SIGCOMM 2015",
                *_TWO,
                DCQCN,
                note="the paper's fluid model assumes rare marks and a constant queue",
                fast=False,
            ),
            Comparison(
                "dcqcn-four", "DCQCN, four flows: mean queue", "fluid model, SIGCOMM 2015", *_FOUR, DCQCN, fast=False
            ),
            Comparison(
                "dcqcn-deployed",
                "DCQCN 2:1 at 40 Gb/s, its authors' numbers",
                "its authors' simulator, issue 9",
                "about 99%, queue mostly about 100 KB or less",
                _deployed,
                DCQCN,
                fast=False,
            ),
            Comparison(
                "dcqcn-pauses",
                "DCQCN, incast of 16: pauses without and with a window",
                "HPCC's simulator, issue 14",
                "pauses; none",
                _pauses,
                "tests/physics/test_roce_pfc.py",
            ),
            Comparison(
                "hpcc-eta",
                "HPCC alone: use of the line",
                "eta 0.95, SIGCOMM 2019, and `rate_ai` a round trip",
                "95.0 % to 97.1 %",
                _use,
                REST,
                note="switches count frames without preamble and gap",
                fast=False,
            ),
            Comparison(
                "hpcc-queue",
                f"HPCC, {SENDERS} flows: mean queue",
                "near zero, SIGCOMM 2019",
                "below 8 packets",
                _near_zero,
                REST,
                fast=False,
            ),
            Comparison(
                "dctcp-queue",
                f"DCTCP, {SENDERS} flows, K = 65 KB: mean queue",
                "K, SIGCOMM 2010, 3.3",
                "65 KB",
                lambda: against(_dctcp_kb(), 65, "KB", 1),
                REST,
                fast=False,
            ),
            Comparison(
                "swift-queue",
                f"Swift, {SENDERS} flows, target 10 us: mean queue",
                "where the delay is the target, SIGCOMM 2020",
                f"{_SWIFT_KB:.1f} KB",
                lambda: against(_long_flows("swift", SENDERS)[0], _SWIFT_KB, "KB", 1),
                REST,
                note="in flight are whole packets",
                fast=False,
            ),
            Comparison(
                "timely-queue",
                f"TIMELY, {SENDERS} flows at 10 Gb/s: 90th percentile of its queue",
                "t_low, 50 us, SIGCOMM 2015",
                "62.5 KB",
                lambda: against(_timely_kb(), 62.5, "KB", 1),
                REST,
                note="our queue swings around t_low: rates grow below it and fall above it",
                fast=False,
            ),
        ],
    )
]
