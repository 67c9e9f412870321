"""One point of a study as it is handed to a worker, and what comes back: plain data that any process can read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from astra_ns3.errors import InputError
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.servers.messages import Unplayed as Unplayed
from astra_ns3.frozen import dataclass, field
from astra_ns3.network.run_document import StopDocument
from astra_ns3.studies.places import Places


class UnfitWorker(InputError):
    """A worker has another version of the code than the client, or doesn't see the store."""


class SourceChanged(InputError):
    """A file of users' code isn't any more what it was when the study began."""


Measure = int | float | None


@dataclass(frozen=True)
class PointTask:
    """A run to play, and where its results go.

    ``request`` holds what was read, not paths: a worker needs none of the files but users' code. It has no output
    folder, no progress and no limits beyond those of the study; it is picklable.
    """

    address: str
    """SHA-256, in hexadecimal, of all that the results depend on."""
    request: RunRequest
    store: str
    """The store's folder, as the worker sees it."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """SHA-256, in hexadecimal, of each file of users' code that went into ``address``, by its absolute path."""
    places: Places = ()
    """How paths in the request begin, and how what is written has them."""


@dataclass(frozen=True)
class PointOutcome:
    """How a point ended, whoever played it and whenever. ``point.json`` of its folder is this."""

    address: str
    status: str
    """"done", or "failed"."""
    error: StopDocument | None
    """The reason of a failed point: ``kind``, ``message`` and ``exit_status``, as in run.json's ``stopped``."""
    measures: Mapping[str, Measure]
    """One number for each name of :mod:`astra_ns3.studies.measures` that the run has; of a failed point what it did."""
    cost: Mapping[str, float]
    """``wall_seconds`` of the whole point, ``run_seconds`` of the run in it, ``cpu_seconds`` and ``peak_bytes`` of its
    process."""
    limits: Mapping[str, int | float | None]
    """The limits in force when it was played."""
    measured_with: str = ""
    """Digest of the code that made the measures; empty: not known."""
    warnings: Sequence[str] = field(default_factory=list)
    """The warnings of the run."""

    @property
    def message(self) -> str | None:
        """Why the point failed; None of one that didn't."""
        return None if self.error is None else self.error["message"]
