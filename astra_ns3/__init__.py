"""Training loops on packet-level networks: ASTRA-sim's system model over ns-3's TCP and over RoCE.

What is public is loaded when first used, so that ``import astra_ns3`` stays free of ns-3, pandas
and pyarrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from astra_ns3.experiments.result import Result as Result
    from astra_ns3.experiments.run import run as run
    from astra_ns3.report.comparison.compare import compare as compare
    from astra_ns3.report.explanation.explain import explain as explain
    from astra_ns3.studies.result import StudyResult as StudyResult
    from astra_ns3.studies.run_study import study as study

    __version__: str

__all__ = ["Result", "StudyResult", "__version__", "compare", "explain", "run", "study"]


def __getattr__(name: str) -> object:
    """Load a public name on first use (PEP 562)."""
    if name == "run":
        from astra_ns3.experiments.run import run

        return run
    if name == "explain":
        from astra_ns3.report.explanation.explain import explain

        return explain
    if name == "Result":
        from astra_ns3.experiments.result import Result

        return Result
    if name == "compare":
        from astra_ns3.report.comparison.compare import compare

        return compare
    if name == "study":
        from astra_ns3.studies.run_study import study

        return study
    if name == "StudyResult":
        from astra_ns3.studies.result import StudyResult

        return StudyResult
    if name == "__version__":
        from astra_ns3.experiments.versions import package_version

        return package_version()
    raise AttributeError(f"module 'astra_ns3' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
