"""One run from files to results: the only place that joins a workload, a system and a backend."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from astra_ns3.config.network import NetworkConfig
from astra_ns3.config.system import SystemConfig
from astra_ns3.config.workload import Workload
from astra_ns3.errors import AstraNs3Error, Interrupted
from astra_ns3.experiments.inputs import FilePath, Inputs, load_inputs
from astra_ns3.experiments.progress import ProgressSink
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.result import Result
from astra_ns3.experiments.saving import Destination, save
from astra_ns3.experiments.session import play
from astra_ns3.experiments.watch import Watch
from astra_ns3.network.api import Limits, NetworkBackend
from astra_ns3.network.registry import Factory

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Outcome:
    """A run that came to its end (``error`` is None) or was stopped on the way, with what it has done."""

    result: Result
    error: AstraNs3Error | None


def run(
    *,
    workload: FilePath | Workload,
    system: FilePath | SystemConfig,
    network: FilePath | NetworkConfig,
    backend: str | NetworkBackend | Factory = "ns3",
    passes: int = 1,
    comm_scale: float = 1.0,
    compute_scale: float = 1.0,
    seed: int = 1,
    output: FilePath | None = None,
    on_built: Callable[..., Any] | None = None,
    limits: Limits | None = None,
    run_name: str = "run",
    record: Iterable[str] = (),
    overwrite: bool = False,
    progress: ProgressSink | None = None,
) -> Result:
    """Play a training loop over a network and return its times and tables.

    Args:
        workload: path of a workload file, or a Workload.
        system: path of a system file, or a SystemConfig.
        network: path of a network file, or a NetworkConfig.
        backend: name of the backend; also an object that fulfils NetworkBackend, or a function that makes one from
            (network config, endpoint model, seed, recorder options, on_built).
        passes: training passes, at least 1.
        comm_scale: multiplies the size of every collective; above 0.
        compute_scale: multiplies every compute time; not negative.
        seed: of all random numbers, 1 to 2**32 - 1. The same files and seed give the same results.
        output: folder for the results; None writes none.
        on_built: called with what the backend built, before the first event.
        limits: when to give up; what is done by then is saved.
        run_name: name of the run in its tables.
        record: further tables, of single messages: "flows".
        overwrite: replace the run that ``output`` holds; other files there stay.
        progress: is told about ten times a second how far the run is.

    Raises:
        InputError: something given is wrong; nothing was written.
        SimulationStalled, LimitReached, BackendError, Interrupted: the run stopped; what it did by then is in
            ``output``, marked incomplete.
    """
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
            record=(record,) if isinstance(record, str) else tuple(record),
            overwrite=overwrite,
            progress=progress,
        )
    )
    if outcome.error is not None:
        raise outcome.error
    return outcome.result


def execute(request: RunRequest) -> Outcome:
    """As :func:`run`, but a run that stopped on its way is returned with its error instead of raised.

    Raises InputError, and BackendError or Interrupted if the run had not begun; nothing was written then.
    """
    request.check()
    watch = Watch(request.limits)
    destination = Destination(request.output_path, overwrite=request.overwrite)
    inputs = load_inputs(
        request.workload,
        request.system,
        request.network,
        comm_scale=request.comm_scale,
        compute_scale=request.compute_scale,
    )
    warnings = _warnings(request, inputs)
    try:
        recorder = destination.open(inputs.network, request.record)
        played = play(request, inputs, recorder, watch)
        result = save(request, inputs, played, watch, destination, warnings)
    except KeyboardInterrupt as error:
        raise Interrupted("interrupted before anything was saved") from error
    finally:
        destination.discard()
    return Outcome(result, played.error)


def _warnings(request: RunRequest, inputs: Inputs) -> list[str]:
    observe = inputs.network.observe
    warnings = list(inputs.warnings)
    if request.output is None and (observe.connections or observe.queues or observe.pcap):
        warnings.append("what the network file observes is lost at the end: no output folder was named")
    for warning in warnings:
        _LOG.warning("%s", warning)
    return warnings
