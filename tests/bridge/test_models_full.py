"""Every model file at full size as flows, as docs/tables/model-iterations.csv has it. The long ones are slow."""

from __future__ import annotations

import csv
from runpy import run_path
from typing import Any

import pytest
from support.documents.pages import ROOT, text_of

from astra_ns3.config.core.compatibility import OURS
from astra_ns3.experiments.forecasting.expected import expected_run
from astra_ns3.playing.training.making import training_programs
from astra_ns3.playing.training.model_summary import summary_of
from astra_ns3.system.file import parse_system

SCRIPT: dict[str, Any] = run_path(str(ROOT / "benchmarks" / "models.py"), run_name="benchmark")
SLOW = (
    *("deepseek-v3", "gpt-3-175b", "llama-3-405b", "llama-3-70b", "llama-3-8b", "mixtral-8x7b", "transformer-1t"),
    "turing-nlg-17b",
)
ROUNDED_US = 2e-6
"""Two numbers to the picosecond, as floats."""


def table() -> dict[str, list[str]]:
    """NPUs and times of each model, as the file has them."""
    with (ROOT / "docs" / "tables" / "model-iterations.csv").open(encoding="utf-8", newline="") as file:
        titles, *rows = csv.reader(file)
    assert tuple(titles) == SCRIPT["TITLES"]
    return {name: cells for name, *cells, _ in rows}


def test_every_file_stands_in_the_table_of_iterations_and_the_page_has_a_link_to_it() -> None:
    assert "(tables/model-iterations.csv)" in text_of("docs/models.md")
    assert set(table()) == set(SCRIPT["NAMES"])


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in SCRIPT["NAMES"]]
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_iteration_at_full_size_is_the_one_that_the_table_tells(name: str) -> None:
    model, network, result = SCRIPT["played"](name, "flow")
    assert result.complete
    system = parse_system(SCRIPT["SYSTEM"], "here")
    programs = training_programs(model.plan(network.npus), model.clock(), 1, network.dimensions)
    expected = expected_run(programs, system, None, OURS)
    assert result.metadata["statistics"]["messages"] == sum(
        play.count * len(play.groups) * play.schedule.messages for play in expected.plays
    )
    npus = result.npus
    assert (npus["compute_us"] + npus["exposed_us"] - npus["finish_us"]).abs().max() < ROUNDED_US
    assert result.finish_ps >= max(stage.compute_ps for stage in summary_of(model, network.dimensions).stages)
    assert table()[name] == [f"{network.npus:,}", *SCRIPT["times"](result)]
