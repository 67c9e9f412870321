"""Names of senders and receivers behind the last NPU, and of switches; whose numbers they have."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from astra_ns3.report.explanation.explanation import Explanation
from astra_ns3.report.players import Players, players_of
from astra_ns3.report.ports import switch_names

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


def test_reducers_behind_another_jobs_messages_are_known_by_the_networks_npus() -> None:
    players = Players(4, "reducer", 8)
    assert players.way(3, 6) == "NPU 3 to reducer 6"
    ways = [(7, 6), (5, 8), (8, 9), (9, 0)]
    words = ["NPU 7 to 6", "NPU 5 to reducer 8", "reducer 8 to reducer 9", "reducer 9 to NPU 0"]
    assert [players.way_in_another_job(*way) for way in ways] == words
    assert Players(4, "reducer").way_in_another_job(5, 8) == "NPU 5 to 8"


def test_without_a_run_all_are_npus() -> None:
    assert Players().name(7) == "NPU 7"


_LEAF_SPINE = {
    "kind": "leaf-spine",
    "leaves": 2,
    "hosts_per_leaf": 2,
    "spines": 1,
    "link": {"rate": "100Gbps", "delay": "500ns"},
    "switch": {"buffer": "1MB"},
}


@pytest.mark.parametrize(
    ("topology", "names"),
    [(_LEAF_SPINE, {"switch0": "leaf 0", "switch2": "spine 0"}), ({**_LEAF_SPINE, "kind": "file"}, {})],
)
def test_switches_are_called_what_the_networks_kind_calls_them(topology: Any, names: dict[str, str]) -> None:
    run: Any = SimpleNamespace(metadata={"network": {"topology": topology, "transport": {"kind": "tcp"}}})
    ports = ["host1", "switch2:1", "switch0:2", "switch0:0"]
    assert switch_names(run, ports) == names
    assert switch_names(run, ["host1"]) == {}


def test_an_explanation_says_which_numbers_are_a_jobs_and_what_switches_are_called() -> None:
    job = Explanation("run x", 100, 0, 100, first_npu=2, switches={"switch0": "leaf 0", "switch2": "spine 0"}).text()
    assert job.split("\n\n")[-1].splitlines() == [
        "numbering",
        "  NPUs are numbered in their job (NPU 0 here is the network's NPU 2), hosts and switches in the network",
        "  switches: switch0 is leaf 0, switch2 is spine 0",
    ]
    assert "numbered" not in Explanation("run x", 100, 0, 100).text()
