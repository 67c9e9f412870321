"""Points of a study, small enough to be played by the dozen, some of which do harm; and whole studies as processes."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from astra_ns3.experiments.metadata import VARYING_KEYS
from astra_ns3.experiments.request import RunRequest
from astra_ns3.studies.store import Store
from astra_ns3.studies.task import PointTask
from support.small_run import small_network, small_system, small_workload

COSTS = ("setup_wall_seconds", "run_wall_seconds", "peak_memory_bytes")
"""Measures that differ between two runs of the same point; nothing else does."""
PATIENCE_SECONDS = 300.0
MARK = "ASTRA_NS3_TEST_STUDY"
"""An environment variable that all processes of a study inherit, so that they can be found."""
HARM = """
import os, signal, time

def crash(counter, request):
    os.kill(os.getpid(), signal.SIGSEGV)

def gorge(counter, request):
    kept = [bytes(bytearray(b"x") * 2**24) for _ in range(200)]
    time.sleep(60)

def linger(counter, request):
    time.sleep(60)

def dawdle(counter, request):
    time.sleep(0.1)
    return 0, counter

def kill_worker(counter, request):
    server = os.getppid()
    worker = int(open(f"/proc/{server}/stat").read().rpartition(")")[2].split()[1])
    os.kill(worker, signal.SIGKILL)
    time.sleep(60)
"""


def harmful_file(folder: Path) -> Path:
    """A file with policies that do harm to the process that calls them."""
    file = folder / "harm.py"
    file.write_text(HARM, encoding="utf-8")
    return file


def point(store: Store, seed: int = 1, policy: str = "LIFO", **more: Any) -> PointTask:
    """A point on four NPUs; ``policy`` may be one of a harmful file, ``FILE.py:name``."""
    given: dict[str, Any] = {
        "system": small_system(**{"scheduling-policy": policy}),
        "network": small_network(),
        **more,
    }
    request = RunRequest(workload=small_workload(), seed=seed, **given)
    address = hashlib.sha256(f"{seed} {policy} {sorted(more)}".encode()).hexdigest()
    return PointTask(address, request, str(store.folder))


def points(store: Store, count: int, policy: str = "LIFO", **more: Any) -> list[PointTask]:
    """So many points that differ in their seed."""
    return [point(store, seed, policy, **more) for seed in range(1, count + 1)]


def contents(folder: Path) -> dict[str, Any]:
    """The files of a finished point, without what differs between equal ones."""
    found: dict[str, Any] = {file.name: file.read_bytes() for file in folder.iterdir() if file.suffix != ".json"}
    run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    outcome = json.loads((folder / "point.json").read_text(encoding="utf-8"))
    found["run.json"] = {key: value for key, value in run.items() if key not in VARYING_KEYS}
    del outcome["cost"]
    outcome["measures"] = {name: value for name, value in outcome["measures"].items() if name not in COSTS}
    return {**found, "point.json": outcome}


def begun(store: Store) -> dict[str, int]:
    """How often each point was begun, by address."""
    found: dict[str, int] = {}
    for entry in store.journal.entries():
        if entry["what"] == "begun":
            address = str(entry["address"])
            found[address] = found.get(address, 0) + 1
    return found


def run_folders(store: Store) -> set[str]:
    """Points with a whole run, measured or not, by the names of their folders."""
    return {file.parent.name for file in store.points.glob("[0-9a-f]*/run.json")}


def processes_of(mark: str) -> list[int]:
    """The processes that have ``mark`` in their environment, and live."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def wait_until(true: Callable[[], object], what: str) -> None:
    """Look again and again; fails when patience is over."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not true():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.02)


@contextmanager
def study_process(
    mark: str, folder: Path, count: int, policy: str, workers: int | str = 2
) -> Iterator[subprocess.Popen[str]]:
    """A process that plays ``count`` points of ``policy`` into the store at ``folder``, which may be killed.

    ``workers``: so many of its own, or those of the scheduler at an address.
    """
    process = subprocess.Popen(
        [sys.executable, __file__, str(folder), str(count), policy, str(workers)],
        env={**os.environ, MARK: mark, "PYTHONPATH": os.pathsep.join(sys.path)},
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        for pid in processes_of(mark):
            with suppress(ProcessLookupError):  # it may end by itself
                os.kill(pid, signal.SIGKILL)
        process.communicate()


@contextmanager
def cluster_process(mark: str, folder: Path, workers: int, *options: str) -> Iterator[str]:
    """A Dask scheduler and workers, as processes of their own with ``options``; the scheduler's address."""
    file = folder / "scheduler.json"
    at = ["--scheduler-file", str(file)]
    words = {"scheduler": ["--port", "0", "--host", "127.0.0.1"], "worker": ["--nthreads", "1"]}
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{kind}", "--no-dashboard", *at, *words[kind], *options],
            env={**os.environ, MARK: mark, "PYTHONPATH": os.pathsep.join(sys.path)},
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for kind in ["scheduler"] + workers * ["worker"]
    ]
    try:
        wait_until(file.is_file, "a scheduler")
        yield json.loads(file.read_text(encoding="utf-8"))["address"]
    finally:
        for pid in processes_of(mark):
            os.kill(pid, signal.SIGKILL)
        for process in processes:
            process.wait()


def servers_of(mark: str) -> list[int]:
    """The warm servers, and their children, among the processes that have ``mark``."""
    found = []
    for pid in processes_of(mark):
        try:
            if b"astra_ns3.experiments.servers.server" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
        except OSError:
            continue
    return found


def _main() -> None:
    from astra_ns3.studies.playing import play_tasks

    folder, count, policy, workers = sys.argv[1:]
    store = Store(folder)
    # No guard, and none is needed: workers don't run this file.
    own = workers.isdecimal()
    play_tasks(
        points(store, int(count), policy),
        store=store,
        jobs=int(workers) if own else None,
        scheduler=None if own else workers,
    )


if __name__ == "__main__":
    _main()
