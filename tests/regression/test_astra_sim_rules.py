"""ASTRA-sim 1.0's rules on training loops of our own, against an oracle written from these rules alone.

Finish times and every cell of the layers' table, to the nanosecond, on the analytical backend. The oracle meets what
was measured with ASTRA-sim's own workloads, too, as far as it is beside this repository.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from support.astra_sim_runs import LOOPS, loop_run

import astra_ns3

SEEDS = range(6)
TOLERANCE_NS = 1e-3
"""Tables have microseconds as doubles."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("loop", LOOPS)
def test_a_loop_is_met_to_the_nanosecond(loop: str, seed: int, tmp_path: Path) -> None:
    run = loop_run(loop, seed)
    files = run.write(tmp_path)
    result = astra_ns3.run(
        workload=files.workload,
        system=files.system,
        network=files.network,
        passes=run.passes,
        backend="analytical",
        compat="astra-sim-1.0",
        output=tmp_path / "out",
    )
    assert result.finish_ns == run.outcome.finish_ns
    with (tmp_path / "out" / "EndToEnd.csv").open(encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    for number, row in enumerate(rows):
        times = (run.outcome.compute_ns, run.outcome.exposed_ns, run.outcome.total_ns)
        expected = [time[number, name] for time in times for name in "fwi"]
        assert [1000 * float(cell) for cell in row[2:11]] == pytest.approx(expected, abs=TOLERANCE_NS)
