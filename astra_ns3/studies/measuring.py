"""Measures points again whose numbers another version of the measures made: no table mixes two."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from astra_ns3.experiments.result import Result
from astra_ns3.studies.measures import measures_digest, measures_of
from astra_ns3.studies.store import Store
from astra_ns3.studies.task import PointOutcome


def measured_today(
    outcomes: Mapping[str, PointOutcome], store: Store, *, write: bool = False
) -> dict[str, PointOutcome]:
    """The outcomes with today's measures, from the runs' folders; ``write``: for the next time, too.

    A point without a run that can be read keeps what it has, and so does one that is only told as failed: the store
    has no outcome of it, and is given none.
    """
    return {address: _today(outcome, store, write=write) for address, outcome in outcomes.items()}


def _today(outcome: PointOutcome, store: Store, *, write: bool) -> PointOutcome:
    if outcome.measured_with == measures_digest() or store.outcome(outcome.address) is None:
        return outcome
    try:
        measures = measures_of(Result.load(store.point_folder(outcome.address)))
    except Exception:  # it left no run that can be read, or had not come far enough
        return outcome
    found = replace(outcome, measures=measures, measured_with=measures_digest())
    if write:
        with suppress(OSError), store.alone(outcome.address):  # of a folder that can't be written: anew the next time
            store.write(found)
    return found
