"""Runs of ASTRA-sim 2 on Chakra traces, measured; beside the repository, in ``shared/reference/workloads``."""

from __future__ import annotations

import csv
import gzip
import json
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from astra_ns3.config.core.compatibility import Compatibility, preset
from astra_ns3.config.graph_workload import GraphNode, GraphWorkload
from astra_ns3.config.network.file import AnyNetwork, read_network_file
from astra_ns3.config.system import SystemConfig
from astra_ns3.experiments.network_parts.planned import endpoint_model
from astra_ns3.network.api import Limits
from astra_ns3.network.backend_makers import create_backend
from astra_ns3.network.plan import plan_network
from astra_ns3.network.records import RecorderOptions, RunRecords
from astra_ns3.playing.graphs.graph_driver import GraphDriver
from astra_ns3.system.file import read_system
from astra_ns3.workload.files.chakra.trace import read_chakra
from support.measured import Row, rows, shared

BACKENDS = {"unaware": "analytical", "aware": "analytical-queues", "ns3": "ns3"}
Times = dict[tuple[int, int], tuple[int, int]]
"""Of each node of each NPU, when it was issued and done, in picoseconds; of a node that is there twice the first."""


class Played(NamedTuple):
    """What came of a case here."""

    records: RunRecords
    nodes: Times


def folder() -> Path | None:
    """Where the cases are; None if they are absent."""
    found = shared()
    return found / "workloads" if found is not None and (found / "workloads").is_dir() else None


def cases(*backends: str) -> list[Row]:
    """The cases that came to their end, on these of the other program's backends."""
    place = folder()
    found = [] if place is None else rows(place / "expected.csv")
    return [row for row in found if row["outcome"] == "complete" and row["backend"] in backends]


@cache
def finishes() -> dict[str, dict[int, tuple[int, int]]]:
    """Of each case and NPU its finish and exposed time, in picoseconds."""
    found: dict[str, dict[int, tuple[int, int]]] = defaultdict(dict)
    for row in _table("per_npu.csv.gz"):
        found[row["case"]][int(row["npu"])] = int(row["finish_ns"]) * 1000, int(row["exposed_ns"]) * 1000
    return found


@cache
def node_times() -> dict[str, Times]:
    """Of each case that has them."""
    found: dict[str, Times] = defaultdict(dict)
    for row in _table("nodes.csv.gz"):
        key = int(row["npu"]), int(row["node"])
        found[row["case"]].setdefault(key, (int(row["issue_ns"]) * 1000, int(row["done_ns"]) * 1000))
    return found


def play(row: Row) -> Played:
    """Play a case by the preset ``astra-sim-2``, or the one that a config.txt as network brings with it."""
    place = folder()
    assert place is not None
    rules = preset("astra-network-ns3" if row["backend"] == "ns3" else "astra-sim-2")
    system = read_system(place / row["system"])
    network = read_network_file(place / row["network"]).network
    dimensions = network.dimensions
    if row["logical"]:
        logical = json.loads((place / row["logical"]).read_text(encoding="utf-8"))["logical-dims"]
        dimensions = tuple(map(int, logical))
    workload = read_chakra(place / row["workload"], place / row["groups"] if row["groups"] else None)
    return play_graphs(workload, system, network, BACKENDS[row["backend"]], rules, dimensions)


def play_graphs(
    workload: GraphWorkload,
    system: SystemConfig,
    network: AnyNetwork,
    backend_name: str,
    rules: Compatibility,
    dimensions: Sequence[int],
) -> Played:
    """Play graphs by ``rules``, without the files and checks of a run."""
    nodes: Times = {}

    def note(npu: int, node: GraphNode, begin_ps: int, end_ps: int) -> None:
        nodes.setdefault((npu, node.number), (begin_ps, end_ps))

    backend = create_backend(
        backend_name,
        plan_network(network, endpoint_model(system)),
        seed=1,
        recorder=RecorderOptions(),
        compatibility=rules,
    )
    try:
        driver = GraphDriver(backend, system, workload, dimensions=dimensions, compatibility=rules, told=note)
        driver.run(Limits())
        return Played(driver.records(), nodes)
    finally:
        backend.close()


def enter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Go where the paths in the cases' system files begin."""
    place = folder()
    assert place is not None
    monkeypatch.chdir(place)


def _table(name: str) -> list[Row]:
    place = folder()
    if place is None:
        return []
    with gzip.open(place / name, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
