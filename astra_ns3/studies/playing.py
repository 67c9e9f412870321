"""Plays the points of a study that its store doesn't have, on workers."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial

from astra_ns3.errors import AstraNs3Error, BackendError, Interrupted, ResultsNotSaved, refuse, whole_number
from astra_ns3.experiments.isolated.interruption import Interruption
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.servers.kind import kind_of
from astra_ns3.studies.code_version import code_version
from astra_ns3.studies.estimates import guessed_seconds, longest_first
from astra_ns3.studies.index import Index
from astra_ns3.studies.play_point import FAILED, failed_outcome
from astra_ns3.studies.progress import StudyMeter, StudyProgressSink
from astra_ns3.studies.store import ADDRESS_LETTERS, Store
from astra_ns3.studies.task import PointOutcome, PointTask, SourceChanged, UnfitWorker, Unplayed
from astra_ns3.studies.workers.cluster import Security, cluster_workers
from astra_ns3.studies.workers.contract import Crew, StartWorkers, Workers, WorkersDied
from astra_ns3.studies.workers.local import cores, local_workers
from astra_ns3.units import counted

_LOOK_SECONDS = 0.1
# A point that was begun so often while its worker died is the one that kills them.
_SEEN_TO_KILL = 2
_MOST_DEATHS = 4
# So often a point is handed out that comes back unplayed.
_MOST_TRIES = 4
# After so many points that no worker could play, without one that was, none will be.
_MOST_IN_A_ROW = 12
More = Callable[[PointOutcome], Sequence[PointTask]]
"""Return further tasks, now that a point has ended."""


def nothing_more(_outcome: PointOutcome) -> Sequence[PointTask]:
    """Return no task: all points were known at the beginning."""
    return ()


def play_tasks(
    tasks: Sequence[PointTask],
    *,
    store: Store,
    jobs: int | None = None,
    scheduler: str | None = None,
    security: Security = None,
    progress: StudyProgressSink | None = None,
    retry_failed: bool = False,
    more: More = nothing_more,
) -> dict[str, PointOutcome]:
    """Play ``tasks``; how each ended, by address, in the order of ``tasks``, then of those that came later.

    What the store has is taken from there; if that is all, no worker is started. ``more``: called with each outcome,
    those of the store included, for the tasks that follow from it. ``jobs``: workers on this machine, by default as
    many as there are processors. ``scheduler``: address of a Dask scheduler, whose workers play instead, with
    ``security`` as ``distributed.Client`` takes it. A point that failed is played again if ``retry_failed``, or with
    wider limits than it had. A point that no worker could play, or whose code changed meanwhile, is told as failed but
    not stored. Raises InputError if the store or the workers can't be used, BackendError if nothing can be played at
    all, ResultsNotSaved if the store can't be written meanwhile, and Interrupted after Ctrl-C: what is finished by then
    is in the store.
    """
    _check(jobs, scheduler)
    try:
        return _outcomes(
            tasks,
            store,
            partial(local_workers, jobs or cores())
            if scheduler is None
            else partial(cluster_workers, scheduler, security),
            progress,
            more,
            retry_failed=retry_failed,
        )
    except OSError as error:
        where = error.filename or store.folder
        raise ResultsNotSaved(f"{where}: cannot be written: {error.strerror or error}") from error


def _outcomes(
    tasks: Sequence[PointTask],
    store: Store,
    start: StartWorkers,
    progress: StudyProgressSink | None,
    more: More,
    *,
    retry_failed: bool,
) -> dict[str, PointOutcome]:
    with store.study() as mark, Interruption() as interruption:
        known = Index(store).outcomes()
        meter = StudyMeter(past=known.values())
        study = _Study(store, mark, known, retry_failed, more, meter, progress, interruption)
        todo = study.admit(tasks)
        try:
            if todo:
                study.play(todo, start)
        finally:
            if progress is not None:
                progress.finish()
            Index(store).outcomes()
    return {address: study.outcomes[address] for address in study.asked}


def _check(jobs: int | None, scheduler: str | None) -> None:
    if jobs is not None:
        whole_number("jobs", jobs, 1)
    refuse(
        jobs is not None and scheduler is not None,
        "jobs is the number of local workers, and scheduler names those of a cluster: leave one out",
    )


def _stands(known: Mapping[str, PointOutcome], task: PointTask, retry_failed: bool) -> bool:
    """Whether the store's word on a point is the last."""
    outcome = known.get(task.address)
    return outcome is not None and not is_due_again(task.request, outcome, retry_failed=retry_failed)


