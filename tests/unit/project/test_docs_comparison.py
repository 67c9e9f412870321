"""docs/comparison.md says of this program what the program itself lists, neither more nor less."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import get_args

import pytest
from pydantic import BaseModel
from support.documents.pages import text_of

from astra_ns3.config.model.file import KINDS as MODELS
from astra_ns3.config.topology.file import FORMATS
from astra_ns3.config.topology.kinds import KINDS as TOPOLOGIES
from astra_ns3.config.topology.routing import RoutingConfig
from astra_ns3.config.transports.roce import Reliability
from astra_ns3.config.transports.roce_control import KINDS as CONTROLS
from astra_ns3.config.transports.tcp import CONGESTION_CONTROLS
from astra_ns3.network.backend_makers import BACKENDS
from astra_ns3.workload.computing.clocks import CLOCKS
from astra_ns3.workload.loops.loop_kinds import LOOPS
from astra_ns3.workload.training.schedules import SCHEDULES


def _kinds(model: type[BaseModel]) -> tuple[str, ...]:
    return get_args(model.model_fields["kind"].annotation)


LISTED: dict[str, Collection[str]] = {
    "Networks": BACKENDS,
    "Congestion controls of RoCE": CONTROLS,
    "Loss": _kinds(Reliability),
    "Topologies": TOPOLOGIES,
    "Files of topologies": FORMATS,
    "Routing": _kinds(RoutingConfig),
    "Training loops": LOOPS,
    "Models": MODELS,
    "Pipeline schedules": SCHEDULES,
    "Compute": [_kinds(clock)[0] for clock in CLOCKS],
}
"""What the program lists, by the row of the page that names it."""


def rows() -> dict[str, str]:
    """What the page says of this program, by row."""
    lines = [line for line in text_of("docs/comparison.md").splitlines() if line.startswith("| ")]
    return {cells[1]: cells[2] for cells in (re.split(r" ?\| ?", line) for line in lines)}


@pytest.mark.parametrize("row", LISTED)
def test_a_row_names_all_that_the_program_lists_and_nothing_else(row: str) -> None:
    named = [word for word in re.findall(r"`([^`]+)`", rows()[row]) if word != "config.json"]
    assert sorted(named) == sorted(LISTED[row])


def test_the_numbers_of_the_page_are_the_program_s() -> None:
    assert f"{len(CONGESTION_CONTROLS)} congestion controls" in rows()["TCP"]


def test_no_row_says_of_us_no() -> None:
    assert [row for row, words in rows().items() if words.startswith(("**no**", "no ", "none"))] == []
