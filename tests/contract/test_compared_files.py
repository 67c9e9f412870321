"""``compare`` names the files, among those that inputs name, whose content differs between two runs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support.graphs.made_graphs import Graphs
from support.small_run import small_system, write_inputs

import astra_ns3
from astra_ns3.cli.compare import compare_command
from astra_ns3.config.graph_workload import GraphNode, NodeKind
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.network.run_document import chosen
from astra_ns3.workload.files.chakra.writer import write_chakra

SWITCH = {"buffer": "1MB"}
STAR = {"kind": "single-switch", "npus": 4, "link": {"rate": "100Gbps", "delay": "500ns"}, "switch": SWITCH}
OWN_STAR = """
from astra_ns3.topology.graph import Graph, Link


def star():
    return Graph(4, 1, tuple(Link(host, 4, {number} * 10**9, 500_000) for host in range(4)), (0, 1, 2, 3), (2**20,))
"""
SCHEDULE = """
from astra_ns3.collectives.lookup import lookup
from astra_ns3.config.core.collective_kind import CollectiveKind

NUMBER = {number}


def ring(ranks):
    return lookup(CollectiveKind.ALL_REDUCE, "ring", ranks)
"""
MODEL = """
kind: transformer
name: small
model: {layers: 1, hidden: 64, heads: 2, vocabulary: 64}
training: {sequence: 64, micro_batch: 1, global_batch: 2}
parallel: {tensor: 2}
compute: {kind: table, file: times.csv, device: H100, extrapolate: true}
"""
CONTROL = "from step import STEP\n\n\nclass Mine:\n    step = STEP\n"


def with_graph(folder: Path, number: int) -> dict[str, Any]:
    lines = "".join(f"{npu} 4 {number}Gbps 500ns 0\n" for npu in range(4))
    (folder / "star.txt").write_text(f"5 1 4\n4\n{lines}", encoding="utf-8")
    topology = {"kind": "file", "path": str(folder / "star.txt"), "switch": SWITCH}
    return {"network": parse_network({"topology": topology, "transport": "roce"})}


def with_own_topology(folder: Path, number: int) -> dict[str, Any]:
    (folder / "star.py").write_text(OWN_STAR.format(number=number), encoding="utf-8")
    return {"network": parse_network({"topology": {"kind": f"{folder / 'star.py'}:star"}, "transport": "roce"})}


def with_own_control(folder: Path, number: int) -> dict[str, Any]:
    """The number is in a module that the named one imports."""
    (folder / "mine.py").write_text(CONTROL, encoding="utf-8")
    (folder / "step.py").write_text(f"STEP = {number}\n", encoding="utf-8")
    roce = {"kind": "roce", "congestion_control": {"kind": f"{folder / 'mine.py'}:Mine"}}
    return {"network": parse_network({"topology": STAR, "transport": roce})}


def with_own_schedule(folder: Path, number: int) -> dict[str, Any]:
    (folder / "mine.py").write_text(SCHEDULE.format(number=number), encoding="utf-8")
    return {"system": small_system(**{"all-reduce-implementation": [f"{folder / 'mine.py'}:ring"]})}


def with_measured_times(folder: Path, number: int) -> dict[str, Any]:
    (folder / "model.yaml").write_text(MODEL, encoding="utf-8")
    (folder / "times.csv").write_text(f"kind,m,n,k,bytes,time_us\nmatmul,64,64,64,,{number}\n", encoding="utf-8")
    return {"workload": folder / "model.yaml"}


def with_flows(folder: Path, number: int) -> dict[str, Any]:
    text = f"source,destination,bytes,start\n0,1,{number}KB,0us\n"
    (folder / "list.csv").write_text(text, encoding="utf-8")
    return {"workload": folder / "list.csv"}


def with_trace(folder: Path, number: int) -> dict[str, Any]:
    """Only NPU 2 computes as long as the number says."""
    lengths_us = (100, 100, number, 100)
    nodes = [[GraphNode(1, "a", NodeKind.COMPUTE, duration_ps=each * 10**6)] for each in lengths_us]
    write_chakra(Graphs(nodes), folder / "job")
    return {"workload": folder / "job"}


def with_groups(folder: Path, number: int) -> dict[str, Any]:
    """A group of the first two NPUs, or of two others."""
    nodes = [[GraphNode(1, "a", NodeKind.COMPUTE, duration_ps=10**6)]] * 4
    write_chakra(Graphs(nodes), folder / "job")
    (folder / "groups.json").write_text(json.dumps({"1": [0, 1] if number == 100 else [2, 3]}), encoding="utf-8")
    return {"workload": folder / "job", "groups": folder / "groups.json"}


def played(folder: Path, make: Callable[[Path, int], dict[str, Any]], number: int) -> Path:
    """Play a run whose inputs lie in the folder; return the folder of its results."""
    folder.mkdir()
    plain = write_inputs(folder)
    own = make(folder, number)
    astra_ns3.run(**{**plain, **own}, backend="flow", output=folder / "results", isolated=False)
    return folder / "results"


def rows(a: Path, b: Path) -> dict[str, tuple[Any, Any]]:
    """Return the settings that tell of files' content."""
    found = astra_ns3.compare(astra_ns3.Result.load(a), astra_ns3.Result.load(b)).settings
    return {each.key: (each.a, each.b) for each in found if each.key.startswith("input_files")}


