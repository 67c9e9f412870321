"""Random runs and scenarios give what they gave: every file, forecast, summary, explanation and report.

See :mod:`soak.pinned` for what to do when a change that is meant moves some.
"""

from __future__ import annotations

import json

import pytest
from soak import pinned_commands
from soak.pairs import best_first
from soak.pinned import PINNED, kind_and_seed, pins_of
from soak.varied import varied_case
from support.lengths import some_slow

AT_ONCE = 10
QUICK_RUNS = 50
COMMANDS_AT_ONCE = 30
PINS = json.loads(PINNED.read_text(encoding="utf-8"))
COMMAND_PINS: dict[str, str] = json.loads(pinned_commands.PINNED.read_text(encoding="utf-8"))
SLOW = (  # models of so many layers and parameters, and others that take a second
    *("deepseek-v3", "gpt-3-175b", "llama-3-405b", "llama-3-70b", "transformer-1t", "turing-nlg-17b", "mixtral-8x7b"),
    *("gnmt.yaml -s inputs/system/nccl.yaml", "llama-3-8b", "moe-simai-16.txt -o", "2xgb200", "2xgb300"),
    *(f"studies/{name}.yaml" for name in ("credits", "failures", "libra", "slowdown")),
    *(f"--nccl-version {version} -b 64K" for version in ("2.18", "2.23", "2.29")),
)
LOOKS = [words for words in COMMAND_PINS if words.startswith("run ") and "; " in words]
LOOKS_LEFT = [words for number, words in enumerate(LOOKS) if number % 4]
SLOW_COMMANDS = [words for words in COMMAND_PINS if any(each in words for each in SLOW) or words in LOOKS_LEFT]
QUICK_COMMANDS = [words for words in COMMAND_PINS if words not in SLOW_COMMANDS]
BEGINS = range(0, len(QUICK_COMMANDS), COMMANDS_AT_ONCE)


# The first runs have most pairs of features in their time (soak/pairs.py).
@pytest.mark.parametrize("begin", some_slow(range(0, len(PINS), AT_ONCE), range(0, QUICK_RUNS, AT_ONCE)))
def test_runs_give_what_is_pinned(begin: int) -> None:
    moved: list[str] = []
    for name in [*PINS][begin : begin + AT_ONCE]:
        case = varied_case(kind_and_seed(name)[1])
        assert case is not None
        found, pinned = pins_of(case), PINS[name]
        moved += [f"{name}: {key}" for key in sorted({*found, *pinned}) if found.get(key) != pinned.get(key)]
    assert moved == []


def test_all_kinds_of_runs_are_pinned_and_none_is_refused() -> None:
    for pins in (PINS.items(), [*PINS.items()][:QUICK_RUNS]):
        assert {name.partition(" ")[0] for name, _ in pins} == {"workload", "flows", "scenario"}
        assert not any("error" in each for _, each in pins)
        keys = {key for _, each in pins for key in each}
        assert {"validate", "summary", "results: explain", "report", "run.json", "stopped", "memory.csv"} <= keys


def test_the_run_with_most_new_pairs_of_features_for_its_time_is_chosen_first() -> None:
    cases = {1: {"a: x", "a: y"}, 2: {"a: x", "a: y", "b: z"}, 3: {"a: x", "b: z"}, 4: {"b: u", "b: v", "b: w"}}
    features = {seed: frozenset(each) for seed, each in cases.items()}
    assert [*best_first(features, {})][:2] == [4, 2]
    assert [*best_first(features, {4: 9.0}, lambda seed: seed != 2)] == [1, 3, 4]


@pytest.mark.parametrize(
    "words",
    [
        *(QUICK_COMMANDS[begin : begin + COMMANDS_AT_ONCE] for begin in BEGINS),
        pytest.param(SLOW_COMMANDS, marks=pytest.mark.slow),
    ],
    ids=[*map(str, BEGINS), "slow"],
)
def test_commands_print_and_write_what_is_pinned(words: list[str]) -> None:
    assert {each: pinned_commands.pin_of(each) for each in words} == {each: COMMAND_PINS[each] for each in words}


def test_each_command_that_is_drawn_up_is_pinned() -> None:
    assert list(COMMAND_PINS) == list(pinned_commands.commands())
