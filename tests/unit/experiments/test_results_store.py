"""The output folder: never half a run, never somebody else's file."""

from __future__ import annotations

import itertools
import json
import os
import stat
import sys
from pathlib import Path

import pytest

from astra_ns3.errors import InputError
from astra_ns3.experiments.metadata import FORMAT_VERSION
from astra_ns3.experiments.result import Result
from astra_ns3.experiments.saving import Destination
from astra_ns3.experiments.store import FORMAT, SCENARIO_FORMAT, SEEDS_FORMAT, RunFolder, check_for_results, holds_run
from astra_ns3.experiments.tables import Table


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


def parts_of(format_of_all: str, *names_of_parts: str) -> str:
    """The run.json of a run with a folder for each job, or each seed."""
    if format_of_all == SCENARIO_FORMAT:
        parts = {"jobs": [{"name": name.removeprefix("job-")} for name in names_of_parts]}
    else:
        parts = {"runs": [{"folder": name} for name in names_of_parts]}
    return json.dumps({"format": format_of_all, "files": ["run.json"], **parts})


def save_part(folder: Path) -> None:
    part = RunFolder(folder, overwrite=True)
    write_run(part, npus_csv="x")
    part.commit()


def test_overwrite_removes_the_folders_of_old_jobs_and_seeds_but_what_others_wrote_there(tmp_path: Path) -> None:
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    for name in ("seed-1", "seed-2/job-a", "seed-3", "seed-4", "seed-9"):
        save_part(out / name)
    save_part(elsewhere)
    (out / "seed-2" / "run.json").write_text(parts_of(SCENARIO_FORMAT, "job-a"))
    (out / "seed-3" / "timeline.pftrace").write_text("a trace of ours")
    (out / "seed-4" / "notes.txt").write_text("mine")
    (out / "seed-5").symlink_to(elsewhere)
    (out / "seed-6").mkdir()
    (out / "seed-6" / "run.json").write_text('{"format": "of another program"}')
    named = ["seed-1", "seed-2", "seed-3", "seed-4", "seed-5", "seed-6", "../elsewhere", str(elsewhere), ".."]
    (out / "run.json").write_text(parts_of(SEEDS_FORMAT, *named))
    new = RunFolder(out, overwrite=True)
    (new.open() / "run.json").write_text(parts_of(SEEDS_FORMAT, "seed-1"))
    assert names(out) >= {"seed-2", "seed-3"}
    new.commit()
    assert names(out) == {"run.json", "seed-1", "seed-4", "seed-5", "seed-6", "seed-9"}
    assert names(out / "seed-4") == {"notes.txt"}
    for kept in (out / "seed-1", out / "seed-9", elsewhere):
        assert names(kept) == {"EndToEnd.csv", "npus.csv", "run.json"}


def test_a_plain_run_removes_the_folders_of_the_jobs_that_it_replaces(tmp_path: Path) -> None:
    save_part(tmp_path / "job-a")
    (tmp_path / "run.json").write_text(parts_of(SCENARIO_FORMAT, "job-a"))
    (tmp_path / "timeline.pftrace").write_text("no run of these formats has a trace")
    save_part(tmp_path)
    assert names(tmp_path) == {"EndToEnd.csv", "npus.csv", "run.json", "timeline.pftrace"}
    save_part(tmp_path)
    assert names(tmp_path) == {"EndToEnd.csv", "npus.csv", "run.json"}


MOST_STEPS = 200
CHANGES = ("os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir", "os.chmod", "shutil.move", "shutil.rmtree")
"""What Python does to a file system, as its audit events name it."""


def save_version(target: Path, version: str, *, killed_at: int | None = None) -> bool:
    """Save a run whose files all say ``version``, in a process that is killed at a step; whether it came to its end."""
    pid = os.fork()
    if pid == 0:
        steps = itertools.count()

        def kill_at_its_step(event: str, arguments: tuple[object, ...]) -> None:
            writes = event == "open" and isinstance(arguments[1], str) and "w" in arguments[1]
            if (event in CHANGES or writes) and next(steps) == killed_at:
                os._exit(9)

        sys.addaudithook(kill_at_its_step)
        folder = RunFolder(target, overwrite=True)
        staging = folder.open()
        names_of_files = ["EndToEnd.csv", f"{version}.csv", "run.json"]
        for name in names_of_files[:-1]:
            (staging / name).write_text(version)
        document = {"format": FORMAT, "format_version": FORMAT_VERSION, "files": names_of_files, "version": version}
        (staging / "run.json").write_text(json.dumps(document))
        folder.commit()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def version_read(target: Path) -> str:
    """The version of the run that can be read in ``target``, of which every file must say the same."""
    result = Result.load(target)
    version = str(dict(result.metadata)["version"])
    for name in result.metadata["files"][:-1]:
        assert result._files.text(name) == version, name
    return version


