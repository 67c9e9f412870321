"""The table of workloads of other programs, and the largest of them, where they lie beside the repository."""

from __future__ import annotations

import csv
import tarfile
from pathlib import Path

import pytest

from astra_ns3.config.graph_workload import NodeKind
from astra_ns3.workload.files.chakra.trace import read_chakra
from astra_ns3.workload.graphs.checking import check_graphs

ROOT = Path(__file__).resolve().parents[3]
WORKLOADS = ROOT.parent / "shared" / "reference" / "workloads"

pytestmark = pytest.mark.skipif(not WORKLOADS.is_dir(), reason="the reference workloads aren't here")


def test_every_workload_of_the_reference_is_in_the_table() -> None:
    with (ROOT / "docs" / "tables" / "workloads.csv").open(encoding="utf-8", newline="") as file:
        found = [row["File"] for row in csv.DictReader(file)]
    folders = ("traces", "json", "text", "aicb")
    names = [f"{kind}/{path.name}" for kind in folders for path in (WORKLOADS / kind).iterdir()]
    assert len(names) > 90
    assert [name for name in names if name not in found] == []
    assert sum(name.startswith("pytorch/") for name in found) == 4
    page = (ROOT / "docs" / "workloads.md").read_text(encoding="utf-8")
    assert "(tables/workloads.csv)" in page
    assert f"\n{len(found)} files: " in page


def test_a_trace_of_pytorch_is_read_with_one_warning_about_210_parents(tmp_path: Path) -> None:
    with tarfile.open(WORKLOADS / "pytorch" / "feeder_tests_trace.tar.gz") as packed:
        packed.extractall(tmp_path, filter="data")
    trace = read_chakra(next(tmp_path.rglob("*.et")))
    nodes = list(trace.nodes(0))
    data_dependencies = 181_878
    assert len(nodes) == 3664
    assert data_dependencies < sum(len(node.parents) for node in nodes) < data_dependencies + len(nodes)
    assert sum(node.kind is NodeKind.COLLECTIVE for node in nodes) == 7
    (warning,) = (*trace.warnings, *check_graphs(trace))
    assert "name 210 nodes that aren't there" in warning
