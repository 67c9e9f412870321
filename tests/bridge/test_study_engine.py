"""Points of a study, each in a child of a warm server: the same results as a run, and harm to nobody but themselves."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.command import NEEDS_HEADERS
from support.small_run import small_network
from support.study_points import begun, contents, harmful_file, point, points, wait_until

import astra_ns3
from astra_ns3.errors import BackendError, InputError
from astra_ns3.experiments.hooks import HookFile
from astra_ns3.experiments.metadata import VARYING_KEYS
from astra_ns3.experiments.servers.messages import ServerKind
from astra_ns3.experiments.servers.pool import Abandoned, ServerPool
from astra_ns3.network.api import Limits
from astra_ns3.studies.play_point import failed_outcome, play_point
from astra_ns3.studies.run_study import measured_today
from astra_ns3.studies.store import Store
from astra_ns3.studies.task import PointTask, SourceChanged, Unplayed
from astra_ns3.whole_file import POINT_FILE

FOREIGN = ("pandas", "pyarrow", "dask", "distributed", "matplotlib")
"""What ns-3, which is GPL-2.0-only, shares no process with; or what a child has no need of."""
LOOKING = """
import json, os, sys

def look(counter, request):
    for process in ("self", os.getppid()):
        with open(f"/proc/{process}/maps") as maps, open(os.environ["HOME"] + f"/{process}", "w") as file:
            file.write(json.dumps([sorted(sys.modules), maps.read()]))
    return 0, counter
