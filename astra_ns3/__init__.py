"""Training loops on packet-level networks: ASTRA-sim's system model over ns-3's TCP and over RoCE.

Public names are loaded when first used, so that ``import astra_ns3`` stays free of ns-3, pandas
and pyarrow.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from astra_ns3.config.core.forever import FOREVER as FOREVER
    from astra_ns3.experiments.calls import forecast_scenario as forecast_scenario
    from astra_ns3.experiments.calls import run as run
    from astra_ns3.experiments.calls import run_scenario as run_scenario
    from astra_ns3.experiments.explaining import explain as explain
    from astra_ns3.experiments.result import Result as Result
    from astra_ns3.experiments.scenario_result import ScenarioResult as ScenarioResult
    from astra_ns3.report.comparison.compare import compare as compare
    from astra_ns3.scenario.tenant import After as After
    from astra_ns3.scenario.tenant import Tenant as Tenant
    from astra_ns3.studies.result import StudyResult as StudyResult
    from astra_ns3.studies.run_study import study as study

    __version__: str

# In which module each public name is.
_PLACES = {
    "Result": "experiments.result",
    "ScenarioResult": "experiments.scenario_result",
    "StudyResult": "studies.result",
    "After": "scenario.tenant",
    "FOREVER": "config.core.forever",
    "Tenant": "scenario.tenant",
    "compare": "report.comparison.compare",
    "explain": "experiments.explaining",
    "forecast_scenario": "experiments.calls",
    "run": "experiments.calls",
    "run_scenario": "experiments.calls",
    "study": "studies.run_study",
}
__all__ = [
    "FOREVER",
    "After",
    "Result",
    "ScenarioResult",
    "StudyResult",
    "Tenant",
    "__version__",
    "compare",
    "explain",
    "forecast_scenario",
    "run",
    "run_scenario",
    "study",
]


def __getattr__(name: str) -> object:
    """Load a public name on first use (PEP 562)."""
    if name in _PLACES:
        return getattr(import_module(f"astra_ns3.{_PLACES[name]}"), name)
    if name == "__version__":
        from astra_ns3.experiments.versions import package_version

        return package_version()
    raise AttributeError(f"module 'astra_ns3' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
