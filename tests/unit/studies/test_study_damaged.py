"""Damaged files of a study's folder: the study goes on, or says in one line which file is damaged."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.lengths import some_slow
from support.studies import expanded, outcome_of, result_of, study_of

from astra_ns3.errors import InputError
from astra_ns3.experiments.servers.messages import ServerKind
from astra_ns3.experiments.servers.pool import ServerPool
from astra_ns3.experiments.servers.warm_server import WarmServer
from astra_ns3.studies.index import Index
from astra_ns3.studies.journal import BEGUN
from astra_ns3.studies.measures import measures_digest
from astra_ns3.studies.play_point import play_point
from astra_ns3.studies.playing import play_tasks
from astra_ns3.studies.run_study import load_study
from astra_ns3.studies.store import INDEX_FILE, Store

LAYERS = """layer name,fwd compute,wg compute,ig compute,fwd total comm,wg total comm,ig total comm
first,1,2,3,0,4,0
"""
STUDY = study_of(sizes={"comm_scale": [0.5, 1]})
WRONG = (None, True, -1, 1e999, "x", [1], {"a": 1})
"""Values that a key may have instead of its own."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study's folder of two points, as a study leaves it."""
    store = Store(tmp_path_factory.mktemp("study"))
    for point in expanded(STUDY).points:
        result_of(store.point_folder(point.address), {"EndToEnd.csv": LAYERS}, limits={})
        store.write(replace(outcome_of(point, finish_us=2.0), measured_with=measures_digest()))
        store.journal.note(BEGUN, point.address)
    with store.study():
        Index(store).outcomes()
    return store.folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """A copy of it, to be damaged."""
    return Path(shutil.copytree(whole, tmp_path / "study"))


def documents(document: dict[str, Any]) -> Iterator[object]:
    """Wrong JSON in the place of ``document``: of another kind, with a key less, with a wrong value of a key."""
    yield from WRONG
    yield []
    yield {}
    for key in document:
        yield {name: value for name, value in document.items() if name != key}
        yield from ({**document, key: value} for value in WRONG)


