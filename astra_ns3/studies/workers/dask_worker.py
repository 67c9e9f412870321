"""The part that runs in a Dask worker: functions that Dask calls there by name. A study's servers hang on the worker
object."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from astra_ns3.experiments.servers.pool import ServerPool
from astra_ns3.studies.play_point import play_point
from astra_ns3.studies.store import Store
from astra_ns3.studies.task import PointOutcome, PointTask
from astra_ns3.studies.workers.contract import Crew, check_worker

if TYPE_CHECKING:
    from distributed import Worker

# The worker's attribute that holds its pools, by study.
_PLACE = "astra_ns3_pools"


def play(task: PointTask, crew: Crew) -> PointOutcome:
    """Play ``task`` on this worker."""
    from distributed import get_worker

    return play_point(task, _pool(get_worker(), crew))


def prepare(dask_worker: Worker, crew: Crew) -> None:
    """Have a server warm itself up for the study."""
    _pool(dask_worker, crew).start(crew.kind)


def give_up(dask_worker: Worker, mark: str) -> None:
    """End the study's servers here, and with them what they play; nothing of it is played here any more."""
    _pools(dask_worker).setdefault(mark, ServerPool()).close()


def forget(dask_worker: Worker, mark: str) -> None:
    """Do as :func:`give_up` does, once nothing of the study can come any more."""
    pool = _pools(dask_worker).pop(mark, None)
    if pool is not None:
        pool.close()


def _pools(worker: Worker) -> dict[str, ServerPool]:
    if not hasattr(worker, _PLACE):
        setattr(worker, _PLACE, {})
        # What a run warns of stands in its run.json; a worker's standard error is nobody's.
        logging.getLogger("astra_ns3").addHandler(logging.NullHandler())
        logging.getLogger("astra_ns3").propagate = False
    found: dict[str, ServerPool] = getattr(worker, _PLACE)
    return found


def _pool(worker: Worker, crew: Crew) -> ServerPool:
    pools = _pools(worker)
    if crew.mark not in pools:
        check_worker(worker.address, Store(crew.store), crew.mark, crew.code)
    return pools.setdefault(crew.mark, ServerPool())
