"""One point, in a worker process: played by a child of a warm server, saved, measured, written down as finished."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from astra_ns3.errors import AstraNs3Error, BackendError, Interrupted, ResultsNotSaved
from astra_ns3.experiments.integrity import as_text, resealed
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.result import Result
from astra_ns3.experiments.run import execute
from astra_ns3.experiments.scenario_result import result_in
from astra_ns3.experiments.servers.kind import kind_of
from astra_ns3.experiments.servers.pool import Abandoned, ServerPool
from astra_ns3.experiments.servers.warm_server import ServedChild, WarmServer
from astra_ns3.network.run_document import StopDocument
from astra_ns3.studies.journal import BEGUN, ENDED, MEASURED
from astra_ns3.studies.measures import measures_digest, measures_of
from astra_ns3.studies.places import from_the_study, json_from_the_study
from astra_ns3.studies.store import Store
from astra_ns3.studies.task import PointOutcome, PointTask, SourceChanged, Unplayed
from astra_ns3.whole_file import RUN_FILE

DONE = "done"
FAILED = "failed"
# Kinds of error with which a run that was saved and not measured is as good as one that is played again.
_OWN_ENDS = ("LimitReached", "SimulationStalled")


def play_point(task: PointTask, pool: ServerPool) -> PointOutcome:
    """Play a point, unless the store has it; how it ended, whatever of.

    Whatever is raised, the point is not finished then, and may be tried again: Unplayed if its processes were asked to
    end or its results can't be kept, SourceChanged if a file of users' code has changed, BackendError if no server can
    be had at all, OSError if this process can't write the store, and Abandoned if the pool is closed meanwhile.
    """
    begun = time.perf_counter()
    store = Store(task.store)
    with store.alone(task.address, while_waiting=partial(_raise_if_closed, pool)):
        finished = store.outcome(task.address)
        if finished is not None:
            return finished
        _check_sources(task)
        outcome, what = _left_behind(task, store, begun), MEASURED
        if outcome is None:
            outcome, what = _played(task, store, pool, begun), ENDED
        outcome = _seen_from_the_study(task, store, outcome)
        store.write(outcome)
        with suppress(OSError):  # it is finished, told or not
            store.journal.note(what, task.address)
    return outcome


def _seen_from_the_study(task: PointTask, store: Store, outcome: PointOutcome) -> PointOutcome:
    """Have the point's run.json, and its jobs', say paths as seen from the study's folder; return the outcome so."""
    for file in store.point_folder(task.address).glob(f"**/{RUN_FILE}"):
        text = json_from_the_study(file.read_text(encoding="utf-8"), task.places)
        store.put(file, as_text(resealed(json.loads(text))))
    error = outcome.error
    if error is not None:
        error = {**error, "message": from_the_study(error["message"], task.places)}
    return replace(
        outcome, error=error, warnings=[from_the_study(warning, task.places) for warning in outcome.warnings]
    )


def _raise_if_closed(pool: ServerPool) -> None:
    if pool.closed:
        raise Abandoned


def _check_sources(task: PointTask) -> None:
    """Results must lie under the address of the code that they came from."""
    for path, expected in task.sources.items():
        try:
            found = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        except OSError as error:
            raise SourceChanged(f"{path} can't be read any more: {error.strerror}") from error
        if found != expected:
            raise SourceChanged(f"{path} changed while the study was played: play the study again")


def failed_outcome(task: PointTask, error: BaseException, cost: Mapping[str, float]) -> PointOutcome:
    """A point that has left no run: it could not begin, or took everything along."""
    ours = isinstance(error, AstraNs3Error)
    told = str(error) if ours else f"{type(error).__name__}: {error}"
    status = error.exit_status if isinstance(error, AstraNs3Error) else 1
    stopped: StopDocument = {"kind": type(error).__name__, "message": told, "exit_status": status}
    return PointOutcome(task.address, FAILED, stopped, {}, cost, asdict(task.request.end))


