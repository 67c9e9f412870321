"""A point of each part of these studies is as good as another: one small one of each study plays."""

from __future__ import annotations

from pathlib import Path

import pytest

from astra_ns3.studies.run_study import study

STUDIES = Path(__file__).resolve().parents[2] / "inputs" / "studies"


@pytest.mark.parametrize(
    ("name", "only", "published_us"),
    [
        pytest.param(
            "dlrm", ["part=concurrency", "system=flat-100g", "chunks=32", "parallel=64"], None, marks=pytest.mark.slow
        ),
        ("themis", ["part=published", "policy=Themis, SCF of 2023"], 13635.871),
    ],
)
def test_a_point_plays(tmp_path: Path, name: str, only: list[str], published_us: float | None) -> None:
    result = study(STUDIES / f"{name}.yaml", tmp_path / "out", jobs=1, only=only)
    assert list(result.frame["status"]) == ["done"]
    assert published_us is None or result.frame["finish_us"][0] == pytest.approx(published_us, abs=0.002)
