"""What runs in a Dask worker: functions that Dask calls there by name. A study's servers hang on the worker object."""

from __future__ import annotations

import logging
import os
from typing import Any

from astra_ns3.studies.code_version import code_version
from astra_ns3.studies.play_point import play_point
from astra_ns3.studies.servers.messages import ServerKind
from astra_ns3.studies.servers.pool import ServerPool
from astra_ns3.studies.store import Store
from astra_ns3.studies.task import PointOutcome, PointTask, UnfitWorker

_PLACE = "astra_ns3_pools"
"""The worker's attribute that holds its pools, by study."""


def play(task: PointTask, mark: str, code: str) -> PointOutcome:
    """Play ``task`` on this worker for the study ``mark`` of a client with ``code``."""
    from distributed import get_worker

    return play_point(task, _pool(get_worker(), task.store, mark, code))


def prepare(dask_worker: Any, store: str, mark: str, code: str, kinds: tuple[ServerKind, ...]) -> int:
    """Have servers of ``kinds`` warm themselves up; the worker's process id."""
    pool = _pool(dask_worker, store, mark, code)
    for kind in kinds:
        pool.start(kind)
    return os.getpid()


def give_up(dask_worker: Any, mark: str) -> None:
    """End the study's servers here, and with them what they play; nothing of it is played here any more."""
    _pools(dask_worker).setdefault(mark, ServerPool()).close()


def forget(dask_worker: Any, mark: str) -> None:
    """As :func:`give_up`, once nothing of the study can come any more."""
    pool = _pools(dask_worker).pop(mark, None)
    if pool is not None:
        pool.close()


def _pools(worker: Any) -> dict[str, ServerPool]:
    if not hasattr(worker, _PLACE):
        setattr(worker, _PLACE, {})
        # What a run warns of stands in its run.json; a worker's standard error is nobody's.
        logging.getLogger("astra_ns3").addHandler(logging.NullHandler())
        logging.getLogger("astra_ns3").propagate = False
    found: dict[str, ServerPool] = getattr(worker, _PLACE)
    return found


def _pool(worker: Any, store: str, mark: str, code: str) -> ServerPool:
    pools = _pools(worker)
    if mark not in pools:
        _check(worker.address, Store(store), mark, code)
    return pools.setdefault(mark, ServerPool())


def _check(address: str, store: Store, mark: str, code: str) -> None:
    if code_version() != code:
        raise UnfitWorker(
            f"the worker {address} runs astra-ns3 {code_version()}, this study {code}: install the same version there"
        )
    if not store.is_of_study(mark):
        raise UnfitWorker(
            f"the worker {address} doesn't see {store.folder} as it is here: name an output folder (-o) on a file "
            "system that all workers share, under the same path"
        )
