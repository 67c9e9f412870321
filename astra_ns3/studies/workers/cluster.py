"""Workers of a Dask scheduler that somebody has started, on any number of machines."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias

from astra_ns3.errors import AstraNs3Error, BackendError, wrong
from astra_ns3.studies.task import PointOutcome, PointTask
from astra_ns3.studies.workers import dask_worker
from astra_ns3.studies.workers.contract import Crew, WorkersDied

if TYPE_CHECKING:
    import distributed

P = ParamSpec("P")
_LOG = logging.getLogger(__name__)
_CONNECT_SECONDS = 15.0
_CLOSE_SECONDS = 2.0
_ASK_SECONDS = 1.0
_TELL_SECONDS = 20.0
_LOST = "the connection to the scheduler was lost; runs that have ended are kept"

Security: TypeAlias = "distributed.Security | Mapping[str, object] | None"
"""The object that distributed.Client takes as ``security``: None, a distributed.Security, or its arguments as a
mapping."""


def tls_files(ca_file: str, certificate: str, key: str) -> Mapping[str, str | bool]:
    """The ``security`` of a ``tls://`` scheduler: who signs, who one is, and the key to that."""
    files = {"tls_ca_file": ca_file, "tls_client_cert": certificate, "tls_client_key": key}
    return {**files, "require_encryption": True}


@contextmanager
def cluster_workers(scheduler: str, security: Security, crew: Crew) -> Iterator[ClusterWorkers]:
    """The workers of the Dask scheduler at the address ``scheduler``.

    Raises InputError if Dask isn't installed, nothing answers, or the workers can't play studies.
    """
    client = _client(scheduler, security)
    try:
        _translated(client.run, dask_worker.prepare, crew=crew)
        try:
            yield ClusterWorkers(client, crew)
        except BaseException:
            _tell_workers(client, dask_worker.give_up, crew.mark)
            raise
        _tell_workers(client, dask_worker.forget, crew.mark)
    finally:
        _close(client)


def _client(scheduler: str, security: Security) -> Any:  # a distributed.Client, as below
    try:
        import distributed
    except ImportError as error:
        needed = "pip install distributed, which is the extra 'cluster' of this package"
        raise wrong(f"--scheduler needs Dask: {needed} ({error})") from error
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what goes wrong is told by what the points return
    # In two steps, so that there is something to close: half a client that is left to be collected waits for itself.
    client: Any = distributed.Client.__new__(distributed.Client)  # most of its methods have no types
    try:
        client.__init__(scheduler, timeout=_CONNECT_SECONDS, set_as_default=False, security=security)
    except TypeError as error:
        _close(client)
        needed = "--tls-ca-file, --tls-cert and --tls-key, or distributed.comm.tls in Dask's configuration"
        raise wrong(f"scheduler {scheduler}: cannot be reached: TLS needs {needed} ({error})") from error
    except (OSError, ValueError, ImportError, RuntimeError) as error:
        _close(client)
        raise wrong(f"scheduler {scheduler}: cannot be reached: {error}") from error
    return client


def _close(client: Any) -> None:  # most of its methods have no types
    """In good time, whatever Dask has to say about it."""
    with suppress(Exception):
        client.close(timeout=_CLOSE_SECONDS)
    client.status = "closed"  # not once more when it is collected


class ClusterWorkers:
    """Fulfils :class:`~astra_ns3.studies.workers.contract.Workers`."""

    def __init__(self, client: distributed.Client, crew: Crew) -> None:
        self._client: Any = client  # most of its methods have no types
        self._crew = crew
        self._ended: queue.SimpleQueue[Any] = queue.SimpleQueue()  # futures, whose class has no types
        self._played: dict[Any, tuple[PointTask, Any]] = {}  # key and future are of Dask's classes without types
        """Each point that was submitted, with its future, by its key."""
        self._submitted = 0
        self._asked_at = 0.0
        self._threads = 0

    def submit(self, task: PointTask, number: int) -> None:
        """Have ``task`` played; of those that wait the one with the least ``number`` is next."""
        key = (f"astra-ns3-{self._crew.mark}", f"{task.address}-{self._submitted}")
        self._submitted += 1
        future = self._client.submit(dask_worker.play, task, self._crew, key=key, priority=-number, pure=False)
        self._played[key] = task, future
        future.add_done_callback(self._ended.put)

    def ended(self, seconds: float) -> tuple[PointTask, PointOutcome | BaseException] | None:
        """Wait so long at most for a point's end; the first of them. Raises BackendError if nobody answers."""
        from distributed import KilledWorker

        try:
            future = self._ended.get(timeout=seconds)
        except queue.Empty:
            return None
        task, _ = self._played.pop(future.key)
        if future.status == "cancelled":
            raise BackendError(_LOST)
        error = future.exception()
        if error is None:
            return task, future.result()
        return task, WorkersDied() if isinstance(error, KilledWorker) else error

    def count(self) -> int:
        """How many points all workers play at once, asked about every second. Raises BackendError."""
        now = time.monotonic()
        if now - self._asked_at >= _ASK_SECONDS:
            self._asked_at = now
            try:
                self._threads = sum(self._client.nthreads().values())
            except OSError as error:
                raise BackendError(f"{_LOST}: {error}") from error
        return self._threads


def _tell_workers(client: distributed.Client, what: Callable[..., object], mark: str) -> None:
    """Tell the workers that it is over; those that can't be reached have ended, or will, and nobody waits for long."""

    def tell() -> None:
        try:
            client.run(what, mark=mark)
        except Exception as error:
            _LOG.debug("the study's end could not be told to all workers: %s: %s", type(error).__name__, error)

    telling = threading.Thread(target=tell, daemon=True)
    telling.start()
    telling.join(_TELL_SECONDS)


def _translated(call: Callable[P, object], *words: P.args, **more: P.kwargs) -> None:
    """As ``call``, but what a worker without this version of ours raises is an error a person can act on."""
    try:
        call(*words, **more)
    except AstraNs3Error:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise wrong(f"the workers can't play studies: {reason}; is the same astra-ns3 installed there?") from error
