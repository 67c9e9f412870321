"""The contract between the engine of a study and its workers, wherever they are."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from astra_ns3.experiments.servers.messages import ServerKind
from astra_ns3.frozen import dataclass
from astra_ns3.studies.code_version import code_version
from astra_ns3.studies.store import Store
from astra_ns3.studies.task import PointOutcome, PointTask, UnfitWorker

MOST_DEATHS_IN_A_ROW = 3
"""A point is given back when so many workers have died while they had it."""


class WorkersDied(Exception):
    """Workers died while they had a point; whether of it, they can't say any more."""


@dataclass(frozen=True)
class Crew:
    """The study that workers are asked to play for."""

    store: str
    """The study's folder."""
    mark: str
    """The study's name in its store."""
    code: str
    """The client's version of this program."""
    kind: ServerKind
    """The servers that most of its points need."""
    points: int
    """How many are to be played."""


class Workers(Protocol):
    """Play points; belongs to one thread."""

    def submit(self, task: PointTask, number: int) -> None:
        """Have ``task`` played; of those that wait the one with the least ``number`` is next."""

    def ended(self, seconds: float) -> tuple[PointTask, PointOutcome | BaseException] | None:
        """Wait so long at most; a point that isn't played any more, with its outcome or what kept it from one.

        The latter is WorkersDied, or what :func:`~astra_ns3.studies.play_point.play_point` raises, or UnfitWorker.
        Raises BackendError if nothing can be played any more.
        """

    def count(self) -> int:
        """How many workers are there. Raises BackendError if nobody can say."""


StartWorkers = Callable[[Crew], AbstractContextManager[Workers]]
"""Workers for a study, which are let go when the context ends; raised out of, it ends what they play at once."""


def check_worker(name: str, store: Store, mark: str, code: str) -> None:
    """Raise UnfitWorker if this process, the worker ``name``, runs other code than ``code`` or sees another folder."""
    if code_version() != code:
        raise UnfitWorker(
            f"the worker {name} runs astra-ns3 {code_version()}, this study {code}: install the same version there"
        )
    if not store.is_of_study(mark):
        raise UnfitWorker(
            f"the worker {name} doesn't see {store.folder} as it is here: name an output folder (-o) on a file "
            "system that all workers share, under the same path"
        )
