"""Collectives of graphs that go over some dimensions are named so wherever they are named, and not "all NPUs"."""

from __future__ import annotations

from pathlib import Path

from support.graphs.made_graphs import Graphs
from support.graphs.small_graphs import collective
from support.many_networks import system_for

import astra_ns3
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.report.workload.text import overview_document, overview_text
from astra_ns3.workload.files.chakra.writer import write_chakra
from astra_ns3.workload.graphs.overview import overview

LINE = {"link": {"rate": "100Gbps", "delay": "500ns"}, "switch": {"buffer": "1MB"}}
FIRST, BOTH = "NPUs along dimension 0", "all NPUs"


def traces(folder: Path) -> Graphs:
    nodes = (collective(1, 1000, dimensions=(True, False)), collective(2, 2000, 1, dimensions=(True, True)))
    graphs = Graphs([nodes] * 4)
    write_chakra(graphs, folder / "job")
    return graphs


def test_waits_are_of_the_group_that_the_table_of_collectives_names(tmp_path: Path) -> None:
    traces(tmp_path)
    torus = parse_network({"topology": {"kind": "torus", "shape": [2, 2], **LINE}, "transport": "roce"})
    run = astra_ns3.run(workload=tmp_path / "job", system=system_for(2), network=torus, backend="flow", isolated=False)
    assert set(run.collectives["group"]) == {FIRST, BOTH}
    assert {each["group"] for each in run.metadata["exposed_by_group"]} == {FIRST, BOTH}


def test_the_overview_of_a_workload_counts_them_apart(tmp_path: Path) -> None:
    graphs = traces(tmp_path)
    found = overview(graphs)
    document = overview_document(graphs, found)
    assert [each.get("dimensions") for each in document["collectives"]] == [None, [0]]
    lines = overview_text(document, found).splitlines()
    assert [line.split(" in ")[1].split(",")[0] for line in lines[-2:]] == [BOTH, FIRST]
