"""The comparison of two trees of the program sees what differs, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet
from soak.against import command_of, contents, differences, drawn, played
from soak.case import REPOSITORY


def test_a_tree_writes_the_same_files_as_itself(tmp_path: Path) -> None:
    case = next(case for _, case in drawn(1))
    command = command_of(case, "ns3", tmp_path)
    assert [played(REPOSITORY, command, tmp_path, name) for name in ("before", "after")] == ["", ""]
    before = contents(tmp_path / "before")
    assert differences(before, contents(tmp_path / "after")) == []
    assert {"npus.csv: finish_us", "run.json: finish_ps", "operations.parquet: start_ps"} <= before.keys()


def test_what_differs_is_seen_and_what_is_new_is_not(tmp_path: Path) -> None:
    for name, finish, times, more in (("before", 1, [3, 4], {}), ("after", 2, [4, 3], {"new": [0, 0]})):
        (tmp_path / name).mkdir()
        document = {"finish_ps": finish, "flows": [{"count": 3}], "started": name} | ({"key": 1} if more else {})
        (tmp_path / name / "run.json").write_text(json.dumps(document))
        (tmp_path / name / "npus.csv").write_text("npu,finish_us\n0,1\n" if not more else "npu,finish_us,more\n0,1,2\n")
        parquet.write_table(pa.table({"npu": [1, 1], "start_ps": times, **more}), tmp_path / name / "flows.parquet")
    before, after = contents(tmp_path / "before"), contents(tmp_path / "after")
    assert sorted(differences(before, after)) == ["flows.parquet: order of rows", "run.json: finish_ps"]
    after["flows.parquet: start_ps"] = [4, 5]
    assert "flows.parquet: start_ps" in differences(before, after)


def test_a_run_that_fails_says_why(tmp_path: Path) -> None:
    assert played(REPOSITORY, ["-w", "missing.txt"], tmp_path, "out").startswith("status 2: ")
