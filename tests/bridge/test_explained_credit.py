"""What ``explain`` promises where credit takes long to come back, against runs with the change; windows are untold."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.small_run import SYSTEM

import astra_ns3
from astra_ns3 import Tenant
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.report.explanation.explain import explain
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.files.writing import export_text

KIB = 1024
LONG = {"rate": "100Gbps", "delay": "2us"}
"""There and back, 50 kB fit on it."""


ROCE = {"kind": "roce", "payload": 4096, "congestion_control": "none"}


def by_credit(size: int) -> dict[str, Any]:
    return {"buffer": "64MB", "credits": {"bytes": size}}


def played(folder: Path, transport: dict[str, Any], switch: dict[str, Any], rate: str = "100Gbps") -> astra_ns3.Result:
    """Play an all-reduce of 8 MB on a switch."""
    shape = {"kind": "single-switch", "npus": 4, "link": {**LONG, "rate": rate}, "switch": switch}
    return played_on(folder, shape, range(4), transport)


def played_on(
    folder: Path, shape: dict[str, Any], npus: Sequence[int], transport: dict[str, Any] = ROCE
) -> astra_ns3.Result:
    """Play an all-reduce of 8 MB by some NPUs of a network."""
    network = parse_network({"topology": shape, "transport": transport})
    texts = {"w.txt": "DATA\n1\nx -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 8000000 0\n", "s.yaml": SYSTEM}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    job = Tenant(name="a", workload=folder / "w.txt", system=folder / "s.yaml", npus=tuple(npus))
    found = astra_ns3.run_scenario(network=network, tenants=[job], record=["timeline", "accounts"])
    return found.tenants["a"]


def told_and_true(before: astra_ns3.Result, after: astra_ns3.Result, words: str) -> tuple[float, float]:
    """Return the share of the time that ``explain`` says a change saves, and the one that it does."""
    told = sum(each.time_ps for each in explain(before).what_ifs if each.change == words)
    return told / before.finish_ps, 1 - after.finish_ps / before.finish_ps


FASTER, MORE = "with lines twice as fast", "with credit for all of a round trip"


@pytest.mark.parametrize("credit", [16 * KIB, 32 * KIB, 70 * KIB])
@pytest.mark.parametrize(
    ("words", "changed"),
    [
        (FASTER, lambda credit: (credit, "200Gbps")),
        (MORE, lambda _: (1024 * KIB, "100Gbps")),
    ],
)
def test_a_change_saves_at_most_what_is_said(tmp_path: Path, credit: int, words: str, changed: Any) -> None:
    before, (more, rate) = played(tmp_path, ROCE, by_credit(credit)), changed(credit)
    after = played(tmp_path, ROCE, by_credit(more), rate)
    told, true = told_and_true(before, after, words)
    assert true <= told + 0.005


def unlike(rate: str, up: str, size: int, delay: str = "20us") -> dict[str, Any]:
    """Return two leaves of four hosts, with short links to hosts and a long one to the spine."""
    links = {"link": {"rate": rate, "delay": "100ns"}, "uplink": {"rate": up, "delay": delay}}
    return {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 4, **links, "switch": by_credit(size)}


@pytest.mark.parametrize(
    ("npus", "rates", "twice", "delay"),
    [
        (range(4), ("100Gbps", "100Gbps"), ("200Gbps", "200Gbps"), "20us"),  # credit comes back late to others' links
        (range(8), ("100Gbps", "400Gbps"), ("200Gbps", "800Gbps"), "1us"),  # to links that are fast enough with it
    ],
)
def test_unlike_links_save_at_most_what_is_said(
    tmp_path: Path, npus: range, rates: tuple[str, str], twice: tuple[str, str], delay: str
) -> None:
    before = played_on(tmp_path, unlike(*rates, 64 * KIB, delay), npus)
    for words, after in (
        (FASTER, unlike(*twice, 64 * KIB, delay)),
        (MORE, unlike(*rates, 1024 * KIB, delay)),
    ):
        told, true = told_and_true(before, played_on(tmp_path, after, npus), words)
        assert true <= told + 0.005, words


def test_credit_of_a_graph_in_a_file_limits_as_that_of_the_network_does(tmp_path: Path) -> None:
    shape = unlike("100Gbps", "100Gbps", 32 * KIB, "5us")
    topology = parse_network({"topology": shape, "transport": ROCE}).topology
    (tmp_path / "graph.json").write_text(export_text(build_graph(topology), topology, "graph.json"), encoding="utf-8")
    of_file = {"kind": "file", "path": str(tmp_path / "graph.json"), "switch": shape["switch"]}
    found = [explain(played_on(tmp_path, each, range(8))).what_ifs for each in (shape, of_file)]
    assert found[0] == found[1]
    assert MORE in {each.change for each in found[1]}
