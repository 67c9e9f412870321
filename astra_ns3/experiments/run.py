"""One run from files to results: the only place that joins a workload, a system and a backend."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from astra_ns3.config.network.file import AnyNetwork
from astra_ns3.config.system import SystemConfig
from astra_ns3.config.workload import Workload
from astra_ns3.errors import AstraNs3Error, InputError, Interrupted, ResultsNotSaved
from astra_ns3.experiments.description import Description, describe
from astra_ns3.experiments.garbage import only_new_garbage
from astra_ns3.experiments.inputs import FilePath, load_inputs
from astra_ns3.experiments.isolated.channel import Recorder
from astra_ns3.experiments.isolated.child import serve
from astra_ns3.experiments.isolated.interruption import Interruption
from astra_ns3.experiments.isolated.supervisor import Supervisor
from astra_ns3.experiments.play import LocalReporter, Played, play
from astra_ns3.experiments.progress import ProgressSink
from astra_ns3.experiments.request import RECORDABLE, RunRequest
from astra_ns3.experiments.result import Result
from astra_ns3.experiments.saving import Destination, save
from astra_ns3.experiments.scaling import joint_scales
from astra_ns3.experiments.watch import Watch
from astra_ns3.network.api import Limits, NetworkBackend
from astra_ns3.network.recorded import TableSink
from astra_ns3.network.records import RecorderOptions
from astra_ns3.network.registry import Factory

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Outcome:
    """A run that came to its end (``error`` is None) or was stopped on the way, with what it has done.

    ``asked_to_stop``: Ctrl-C came, be it too late to stop this run.
    """

    result: Result
    error: AstraNs3Error | None
    asked_to_stop: bool = False


def run(
    *,
    workload: FilePath | Workload,
    system: FilePath | SystemConfig,
    network: FilePath | AnyNetwork,
    backend: str | NetworkBackend | Factory = "ns3",
    passes: int = 1,
    comm_scale: float = 1.0,
    compute_scale: float = 1.0,
    scale: float = 1.0,
    seed: int = 1,
    output: FilePath | None = None,
    on_built: Callable[..., Any] | None = None,
    limits: Limits | None = None,
    run_name: str = "run",
    record: Iterable[str] = (),
    overwrite: bool = False,
    progress: ProgressSink | None = None,
    compat: str = "none",
    num_queues_per_dimension: int | None = None,
    injection_scale: float = 1.0,
    rendezvous: bool = False,
    scheduling_policy: str | None = None,
    intra_dimension_scheduling: str | None = None,
    inter_dimension_scheduling: str | None = None,
    congestion_control: str | None = None,
    report_npu: int = 0,
    isolated: bool = False,
) -> Result:
    """Play a training loop over a network and return its times and tables.

    Args:
        workload: path of a workload file, or a Workload.
        system: path of a system file, or a SystemConfig.
        network: path of a network file, or a NetworkConfig, or an AnalyticalNetwork.
        backend: "ns3", "analytical" (messages never meet) or "analytical-queues" (a link serves one at a time); also an
            object that fulfils NetworkBackend, or a function that makes one from
            (network config, endpoint model, seed, recorder options, on_built).
        passes: training passes, at least 1.
        comm_scale: multiplies the size of every collective; above 0. Alone it changes what is hidden by computation.
        compute_scale: multiplies every compute time; not negative.
        scale: multiplies both, besides these two; above 0.
        seed: of all random numbers, 1 to 2**32 - 1. The same files and seed give the same results.
        output: folder for the results; None writes none.
        on_built: called with what the backend built, before the first event.
        limits: when to give up; what is done by then is saved.
        run_name: name of the run in its tables.
        record: further tables: "flows", a row per message; "layers", the layers of every role.
        overwrite: replace the run that ``output`` holds; other files there stay.
        progress: is told about ten times a second how far the run is.
        compat: a preset of another simulator's rules: "none", "astra-sim-1.0" or "astra-network-ns3", which a
            config.txt as network brings with it.
        num_queues_per_dimension: queues of each dimension that phases take in turns; None: the system file's, or 1.
        injection_scale: multiplies the endpoint delay; above 0.
        rendezvous: a receiver invites each message (backend "analytical" only).
        scheduling_policy, intra_dimension_scheduling, inter_dimension_scheduling: instead of the system file's; also a
            function of your own, as "FILE.py:function".
        congestion_control: instead of the network file's, if its transport is RoCE: a name, or a class of your own, as
            "FILE.hpp:Class" or "FILE.py:Class".
        report_npu: whose layers EndToEnd.csv, detailed.csv and the other tables of one NPU tell of.
        isolated: play the run in a child process. Whatever it dies of is a BackendError here, and what it had done is
            saved; limits and Ctrl-C also end a set-up or a callback that takes long. Hooks, policies, congestion
            controls and a backend given as an object then live in the child: what they gather comes back only as what
            the function returns that ``on_built`` returned, if it is JSON (:attr:`Result.hook`).

    Raises:
        InputError: something given is wrong; nothing was written.
        SimulationStalled, LimitReached, BackendError, Interrupted: the run stopped; what it did by then is in
            ``output``, marked incomplete, and in the error's ``result``.
        ResultsNotSaved: the run was played, but its files could not be written whole; the error's ``result`` has its
            tables.
    """
    comm_scale, compute_scale = joint_scales(scale, comm_scale, compute_scale)
    outcome = execute(
        RunRequest(
            workload=workload,
            system=system,
            network=network,
            backend=backend,
            passes=passes,
            comm_scale=comm_scale,
            compute_scale=compute_scale,
            seed=seed,
            output=output,
            on_built=on_built,
            limits=limits if limits is not None else Limits(),
            run_name=run_name,
            record=_names(record),
            overwrite=overwrite,
            progress=progress,
            compat=compat,
            num_queues_per_dimension=num_queues_per_dimension,
            injection_scale=injection_scale,
            rendezvous=rendezvous,
            scheduling_policy=scheduling_policy,
            intra_dimension_scheduling=intra_dimension_scheduling,
            inter_dimension_scheduling=inter_dimension_scheduling,
            congestion_control=congestion_control,
            report_npu=report_npu,
            isolated=isolated,
        )
    )
    if outcome.error is not None:
        outcome.error.result = outcome.result
        raise outcome.error
    return outcome.result


def _names(record: object) -> tuple[str, ...]:
    """Names of tables; raises InputError for what has none."""
    if isinstance(record, str):
        return (record,)
    if not isinstance(record, Iterable):
        raise InputError(f"record is {record!r}, expected names of tables: {', '.join(RECORDABLE)}")
    return tuple(record)


def execute(request: RunRequest) -> Outcome:
    """As :func:`run`, but a run that stopped on its way is returned with its error instead of raised.

    Raises InputError, and BackendError, LimitReached or Interrupted if the run had not begun; nothing was written then.
    """
    request.check()
    watch = Watch(request.limits)
    destination = Destination(request.output_path, overwrite=request.overwrite)
    with Interruption(noting=request.isolated) as interruption:
        try:
            with only_new_garbage():
                outcome = (_in_a_child if request.isolated else _here)(request, watch, destination, interruption)
            asked_to_stop = interruption.noted_at is not None
            if asked_to_stop and outcome.error is None:
                # It came when everything was played: nothing is missing, but who asked for an end gets one.
                outcome = replace(outcome, error=Interrupted("interrupted after the run's end; it is saved"))
            return replace(outcome, asked_to_stop=asked_to_stop)
        except KeyboardInterrupt as error:
            raise Interrupted("interrupted before the run began; nothing was saved") from error
        finally:
            destination.discard()


def _here(request: RunRequest, watch: Watch, destination: Destination, _interruption: Interruption) -> Outcome:
    reporter = LocalReporter(watch, request.progress)
    reporter.stage("reading the files")
    inputs = load_inputs(
        request.workload,
        request.system,
        request.network,
        comm_scale=request.comm_scale,
        compute_scale=request.compute_scale,
        options=request.options,
        tell=reporter.stage,
    )
    description = describe(inputs)
    warnings = _opened(request, description, destination)
    recorder = RecorderOptions(destination.directory, "flows" in request.record, destination.tables)
    played = play(request, inputs, recorder, watch, reporter)
    with _undisturbed():
        return _saved(request, description, played, watch, destination, warnings)


def _in_a_child(request: RunRequest, watch: Watch, destination: Destination, interruption: Interruption) -> Outcome:
    described: list[tuple[Description, list[str]]] = []

    def open_destination(description: Description) -> tuple[Recorder, TableSink | None]:
        described.append((description, _opened(request, description, destination)))
        return Recorder(destination.directory, "flows" in request.record), destination.tables

    played = Supervisor(
        partial(serve, request, watch), watch, request.limits, request.progress, interruption, open_destination
    ).run()
    ((description, warnings),) = described
    return _saved(request, description, played, watch, destination, warnings)


def _opened(request: RunRequest, description: Description, destination: Destination) -> list[str]:
    """Warn of what the inputs make doubtful, and open the destination; the warnings."""
    warnings = list(description.warnings)
    if request.output is None and description.asked_to_observe:
        warnings.append("what the network file observes is lost at the end: no output folder was named")
    for warning in warnings:
        _LOG.warning("%s", warning)
    destination.open(records=bool(request.record) or description.observes)
    return warnings


def _saved(
    request: RunRequest,
    description: Description,
    played: Played,
    watch: Watch,
    destination: Destination,
    warnings: list[str],
) -> Outcome:
    for warning in played.warnings:
        _LOG.warning("%s", warning)
    result, not_saved = save(request, description, played, watch, destination, [*warnings, *played.warnings])
    if not_saved is not None and played.error is not None:
        not_saved = ResultsNotSaved(f"{not_saved}; the run had stopped: {played.error}")
    return Outcome(result, not_saved or played.error)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Leave Ctrl-C and SIGTERM aside: a second one must not undo the saving that the first one asked for."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
