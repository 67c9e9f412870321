"""Two jobs that compute and send by turns over one line: which control lets them come to send one after the other.

Alone, an iteration is 2 ms of computation and the transfer. While both always send at once, each has half of the line,
so an iteration takes one more transfer.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import JsonValue

import astra_ns3
from astra_ns3 import ScenarioResult

INPUTS = Path(__file__).resolve().parents[2] / "inputs"
CONTROLS = INPUTS / "congestion-control"
JOB: dict[str, Any] = {
    "workload": str(INPUTS / "workload" / "periodic-all-reduce.txt"),
    "system": str(INPUTS / "system" / "flat.txt"),
}
PASSES = 20
SETTLED = 12
"""From this pass on the two have found their places."""
COMPUTED_US = 2000
LINE_US = 20e6 * 8 / 100e3


def iterations_us(*names: str, control: str) -> list[float]:
    """Return the mean time of the last passes of each job, which start 400 us after each other."""
    jobs: list[JsonValue] = [
        {**JOB, "name": name, "npus": [place, place + 2], "passes": PASSES, "start": f"{400 * place}us"}
        for place, name in enumerate(names)
    ]
    result = astra_ns3.run_scenario(
        network=INPUTS / "network" / "roce-dumbbell-4.yaml",
        scenario={"jobs": jobs},
        congestion_control=f"{CONTROLS / control}",
        record=["timeline"],
    )
    return [_iteration_us(result, name) for name in names]


def _iteration_us(result: ScenarioResult, name: str) -> float:
    ends = np.sort(result.tenants[name].collectives["end_us"].to_numpy())
    return float(np.diff(ends)[SETTLED:].mean())


def test_a_control_that_sees_iterations_comes_to_send_by_turns_and_one_that_does_not_takes_longer() -> None:
    """Source: S. Rajasekaran et al., "MLTCP", arXiv:2402.09589, without a bar of its own."""
    (alone,) = iterations_us("first", control="iterations.hpp:IterationControl")
    assert alone == pytest.approx(COMPUTED_US + LINE_US, rel=0.05)
    by_turns = iterations_us("first", "second", control="iterations.hpp:IterationControl")
    assert by_turns == pytest.approx([alone] * 2, rel=0.02)
    at_once = iterations_us("first", "second", control="additive.hpp:AdditiveControl")
    assert min(at_once) > 1.1 * alone
