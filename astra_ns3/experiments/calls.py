"""``run``, ``run_scenario`` and ``forecast_scenario``, made of what their requests declare."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

from astra_ns3.config.compute_slowdown import ComputeSlowdown
from astra_ns3.config.network.file import AnyNetwork
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import InputError
from astra_ns3.experiments.forecasting.forecast import Forecast
from astra_ns3.experiments.isolated.launching import forked
from astra_ns3.experiments.option import function_of
from astra_ns3.experiments.progress import ProgressSink
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.result import Result
from astra_ns3.experiments.run import execute
from astra_ns3.experiments.scenario_request import ScenarioRequest
from astra_ns3.experiments.scenario_result import ScenarioResult
from astra_ns3.experiments.servers.session import served
from astra_ns3.experiments.validate import forecast_of
from astra_ns3.network.api import NetworkBackend
from astra_ns3.network.backend_makers import Factory
from astra_ns3.workload.files.workload_formats import AnyWorkload

_TYPES = (ComputeSlowdown, SystemConfig, ProgressSink, NetworkBackend)
_NAMES = {
    **{kind.__name__: kind for kind in _TYPES},
    "AnyNetwork": AnyNetwork,
    "AnyWorkload": AnyWorkload,
    "Factory": Factory,
}
"""Names in the types of options, which help does without."""
Asked = ParamSpec("Asked")
Found = TypeVar("Found", bound=Result)

_RAISES = """Raises:
    InputError: something given is wrong; nothing was written.
    SimulationStalled, LimitReached, BackendError, Interrupted: the run stopped; what it did by then is in
        ``output``, marked incomplete, and in the error's ``result``.
    ResultsNotSaved: the run was played, but its files could not be written whole; the error's ``result`` has its
        tables.
"""


def _result_of(request: RunRequest, result: type[Found]) -> Found:
    """Return what a run came to; raises its error, with what the run did by then in the error's ``result``."""
    try:
        outcome = execute(request, launcher=served if request.isolated is None else forked)
    except InputError as error:
        raise error.with_traceback(None) from error.__cause__  # where it was noticed tells nothing
    if outcome.error is not None:
        outcome.error.result = outcome.result
        raise outcome.error
    assert isinstance(outcome.result, result)
    return outcome.result


def run_of(
    request: Callable[Asked, RunRequest], result: type[Found], name: str, summary: str
) -> Callable[Asked, Found]:
    """Return the function ``name`` that plays a request made of its arguments; ``request`` is a class of them."""
    return function_of(request, partial(_result_of, result=result), name, result, summary, _RAISES, _NAMES)


run = run_of(RunRequest, Result, "run", "Play a training loop over a network and return its times and tables.")
run_scenario = run_of(
    ScenarioRequest,
    ScenarioResult,
    "run_scenario",
    "Play several tenants over one network and return the times and tables of each.",
)


forecast_scenario = function_of(
    ScenarioRequest,
    forecast_of,
    "forecast_scenario",
    Forecast,
    "Return what a run of several tenants will send, and a guess of its time and memory; plays nothing.",
    "Raises:\n    InputError: something given is wrong.\n",
    _NAMES,
)
