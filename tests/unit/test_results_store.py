"""The output folder: never half a run, never somebody else's file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from astra_ns3.errors import InputError
from astra_ns3.experiments.store import FORMAT, RunFolder, holds_run


def names(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


def write_run(folder: RunFolder, **texts: str) -> None:
    staging = folder.open()
    files = {"EndToEnd.csv": "new", **{name.replace("_csv", ".csv"): text for name, text in texts.items()}}
    for name, text in files.items():
        (staging / name).write_text(text)
    (staging / "run.json").write_text(json.dumps({"format": FORMAT, "files": [*files, "run.json"]}))


def test_nothing_has_a_final_name_before_commit(tmp_path: Path) -> None:
    target = tmp_path / "out"
    folder = RunFolder(target)
    write_run(folder)
    assert not target.exists()
    assert folder.commit() == target
    assert names(target) == {"EndToEnd.csv", "run.json"}
    assert names(tmp_path) == {"out"}


def test_a_new_folder_has_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "usual").mkdir()
    folder = RunFolder(tmp_path / "out")
    write_run(folder)
    assert folder.commit().stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_discard_leaves_no_trace_of_a_folder_that_was_not_there(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "a" / "b" / "out")
    write_run(folder)
    folder.discard()
    assert names(tmp_path) == set()


def test_an_existing_folder_without_a_run_is_filled_and_its_files_stay(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    folder = RunFolder(tmp_path)
    write_run(folder)
    folder.commit()
    assert names(tmp_path) == {"notes.txt", "EndToEnd.csv", "run.json"}


@pytest.mark.parametrize("name", ["run.json", "EndToEnd.csv", "flows.parquet"])
def test_a_folder_that_holds_any_file_of_a_run_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("old")
    assert holds_run(tmp_path)
    with pytest.raises(InputError, match="holds a run"):
        RunFolder(tmp_path)
    assert names(tmp_path) == {name}


def test_overwrite_replaces_the_old_runs_files_and_no_others(tmp_path: Path) -> None:
    old = RunFolder(tmp_path)
    write_run(old, first_dimension_utilization_csv="old", npus_csv="old")
    old.commit()
    for mine in ("notes.txt", "other_dimension_utilization.csv"):
        (tmp_path / mine).write_text("mine")
    new = RunFolder(tmp_path, overwrite=True)
    write_run(new)
    assert (tmp_path / "npus.csv").read_text() == "old"
    new.commit()
    assert names(tmp_path) == {"EndToEnd.csv", "run.json", "notes.txt", "other_dimension_utilization.csv"}
    assert (tmp_path / "EndToEnd.csv").read_text() == "new"


def test_a_forged_file_list_cannot_remove_files_outside_the_folder(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    target = tmp_path / "out"
    target.mkdir()
    names_elsewhere = ["../precious", "..", str(tmp_path / "precious"), 3]
    (target / "run.json").write_text(json.dumps({"format": FORMAT, "files": names_elsewhere}))
    folder = RunFolder(target, overwrite=True)
    write_run(folder)
    folder.commit()
    assert (tmp_path / "precious").read_text() == "mine"


def test_a_kill_while_files_are_moved_leaves_a_folder_that_is_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = RunFolder(tmp_path / "out")
    write_run(first)
    first.commit()
    second = RunFolder(tmp_path / "out", overwrite=True)
    write_run(second)

    def killed(self: Path, target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        second.commit()
    assert not (tmp_path / "out" / "run.json").exists()


def test_a_run_saved_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    slow, fast = RunFolder(tmp_path / "out"), RunFolder(tmp_path / "out")
    write_run(slow)
    write_run(fast, npus_csv="fast")
    fast.commit()
    with pytest.raises(InputError, match="meanwhile"):
        slow.commit()
    kept = slow.path.parent.glob(".out.*.partial/EndToEnd.csv")
    slow.discard()
    assert len(list(kept)) == 1
    assert (tmp_path / "out" / "npus.csv").read_text() == "fast"


def test_a_file_cannot_be_the_output_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="must be a folder"):
        RunFolder(tmp_path / "file")
    with pytest.raises(InputError, match="cannot write here"):
        RunFolder(tmp_path / "file" / "below")
