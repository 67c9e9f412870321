"""Random runs and scenarios give what they gave: every file, forecast, summary, explanation and report.

See :mod:`soak.pinned` for what to do when a change that is meant moves some.
"""

from __future__ import annotations

import json
from itertools import islice

import pytest
from soak import pinned_commands
from soak.pinned import PINNED, pinned_runs, pins_of
from support.lengths import some_slow

AT_ONCE = 10
COMMANDS_AT_ONCE = 30
PINS = json.loads(PINNED.read_text(encoding="utf-8"))
COMMAND_PINS: dict[str, str] = json.loads(pinned_commands.PINNED.read_text(encoding="utf-8"))
# Models of so many layers and parameters take seconds each to validate.
LARGE = tuple(
    f"validate -w inputs/workload/models/{name}.yaml"
    for name in ("deepseek-v3", "gpt-3-175b", "llama-3-405b", "llama-3-70b", "transformer-1t", "turing-nlg-17b")
)
QUICK_COMMANDS = [words for words in COMMAND_PINS if not words.startswith(LARGE)]
BEGINS = range(0, len(QUICK_COMMANDS), COMMANDS_AT_ONCE)


# Every other ten runs are of all kinds, too.
@pytest.mark.parametrize("begin", some_slow(range(0, len(PINS), AT_ONCE), range(0, len(PINS), 2 * AT_ONCE)))
def test_runs_give_what_is_pinned(begin: int) -> None:
    moved: list[str] = []
    for name, make in islice(pinned_runs(), begin, min(begin + AT_ONCE, len(PINS))):
        found, pinned = pins_of(make), PINS[name]
        moved += [f"{name}: {key}" for key in sorted({*found, *pinned}) if found.get(key) != pinned.get(key)]
    assert moved == []


def test_all_kinds_of_runs_are_pinned_and_none_is_refused() -> None:
    assert {name.partition(" ")[0] for name in PINS} == {"workload", "flows", "scenario"}
    assert not any("error" in each for each in PINS.values())
    keys = {key for each in PINS.values() for key in each}
    assert {"validate", "summary", "results: explain", "report", "run.json", "nodes.parquet", "memory.csv"} <= keys


@pytest.mark.parametrize(
    "words",
    [
        *(QUICK_COMMANDS[begin : begin + COMMANDS_AT_ONCE] for begin in BEGINS),
        pytest.param([words for words in COMMAND_PINS if words not in QUICK_COMMANDS], marks=pytest.mark.slow),
    ],
    ids=[*map(str, BEGINS), "large models"],
)
def test_commands_print_and_write_what_is_pinned(words: list[str]) -> None:
    assert {each: pinned_commands.pin_of(each) for each in words} == {each: COMMAND_PINS[each] for each in words}


def test_each_command_about_a_file_that_comes_with_the_program_is_pinned() -> None:
    assert list(COMMAND_PINS) == list(pinned_commands.commands())
