"""One run from files to results: the only place that joins a workload, a system and a backend."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from astra_ns3.errors import AstraNs3Error, Interrupted, ResultsNotSaved
from astra_ns3.experiments.description import Description, describe
from astra_ns3.experiments.garbage import no_search
from astra_ns3.experiments.isolated.channel import Recorder
from astra_ns3.experiments.isolated.interruption import Interruption
from astra_ns3.experiments.isolated.launching import Launch, Launcher, forked
from astra_ns3.experiments.isolated.supervisor import Supervisor
from astra_ns3.experiments.play import LocalReporter, Played, play, recorder_options
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.result import Result
from astra_ns3.experiments.saving import Destinations, save_all
from astra_ns3.experiments.tenant_inputs import load_tenants
from astra_ns3.experiments.watch import Watch
from astra_ns3.frozen import dataclass, replace
from astra_ns3.network.recorded import TableSink

_LOG = logging.getLogger(__name__)
Descriptions = Sequence[Description]
"""The inputs of each tenant."""


@dataclass(frozen=True)
class Outcome:
    """A run that came to its end (``error`` is None) or was stopped on the way, with what it has done.

    ``asked_to_stop``: Ctrl-C came, be it too late to stop this run.
    """

    result: Result
    error: AstraNs3Error | None
    asked_to_stop: bool = False


def execute(
    request: RunRequest, *, launcher: Launcher = forked, aloud: bool = True, tables_kept: bool = True
) -> Outcome:
    """Play a run; one that stopped on its way is returned with its error.

    Of an isolated run ``launcher`` starts the child, and unless it is ``aloud`` nobody hears what is printed there.
    ``tables_kept``: whoever asks reads the result's tables, without an output folder too.
    Raises InputError, and BackendError, LimitReached or Interrupted if the run had not begun; nothing was written then.
    """
    request.check()
    watch = Watch(request.end)
    destination = Destinations(request)
    with Interruption(noting=request.in_a_child) as interruption:
        try:
            if request.in_a_child:
                launch = launcher(request, watch)
                outcome = _in_a_child(
                    request, watch, destination, interruption, launch, aloud=aloud, tables_kept=tables_kept
                )
            else:
                outcome = _here(request, watch, destination, tables_kept=tables_kept)
            asked_to_stop = interruption.noted_at is not None
            if asked_to_stop and outcome.error is None:
                # It came when everything was played: nothing is missing, but who asked for an end gets one.
                outcome = replace(outcome, error=Interrupted("interrupted after the run's end; it is saved"))
            return replace(outcome, asked_to_stop=asked_to_stop)
        except KeyboardInterrupt as error:
            raise Interrupted("interrupted before the run began; nothing was saved") from error
        finally:
            destination.discard()


def _here(request: RunRequest, watch: Watch, destination: Destinations, *, tables_kept: bool) -> Outcome:
    reporter = LocalReporter(watch, request.progress)
    reporter.stage("reading the files")
    with no_search():
        tenants = load_tenants(request, tell=reporter.stage)
    descriptions = tuple(map(describe, tenants))
    warnings = _opened(request, descriptions, destination, tables_kept=tables_kept)
    recorder = recorder_options(destination.network.directory, request.record, destination.tables)
    played = play(request, tenants, recorder, watch, reporter)
    with _undisturbed():
        return _saved(request, descriptions, played, watch, destination, warnings)


def _in_a_child(
    request: RunRequest,
    watch: Watch,
    destination: Destinations,
    interruption: Interruption,
    launch: Launch,
    *,
    aloud: bool,
    tables_kept: bool,
) -> Outcome:
    described: list[tuple[Descriptions, list[str]]] = []

    def open_destination(descriptions: Descriptions) -> tuple[Recorder, TableSink | None]:
        warnings = _opened(request, descriptions, destination, tables_kept=tables_kept)
        described.append((descriptions, warnings))
        return Recorder(destination.network.directory, tuple(request.record)), destination.tables

    supervisor = Supervisor(launch, watch, request.end, request.progress, interruption, open_destination, aloud=aloud)
    played = supervisor.run()
    ((descriptions, warnings),) = described
    return _saved(request, descriptions, played, watch, destination, warnings)


def _opened(
    request: RunRequest, descriptions: Descriptions, destination: Destinations, *, tables_kept: bool
) -> list[str]:
    """Warn of what the inputs make doubtful, and open the destination; the warnings."""
    warnings = list(dict.fromkeys(words for each in descriptions for words in each.warnings))
    first = descriptions[0]
    if request.output is None and first.asked_to_observe and not tables_kept:
        warnings.append("what the network file observes is lost at the end: no output folder was named")
    for warning in warnings:
        _LOG.warning("%s", warning)
    destination.open(records=bool(request.record) or first.observes)
    return warnings


@no_search()
def _saved(
    request: RunRequest,
    descriptions: Descriptions,
    played: Played,
    watch: Watch,
    destination: Destinations,
    warnings: list[str],
) -> Outcome:
    for warning in played.warnings:
        _LOG.warning("%s", warning)
    result, not_saved = save_all(request, descriptions, played, watch, destination, [*warnings, *played.warnings])
    if not_saved is not None and played.error is not None:
        not_saved = ResultsNotSaved(f"{not_saved}; the run had stopped: {played.error}")
    return Outcome(result, not_saved or played.error)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Leave Ctrl-C and SIGTERM aside: a second one must not undo the saving that the first one asked for."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    python_s = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) is not None]
    before = {number: signal.signal(number, signal.SIG_IGN) for number in python_s}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