"""


@pytest.fixture(scope="module")
def pool() -> Iterator[ServerPool]:
    """Servers that all tests here share."""
    pool = ServerPool()
    yield pool
    pool.close()


def test_a_point_has_the_files_of_a_run(pool: ServerPool, tmp_path: Path) -> None:
    task = point(Store(tmp_path / "store"), seed=7)
    outcome = play_point(task, pool)
    assert outcome.status == "done"
    assert outcome.error is None
    assert (outcome.measures["finish_us"] or 0) > 0
    folder = Store(task.store).point_folder(task.address)
    astra_ns3.run(**_arguments(task.request), output=tmp_path / "run")
    played, alone = contents(folder), {file.name: file.read_bytes() for file in (tmp_path / "run").iterdir()}
    document = json.loads(alone.pop("run.json"))
    assert played.pop("run.json") == {key: value for key, value in document.items() if key not in VARYING_KEYS}
    del played[POINT_FILE]
    assert played == alone


@pytest.mark.slow
def test_the_cost_of_a_point_is_that_of_its_process(pool: ServerPool, tmp_path: Path) -> None:
    cost = play_point(point(Store(tmp_path)), pool).cost
    assert cost["cpu_seconds"] > 0
    assert 0 < cost["run_seconds"] < cost["wall_seconds"]
    assert 2**24 < cost["peak_bytes"] < 2**30


def test_a_finished_point_is_not_played_again(pool: ServerPool, tmp_path: Path) -> None:
    task = point(Store(tmp_path))
    assert play_point(task, pool) == play_point(task, pool)
    assert begun(Store(tmp_path)) == {task.address: 1}


def test_a_run_that_was_saved_before_a_kill_is_only_measured(pool: ServerPool, tmp_path: Path) -> None:
    store = Store(tmp_path)
    task = point(store)
    outcome = play_point(task, pool)
    (store.point_folder(task.address) / POINT_FILE).unlink()
    again = play_point(task, pool)
    assert (again.status, again.measures, again.limits) == (outcome.status, outcome.measures, outcome.limits)
    assert [entry["what"] for entry in store.journal.entries()] == ["begun", "ended", "measured"]


def test_neither_server_nor_child_holds_what_ns3_may_not_meet(
    pool: ServerPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "looking.py").write_text(LOOKING, encoding="utf-8")
    fresh = ServerPool()  # whose server has this HOME
    outcome = play_point(point(Store(tmp_path / "store"), policy=f"{tmp_path / 'looking.py'}:look"), fresh)
    (server,) = fresh.pids
    fresh.close()
    assert outcome.status == "done", outcome.error
    for process in ("self", server):
        modules, maps = json.loads((tmp_path / str(process)).read_text(encoding="utf-8"))
        assert set(FOREIGN).isdisjoint(name.partition(".")[0] for name in modules)
        assert "libns3" in maps
        assert not [line for line in maps.splitlines() if any(name in line for name in (*FOREIGN, "libarrow"))]


@pytest.mark.parametrize(
    ("harm", "limits", "kind", "message"),
    [
        ("crash", Limits(), "BackendError", "crashed (SIGSEGV)"),
        ("linger", Limits(wall_seconds=0.5), "LimitReached", "wall time reached its limit of 0.5 s"),
        ("gorge", Limits(memory_bytes=2**29), "LimitReached", "memory reached its limit"),
    ],
)
def test_harm_hurts_the_point_that_does_it_and_no_other(
    pool: ServerPool, tmp_path: Path, harm: str, limits: Limits, kind: str, message: str
) -> None:
    store = Store(tmp_path / "store")
    task = point(store, policy=f"{harmful_file(tmp_path)}:{harm}", limits=limits)
    outcome = play_point(task, pool)
    assert outcome.status == "failed"
    assert outcome.error is not None
    assert outcome.error["kind"] == kind
    assert message in outcome.error["message"]
    assert outcome.limits == {
        "simulated_ps": None,
        "wall_seconds": limits.wall_seconds,
        "memory_bytes": limits.memory_bytes,
    }
    run = json.loads((store.point_folder(task.address) / "run.json").read_text(encoding="utf-8"))
    assert run["stopped"] == outcome.error
    (server,) = pool.pids
    assert play_point(point(store, seed=2), pool).status == "done"
    assert pool.pids == [server]


def test_a_point_that_cannot_begin_is_failed_with_what_is_wrong(pool: ServerPool, tmp_path: Path) -> None:
    store = Store(tmp_path)
    task = point(store, policy=f"{tmp_path}/nowhere.py:policy")
    outcome = play_point(task, pool)
    assert outcome.status == "failed"
    assert outcome.error is not None
    assert (outcome.error["kind"], outcome.error["exit_status"]) == ("InputError", InputError.exit_status)
    assert "nowhere.py" in outcome.error["message"]
    assert store.outcome(task.address) == outcome


def _kill_server_when(pool: ServerPool, true: Callable[[], object], number: signal.Signals) -> threading.Thread:
    def kill() -> None:
        wait_until(true, "a point that is played")
        time.sleep(0.2)
        os.kill(pool.pids[0], number)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


@pytest.mark.slow
def test_a_point_whose_server_is_killed_is_played_on_another(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    pool = ServerPool()
    task = point(store, policy=f"{harmful_file(tmp_path)}:dawdle")
    killer = _kill_server_when(pool, lambda: begun(store), signal.SIGKILL)
    outcome = play_point(task, pool)
    killer.join()
    assert outcome.status == "done", outcome.error
    assert begun(store) == {task.address: 2}
    pool.close()


@pytest.mark.slow
def test_a_point_whose_servers_are_killed_twice_fails_and_the_next_is_played(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    pool = ServerPool()
    task = point(store, policy=f"{harmful_file(tmp_path)}:linger")

    def was_begun(times: int) -> bool:
        return begun(store).get(task.address) == times

    killers = [_kill_server_when(pool, partial(was_begun, times), signal.SIGKILL) for times in (1, 2)]
    outcome = play_point(task, pool)
    for killer in killers:
        killer.join()
    assert outcome.status == "failed"
    assert outcome.error is not None
    assert "was killed (SIGKILL" in outcome.error["message"]
    assert play_point(point(store, seed=2), pool).status == "done"
    pool.close()


@pytest.mark.slow
def test_a_study_that_is_given_up_ends_what_is_played_and_writes_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    pool = ServerPool()
    pool.start(ServerKind())

    def close() -> None:
        wait_until(lambda: begun(store), "a point that is played")
        pool.close()

    thread = threading.Thread(target=close)
    thread.start()
    task = point(store, policy=f"{harmful_file(tmp_path)}:linger")
    with pytest.raises(Abandoned):
        play_point(task, pool)
    thread.join()
    assert not list(store.points.glob("*"))
    with ending(ServerPool()) as fresh:
        assert play_point(harmless(task), fresh).status == "done"
    with pytest.raises(Abandoned):
        play_point(point(store, seed=2), pool)


@pytest.mark.parametrize("whom", ["server", "child"])
def test_a_point_whose_processes_are_asked_to_end_is_not_finished(tmp_path: Path, whom: str) -> None:
    store = Store(tmp_path / "store")
    task = point(store, policy=f"{harmful_file(tmp_path)}:dawdle", passes=50)  # for longer than it takes to ask
    with ending(ServerPool()) as pool:

        def pid() -> int | None:
            child = pool._lent[0].child if pool._lent else None
            return None if child is None else child.pid if whom == "child" else pool.pids[0]

        def ask() -> None:
            wait_until(pid, "a child")
            os.kill(pid() or 0, signal.SIGTERM)

        asking = threading.Thread(target=ask)
        asking.start()
        with pytest.raises(Unplayed):
            play_point(task, pool)
        asking.join()
        assert not list(store.points.glob("*"))
        assert play_point(harmless(task), pool).status == "done"


def test_a_run_that_was_saved_when_its_process_was_killed_is_no_outcome(pool: ServerPool, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    task = point(store, policy=f"{harmful_file(tmp_path)}:crash")
    assert play_point(task, pool).status == "failed"
    (store.point_folder(task.address) / POINT_FILE).unlink()
    assert play_point(harmless(task), pool).status == "done"


def test_a_point_whose_code_changes_while_it_is_played_is_not_finished(pool: ServerPool, tmp_path: Path) -> None:
    store, file = Store(tmp_path / "store"), tmp_path / "changing.py"
    text = f"def policy(counter, request):\n    open({str(file)!r}, 'a').write('#')\n    return 0, counter\n"
    file.write_text(text, encoding="utf-8")
    sources = {str(file): hashlib.sha256(text.encode()).hexdigest()}
    task = replace(point(store, policy=f"{file}:policy"), sources=sources)
    for _ in range(2):  # seen after playing, and before
        with pytest.raises(SourceChanged, match=r"changing\.py changed while the study was played"):
            play_point(task, pool)
    assert not list(store.points.glob("*"))
    assert begun(store) == {task.address: 1}


def test_a_saved_run_that_cannot_be_measured_is_played_again(
    pool: ServerPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path)
    task = point(store)
    outcome = play_point(task, pool)
    folder = store.point_folder(task.address)
    (folder / POINT_FILE).unlink()
    for file in folder.glob("*.csv"):
        file.write_bytes(b"")  # as after a power cut
    assert play_point(task, pool).measures["finish_us"] == outcome.measures["finish_us"]
    assert begun(store) == {task.address: 2}
    store.clear(task.address)

    def refuse(_result: object) -> None:
        raise ValueError("half a file")

    monkeypatch.setattr("astra_ns3.studies.play_point.measures_of", refuse)
    error = play_point(task, pool).error
    assert error is not None
    assert error["message"] == "the point's results can't be measured: ValueError: half a file"
    assert store.outcome(task.address) is not None


def test_a_full_disk_fails_no_point_wherever_it_shows(
    pool: ServerPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, *_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    store = Store(tmp_path / "store")
    task = point(store)
    with monkeypatch.context() as patch:
        patch.setattr("astra_ns3.experiments.store._new_folder", full)  # no folder for the run
        with pytest.raises(Unplayed, match="No space left on device"):
            play_point(task, pool)
    assert store.finished_folders() == {}
    with monkeypatch.context() as patch:
        patch.setattr(Store, "write", lambda _, outcome: full(store.point_folder(outcome.address)))
        with pytest.raises(OSError, match="No space left on device"):  # the run is saved, point.json isn't
            play_point(task, pool)
    told = failed_outcome(task, Unplayed("a full disk"), {})
    assert measured_today({task.address: told}, store, write=True) == {task.address: told}
    assert store.finished_folders() == {}
    assert play_point(task, pool).status == "done"
    assert [entry["what"] for entry in store.journal.entries()][-1] == "measured"


def test_a_capture_that_cannot_be_written_fails_no_point(
    pool: ServerPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "store")
    network = small_network()
    observed = network.model_copy(update={"observe": network.observe.model_copy(update={"pcap": ("host0",)})})
    monkeypatch.setattr(
        "astra_ns3.experiments.store._new_folder", lambda parent, name: parent / f".{name}.gone.partial"
    )
    with pytest.raises(Unplayed, match=r"host0\S*\.pcap: cannot be written"):
        play_point(point(store, network=observed), pool)
    assert store.finished_folders() == {}


def test_a_server_that_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    pool = ServerPool()
    with pytest.raises(BackendError, match=r"a server .* could not be started: .*No module named"):
        play_point(point(Store(tmp_path)), pool)
    assert pool.pids == []


@NEEDS_HEADERS
def test_points_with_a_hook_get_a_server_that_knows_ns3s_headers(tmp_path: Path) -> None:
    hook = tmp_path / "hook.py"
    hook.write_text("def on_built(context):\n    return lambda: context.ns.NodeList.GetNNodes()\n", encoding="utf-8")
    pool = ServerPool()
    store = Store(tmp_path / "store")
    first, second = (replace(task, request=replace(task.request, on_built=HookFile(hook))) for task in points(store, 2))
    assert play_point(first, pool).status == "done"
    assert play_point(second, pool).cost["cpu_seconds"] < 2.0  # the headers alone take more
    run = json.loads((store.point_folder(second.address) / "run.json").read_text(encoding="utf-8"))
    assert run["hook_result"] == 5  # four hosts and a switch
    pool.close()


def harmless(task: PointTask) -> PointTask:
    """A point with the address of ``task`` that is soon played."""
    return replace(task, request=point(Store(task.store)).request)


@contextmanager
def ending(pool: ServerPool) -> Iterator[ServerPool]:
    """``pool``, which is closed at the end."""
    try:
        yield pool
    finally:
        pool.close()


def _arguments(request: Any) -> dict[str, Any]:
    return {name: getattr(request, name) for name in ("workload", "system", "network", "seed")}
