"""Whole studies on workers: the same whatever the order and their number, and no end of a process loses a point.

``ASTRA_NS3_KILLS``: how often a study is killed before it may end, 4 unless told. ``ASTRA_NS3_KILL_SECONDS``: so long
after a point has begun at most, 1 unless told: about as long as two points take on a machine with nothing else to do.
"""

from __future__ import annotations

import hashlib
import os
import random
import signal
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from support.lengths import some_slow
from support.study_points import (
    begun,
    cluster_process,
    contents,
    harmful_file,
    point,
    points,
    processes_of,
    run_folders,
    servers_of,
    study_process,
    wait_until,
)

from astra_ns3.errors import InputError
from astra_ns3.studies.play_point import failed_outcome
from astra_ns3.studies.playing import play_tasks
from astra_ns3.studies.store import Store
from astra_ns3.studies.task import PointOutcome, PointTask

KILLS = int(os.environ.get("ASTRA_NS3_KILLS", "4"))
LONGEST_SECONDS = float(os.environ.get("ASTRA_NS3_KILL_SECONDS", "1"))


def played(tasks: Sequence[PointTask], store: Store, jobs: int) -> dict[str, PointOutcome]:
    outcomes = play_tasks(tasks, store=store, jobs=jobs)
    assert list(outcomes) == [task.address for task in tasks]
    return outcomes


def wait_until_gone(mark: str) -> None:
    wait_until(lambda: not processes_of(mark), "the end of all processes of a study")


@pytest.mark.slow
def test_results_depend_neither_on_the_order_nor_on_the_number_of_workers(tmp_path: Path) -> None:
    alone, together = Store(tmp_path / "alone"), Store(tmp_path / "together")
    played(points(alone, 5), alone, jobs=1)
    played(points(together, 5)[::-1], together, jobs=2)
    folders = sorted(folder.name for folder in alone.points.iterdir())
    assert folders == sorted(folder.name for folder in together.points.iterdir())
    assert len(folders) == 5
    for name in folders:
        assert contents(together.points / name) == contents(alone.points / name)


@pytest.mark.slow
def test_points_that_crash_or_kill_their_workers_fail_and_the_others_are_played(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    harm = harmful_file(tmp_path)
    deadly = point(store, 90, f"{harm}:kill_worker")
    crashing = point(store, 91, f"{harm}:crash")
    good = points(store, 5, f"{harm}:dawdle")
    outcomes = played([deadly, crashing, *good], store, jobs=2)
    assert [outcomes[task.address].status for task in good] == ["done"] * 5
    error = outcomes[deadly.address].error
    assert error is not None
    assert error["message"] == "the worker that played it died, 3 times in a row"
    error = outcomes[crashing.address].error
    assert error is not None
    assert "crashed (SIGSEGV)" in error["message"]
    assert {address: outcome.status for address, outcome in played(good, store, jobs=2).items()} == {
        task.address: "done" for task in good
    }
    assert begun(store) == {task.address: 1 for task in (crashing, *good)} | {deadly.address: 3}


@pytest.mark.slow
def test_a_study_that_is_killed_again_and_again_loses_no_point_and_plays_none_twice(tmp_path: Path) -> None:
    store, count = Store(tmp_path / "store"), 3 * KILLS
    policy = f"{harmful_file(tmp_path)}:dawdle"
    chance = random.Random(13)
    begun_when_saved: dict[str, int] = {}
    kills = 0
    while True:
        mark = uuid.uuid4().hex
        with study_process(mark, store.folder, count, policy) as process:
            kills += kills < KILLS and _killed(process.pid, store, chance.uniform(0, LONGEST_SECONDS))
            process.wait()
            wait_until_gone(mark)
        so_often = begun(store)
        assert {address: so_often[address] for address in begun_when_saved} == begun_when_saved
        saved = run_folders(store)
        begun_when_saved |= {address: times for address, times in so_often.items() if address[:20] in saved}
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL
    assert kills == KILLS
    outcomes = played(points(store, count, policy), store, jobs=2)
    assert {outcome.status for outcome in outcomes.values()} == {"done"}
    assert begun(store) == so_often


def _killed(pid: int, store: Store, seconds: float) -> bool:
    """Kill a study some time after it has begun a point; False if it had ended before."""
    before = sum(begun(store).values())
    ended = False

    def goes_on() -> bool:
        nonlocal ended
        ended = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] == "Z"
        return ended or sum(begun(store).values()) > before

    wait_until(goes_on, "a point that is played")
    if not ended:
        signal.sigtimedwait([], seconds)
        os.kill(pid, signal.SIGKILL)
    return not ended