def is_due_again(request: RunRequest, outcome: PointOutcome, *, retry_failed: bool) -> bool:
    """Whether a point that is asked for again is played again."""
    return outcome.status == FAILED and (retry_failed or has_wider_limits(request, outcome))


def has_wider_limits(request: RunRequest, outcome: PointOutcome) -> bool:
    """Whether any limit of ``request`` is wider than that under which ``outcome`` came about."""
    end = request.end
    for name in ("simulated_ps", "wall_seconds", "memory_bytes"):
        now, then = getattr(end, name), outcome.limits.get(name)
        if then is not None and (now is None or now > then):
            return True
    return False


@dataclass
class _Study:
    """One call of :func:`play_tasks`: what is asked of workers, and what comes back."""

    store: Store
    mark: str
    known: Mapping[str, PointOutcome]
    """The outcomes that the store had at the beginning."""
    retry_failed: bool
    more: More
    meter: StudyMeter
    progress: StudyProgressSink | None
    interruption: Interruption
    outcomes: dict[str, PointOutcome] = field(default_factory=dict)
    asked: dict[str, PointTask] = field(default_factory=dict)
    """Each task once, in the order in which they came."""
    begun_before: Counter[str] = field(default_factory=Counter)
    """How often each point was begun when it was last seen to kill no worker."""
    deaths: Counter[str] = field(default_factory=Counter)
    """How often a point was given back because its workers died."""
    tries: Counter[str] = field(default_factory=Counter)
    """How often a point came back without an outcome, of whatever reason."""
    in_a_row: int = 0
    """How many points workers could not play since one was played."""

    def admit(self, tasks: Sequence[PointTask]) -> list[PointTask]:
        """Take the outcomes of the tasks that the store has, and of those that follow; return what is to be played."""
        todo: list[PointTask] = []
        waiting = deque(tasks)
        while waiting:
            task = waiting.popleft()
            if task.address in self.asked:
                continue
            self.asked[task.address] = task
            stands = _stands(self.known, task, self.retry_failed)
            self.meter.admit(task.address, cached=stands)
            if stands:
                self.outcomes[task.address] = self.known[task.address]
                waiting.extend(self.more(self.known[task.address]))
            else:
                todo.append(task)
        return todo

    def _clear_failed(self, tasks: Sequence[PointTask]) -> None:
        """Remove failed outcomes of what is to be played again."""
        for task in tasks:
            with self._alone(task.address):
                outcome = self.store.outcome(task.address)
                if outcome is not None and outcome.status == FAILED:
                    self.store.clear(task.address)

    def play(self, tasks: Sequence[PointTask], start: StartWorkers) -> None:
        """Play all ``tasks``, and those that follow."""
        self._show(0, "starting workers")
        self._clear_failed(tasks)
        self.begun_before = self.store.journal.attempts()
        ((kind, _),) = Counter(kind_of(task.request) for task in tasks).most_common(1)
        with start(Crew(str(self.store.folder), self.mark, code_version(), kind, len(tasks))) as workers:
            self._raise_if_interrupted()
            self._play_on(workers, tasks)

    def _alone(self, address: str) -> AbstractContextManager[None]:
        """The point's lock; a worker of a study that was killed may still have it."""

        def wait() -> None:
            self._raise_if_interrupted()
            self._show(0, "waiting for a point that is still played for an earlier study")

        return self.store.alone(address, while_waiting=wait)

    def _play_on(self, workers: Workers, tasks: Sequence[PointTask]) -> None:
        guesses = guessed_seconds(tasks)  # the workers get ready meanwhile
        self.meter.expect(guesses)
        for number, task in enumerate(longest_first(tasks, guesses)):
            workers.submit(task, number)
        left = len(tasks)
        while left:
            self._raise_if_interrupted()
            count = workers.count()
            self._show(count, "" if count else "waiting for workers")
            ended = workers.ended(_LOOK_SECONDS)
            if ended is None:
                continue
            task, end = ended
            if isinstance(end, PointOutcome):
                self.in_a_row = 0
            outcome = end if isinstance(end, PointOutcome) else self._without_outcome(task, end)
            if outcome is None:
                self.tries[task.address] += 1
                workers.submit(task, 0)
            else:
                self._take(outcome)
                following = self.admit(self.more(outcome))
                self._clear_failed(following)
                for number, task in enumerate(following, start=len(self.asked)):
                    workers.submit(task, number)
                left += len(following) - 1

    def _take(self, outcome: PointOutcome) -> None:
        self.outcomes[outcome.address] = outcome
        self.meter.add(outcome)

    def _without_outcome(self, task: PointTask, error: BaseException) -> PointOutcome | None:
        """How a point ended that came back without an outcome; None: it is to be tried again.

        Raises what ends the study.
        """
        if isinstance(error, UnfitWorker):
            raise error
        if isinstance(error, WorkersDied):
            return self._after_a_death(task)
        return self._after_trouble(task, error)

    def _after_trouble(self, task: PointTask, error: BaseException) -> PointOutcome | None:
        """An error that a worker raised is no outcome of the point: it is told as one, and not stored."""
        if isinstance(error, SourceChanged):
            return failed_outcome(task, error, {})
        if not isinstance(error, AstraNs3Error):
            error = BackendError(f"a worker could not play it: {type(error).__name__}: {error}")
        self.in_a_row += not isinstance(error, Unplayed)
        if self.in_a_row >= _MOST_IN_A_ROW:
            raise error
        if self.tries[task.address] + 1 < _MOST_TRIES:
            self.begun_before[task.address] = self.store.journal.attempts()[task.address]
            return None
        return failed_outcome(task, Unplayed(f"not played, the next study tries it again: {error}"), {})

    def _after_a_death(self, task: PointTask) -> PointOutcome | None:
        """Workers died while they had the point; by which of their points, only the journal may know."""
        self.deaths[task.address] += 1
        attempts = self.store.journal.attempts()[task.address] - self.begun_before[task.address]
        if attempts < _SEEN_TO_KILL and self.deaths[task.address] < _MOST_DEATHS:
            return None  # it only stood in line where another one ended the worker
        times = max(attempts, self.deaths[task.address])
        outcome = failed_outcome(task, BackendError(f"the worker that played it died, {times} times in a row"), {})
        with self._alone(task.address):
            finished = self.store.outcome(task.address)  # by a worker that died before it could say so
            if finished is None:
                self.store.clear(task.address)
                self.store.write(outcome)
        return finished or outcome

    def _show(self, workers: int, stage: str = "") -> None:
        if self.progress is not None:
            self.progress.update(self.meter.read(workers, stage))

    def _raise_if_interrupted(self) -> None:
        if self.interruption.noted_at is not None:
            ended = {address[:ADDRESS_LETTERS] for address in self.asked} & self.store.finished_folders().keys()
            told = f"{len(ended)} of {counted(len(self.asked), 'run has', 'runs have')} ended"
            raise Interrupted(
                f"interrupted; {told}, and when it is played again it goes on from there: {self.store.folder}"
            )
