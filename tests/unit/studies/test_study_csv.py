"""Nothing in a study's CSV tables is a formula for a spreadsheet, whatever its file names columns and values."""

from __future__ import annotations

import csv
from pathlib import Path

from support.studies import expanded, outcome_of, study_of

from astra_ns3.studies.result import StudyResult
from astra_ns3.studies.run_study import write_study
from astra_ns3.studies.tables import study_rows


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


def test_a_point_that_failed_on_its_way_has_no_numbers(tmp_path: Path) -> None:
    """It may have a finish: when it was stopped."""
    expansion = expanded(study_of(one={"axes": {"size": {"a": {"scale": 1}, "b": {"scale": 0.5}}}}))
    done, stopped = expansion.points
    outcomes = {
        done.address: outcome_of(done, finish_us=3.0),
        stopped.address: outcome_of(stopped, "failed", finish_us=2.0),
    }
    rows = study_rows(expansion.points, outcomes, tmp_path, ["size"])
    assert [(row["status"], row["finish_us"]) for row in rows] == [("done", 3.0), ("failed", None)]