def test_a_worker_that_is_killed_costs_no_point(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    policy = f"{harmful_file(tmp_path)}:dawdle"
    mark = uuid.uuid4().hex
    with study_process(mark, store.folder, 6, policy) as process:
        wait_until(lambda: begun(store), "a point that is played")
        (entry, *_) = store.journal.entries()
        os.kill(int(str(entry["process"]).rpartition("-")[2]), signal.SIGKILL)
        assert process.wait() == 0
    tasks = points(store, 6, policy)
    assert [outcome.status for outcome in played(tasks, store, jobs=1).values()] == ["done"] * 6
    assert sum(begun(store).values()) <= 7


@pytest.mark.parametrize("whole_group", some_slow([True, False], [True]), ids=["from a terminal", "to the client"])
def test_ctrl_c_ends_a_study_and_all_its_processes(tmp_path: Path, whole_group: bool) -> None:
    store = Store(tmp_path / "store")
    mark = uuid.uuid4().hex
    (other,) = points(store, 1, "LIFO")  # of earlier inputs
    store.write(failed_outcome(other, ValueError("no"), {}))
    with study_process(mark, store.folder, 4, f"{harmful_file(tmp_path)}:linger") as process:
        wait_until(lambda: begun(store), "a point that is played")
        (os.killpg if whole_group else os.kill)(process.pid, signal.SIGINT)
        said, _ = process.communicate(timeout=30)
        wait_until_gone(mark)
    told = "interrupted; 0 of 4 runs have ended, and when it is played again it goes on from there: "
    assert said.splitlines()[-1].endswith(f"{told}{store.folder}")
    assert said.count("Traceback") == 1  # of the client; workers say nothing
    assert set(store.finished_folders()) == {store.point_folder(other.address).name}


@pytest.mark.parametrize("interrupted", some_slow([False, True], [True]), ids=["played to its end", "interrupted"])
@pytest.mark.slow
def test_a_study_leaves_no_process_on_workers_that_live_on(tmp_path: Path, interrupted: bool) -> None:
    store = Store(tmp_path / "store")
    cluster, client = uuid.uuid4().hex, uuid.uuid4().hex
    policy = f"{harmful_file(tmp_path)}:{'linger' if interrupted else 'dawdle'}"
    with (
        cluster_process(cluster, tmp_path, workers=2) as scheduler,
        study_process(client, store.folder, 3, policy, scheduler) as process,
    ):
        wait_until(lambda: begun(store) or process.poll() is not None, "a point that is played")
        if interrupted:
            assert servers_of(cluster)
            process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=120)
        wait_until(lambda: not servers_of(cluster), "the end of the study's servers")
        assert len(processes_of(cluster)) >= 3
    if interrupted:
        assert "interrupted; 0 of 3 runs have ended, and when it is played again it goes on" in said
        wait_until(lambda: not list(store.points.iterdir()), "the end of what was played")
    else:
        assert process.returncode == 0, said
        assert len(store.finished_folders()) == 3


@pytest.mark.slow
def test_processes_that_a_batch_system_asks_to_end_cost_no_point(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    policy = f"{harmful_file(tmp_path)}:dawdle"
    mark = uuid.uuid4().hex
    with study_process(mark, store.folder, 6, policy) as process:
        wait_until(lambda: begun(store), "a point that is played")
        for pid in servers_of(mark):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        assert process.wait() == 0
    tasks = points(store, 6, policy)
    assert [outcome.status for outcome in played(tasks, store, jobs=1).values()] == ["done"] * 6


@pytest.mark.slow
def test_a_point_whose_code_changes_meanwhile_is_told_as_failed_and_not_stored(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    source = harmful_file(tmp_path)
    first, second = points(store, 2)
    first = replace(first, sources={str(source): hashlib.sha256(b"what it was").hexdigest()})
    outcomes = played([first, second], store, jobs=1)
    error = outcomes[first.address].error
    assert error is not None
    assert error["message"] == f"{source} changed while the study was played: play the study again"
    assert outcomes[second.address].status == "done"
    assert list(store.finished_folders()) == [second.address[:20]]
    first = replace(first, sources={str(source): hashlib.sha256(source.read_bytes()).hexdigest()})
    assert played([first], store, jobs=1)[first.address].status == "done"


def test_a_scheduler_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("astra_ns3.studies.workers.cluster._CONNECT_SECONDS", 0.2)
    store = Store(tmp_path)
    with pytest.raises(InputError, match=r"scheduler tcp://127\.0\.0\.1:9: cannot be reached"):
        play_tasks([point(store)], store=store, scheduler="tcp://127.0.0.1:9")


@pytest.mark.slow
def test_a_study_leaves_no_servers_on_the_workers_of_a_cluster(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    store = Store(tmp_path)
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", memory_limit=0
    ) as cluster:
        outcomes = play_tasks(points(store, 2), store=store, scheduler=cluster.scheduler_address)
        with distributed.Client(cluster, set_as_default=False) as client:
            left = client.run(lambda dask_worker: list(dask_worker.astra_ns3_pools))
    assert [outcome.status for outcome in outcomes.values()] == ["done", "done"]
    assert list(left.values()) == [[]]
