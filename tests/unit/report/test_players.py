"""Names of senders and receivers behind the last NPU."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from astra_ns3.report.players import Players, players_of

REDUCING = {"scale_out": {"switch": {"reduction": {"rate": 1}}}}


@pytest.mark.parametrize(
    ("network", "named"),
    [
        (None, "reducer 4"),
        ({"topology": {"switch": {"reduction": None}, "storage": {"per": "rack"}}}, "storage host 4"),
        ({"topology": {**REDUCING, "storage": None}}, "reducer 4"),
        ({"topology": {**REDUCING, "storage": {"per": "rack"}}}, "reducer or storage host 4"),
    ],
)
def test_players_behind_the_last_npu_are_what_the_network_has(network: Any, named: str) -> None:
    run: Any = SimpleNamespace(metadata={"npus": 4, "network": network})
    players = players_of(run)
    assert (players.name(3), players.name(4)) == ("NPU 3", named)


def test_without_a_run_all_are_npus() -> None:
    assert Players().name(7) == "NPU 7"
