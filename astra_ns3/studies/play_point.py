"""One point, in a worker process: played by a child of a warm server, saved, measured, written down as finished."""

from __future__ import annotations

import importlib
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from astra_ns3.errors import AstraNs3Error, BackendError, InputError, ResultsNotSaved
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.result import Result
from astra_ns3.experiments.run import execute
from astra_ns3.studies.journal import BEGUN, ENDED, MEASURED
from astra_ns3.studies.measures import measures_digest, measures_of
from astra_ns3.studies.servers.kind import kind_of
from astra_ns3.studies.servers.pool import Abandoned, ServerPool
from astra_ns3.studies.servers.warm_server import ServedChild
from astra_ns3.studies.store import Store
from astra_ns3.studies.task import PointOutcome, PointTask

DONE = "done"
FAILED = "failed"


def play_point(task: PointTask, pool: ServerPool) -> PointOutcome:
    """Play a point, unless the store has it; how it ended, whatever of.

    Raises InputError if this process can't write the store, BackendError if no server can be had at all, and Abandoned
    if the pool is closed meanwhile; the point is not finished then.
    """
    begun = time.perf_counter()
    store = Store(task.store)
    with store.alone(task.address):
        finished = store.outcome(task.address)
        if finished is not None:
            return finished
        unmeasured = store.unmeasured(task.address)
        if unmeasured is not None and not _was_interrupted(unmeasured):
            outcome = _measured(task, unmeasured, None, begun)
            what = MEASURED
        else:
            store.clear(task.address)
            outcome = _played(task, store, pool, begun)
            what = ENDED
        try:
            store.write(outcome)
        except OSError as error:
            raise InputError(f"{store.folder}: a point can't be written: {error.strerror}") from error
        store.journal.note(what, task.address)
    return outcome


def failed_outcome(task: PointTask, error: BaseException, cost: Mapping[str, float]) -> PointOutcome:
    """A point that has left no run: it could not begin, or took everything along."""
    ours = isinstance(error, AstraNs3Error)
    told = str(error) if ours else f"{type(error).__name__}: {error}"
    status = error.exit_status if isinstance(error, AstraNs3Error) else 1
    document = {"kind": type(error).__name__, "message": told, "exit_status": status}
    return PointOutcome(task.address, FAILED, document, {}, cost, asdict(task.request.end))


def _played(task: PointTask, store: Store, pool: ServerPool, begun: float) -> PointOutcome:
    waiting = time.perf_counter()
    importlib.import_module("pandas")  # measuring needs it, and the first time a server warms itself up meanwhile
    with pool.server(kind_of(task.request)) as server:
        begun += time.perf_counter() - waiting  # neither is a cost of the point that happens to come first
        store.journal.note(BEGUN, task.address)
        request: RunRequest = replace(
            task.request, output=store.point_folder(task.address), isolated=True, progress=None, overwrite=False
        )
        server.child = None
        try:
            played = execute(request, launcher=server.launcher, aloud=False)
        except Exception as error:
            if pool.closed:
                raise Abandoned from error
            return failed_outcome(task, error, _cost(None, server.child, begun))
        if pool.closed:
            raise Abandoned
        if isinstance(played.error, ResultsNotSaved):
            raise InputError(f"{store.folder}: {played.error}")
        return _measured(task, played.result, server.child, begun)


def _was_interrupted(result: Result) -> bool:
    stopped = result.metadata.get("stopped")
    return stopped is not None and stopped["kind"] == "Interrupted"


def _measured(task: PointTask, result: Result, child: ServedChild | None, begun: float) -> PointOutcome:
    error: Mapping[str, Any] | None = result.metadata["stopped"]
    try:
        measures = measures_of(result)
    except AstraNs3Error as wrong:
        if error is None:
            raise BackendError(f"the results of a point can't be measured: {wrong}") from wrong
        measures = {}  # it had not come far enough
    status = DONE if error is None and result.complete else FAILED
    limits = result.metadata["limits"]
    return PointOutcome(task.address, status, error, measures, _cost(result, child, begun), limits, measures_digest())


def _cost(result: Result | None, child: ServedChild | None, begun: float) -> dict[str, float]:
    """What the point took; of a run that is only measured now, whose process is gone, what it said of itself."""
    metadata = {} if result is None else result.metadata
    run_seconds = float(metadata.get("timing", {}).get("wall_seconds", 0.0))
    usage = None if child is None else child.usage
    seconds = time.perf_counter() - begun
    peak_bytes = metadata.get("memory", {}).get("peak_bytes")
    if peak_bytes is None:
        peak_bytes = 0 if usage is None else usage.ru_maxrss * 1024
    return {
        "wall_seconds": round(seconds if child is not None else seconds + run_seconds, 6),
        "run_seconds": run_seconds,
        "cpu_seconds": run_seconds if usage is None else round(usage.ru_utime + usage.ru_stime, 6),
        "peak_bytes": peak_bytes,
    }
