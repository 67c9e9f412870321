"""Every congestion control of RoCE against its oracle, rate and window after each of many random events."""

from __future__ import annotations

import pathlib
import runpy
import types
from collections.abc import Sequence

import pytest
from oracles.roce_control import MBPS, US, Path, control
from support.roce_control_replay import LINE, Replay, Story, make_replay, native, native_parameters, native_path

SEEDS = range(20)
LEAST_CHANGES = 3
RELATIVE_TOLERANCE = 1e-9  # rounding of doubles, and DCQCN's last bit per second below the line's rate
CLOCKED = {"alpha_timer": US, "decrease_timer": 4 * US, "increase_timer": 300 * US, "byte_counter": 0}

CASES: list[tuple[str, dict[str, float]]] = [
    ("none", {}),
    ("static-window", {}),
    ("dcqcn", {}),
    ("dcqcn", {"byte_counter": 30_000, "increase_timer": 20 * US, "clamp_target_rate": 0, "rate_on_first_cnp": 0.5}),
    ("dcqcn", {"g": 1 / 16, "fast_recovery_times": 1, "byte_counter": 0, "rate_hai": 5000 * MBPS}),
    ("dcqcn", {**CLOCKED, "fast_recovery_times": 1, "clamp_target_rate": 0, "rate_ai": 50 * MBPS}),
    ("dcqcn", {**CLOCKED, "g": 1 / 16, "increase_timer": 20 * US, "byte_counter": 20_000}),
    ("timely", {}),
    ("timely", {"segment": 0, "hai_below_t_low": 1, "minimum_rtt": 0}),
    ("timely", {"segment": 0, "max_decrease": 0.5}),
    ("timely", {"segment": 3000, "t_low": 8 * US, "t_high": 30 * US, "rate_ai": 900 * MBPS, "hai_after": 2}),
    ("dctcp", {}),
    ("dctcp", {"minimum_window": 1000, "g": 1 / 4}),
    ("dctcp", {"window": 0}),
    ("hpcc", {}),
    ("hpcc", {"max_stage": 0, "rate_ai": 500 * MBPS}),
    ("hpcc", {"fast_react": 0, "eta": 0.8}),
    ("hpcc", {"multiple_rates": 1, "max_stage": 2, "base_rtt": 6 * US}),
    ("hpcc-pint", {}),
    ("hpcc-pint", {"max_stage": 0, "fast_react": 0}),
    ("swift", {}),
    ("swift", {"base_target": 6 * US, "fs_range": 20 * US, "max_mdf": 0.7, "ai": 2, "retransmit_reset": 2}),
    ("swift", {"base_target": US, "per_hop": 0, "fs_range": 0}),
]

MAKE_ADDITIVE = """
std::unique_ptr<ns3::RoceControlReplay>
MakeAdditive(const ns3::RoceControlParameters& parameters, const ns3::RoceReplayPath& path)
{
    return std::make_unique<ns3::RoceControlReplay>(std::make_unique<AdditiveControl>(parameters), path);
}
"""


def different(found: Sequence[float], expected: Sequence[float]) -> bool:
    (_, rate, window), (_, true_rate, true_window) = found, expected
    # A window is whole bytes: half a byte may go either way.
    return abs(rate - true_rate) > RELATIVE_TOLERANCE * true_rate or abs(window - true_window) > 1


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join([case[0], *case[1]]))
def test_a_control_follows_its_paper_step_by_step(case: tuple[str, dict[str, float]]) -> None:
    name, numbers = case
    changes = 0
    for seed in SEEDS:
        story = Story(seed)
        events = story.events()
        replay = Replay(make_replay(name, story.path, numbers))
        last: tuple[float, int] | None = None
        for index, expected in enumerate(control(name, story.path, **numbers).play(events)):
            found = replay.step(events[index])
            assert not different(found, expected), (
                f"seed {seed}, event {index} {events[index]}: {found}, not {expected}"
            )
            changes += last is not None and last != expected[1:]
            last = expected[1:]
    # What never moves proves nothing: all but the first two must have reacted often, for every seed on average.
    assert (changes > LEAST_CHANGES * len(SEEDS)) == (name not in ("none", "static-window"))


def test_an_idle_queue_pair_has_no_timers() -> None:
    for numbers in ({}, CLOCKED):
        replay = make_replay("dcqcn", Path(), numbers)
        for time in range(0, 100 * US, 2 * US):
            replay.Advance(time)
            replay.Cnp()
        assert replay.GetRateBps() < LINE / 10
        replay.Advance(10**12)
        fired = replay.CountTimerEvents()
        assert (replay.CountTimers(), replay.GetRateBps()) == (0, LINE)
        replay.Advance(10**14)
        assert replay.CountTimerEvents() == fired
        assert replay.GetAlpha() == pytest.approx(0.0, abs=1e-12)


def test_an_unknown_control_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(Exception, match=r"'cubic' is not one of none, static-window, dcqcn, .*swift"):
        make_replay("cubic", Path(), {})


class PlainSender:
    """What a control in Python sees of a queue pair, as far as the example looks."""

    def __init__(self) -> None:
        self.rate_bps = float(LINE)
        self.sent_bytes = 0


def test_the_examples_in_cpp_and_python_are_the_same_control(repository: pathlib.Path) -> None:
    native()
    import cppyy

    folder = repository / "inputs/congestion-control"
    cppyy.include(str(folder / "additive.hpp"))
    cppyy.cppdef(MAKE_ADDITIVE)
    control_class = runpy.run_path(str(folder / "additive.py"))["AdditiveControl"]
    for numbers in ({}, {"step": 3e9, "factor": 0.5, "minimum_rate": 5e9}):
        story = Story(7)
        native_control = cppyy.gbl.MakeAdditive(native_parameters(numbers), native_path(story.path))
        replay = Replay(native_control)
        sender, control_in_python, acknowledged = PlainSender(), control_class(numbers), 0
        control_in_python.start(sender)
        rates = set()
        for event in story.events():
            _, rate, _ = replay.step(event)
            sender.sent_bytes += event.size if event.kind == "sent" else 0
            if event.kind == "ack":
                acknowledged += event.size
                ack = types.SimpleNamespace(acknowledged_bytes=acknowledged, marked=event.marked)
                control_in_python.ack_received(sender, ack)
                sender.rate_bps = min(sender.rate_bps, LINE)
            assert rate == sender.rate_bps
            rates.add(rate)
        assert len(rates) > 10
