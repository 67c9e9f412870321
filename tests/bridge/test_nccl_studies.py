"""NCCL's settings as axes of a study, and what NCCL chose in a report."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from support.command import run_command

NETWORK = """topology:
  {kind: single-switch, npus: 8, link: {rate: 400Gbps, delay: 500ns}, switch: {buffer: 64MiB, pfc: {}}}
transport: {kind: roce}
"""
STUDY = """base: {workload: workload.txt, system: system.yaml, network: network.yaml, backend: flow}
names: {system.nccl.NCCL_ALGO: algorithm, system.nccl.version: version}
parts:
"""
ALGORITHMS = "  algorithms: {axes: {system.nccl.NCCL_ALGO: [Ring, Tree]}}\n"
VERSIONS = "  versions: {axes: {system.nccl.version: ['2.22', '2.30']}}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Eight servers with one GPU each; the study's file is left to the test."""
    (tmp_path / "network.yaml").write_text(NETWORK, encoding="utf-8")
    (tmp_path / "system.yaml").write_text("collectives: nccl\nnccl: {server: dgx-h100}\n", encoding="utf-8")
    return tmp_path


def wants(folder: Path, collective: str, bytes: int = 65536) -> None:
    line = f"layer -1 0 NONE 0 0 NONE 0 0 {collective} {bytes} 0"
    (folder / "workload.txt").write_text(f"MICRO\n1\n{line}\n", encoding="utf-8")


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def studied(folder: Path, part: str, axis: str) -> dict[str, tuple[str, float]]:
    """Return NCCL's choice and the finish in us for each value of an axis."""
    (folder / "study.yaml").write_text(STUDY + part, encoding="utf-8")
    finished = run_command("study", str(folder / "study.yaml"), "-o", str(folder / "study"))
    assert finished.returncode == 0, finished.stderr
    points = folder / "study" / "points"
    return {
        row[axis]: (rows_of(points / row["address"] / "collectives.csv")[0]["algorithm"], float(row["finish_us"]))
        for row in rows_of(folder / "study" / "study.csv")
    }


def test_a_study_varies_the_algorithm(folder: Path) -> None:
    """A ring of 8 servers has 14 steps, a tree of 8 at most 2 x 3: for few bytes it is faster."""
    wants(folder, "ALLREDUCE", 256)
    found = studied(folder, ALGORITHMS, "algorithm")
    assert found["Ring"][0].startswith("nccl Ring ")
    assert found["Tree"][0].startswith("nccl Tree ")
    assert found["Tree"][1] < found["Ring"][1]


@pytest.mark.slow
def test_a_study_varies_the_version(folder: Path) -> None:
    """NCCL has PAT, for one GPU a server, since 2.23."""
    wants(folder, "ALLGATHER")
    found = studied(folder, VERSIONS, "version")
    assert found["2.22"][0].startswith("nccl Ring ")
    assert found["2.30"][0].startswith("nccl PAT ")


def test_a_report_names_what_nccl_chose(folder: Path) -> None:
    wants(folder, "ALLREDUCE")
    words = [word for name in ("workload.txt", "system.yaml", "network.yaml") for word in ("", str(folder / name))]
    words[::2] = ["-w", "-s", "-n"]
    out, page = folder / "out", folder / "page.html"
    sets = ("--set", "system.nccl.NCCL_ALGO=Tree", "--set", "system.nccl.NCCL_PROTO=LL")
    for command in (
        ("run", *words, *sets, "--backend", "flow", "--output", str(out)),
        ("report", str(out), "-o", str(page)),
    ):
        finished = run_command(*command)
        assert finished.returncode == 0, finished.stderr
    (row,) = rows_of(out / "collectives.csv")
    assert row["algorithm"].startswith("nccl Tree LL x")
    text = page.read_text(encoding="utf-8")
    assert row["algorithm"] in text
    described: Any = json.loads((out / "run.json").read_text(encoding="utf-8"))
    assert described["system"]["nccl"]["environment"] == {"NCCL_ALGO": "Tree", "NCCL_PROTO": "LL"}
    assert "NCCL_PROTO" in text
