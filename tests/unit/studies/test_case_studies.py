"""The studies of DLRM and of Themis as files: every preset has its points, and none is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from astra_ns3.config.system import SystemConfig
from astra_ns3.studies.expansion import Expansion, Point, expand
from astra_ns3.studies.file import read_study

STUDIES = Path(__file__).resolve().parents[3] / "inputs" / "studies"


def expanded(name: str, preset: str) -> Expansion:
    return expand(read_study(STUDIES / f"{name}.yaml"), preset)


def splits(point: Point) -> int:
    system = point.request.system
    assert isinstance(system, SystemConfig)
    return system.preferred_dataset_splits


@pytest.mark.parametrize("name", ["dlrm", "themis"])
@pytest.mark.parametrize("preset", ["laptop", "paper"])
def test_every_preset_expands(name: str, preset: str) -> None:
    expansion = expanded(name, preset)
    assert len(expansion.points) >= len(expansion.tasks("store")) > 50
    assert all(part.config.figures for part in expansion.parts)


def test_the_laptop_plays_dlrm_on_32_npus_and_the_paper_on_128() -> None:
    for preset, npus in (("laptop", 32), ("paper", 128)):
        points = [point for point in expanded("dlrm", preset).points if point.part == "scale"]
        assert {point.request.network.npus for point in points} == {npus}  # type: ignore[union-attr]
        assert {point.labels["system"] for point in points} == {"flat-100g", "flat-800g", "hier", "hier-opt"}


def test_the_paper_has_the_chunks_of_the_talks_table() -> None:
    points = [point for point in expanded("dlrm", "paper").points if point.part == "size-128"]
    chunks = {point.labels["system"]: splits(point) for point in points}
    assert chunks == {"flat-100g": 1024, "flat-800g": 1024, "hier": 128, "hier-opt": 128}


def test_scale_multiplies_bytes_and_computing_alike() -> None:
    for point in expanded("dlrm", "laptop").points:
        assert (point.request.comm_scale, point.request.compute_scale) == (1.0, 1.0)
    unequal = [point for point in expanded("themis", "laptop").points if point.part == "unequal"]
    assert len({round(sum(point.request.network.bandwidths), 9) for point in unequal}) == 1  # type: ignore[union-attr]