CASES = [
    pytest.param(with_graph, "star.txt", id="graph"),
    pytest.param(with_own_topology, "star.py", id="own topology"),
    pytest.param(with_own_control, "mine.py", id="own control"),
    pytest.param(with_own_schedule, "mine.py", id="own schedule"),
    pytest.param(with_measured_times, "times.csv", id="table"),
    pytest.param(with_flows, "list.csv", id="flows"),
    pytest.param(with_trace, "job.2.et", id="trace"),
    pytest.param(with_groups, "communicator groups", id="groups"),
]


@pytest.mark.parametrize(("make", "name"), CASES)
def test_the_file_whose_content_differs_is_named(
    make: Callable[[Path, int], dict[str, Any]], name: str, tmp_path: Path
) -> None:
    a, same, b = (played(tmp_path / word, make, number) for word, number in (("a", 100), ("same", 100), ("b", 50)))
    digests_a, digests_b = (json.loads((each / "run.json").read_text())["input_files"][name] for each in (a, b))
    assert rows(a, b) == {f"input_files.{name}": (digests_a, digests_b)}
    assert rows(a, same) == {}  # another folder, equal content
    printed = CliRunner().invoke(compare_command, [str(a), str(b)], standalone_mode=False).output
    (line,) = (each for each in printed.splitlines() if re.match(rf" *{name} +content ", each))
    assert "input_files" not in printed
    assert line.replace(name, "").split()[::2] == ["content"] * 2


def test_results_without_digests_are_compared_without_a_row(tmp_path: Path) -> None:
    a, b = played(tmp_path / "a", with_graph, 100), played(tmp_path / "b", with_graph, 50)
    file = a / "run.json"
    metadata = json.loads(file.read_text())
    del metadata["input_files"]
    file.write_text(json.dumps(metadata))
    assert rows(a, b) == rows(b, a) == {}


def test_a_run_whose_inputs_name_no_file_has_no_digests(tmp_path: Path) -> None:
    folder = played(tmp_path / "a", lambda _folder, _number: {}, 0)
    assert chosen(astra_ns3.Result.load(folder).metadata, ["input_files"]) == {}


@pytest.mark.parametrize(("npus", "names"), [(16, [f"job.{npu}.et" for npu in range(16)]), (17, ["job"])])
def test_many_traces_have_one_digest_together(npus: int, names: list[str], tmp_path: Path) -> None:
    topology = parse_network({"topology": {**STAR, "npus": npus}, "transport": "roce"})

    def many(folder: Path, number: int) -> dict[str, Any]:
        node = GraphNode(1, "a", NodeKind.COMPUTE, duration_ps=10**6)
        last = node._replace(duration_ps=number * 10**6)
        write_chakra(Graphs([*[[node]] * (npus - 1), [last]]), folder / "job")
        return {"workload": folder / "job", "network": topology}

    a, b = played(tmp_path / "a", many, 2), played(tmp_path / "b", many, 3)
    assert sorted(json.loads((a / "run.json").read_text())["input_files"]) == sorted(names)
    assert list(rows(a, b)) == [f"input_files.{names[-1]}"]
