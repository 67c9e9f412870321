"""Graphs of our own as ASTRA-sim 2 plays them: a case or two for each rule of its preset, measured there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.graphs.graph_reference import play_graphs
from support.graphs.small_graphs import SmallGraphs
from support.measured import OWN

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.compatibility import preset
from astra_ns3.config.graph_workload import GraphNode, NodeKind
from astra_ns3.config.network.file import read_network_file
from astra_ns3.system.file import parse_system

CASES: list[dict[str, Any]] = json.loads((OWN / "astra_sim_2_graphs.json").read_text(encoding="utf-8"))

NOT_YET = "a message of a direct all-reduce leaves there when as many are reduced, here when all are"
OTHERWISE = {("a group of four, direct", "analytical-queues"): NOT_YET}


def parameters() -> list[Any]:
    """Each case, by its name; those that are known to differ with the reason."""
    keys = [(case["case"], case["backend"]) for case in CASES]
    marks = [[pytest.mark.xfail(strict=True, reason=OTHERWISE[key])] if key in OTHERWISE else [] for key in keys]
    return [
        pytest.param(case, id=", ".join(key), marks=mark) for case, key, mark in zip(CASES, keys, marks, strict=True)
    ]


def node(number: int, row: dict[str, Any]) -> GraphNode:
    """A node of a case: its kind is the key that is there; ``after``: the numbers of those that it waits for."""
    parents = tuple(row.get("after", ()))
    usual = GraphNode(number, f"n{number}", NodeKind.COMPUTE, parents, 1000 * row.get("compute_ns", 0))
    usual = usual._replace(bytes=row.get("bytes"), tag=row.get("tag", 0))
    if "collective" in row:
        kind = CollectiveKind[row["collective"].replace("-", "_").upper()]
        return usual._replace(kind=NodeKind.COLLECTIVE, collective=kind, group=row.get("group", ""))
    for word, kind_of_end in (("send", NodeKind.SEND), ("receive", NodeKind.RECEIVE)):
        if word in row:
            return usual._replace(kind=kind_of_end, peer=row[word])
    return usual._replace(operations=row.get("operations"), tensor_bytes=row.get("tensor_bytes"))


@pytest.mark.parametrize("case", parameters())
def test_each_npu_ends_when_it_does_in_astra_sim_2(case: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "network.yml"
    path.write_text("".join(f"{key}: {value}\n" for key, value in case["network"].items()), encoding="utf-8")
    network = read_network_file(path).network
    graphs = tuple(tuple(node(number, row) for number, row in enumerate(rows)) for rows in case["nodes"])
    played = play_graphs(
        SmallGraphs(graphs, {name: tuple(members) for name, members in case["groups"].items()}),
        parse_system(case["system"]),
        network,
        case["backend"],
        preset("astra-sim-2"),
        network.dimensions,
    )
    assert [record.finish_ps / 1000 for record in played.records.npus] == case["finish_ns"]
