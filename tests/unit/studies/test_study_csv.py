"""Nothing in a study's CSV tables is a formula for a spreadsheet, whatever its file names columns and values."""

from __future__ import annotations

import csv
from pathlib import Path

from support.studies import expanded, outcome_of, study_of

from astra_ns3.studies.result import StudyResult
from astra_ns3.studies.run_study import write_study


def test_names_of_columns_and_values_are_no_formulas(tmp_path: Path) -> None:
    names = {"size": "=1+1", "comm_scale": "@x"}
    axes = {
        "size": {"=cmd": {"scale": 1}, "-x": {"scale": 0.5}},
        "comm_scale": {"+a": {"comm_scale": 1}, "-1.5": {"comm_scale": 0.5}},
    }
    expansion = expanded({**study_of(one={"axes": axes, "combine": "product"}), "names": names})
    failed = {point.address: outcome_of(point, "failed") for point in expansion.points}
    write_study(StudyResult(expansion, failed, tmp_path), "astra-ns3 study study.yaml")
    for name in ("study.csv", "means.csv"):
        with (tmp_path / name).open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
        assert header[:3] == ["part", "'=1+1", "'@x"]
        assert {row[1] for row in rows} == {"'=cmd", "'-x"}
        assert {row[2] for row in rows} == {"'+a", "-1.5"}
