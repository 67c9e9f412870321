"""Workers of this machine: started for a study, ended with it, reached by nobody else. No port is opened."""

from __future__ import annotations

import heapq
import os
import select
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from astra_ns3.errors import BackendError
from astra_ns3.experiments.servers.messages import Ready, receive, send
from astra_ns3.experiments.servers.process import HelperProcess
from astra_ns3.studies.task import PointOutcome, PointTask
from astra_ns3.studies.workers.contract import MOST_DEATHS_IN_A_ROW, Crew, WorkersDied
from astra_ns3.studies.workers.local_worker import NotPlayed

# So long a message that has begun may take; a worker that takes longer hangs, and is ended.
_PATIENCE_SECONDS = 60.0
# After so many workers in a row that died before they could play anything, none will.
_MOST_STILLBORN = 5

Ended = tuple[PointTask, PointOutcome | BaseException]


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0))


@contextmanager
def local_workers(jobs: int, crew: Crew) -> Iterator[LocalWorkers]:
    """Processes that play points, ``jobs`` or one a point if that is fewer; raises BackendError if none can start."""
    workers = LocalWorkers(min(jobs, crew.points), crew)
    try:
        yield workers
    finally:
        workers.close()


class _Worker:
    """A process of :mod:`~astra_ns3.studies.workers.local_worker`."""

    def __init__(self, crew: Crew) -> None:
        try:
            self.process = HelperProcess("astra_ns3.studies.workers.local_worker")
        except OSError as error:
            raise BackendError(f"no workers could be started: {error.strerror}") from error
        self.ready = False
        self.task: PointTask | None = None
        """The task that it plays."""
        self.connection = self.process.connection
        self.connection.settimeout(_PATIENCE_SECONDS)
        self.tell(crew)

    def tell(self, message: object) -> None:
        """Send it something; if it has died meanwhile, that shows when it is listened to."""
        with suppress(ConnectionError, TimeoutError):
            send(self.connection, message)


class LocalWorkers:
    """Fulfils :class:`~astra_ns3.studies.workers.contract.Workers`."""

    def __init__(self, jobs: int, crew: Crew) -> None:
        self._crew = crew
        self._waiting: list[tuple[int, int, PointTask]] = []
        self._submitted = 0
        self._deaths: Counter[str] = Counter()
        """How many workers in a row have died while they had a point, by its address."""
        self._stillborn = 0
        self._workers: list[_Worker] = []
        try:
            for _ in range(jobs):
                self._workers.append(_Worker(crew))
        except BaseException:
            self.close()
            raise

    def submit(self, task: PointTask, number: int) -> None:
        """Have ``task`` played; of those that wait the one with the least ``number`` is next."""
        heapq.heappush(self._waiting, (number, self._submitted, task))
        self._submitted += 1
        self._hand_out()

    def ended(self, seconds: float) -> Ended | None:
        """Wait so long at most for a point's end; the first of them. Raises BackendError or UnfitWorker: no worker."""
        by_file = {worker.connection.fileno(): worker for worker in self._workers}
        waiting = select.poll()
        for file in by_file:
            waiting.register(file, select.POLLIN)
        for file, _ in waiting.poll(seconds * 1000):
            ended = self._heard(by_file[file])
            self._hand_out()
            if ended is not None:
                return ended
        return None

    def count(self) -> int:
        """How many have told that they can play."""
        return sum(worker.ready for worker in self._workers)

    def close(self) -> None:
        """End them at once, and with them their servers and children: they hold nothing that is not in the store."""
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            worker.process.close()

    def _hand_out(self) -> None:
        for worker in self._workers:
            if worker.ready and worker.task is None and self._waiting:
                _, _, worker.task = heapq.heappop(self._waiting)
                worker.tell(worker.task)

    def _heard(self, worker: _Worker) -> Ended | None:
        try:
            message, _ = receive(worker.connection)
        except (ConnectionError, TimeoutError):
            return self._died(worker)
        if isinstance(message, Ready):
            worker.ready, self._stillborn = True, 0
            return None
        end = message.error if isinstance(message, NotPlayed) else message
        if not worker.ready:
            raise end
        task, worker.task = worker.task, None
        assert task is not None
        self._deaths.pop(task.address, None)
        return task, end

    def _died(self, worker: _Worker) -> Ended | None:
        """Put another one in its place, and have its point played again, unless it seems to kill whoever plays it."""
        worker.process.kill()
        if not worker.ready:
            self._stillborn += 1
            if self._stillborn >= _MOST_STILLBORN:
                raise BackendError(f"no workers could be started: {worker.process.last_words()}")
        self._workers[self._workers.index(worker)] = _Worker(self._crew)
        worker.process.close()
        task = worker.task
        if task is None:
            return None
        self._deaths[task.address] += 1
        if self._deaths[task.address] < MOST_DEATHS_IN_A_ROW:
            self.submit(task, -1)
            return None
        del self._deaths[task.address]
        return task, WorkersDied()
