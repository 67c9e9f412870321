"""What is played, in which order, and when it will have ended; without a worker."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from support.small_run import small_network
from support.study_points import harmful_file, point, points

from astra_ns3.cli.study import security_of
from astra_ns3.errors import InputError, Interrupted
from astra_ns3.experiments.servers.messages import Ready, ServerKind, receive, send
from astra_ns3.network.api import Limits
from astra_ns3.studies.estimates import Estimate, guessed_seconds, longest_first
from astra_ns3.studies.play_point import failed_outcome
from astra_ns3.studies.playing import has_wider_limits, play_tasks
from astra_ns3.studies.progress import StudyMeter, StudyProgress
from astra_ns3.studies.store import Store
from astra_ns3.studies.task import PointOutcome, PointTask
from astra_ns3.studies.workers import local
from astra_ns3.studies.workers.cluster import ClusterWorkers
from astra_ns3.studies.workers.contract import Crew


def ended(task: PointTask, seconds: float = 1.0, status: str = "done") -> PointOutcome:
    return PointOutcome(task.address, status, None, {}, {"wall_seconds": seconds}, asdict(task.request.end))


class Seen:
    """A sink that remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[StudyProgress] = []
        self.finished = 0

    def update(self, progress: StudyProgress) -> None:
        self.told.append(progress)

    def finish(self) -> None:
        self.finished += 1


def test_a_larger_point_is_guessed_to_take_longer_and_goes_first(tmp_path: Path) -> None:
    store = Store(tmp_path)
    small, large = point(store), point(store, network=small_network(npus=16), passes=9)
    guesses = guessed_seconds([small, large])
    assert guesses[large.address] > guesses[small.address] > 0
    assert longest_first([small, large], guesses) == [large, small]


def test_points_of_equal_length_keep_their_order(tmp_path: Path) -> None:
    tasks = points(Store(tmp_path), 5)
    assert longest_first(tasks, guessed_seconds(tasks)) == tasks


def test_the_users_code_is_not_called_for_a_guess(tmp_path: Path) -> None:
    tasks = points(Store(tmp_path), 2, f"{harmful_file(tmp_path)}:crash")
    assert set(guessed_seconds(tasks).values()) == {1.0}


def test_points_for_which_there_is_no_time_get_the_mean(tmp_path: Path) -> None:
    tasks = points(Store(tmp_path), 2)
    assert guessed_seconds(tasks, most_seconds=-1.0) == dict.fromkeys((task.address for task in tasks), 1.0)


def test_the_end_is_estimated_from_what_guesses_turned_out_to_be_worth(tmp_path: Path) -> None:
    first, second, third = points(Store(tmp_path), 3)
    estimate = Estimate({first.address: 1.0, second.address: 2.0, third.address: 3.0})
    assert estimate.seconds_left(2) is None
    estimate.add(ended(first, 10.0))
    assert estimate.seconds_left(1) == 50.0  # 5 guessed seconds are left, each of which takes 10
    assert estimate.seconds_left(2) == 30.0  # no two workers play the longest together
    estimate.add(ended(second, 20.0))
    estimate.add(ended(third, 30.0))
    assert estimate.seconds_left(2) == 0.0


def test_before_any_point_has_ended_those_of_the_store_stand_in(tmp_path: Path) -> None:
    first, second = points(Store(tmp_path), 2)
    estimate = Estimate({first.address: 2.0}, [ended(second, 7.0)])
    assert estimate.seconds_left(1) == 7.0


def test_the_meter_counts_each_point_once(tmp_path: Path) -> None:
    tasks = points(Store(tmp_path), 3)
    meter = StudyMeter(5, 2)
    meter.expect(dict.fromkeys((task.address for task in tasks), 1.0))
    meter.add(ended(tasks[0]))
    meter.add(ended(tasks[1], status="failed"))
    progress = meter.read(workers=4)
    assert (progress.points, progress.cached, progress.done, progress.failed, progress.running) == (5, 2, 1, 1, 1)
    assert progress.finished == 4
    assert meter.read(4, "starting").running == 0


def test_finished_points_start_neither_workers_nor_servers(tmp_path: Path) -> None:
    store = Store(tmp_path)
    tasks = points(store, 3)
    for task in tasks:
        store.write(ended(task))
    seen = Seen()
    outcomes = play_tasks(tasks[::-1], store=store, progress=seen)
    assert list(outcomes) == [task.address for task in tasks[::-1]]
    assert seen.told == []
    assert seen.finished == 1
    assert list(store.journal.entries()) == []


def test_points_that_follow_from_outcomes_are_taken_from_the_store_too(tmp_path: Path) -> None:
    """Each calls for the next: they come in the order in which they were called for, once each."""
    store = Store(tmp_path)
    tasks = points(store, 4)
    for task in tasks:
        store.write(ended(task))
    follows = {task.address: [after, tasks[0]] for task, after in pairwise(tasks)}
    heard: list[str] = []

    def more(outcome: PointOutcome) -> list[PointTask]:
        heard.append(outcome.address)
        return follows.get(outcome.address, [])

    assert list(play_tasks(tasks[:1], store=store, more=more)) == [task.address for task in tasks] == heard


