"""Plays points one after the other in children of this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from astra_ns3.errors import AstraNs3Error
from astra_ns3.experiments.run import execute
from astra_ns3.studies.measures import measures_of
from astra_ns3.studies.task import PointOutcome, PointTask


def outcomes_in(store: Path, addresses: Sequence[str]) -> dict[str, PointOutcome]:
    """The outcomes that the store has of these points."""
    found = {}
    for address in addresses:
        file = store / "points" / address[:20] / "point.json"
        if file.is_file():
            found[address] = PointOutcome(**json.loads(file.read_text()))
    return found


def play_tasks(
    tasks: Sequence[PointTask],
    store: Path,
    jobs: int | None = None,
    scheduler: str | None = None,
    on_outcome: Callable[[PointOutcome], None] = lambda outcome: None,
    retry_failed: bool = False,
) -> Mapping[str, PointOutcome]:
    """The outcome of each point, by address; those that the store has are not played."""
    known = outcomes_in(store, [task.address for task in tasks])
    for task in tasks:
        before = known.get(task.address)
        if before is None or (retry_failed and before.status == "failed"):
            known[task.address] = _play(task, store)
            on_outcome(known[task.address])
    return known


def _play(task: PointTask, store: Path) -> PointOutcome:
    folder = store / "points" / task.address[:20]
    request = replace(task.request, output=folder, overwrite=True, isolated=True)
    limits = asdict(request.end)
    try:
        outcome = execute(request)
    except AstraNs3Error as error:
        outcome, failure, measures = None, error, {}
    else:
        failure, measures = outcome.error, measures_of(outcome.result)
    said = None
    if failure is not None:
        said = {"kind": type(failure).__name__, "message": str(failure), "exit_status": failure.exit_status}
    made = PointOutcome(task.address, "failed" if said else "done", said, measures, {}, limits)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "point.json").write_text(json.dumps(asdict(made)))
    return made