def mutations(content: bytes) -> Iterator[bytes]:
    """Wrong content in the place of ``content``, whatever it is."""
    chance = random.Random(17)
    yield from (b"", content[: len(content) // 2], content[:-3], b"[" * 100_000, chance.randbytes(300))
    for _ in range(5):
        at = chance.randrange(len(content))
        yield content[:at] + chance.randbytes(3) + content[at + 3 :]
    try:
        document = json.loads(content)
    except ValueError:
        return
    yield from (json.dumps(each).encode() for each in documents(document))


def look(folder: Path) -> str:
    """All that is read of a study's folder; what a person is told instead, if so."""
    store = Store(folder)
    Index(store).outcomes()
    store.journal.attempts()
    try:
        result = load_study(STUDY, folder)
        assert len(result.frame) == 2
        assert set(result.frame["status"]) <= {"done", "failed", "not played"}
        assert len(result.layers) <= 2
        assert len(result.failed) == len(result.failures)
    except InputError as error:
        return str(error)
    return ""


def test_an_undamaged_folder_is_read(folder: Path) -> None:
    assert look(folder) == ""
    assert list(load_study(STUDY, folder).frame["finish_us"]) == [2.0, 2.0]


@pytest.mark.parametrize("name", some_slow(["point.json", "run.json", "EndToEnd.csv"], ["run.json"]))
def test_damaged_files_of_a_point_are_one_line_that_says_where_or_nothing(folder: Path, name: str) -> None:
    address = expanded(STUDY).points[0].address
    file = Store(folder).point_folder(address) / name
    content, told = file.read_bytes(), 0
    for wrong in mutations(content):
        file.write_bytes(wrong)
        said = look(folder)
        assert "\n" not in said
        assert not said or str(file.parent) in said, said
        told += bool(said)
    if name == "point.json":
        assert told == 0  # such a point is not finished
    else:
        assert told > 3
        assert said.endswith(f"delete {file.parent}, and the next study plays the point again") or not said


def test_a_point_whose_outcome_is_damaged_is_not_finished(folder: Path) -> None:
    first, second = (point.address for point in expanded(STUDY).points)
    file = Store(folder).point_folder(first) / "point.json"
    document = json.loads(file.read_text(encoding="utf-8"))
    changes = ({"measures": [1]}, {"status": "well"}, {"error": "no"}, {"cost": {"wall_seconds": "x"}})
    wrongs: list[object] = [[], *({**document, **change} for change in changes)]
    for wrong in wrongs:
        file.write_text(json.dumps(wrong), encoding="utf-8")
        assert set(Index(Store(folder)).outcomes()) == {second}
        assert list(load_study(STUDY, folder).frame["status"]) == ["not played", "done"]


class Played(Exception):
    """The point went to a server."""


class NoServers(ServerPool):
    """A pool that plays nothing."""

    @contextmanager
    def server(self, kind: ServerKind) -> Iterator[WarmServer]:
        raise Played
        yield


def test_what_a_kill_has_left_of_a_run_is_measured_or_played_again_however_damaged_it_is(folder: Path) -> None:
    task = expanded(STUDY).tasks(str(folder))[0]
    store = Store(folder)
    file = store.point_folder(task.address) / "run.json"
    content = file.read_bytes()
    again = 0
    for wrong in mutations(content):
        (file.parent / "point.json").unlink(missing_ok=True)
        file.parent.mkdir(exist_ok=True)
        (file.parent / "EndToEnd.csv").write_text(LAYERS, encoding="utf-8")
        file.write_bytes(wrong)
        try:
            play_point(task, NoServers())
        except Played:
            again += 1
            assert not file.parent.exists()
    assert again > 10


def _text(column: str) -> Callable[[sqlite3.Connection], object]:
    return lambda index: index.execute(f"UPDATE points SET {column} = '{{'")


@pytest.mark.parametrize(
    "change",
    [
        _text("outcome"),
        _text("stamp"),
        lambda index: index.execute("UPDATE points SET outcome = ?", (b"\xff\x00",)),
        lambda index: index.execute("UPDATE points SET outcome = 5"),
        lambda index: index.execute("UPDATE points SET outcome = '[1]'"),
        lambda index: index.execute("UPDATE points SET folder = rowid"),
        lambda index: index.execute("DROP TABLE points"),
        lambda index: index.executescript("DROP TABLE points; CREATE TABLE points (a)"),
    ],
)
def test_an_index_with_wrong_rows_is_made_anew_from_the_points(
    whole: Path, folder: Path, change: Callable[[sqlite3.Connection], object]
) -> None:
    expected = Index(Store(whole)).outcomes()
    assert len(expected) == 2
    with closing(sqlite3.connect(folder / INDEX_FILE)) as index, index:
        change(index)
    assert Index(Store(folder)).outcomes() == expected
    assert Index(Store(folder)).outcomes() == expected


def test_a_damaged_index_is_made_anew_from_the_points(whole: Path, folder: Path) -> None:
    expected = Index(Store(whole)).outcomes()
    content = (folder / INDEX_FILE).read_bytes()
    for wrong in mutations(content):
        (folder / INDEX_FILE).write_bytes(wrong)
        assert Index(Store(folder)).outcomes() == expected
    (folder / INDEX_FILE).unlink()
    (folder / INDEX_FILE).mkdir()  # no place for one
    assert Index(Store(folder)).outcomes() == expected


def test_a_damaged_journal_is_read_as_far_as_it_goes(folder: Path) -> None:
    (file,) = (folder / "journal").iterdir()
    first, second = file.read_bytes().splitlines(keepends=True)
    for wrong in mutations(first):
        file.write_bytes(wrong + b"\n" + second)
        assert sum(Store(folder).journal.attempts().values()) in (1, 2)


@pytest.mark.parametrize("name", [".study.json", "locks", "journal"])
def test_a_study_goes_on_in_a_folder_with_damaged_marks(folder: Path, name: str) -> None:
    tasks = expanded(STUDY).tasks(str(folder))
    path = folder / name
    for wrong in mutations(b'{"study": "a", "host": "b", "pid": 1}'):
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        path.write_bytes(wrong)
        assert {outcome.status for outcome in play_tasks(tasks, store=Store(folder)).values()} == {"done"}


def test_a_file_in_the_place_of_a_point_makes_way(folder: Path) -> None:
    store = Store(folder)
    address = expanded(STUDY).points[0].address
    shutil.rmtree(store.point_folder(address))
    store.point_folder(address).write_text("", encoding="utf-8")
    assert look(folder) == ""
    store.clear(address)
    assert not store.point_folder(address).exists()