def test_the_meter_takes_in_points_that_come_later(tmp_path: Path) -> None:
    first, second, third = points(Store(tmp_path), 3)
    meter = StudyMeter()
    meter.admit(first.address, cached=True)
    meter.admit(second.address, cached=False)
    meter.expect({second.address: 2.0})
    meter.admit(third.address, cached=False)
    meter.add(ended(second, 10.0))
    progress = meter.read(workers=1)
    assert (progress.points, progress.cached, progress.done) == (3, 1, 1)
    assert progress.seconds_left == 10.0  # like the mean of the others


def test_a_failed_point_stands_unless_its_limits_are_wider(tmp_path: Path) -> None:
    store = Store(tmp_path)
    task = point(store, limits=Limits(wall_seconds=5.0))
    failed = failed_outcome(task, ValueError("no"), {})
    store.write(failed)
    assert play_tasks([task], store=store) == {task.address: failed}
    for limits, wider in (
        (Limits(wall_seconds=4.0), False),
        (Limits(wall_seconds=6.0), True),
        (None, True),
        (Limits(wall_seconds=5.0, memory_bytes=1), False),
    ):
        assert has_wider_limits(replace(task.request, limits=limits), failed) == wider


def test_a_cluster_plays_waiting_points_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    """Dask plays the task of the highest priority first."""
    priorities = []

    class Client:
        def submit(self, *_: Any, priority: int, **__: Any) -> Any:
            priorities.append(priority)
            return SimpleNamespace(add_done_callback=lambda call: None)

    crew = Crew(str(tmp_path), "mark", "code", ServerKind(), points=3)
    workers = ClusterWorkers(cast(Any, Client()), crew)
    for number, task in enumerate(points(Store(tmp_path), 3)):
        workers.submit(task, number)
    assert priorities[0] > priorities[1] > priorities[2]


def test_a_worker_that_gets_ready_plays_the_waiting_point_of_the_least_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker takes seconds to start; who is submitted meanwhile may go before those that wait already."""
    ours, its = socket.socketpair()
    its.settimeout(10)
    process = SimpleNamespace(connection=ours, kill=lambda: None, close=lambda: None)
    monkeypatch.setattr(local, "HelperProcess", lambda module: process)
    crew = Crew(str(tmp_path), "mark", "code", ServerKind(), points=2)
    first, second = points(Store(tmp_path), 2)
    with ours, its, local.local_workers(1, crew) as workers:
        workers.submit(second, 2)
        workers.submit(first, 1)
        assert receive(its)[0] == crew
        send(its, Ready())
        assert workers.ended(10) is None
        assert workers.count() == 1
        assert receive(its)[0].address == first.address


def test_without_dask_a_scheduler_cannot_be_used_and_what_to_install_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    store = Store(tmp_path)
    with pytest.raises(InputError, match=r"--scheduler needs Dask: pip install distributed"):
        play_tasks([point(store)], store=store, scheduler="tcp://localhost:1")


def test_an_interrupted_study_counts_the_points_of_its_present_inputs_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two points of earlier inputs and one of the three that are asked for have ended."""
    store = Store(tmp_path)
    tasks = points(store, 3)
    for task in (*points(store, 2, "FIFO"), tasks[1]):
        store.write(ended(task))

    @contextmanager
    def workers(*_: object) -> Iterator[None]:
        os.kill(os.getpid(), signal.SIGINT)
        yield

    monkeypatch.setattr("astra_ns3.studies.playing.local_workers", workers)
    with pytest.raises(Interrupted, match=r"interrupted; 1 of 3 runs have ended, and"):
        play_tasks(tasks, store=store)


@pytest.mark.parametrize("jobs", [0, -1, 1.5, True])
def test_jobs_that_are_no_number_of_workers_are_refused(tmp_path: Path, jobs: int) -> None:
    with pytest.raises(InputError, match="expected a whole number, at least 1"):
        play_tasks([], store=Store(tmp_path), jobs=jobs)


def test_jobs_and_a_scheduler_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="leave one out"):
        play_tasks([], store=Store(tmp_path), jobs=2, scheduler="tcp://localhost:1")


@pytest.mark.parametrize(
    ("scheduler", "files", "message"),
    [
        (None, ("ca", "cert", "key"), "--tls-ca-file is for a scheduler with TLS"),
        ("tcp://localhost:1", ("ca", "cert", "key"), "--tls-ca-file is for a scheduler with TLS"),
        ("tls://localhost:1", ("ca", None, "key"), "--tls-cert is missing"),
        ("tls://localhost:1", ("ca", "cert", "nothing"), "--tls-key nothing: cannot be read"),
    ],
)
def test_options_of_tls_that_can_do_nothing_are_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    scheduler: str | None,
    files: tuple[str | None, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("ca", "cert", "key"):
        (tmp_path / name).touch()
    with pytest.raises(InputError, match=message):
        security_of(scheduler, *files)
