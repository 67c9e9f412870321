"""The numbers of a run that a study's table has a column for."""

from __future__ import annotations

from astra_ns3.experiments.result import Result
from astra_ns3.studies.task import Measure


def measures_of(result: Result) -> dict[str, Measure]:
    """Each measure by name; None where the run has no such number."""
    return {"finish_us": result.metadata["finish_ps"] / 1e6}
