"""The store of a study: what counts as finished, who may write, and an index that is only a copy."""

from __future__ import annotations

import csv
import errno
import json
import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from support.studies import expanded, study_of

from astra_ns3.errors import InputError, Interrupted
from astra_ns3.experiments.store import RunFolder
from astra_ns3.studies.index import Index
from astra_ns3.studies.run_study import STUDY_FILE, WRITTEN, play_study
from astra_ns3.studies.store import INDEX_FILE, Store
from astra_ns3.studies.task import PointOutcome
from astra_ns3.whole_file import POINT_FILE, STUDY_MARK

ADDRESS = "0123456789abcdef" * 4
OTHER = "fedcba9876543210" * 4


def outcome(address: str = ADDRESS, finish_us: float = 2.5) -> PointOutcome:
    return PointOutcome(address, "done", None, {"finish_us": finish_us}, {"wall_seconds": 0.5}, {"wall_seconds": None})


def test_a_point_is_finished_when_its_outcome_is_written(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.outcome(ADDRESS) is None
    store.write(outcome())
    assert store.outcome(ADDRESS) == outcome()
    assert [file.name for file in store.point_folder(ADDRESS).iterdir()] == [POINT_FILE]
    assert store.point_folder(ADDRESS).name == ADDRESS[:20]


def test_a_file_that_could_not_be_put_is_as_it_was_and_the_next_leaves_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(path: Path, target: Path) -> None:
        raise KeyboardInterrupt

    file = tmp_path / "run.json"
    Store.put(file, "before")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            Store.put(file, "after")
    assert file.read_text(encoding="utf-8") == "before"
    monkeypatch.setattr(os, "getpid", lambda: -1)  # the next attempt is another process
    Store.put(file, "after")
    assert [each.name for each in tmp_path.iterdir()] == ["run.json"]


def test_half_an_outcome_is_none(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write(outcome())
    file = store.point_folder(ADDRESS) / POINT_FILE
    file.write_text(file.read_text(encoding="utf-8")[:40], encoding="utf-8")
    assert store.outcome(ADDRESS) is None


def test_an_address_that_begins_alike_is_another_point(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write(outcome())
    assert store.outcome(ADDRESS[:40] + OTHER[:24]) is None


def test_a_point_is_cleared_with_what_killed_attempts_have_left(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write(outcome())
    store.write(outcome(OTHER))
    (store.points / f".{ADDRESS[:20]}.17.0.partial").mkdir()
    store.clear(ADDRESS)
    assert [folder.name for folder in store.points.iterdir()] == [OTHER[:20]]


def test_a_study_is_not_played_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine", encoding="utf-8")
    (tmp_path / ".study.json").symlink_to(tmp_path / "precious")
    with pytest.raises(InputError, match=r"\.study\.json: is a link, expected a study's own file; remove it"):
        Store(tmp_path).study().__enter__()
    assert (tmp_path / "precious").read_text(encoding="utf-8") == "mine"


def test_one_study_at_a_time_plays_into_a_store_and_the_other_is_named(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with store.study() as mark:
        assert store.is_of_study(mark)
        with pytest.raises(InputError, match=rf"another study is played here, by process {os.getpid()} on "):
            store.study().__enter__()
    with store.study() as next_mark:
        assert not store.is_of_study(mark)
        assert store.is_of_study(next_mark)


def test_a_study_that_is_killed_leaves_no_lock(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys\nfrom astra_ns3.studies.store import Store\n"
        "store = Store(sys.argv[1])\n"
        "with store.study(), store.alone('ab' * 32): os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False, timeout=60).returncode == -9
    store = Store(tmp_path)
    with store.study(), store.alone("ab" * 32):
        pass
    assert list((tmp_path / "locks").iterdir()) == []


def test_who_waits_for_a_point_is_asked_whether_to_go_on(tmp_path: Path) -> None:
    def enough() -> None:
        raise KeyboardInterrupt

    store = Store(tmp_path)
    with store.alone(ADDRESS), pytest.raises(KeyboardInterrupt):
        store.alone(ADDRESS, while_waiting=enough).__enter__()
    with store.alone(ADDRESS, while_waiting=enough):
        pass


def test_a_file_system_without_locks_is_warned_of_and_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr("fcntl.flock", refuse)
    store = Store(tmp_path)
    with store.study() as mark, store.alone(ADDRESS):
        assert store.is_of_study(mark)
    assert "files can't be locked here" in caplog.text


def test_what_cannot_be_written_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="file/study: cannot write here: Not a directory"):
        Store(tmp_path / "file" / "study").study().__enter__()


def test_the_index_knows_what_the_folders_hold_and_no_more(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write(outcome())
    store.write(outcome(OTHER))
    assert Index(store).outcomes() == {ADDRESS: outcome(), OTHER: outcome(OTHER)}
    store.clear(OTHER)
    changed = replace(outcome(), status="failed")
    store.write(changed)
    assert Index(store).outcomes() == {ADDRESS: changed}


@pytest.mark.parametrize("text", ["", "no database"])
def test_an_index_that_is_lost_is_made_anew(tmp_path: Path, text: str) -> None:
    store = Store(tmp_path)
    store.write(outcome())
    Index(store).outcomes()
    (tmp_path / INDEX_FILE).write_text(text, encoding="utf-8")
    assert Index(store).outcomes() == {ADDRESS: outcome()}
    assert Index(store).outcomes() == {ADDRESS: outcome()}


def test_without_an_index_the_folders_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise sqlite3.OperationalError("database is locked")

    monkeypatch.setattr("sqlite3.connect", refuse)
    store = Store(tmp_path)
    store.write(outcome())
    assert Index(store).outcomes() == {ADDRESS: outcome()}


def test_an_outcome_of_another_version_in_the_index_is_read_anew(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write(outcome())
    Index(store).outcomes()
    with closing(sqlite3.connect(tmp_path / INDEX_FILE)) as index, index:
        index.execute("UPDATE points SET outcome = '{\"other\": 1}'")
    assert Index(store).outcomes() == {ADDRESS: outcome()}


def test_the_journal_tells_what_each_process_tried(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for what in ("begun", "begun", "ended"):
        store.journal.note(what, ADDRESS)
    entries = list(store.journal.entries())
    assert [entry["what"] for entry in entries] == ["begun", "begun", "ended"]
    assert {str(entry["process"]).rpartition("-")[2] for entry in entries} == {str(os.getpid())}
    assert store.journal.attempts() == {ADDRESS: 2}
    (file,) = (tmp_path / "journal").iterdir()
    assert json.loads(file.read_text(encoding="utf-8").splitlines()[0])["address"] == ADDRESS


def test_a_folder_of_a_run_or_of_another_study_is_refused_and_a_run_refuses_one_of_a_study(tmp_path: Path) -> None:
    with Store(tmp_path / "study", "first").study():
        Store(tmp_path / "study", "first").check_free(["points"])
    with pytest.raises(InputError, match=r"the folder holds the study 'first'; name another one$"):
        Store(tmp_path / "study", "degrees").check_free([])
    for overwrite in (False, True):  # overwriting replaces runs alone, and the study would stay beside the run
        with pytest.raises(InputError, match=r"the folder holds a study or a plan; name another one$"):
            RunFolder(tmp_path / "study", overwrite=overwrite)
    (tmp_path / "run.json").touch()
    with pytest.raises(InputError, match=r"the folder holds a run; or else$"):
        Store(tmp_path, "first").check_free([], "or else")


@pytest.mark.parametrize("name", [STUDY_FILE, *WRITTEN])
def test_a_study_refuses_a_folder_that_is_not_its_own_and_has_something_that_it_would_write(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / name).symlink_to(tmp_path / "nowhere")  # a link is somebody's, wherever it leads
    (tmp_path / "mine.txt").touch()
    words = (
        f"the folder holds {name}, and no mark of a study, a plan or a budget; name another one or use overwrite=True"
    )
    with pytest.raises(InputError, match=re.escape(words)):
        play_study(expanded(study_of()), tmp_path)
    assert {each.name for each in tmp_path.iterdir()} == {name, "mine.txt"}
    assert not (tmp_path / name).exists()
    for mark in ("", "{", "[]", "{}", '{"name": ""}'):
        (tmp_path / STUDY_MARK).write_text(mark, encoding="utf-8")
        Store(tmp_path, "first").check_free([name])


def test_files_that_a_study_does_not_write_may_lie_in_its_folder(tmp_path: Path) -> None:
    for name in ("b.yaml", "notes.csv", "README.md"):
        (tmp_path / name).touch()
    Store(tmp_path, "first").check_free((STUDY_FILE, *WRITTEN))


def test_an_interrupted_study_leaves_a_table_of_the_points_that_have_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expansion = expanded({**study_of(), "seeds": 2})
    first, other = expansion.points[0], expansion.points[-1]
    assert first.address != other.address

    def interrupted(*_: object, store: Store, **__: object) -> None:
        with store.study():
            store.write(outcome(first.address))
        raise Interrupted("interrupted")

    monkeypatch.setattr("astra_ns3.studies.run_study.play_tasks", interrupted)
    with pytest.raises(Interrupted):
        play_study(expansion, tmp_path)
    with (tmp_path / "study.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(expansion.points)
    assert (rows[0]["status"], rows[0]["finish_us"]) == ("done", "2.5")
    assert (rows[-1]["status"], rows[-1]["finish_us"]) == ("not played", "")