@pytest.mark.parametrize("others", [False, True], ids=["a folder of its own", "with files of others"])
def test_whenever_it_is_killed_the_old_run_or_the_new_can_be_read_whole(tmp_path: Path, others: bool) -> None:
    read = []
    for step in range(MOST_STEPS):
        target = tmp_path / f"{step}" / "out"
        assert save_version(target, "old")
        if others:
            (target / "notes.txt").write_text("mine")
            (target / "plots").mkdir()
        ended = save_version(target, "new", killed_at=step)
        read.append(version_read(target))
        if not others:  # whoever opens the files himself sees one run, too
            assert {file.read_text() for file in target.glob("*.csv")} == {read[-1]}
        assert save_version(target, "next")
        assert version_read(target) == "next"
        visible = {name for name in names(target) if not name.startswith(".")}  # a killed run leaves hidden ones
        assert visible == {"EndToEnd.csv", "next.csv", "run.json", *(["notes.txt", "plots"] if others else [])}
        if ended:
            break
    assert ended
    assert read == sorted(read, reverse=True)  # old, ..., old, new, ..., new
    assert {read[0], read[-1]} == {"old", "new"}


def test_a_shell_that_stands_in_the_folder_is_not_left_in_one_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out"
    assert save_version(target, "old")
    before = target.stat().st_ino
    monkeypatch.chdir(target)
    assert save_version(Path(), "new")
    assert (version_read(target), target.stat().st_ino) == ("new", before)


def test_a_replaced_folder_keeps_its_permissions(tmp_path: Path) -> None:
    target = tmp_path / "out"
    assert save_version(target, "old")
    target.chmod(0o2750)
    assert save_version(target, "new")
    assert stat.S_IMODE(target.stat().st_mode) == 0o2750


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


def test_root_and_home_are_no_folders_of_results_unless_they_hold_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    RunFolder(home)
    (home / "mine").write_text("mine")
    for place in (Path("/"), Path("/etc"), tmp_path, home):
        told = f"^{place}: holds files that no run made; name a folder for the results, such as {place / 'results'}$"
        with pytest.raises(InputError, match=told):
            RunFolder(place, overwrite=True)
    monkeypatch.chdir("/etc")
    check_for_results(Path())
    (home / "run.json").write_text("{}")
    RunFolder(home, overwrite=True)


def test_a_folder_on_a_read_only_disk_is_not_called_a_lack_of_permission(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(InputError, match=f"cannot write here: {tmp_path} is read-only, or you have no permission"):
        RunFolder(tmp_path / "below")


def test_run_json_is_put_in_place_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    placed: list[str] = []
    replace = Path.replace

    def noted(self: Path, target: Path) -> Path:
        placed.append(Path(target).name)
        return replace(self, target)

    (tmp_path / "notes.txt").write_text("mine")
    folder = RunFolder(tmp_path)
    write_run(folder, zzz_csv="z")
    monkeypatch.setattr(Path, "replace", noted)
    folder.commit()
    assert placed[-1] == "run.json"
    assert sorted(placed) == ["EndToEnd.csv", "run.json", "zzz.csv"]


def test_run_json_is_written_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever ends the process before leaves files without run.json, which nobody takes for a run."""
    written: list[str] = []
    write_text = Path.write_text

    def noted(self: Path, text: str, **options: str) -> int:
        written.append(self.name)
        return write_text(self, text, **options)

    destination = Destination(tmp_path / "out", overwrite=False)
    destination.open(records=False)
    monkeypatch.setattr(Path, "write_text", noted)
    destination.finish({"format": FORMAT}, [Table("zzz.csv", ["z"], []), Table("EndToEnd.csv", ["a"], [])])
    assert written[-1] == "run.json"
    assert sorted(written) == ["EndToEnd.csv", "run.json", "zzz.csv"]
    assert names(tmp_path / "out") == {"EndToEnd.csv", "run.json", "zzz.csv"}
