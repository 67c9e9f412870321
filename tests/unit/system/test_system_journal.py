"""What every NPU does and when: without gaps, as the totals have it, and the same from a child of its own."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from support.small_run import small_run

import astra_ns3
from astra_ns3.config.core.compatibility import PRESETS
from astra_ns3.errors import InputError, LimitReached
from astra_ns3.network.api import Limits
from astra_ns3.workload.files.astra_sim import parse_workload
from astra_ns3.workload.loops.loop_kinds import TEXT_LOOPS

TAKES_TIME = ("compute", "wait", "step")
LAYERS = "a -1 300 ALLGATHER 4000 200 ALLREDUCE 9000 100 REDUCESCATTER 5000 50\n"


def recorded(tmp_path: Path, loop: str = "DATA", **options: object) -> astra_ns3.Result:
    """A run of two layers and two passes."""
    head = f"{loop} model_parallel_NPU_group: 2\n" if loop.startswith("HYBRID_DATA_MODEL") else f"{loop}\n"
    workload = parse_workload(f"{head}2\n{LAYERS}{LAYERS.replace('a', 'b', 1)}", "two")
    arguments = {**small_run(), "workload": workload, "passes": 2, "output": tmp_path / "out", "record": ["timeline"]}
    return astra_ns3.run(**{**arguments, **options})


def check(result: astra_ns3.Result) -> None:
    """The tables fit each other and the totals."""
    operations, phases = result.operations, result.phases
    for npu, rows in operations[operations["kind"].isin(TAKES_TIME)].groupby("npu"):
        assert rows["start_ps"].iloc[0] == 0
        assert (rows["start_ps"].iloc[1:].to_numpy() == rows["end_ps"].iloc[:-1].to_numpy()).all()
        took = (rows["end_ps"] - rows["start_ps"]).groupby(rows["kind"].astype(str)).sum()
        totals = result.npus.set_index("npu").loc[npu]
        assert rows["end_ps"].iloc[-1] == round(totals["finish_us"] * 1e6)
        assert took.get("compute", 0) == round(totals["compute_us"] * 1e6)
        assert took.get("wait", 0) + took.get("step", 0) == round(totals["exposed_us"] * 1e6)
    collectives = result.collectives.set_index("collective")
    assert (phases["queued_ps"] <= phases["start_ps"]).all()
    assert (phases["start_ps"] <= phases["end_ps"]).all()
    assert phases.groupby("collective")["chunk"].nunique().to_dict() == collectives["chunks"].to_dict()
    assert not phases.duplicated(["npu", "collective", "chunk", "phase"]).any()
    ends = phases.groupby("collective")["end_ps"].max()
    assert (ends == (collectives["end_us"] * 1e6).round()).all()
    issued = operations[operations["kind"] == "issue"].groupby("collective")["start_ps"].min()
    assert (issued == (collectives["start_us"] * 1e6).round()).all()


@pytest.mark.parametrize(
    "loop", [name for name in TEXT_LOOPS if not name.endswith(("DLRM", "TRANSFORMER_FWD_IN_BCKWD"))]
)
def test_on_every_npu_operations_follow_each_other_and_add_up_to_its_totals(loop: str, tmp_path: Path) -> None:
    try:
        result = recorded(tmp_path, loop)
    except InputError as error:
        pytest.skip(str(error))
    check(result)


def test_the_steps_of_another_simulator_are_there(tmp_path: Path) -> None:
    result = recorded(tmp_path, compat="astra-sim-1.0")
    check(result)
    assert (result.operations["kind"] == "step").any() == bool(PRESETS["astra-sim-1.0"].step_tick_ns)


def test_a_child_writes_the_same(tmp_path: Path) -> None:
    here, there = recorded(tmp_path / "here"), recorded(tmp_path / "there", isolated=True)
    for name in ("operations", "phases"):
        pd.testing.assert_frame_equal(getattr(here, name), getattr(there, name))


def test_what_goes_on_when_a_run_is_stopped_ends_then(tmp_path: Path) -> None:
    with pytest.raises(LimitReached) as stopped:
        recorded(tmp_path, limits=Limits(simulated_ps=600_000))
    result = stopped.value.result
    assert isinstance(result, astra_ns3.Result)
    assert result.operations["end_ps"].max() == result.finish_ps
    assert set(result.operations["npu"]) == set(result.npus["npu"])


def test_results_are_the_same_without(tmp_path: Path) -> None:
    recorded(tmp_path / "with")
    recorded(tmp_path / "without", record=[])
    for name in ("npus.csv", "collectives.csv", "EndToEnd.csv"):
        one, other = (tmp_path / each / "out" / name for each in ("with", "without"))
        assert one.read_bytes() == other.read_bytes()
