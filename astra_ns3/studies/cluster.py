"""Dask's workers for a study: started here, or those of a scheduler that is named."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from astra_ns3.errors import BackendError, InputError

_CONNECT_SECONDS = 15.0
_CLOSE_SECONDS = 2.0
_SETTINGS = {
    # One point at a time goes to a worker, the others wait with the scheduler: who is free takes the longest.
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.scheduler.allowed-failures": 2,
    # A worker that died is started again, which takes its time on a busy machine; Dask would do without it then.
    "distributed.deploy.lost-worker-timeout": "1 hour",
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.admin.log-length": 0,
    # What Dask observes of itself, which nobody reads here, takes 7% of a processor in each of its processes.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
}


@contextmanager
def client_of(scheduler: str | None, jobs: int) -> Iterator[Any]:
    """A Dask client of the cluster at ``scheduler``, or of one with ``jobs`` local workers that ends with it.

    Raises InputError if the extra for studies isn't installed or nothing answers, BackendError if no worker can be
    started.
    """
    try:
        import distributed
    except ImportError as error:
        raise InputError(f"studies need Dask: pip install 'astra-ns3[study]' ({error})") from error
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what goes wrong is told by what the points return
    with ExitStack() as stack:
        if scheduler is None:
            client = stack.enter_context(_local(distributed, jobs))
        else:
            client = stack.enter_context(_remote(distributed, scheduler))
        yield client


@contextmanager
def _remote(distributed: Any, scheduler: str) -> Iterator[Any]:
    try:
        client = distributed.Client(scheduler, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, ImportError) as error:
        raise InputError(f"scheduler {scheduler}: cannot be reached: {error}") from error
    try:
        yield client
    finally:
        client.close(timeout=_CLOSE_SECONDS)


@contextmanager
def _local(distributed: Any, jobs: int) -> Iterator[Any]:
    import dask

    with ExitStack() as stack:
        stack.enter_context(dask.config.set(_SETTINGS))
        with _no_interrupts_inherited(), _main_not_imported():
            try:
                cluster = distributed.LocalCluster(
                    n_workers=jobs,
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address="127.0.0.1:0",
                    scheduler_kwargs={"dashboard": False},
                    memory_limit=0,
                    silence_logs=logging.CRITICAL,
                )
            except (OSError, RuntimeError, ValueError, TimeoutError) as error:
                raise BackendError(f"no workers could be started: {error}") from error
            stack.callback(_close, cluster)
            client = distributed.Client(cluster, set_as_default=False)
            stack.callback(_close, client)
            stack.callback(_end_workers, cluster)
        yield client


def _end_workers(cluster: Any) -> None:
    """At once, for they hold nothing that is not in the store; their servers and children end with them."""
    for nanny in cluster.workers.values():
        nanny.close_gracefully()  # this is the end: no worker is to be started in the place of one that is gone
        pid = nanny.pid
        if pid:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _close(closing: Any) -> None:
    """In good time, whatever Dask has to say about it: the results are in the store."""
    with suppress(Exception):
        closing.close(timeout=_CLOSE_SECONDS)


@contextmanager
def _no_interrupts_inherited() -> Iterator[None]:
    """Processes that are started meanwhile, or later by threads that were, don't get Ctrl-C: the client decides."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _main_not_imported() -> Iterator[None]:
    """Workers don't run the user's script to find its functions: they need none, and it may have no guard."""
    main = sys.modules["__main__"]
    hidden: dict[str, Any] = {name: main.__dict__[name] for name in ("__file__", "__spec__") if name in main.__dict__}
    main.__dict__.pop("__file__", None)
    main.__dict__["__spec__"] = None
    try:
        yield
    finally:
        main.__dict__.pop("__spec__", None)
        main.__dict__.update(hidden)


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0))
