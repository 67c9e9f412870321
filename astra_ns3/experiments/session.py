"""Builds the backend, plays the workload on it, and takes down what came of it, however it ended."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from astra_ns3.config.network import NetworkConfig
from astra_ns3.config.roce_control import OwnControl
from astra_ns3.errors import AstraNs3Error, HookFailed, InputError, Interrupted
from astra_ns3.experiments.capacity import check_run_fits
from astra_ns3.experiments.inputs import Inputs
from astra_ns3.experiments.progress import ProgressMeter, ProgressSink, planned_work, tell_stage
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.watch import Watch
from astra_ns3.network.api import EndpointModel, NetworkBackend
from astra_ns3.network.records import RecorderOptions, RunRecords
from astra_ns3.network.registry import create_backend
from astra_ns3.units import PS_PER_NS
from astra_ns3.workload.driver import TrainingDriver

RENDEZVOUS_BYTES = 8192
"""Size of a receiver's invitation in the rendezvous protocol (ASTRA-sim 1.0)."""


@dataclass(frozen=True)
class Played:
    """What a run left: its records, the backend's counters, and why it stopped early (None: it didn't)."""

    records: RunRecords
    statistics: Mapping[str, Any]
    switch_ports: Sequence[Mapping[str, Any]]
    setup_seconds: float
    error: AstraNs3Error | None
    warnings: Sequence[str] = ()


def play(request: RunRequest, inputs: Inputs, recorder: RecorderOptions, watch: Watch) -> Played:
    """Run to the end, to a limit, to a stall or to Ctrl-C; the backend is closed, its files finished.

    Raises InputError, BackendError and KeyboardInterrupt if that happens before the first event.
    """
    limits = request.limits
    to_its_end = limits.simulated_ps is None and limits.wall_seconds is None
    check_run_fits(inputs, request.passes, limit_bytes=limits.memory_bytes, to_its_end=to_its_end)
    tell_stage(request.progress, "building the network", watch.wall_seconds)
    network = _build(request, inputs, recorder)
    try:
        tell_stage(request.progress, "planning the collectives", watch.wall_seconds)
        driver = TrainingDriver(
            network,
            inputs.system,
            inputs.workload,
            request.passes,
            dimensions=inputs.network.dimensions,
            bandwidths=inputs.bandwidths,
            compatibility=inputs.compatibility,
            on_heartbeat=lambda time_ps, events: _heartbeat(meter, watch, request.progress, time_ps, events),
        )
        work = planned_work(inputs, request.passes)
        setup_seconds = watch.wall_seconds
        meter = ProgressMeter(driver, network, work, setup_seconds)
        error = _run(driver, request, inputs)
        return Played(
            records=driver.records(),
            statistics=_statistics(network),
            switch_ports=_switch_ports(network),
            setup_seconds=setup_seconds,
            error=error,
            warnings=_run_warnings(network),
        )
    finally:
        network.close(process_ends=request.process_ends)


def _run_warnings(network: NetworkBackend) -> list[str]:
    """What the backend has to say of the run; backends need not have anything."""
    tell = getattr(network, "warnings", None)
    return list(tell()) if tell is not None else []


def _heartbeat(meter: ProgressMeter, watch: Watch, sink: ProgressSink | None, time_ps: int, events: int) -> None:
    """What happens about ten times a second: limits are checked, progress is told."""
    watch.check()
    if sink is not None:
        sink.update(meter.read(time_ps, events, watch.wall_seconds))


def _build(request: RunRequest, inputs: Inputs, recorder: RecorderOptions) -> NetworkBackend:
    endpoint = EndpointModel(
        delay_ps=inputs.system.scaled_endpoint_delay_ns * PS_PER_NS,
        reduction_bytes_per_ns=inputs.system.reduction_bytes_per_ns,
        rendezvous_bytes=RENDEZVOUS_BYTES if inputs.system.rendezvous else 0,
    )
    backend, config = request.backend, inputs.network
    if isinstance(backend, str):
        return create_backend(
            backend,
            config,
            endpoint,
            seed=request.seed,
            recorder=recorder,
            on_built=request.on_built,
            compatibility=inputs.compatibility,
        )
    if callable(backend):
        return backend(config, endpoint, request.seed, recorder, request.on_built)
    if backend.ranks != config.npus:
        raise InputError(f"the backend has {backend.ranks} NPUs, the network {config.npus}")
    return backend


def _run(driver: TrainingDriver, request: RunRequest, inputs: Inputs) -> AstraNs3Error | None:
    """Play to the end; the error that stopped it, if it is one of ours."""
    try:
        driver.run(request.limits)
    except KeyboardInterrupt:
        return Interrupted("interrupted")
    except InputError:
        raise
    except AstraNs3Error as error:
        return error
    except (Exception, SystemExit) as error:
        code = _users_code(request, inputs, error)
        if code is None:
            raise
        failed = HookFailed(f"{code} failed: {type(error).__name__}: {error}")
        failed.__cause__ = error
        return failed
    finally:
        if request.progress is not None:
            request.progress.finish()
    return None


def _users_code(request: RunRequest, inputs: Inputs, error: BaseException) -> str | None:
    """Whose code raised ``error``, if it is the user's: the congestion control's, with its line, or the hook's."""
    control = _own_control(inputs)
    if control is not None:
        for frame in reversed(traceback.extract_tb(error.__traceback__)):
            if Path(frame.filename).name == Path(control).name:
                return f"{control}:{frame.lineno}: the congestion control"
    return None if request.on_built is None else "the hook's code"


def _own_control(inputs: Inputs) -> str | None:
    """The file of a user's own congestion control, if there is one."""
    roce = inputs.network.roce if isinstance(inputs.network, NetworkConfig) else None
    own = None if roce is None else roce.congestion_control
    return own.path if isinstance(own, OwnControl) else None


def _statistics(network: NetworkBackend) -> Mapping[str, Any]:
    """Counters of a backend that has any; the contract doesn't ask for them."""
    count = getattr(network, "statistics", None)
    return dict(count()) if callable(count) else {}


def _switch_ports(network: NetworkBackend) -> Sequence[Mapping[str, Any]]:
    table = getattr(network, "switch_table", None)
    return list(table()) if callable(table) else []