def _left_behind(task: PointTask, store: Store, begun: float) -> PointOutcome | None:
    """Return what a worker left that was killed before it had measured its run; None: nothing of use."""
    if task.sources:
        return None  # of users' code nobody knows what it was then
    try:
        result = result_in(store.point_folder(task.address))
        return _measured(task, result, None, begun) if _is_an_outcome(task, result) else None
    except Exception:  # there is no run, or a power cut has left files of it empty
        return None


def _is_an_outcome(task: PointTask, result: Result) -> bool:
    """Whether the run came to an end of its own, rather than to that of the processes that played it."""
    stopped, limits = result.metadata["stopped"], result.metadata["limits"]
    if stopped is None:
        return result.complete
    return stopped["kind"] in _OWN_ENDS and limits == asdict(task.request.end)


def _played(task: PointTask, store: Store, pool: ServerPool, begun: float) -> PointOutcome:
    """Play the point, on another server if somebody kills the first; what isn't finished leaves nothing."""
    importlib.import_module("pandas")  # measuring needs it, and the first time a server warms itself up meanwhile
    try:
        outcome = _tried(task, store, pool, begun) or _tried(task, store, pool, begun, last=True)
        assert outcome is not None
        _check_sources(task)
    except BaseException:
        with suppress(OSError):
            store.clear(task.address)
        raise
    return outcome


def _tried(task: PointTask, store: Store, pool: ServerPool, begun: float, *, last: bool = False) -> PointOutcome | None:
    """None: it was killed, be it for what others do to the machine; unless this was the ``last`` try."""
    waiting = time.perf_counter()
    store.clear(task.address)
    with pool.server(kind_of(task.request)) as server:
        begun += time.perf_counter() - waiting  # that of the point that happens to come first is no cost of its own
        store.journal.note(BEGUN, task.address)
        request: RunRequest = replace(
            task.request, output=store.point_folder(task.address), isolated=True, progress=None, overwrite=False
        )
        server.child = None
        result: Result | None = None
        error: Exception | None
        try:
            played = execute(request, launcher=server.launcher, aloud=False)
            result, error = played.result, played.error
        except Exception as raised:
            error = raised
        if error is not None:
            _raise_if_cut_off(error, server, pool, store)
            if isinstance(error, BackendError) and server.was_killed and not last:
                return None
        if result is None:
            assert error is not None
            return failed_outcome(task, error, _cost(None, server.child, begun))
        try:
            return _measured(task, result, server.child, begun)
        except Exception as wrong:
            message = f"the point's results can't be measured: {type(wrong).__name__}: {wrong}"
            return failed_outcome(task, BackendError(message), _cost(result, server.child, begun))


def _raise_if_cut_off(error: Exception, server: WarmServer, pool: ServerPool, store: Store) -> None:
    """Errors that say nothing about the point are no outcome."""
    if pool.closed:
        raise Abandoned from error
    if isinstance(error, Interrupted | ResultsNotSaved | Unplayed):
        raise Unplayed(str(error)) from error
    if isinstance(error, BackendError) and server.was_asked_to_end:
        raise Unplayed("the server that played it was asked to end") from error
    if _is_of_the_store(error, store):
        raise Unplayed(str(error)) from error


def _is_of_the_store(error: BaseException | None, store: Store) -> bool:
    """Return whether ``error`` is about a file of the study that could not be written, as on a full disk."""
    while error is not None:
        if isinstance(error, OSError) and isinstance(error.filename, str | os.PathLike):
            return Path(error.filename).is_relative_to(store.folder)
        error = error.__cause__
    return False


def _measured(task: PointTask, result: Result, child: ServedChild | None, begun: float) -> PointOutcome:
    """Raises what reading the run's files raises, if the run came to its end."""
    error = result.metadata["stopped"]
    try:
        measures = measures_of(result)
    except Exception:
        if error is None:
            raise
        measures = {}  # it had not come far enough
    status = DONE if error is None and result.complete else FAILED
    limits = result.metadata["limits"]
    cost, warnings = _cost(result, child, begun), list(result.metadata.get("warnings", ()))
    return PointOutcome(task.address, status, error, measures, cost, limits, measures_digest(), warnings)


def _cost(result: Result | None, child: ServedChild | None, begun: float) -> dict[str, float]:
    """Return what the point took; of a run that is only measured now, whose process is gone, what it said of itself."""
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
