"""Plays a run again with each change that may help, and says what each saves."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from astra_ns3.errors import InputError, refuse, wrong
from astra_ns3.experiments.description import describe
from astra_ns3.experiments.progress import ProgressSink
from astra_ns3.experiments.replays.again import asked_again
from astra_ns3.experiments.replays.changes import CHANGES, with_files_read
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.result import Result
from astra_ns3.experiments.run import execute
from astra_ns3.experiments.scenario_result import ScenarioResult
from astra_ns3.experiments.servers.session import served
from astra_ns3.experiments.tenant_inputs import load_tenants
from astra_ns3.frozen import dataclass, replace
from astra_ns3.report.explanation.explain import explain as explain_records
from astra_ns3.report.explanation.explanation import Explanation, Played
from astra_ns3.report.explanation.parts import LOSSES
from astra_ns3.report.explanation.what_ifs import FASTER_LINES, FASTER_NPUS, LOST, NO_SLOW_NPUS, WhatIf, has_losses
from astra_ns3.report.tables import is_of_flows
from astra_ns3.units import format_time

_LOG = logging.getLogger(__name__)
_LEAST_SHARE = 0.005
"""Changes that can't save more of the time aren't played."""
_ADVICE = "play it in the folder, and with the files and the version, that it was played with"
_SAME = ("workload", "system", "network", "compute_slowdown")
"""Keys of run.json that tell whether files are as they were."""


@dataclass(frozen=True)
class Subject:
    """An iteration or a collective that is explained; with neither, the run. ``job``: of a scenario."""

    iteration: int | None = None
    collective: int | None = None
    job: str | None = None

    @property
    def whole(self) -> bool:
        """Whether it is the run."""
        return self.iteration is None and self.collective is None

    def in_run(self, run: Result) -> Result:
        """Return what a run has of it: all, or a job of a scenario."""
        return run.tenants[self.job] if self.job is not None and isinstance(run, ScenarioResult) else run

    def time_ps(self, played: Result) -> int:
        """Return how long it took in a run."""
        run = self.in_run(played)
        if self.whole:
            return run.metadata["finish_ps"]
        return explain_records(run, iteration=self.iteration, collective=self.collective, top=1).time_ps


def with_changes_played(
    run: Result,
    found: Explanation,
    subject: Subject,
    *,
    backend: str | None = None,
    progress: ProgressSink | None = None,
) -> Explanation:
    """Return an explanation that tells what changes save, as runs with them do.

    ``backend``: plays them, None: that of the run. Raises InputError if the run can't be played again, or isn't the
    same by now, and the error of a run that stops.
    """
    try:
        request = asked_again(run, backend)
    except InputError as error:
        raise wrong(f"--play: the run can't be played again: {error}") from error
    try:
        _check_files(run, request)
    except InputError as error:
        raise wrong(f"--play: {error}; {_ADVICE}") from error
    record = () if subject.whole else ("timeline", "flows")
    request = replace(request, record=record, progress=progress, isolated=True)
    with _quiet():
        base = _played(request)
        _check_time(run, base)
        rows, untold = _changed(run, found, subject, with_files_read(request), subject.time_ps(base))
    for words in base.metadata["warnings"]:
        if words not in (*run.metadata["warnings"], *run.of_run["warnings"]):
            _LOG.warning("--play: %s", words)
    told = {each.change for each in rows}
    others = (each for each in found.what_ifs if each.change not in told)
    own_ps = run.metadata["finish_ps"] if subject.whole else found.time_ps
    ends, by_chance = (run.metadata["backend"], own_ps), has_losses(base.metadata)
    played = Played(request.backend_name, subject.time_ps(base), *ends, tuple(untold), by_chance)
    return replace(found, what_ifs=(*rows, *others), played=played)


def _changed(
    run: Result, found: Explanation, subject: Subject, request: RunRequest, base_ps: int
) -> tuple[list[WhatIf], list[tuple[str, str]]]:
    """Return what each change saves, the most first, and why others can't be played."""
    rows, untold = list[WhatIf](), list[tuple[str, str]]()
    for words in _asked(run, found):
        try:
            changed = _played(CHANGES[words](request))
        except InputError as error:
            untold.append((words, str(error)))
        else:
            rows.append(WhatIf(words, base_ps - subject.time_ps(changed), played=True))
    rows.sort(key=lambda each: -each.time_ps)
    return rows, untold


def _asked(run: Result, found: Explanation) -> Iterator[str]:
    """Yield the changes that are played: those of the rows that may save much; without a chain the usual ones."""
    metadata = run.metadata
    if found.segments:
        least_ps = _LEAST_SHARE * found.time_ps
        # Frames that queues or events lose are lost without error rates, too.
        others = bool(run.events) or any(metadata["statistics"].get(name) for name in LOST if name != "lost_frames")
        names = (each.change for each in found.what_ifs if each.time_ps >= least_ps)
        known = [each for each in names if each in CHANGES and not (each == LOSSES and others)]
        yield from dict.fromkeys((FASTER_LINES, *known)) if found.remedy else known
        return
    yield FASTER_LINES
    if not is_of_flows(run) and metadata["compute_ps"]:
        yield FASTER_NPUS
        if (metadata["compute_slowdown"] or {}).get("stragglers"):
            yield NO_SLOW_NPUS


def _played(request: RunRequest) -> Result:
    outcome = execute(request, launcher=served, aloud=False)
    if outcome.error is not None:
        raise outcome.error
    return outcome.result


def _check_files(run: Result, request: RunRequest) -> None:
    """Raise InputError if the files of a run aren't what they were, as far as run.json tells."""
    metadata = run.metadata
    own = replace(request, backend=metadata["backend"])
    job = metadata.get("job")
    descriptions = map(describe, load_tenants(own))
    names = None if job is None else job["name"]
    description = next(each for each in descriptions if job is None or (each.tenant or {}).get("name") == names)
    now = {name: json.loads(json.dumps(getattr(description, name))) for name in _SAME}
    differ = [name for name in _SAME if metadata.get(name) != now[name]]
    refuse(bool(differ), f"the run has another {' and another '.join(differ).replace('_', ' ')} by now")


def _check_time(run: Result, again: Result) -> None:
    """Raise InputError if the run isn't the same when it is played again, as with files that were changed."""
    before, now = run.of_run, again.metadata
    same = before["backend"] != now["backend"] or before["finish_ps"] == now["finish_ps"]
    times = f"{format_time(now['finish_ps'])} and not {format_time(before['finish_ps'])}"
    refuse(not same, f"--play: played again, the run takes {times}; {_ADVICE}")


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep warnings of runs back: they are the same each time."""
    logger = logging.getLogger("astra_ns3.experiments.run")
    logger.addFilter(_never)
    try:
        yield
    finally:
        logger.removeFilter(_never)


def _never(_: logging.LogRecord) -> bool:
    return False
