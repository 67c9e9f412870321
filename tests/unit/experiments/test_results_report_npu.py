"""The tables of one NPU are those of any NPU asked for, and layers.parquet has every role."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.fake_backend import FakeBackend
from support.role_programs import pipeline, plain_workload
from support.small_run import NPUS, small_network, small_run, small_system
from support.system_parts import system
from support.training_driver import TrainingDriver

from astra_ns3 import run
from astra_ns3.errors import InputError
from astra_ns3.experiments.layer_table import write_layers
from astra_ns3.network.plan import NetworkPlan

PS_PER_US = 1_000_000


def _slow_network(*_: Any) -> FakeBackend:
    """NPU 2 sends slowly, so that no two NPUs have the same times."""
    return FakeBackend(NPUS, slowness={rank: 1 + rank for rank in range(NPUS)})


def _tree_run(report_npu: int, **options: Any) -> Any:
    keys = {f"{kind}-implementation": "doubleBinaryTree" for kind in ("all-reduce", "reduce-scatter", "all-gather")}
    arguments = {**small_run(), "system": small_system(**keys), "backend": _slow_network}
    return run(**arguments, report_npu=report_npu, **options)


@pytest.mark.parametrize("isolated", [False, True])
@pytest.mark.parametrize("npu", range(NPUS))
def test_the_tables_of_one_npu_are_those_of_the_npu_asked_for(npu: int, isolated: bool) -> None:
    if isolated and npu != 2:
        pytest.skip("one is enough")
    result = _tree_run(npu, isolated=isolated)
    own = result.npus.set_index("npu").loc[npu]
    first = result.end_to_end.iloc[0]
    assert (first["workload_finished_at_us"], first["total_comp_us"]) == (own["finish_us"], own["compute_us"])
    assert first["total_exposed_comm_us"] == pytest.approx(own["exposed_us"])
    backend = result.backend_end_to_end.iloc[0]
    assert (backend["CommsTime_us"], backend["ExposedCommsTime_us"]) == (own["finish_us"], own["exposed_us"])
    assert result.metadata["report_npu"] == npu
    assert result.metadata["exposed_ps"] == round(own["exposed_us"] * PS_PER_US)
    assert sum(layer["exposed_ps"] for layer in result.metadata["exposed_by_layer"]) == result.metadata["exposed_ps"]


def test_what_is_sent_is_that_of_the_npu_asked_for_and_adds_up_over_all() -> None:
    """In a tree of 4 the NPUs send different amounts; n-1 of n send their data up, and as many get it down."""
    mib = [_tree_run(npu).backend_end_to_end.iloc[0]["TotalPayloadSize_MiB"] for npu in range(NPUS)]
    assert len(set(mib)) > 1
    collectives = 4000 + 8000
    assert sum(mib) * 2**20 == pytest.approx(2 * (NPUS - 1) * collectives, abs=NPUS)


def test_details_are_those_of_the_npu_asked_for() -> None:
    details = [_tree_run(npu).detailed for npu in range(NPUS)]
    delays = {tuple(detail["network_delay_phase_1_us"]) for detail in details}
    assert len(delays) == NPUS


@pytest.mark.parametrize("report_npu", [NPUS, -1, True, "0", 1.0])
def test_an_npu_that_is_not_there_is_refused_and_nothing_is_written(report_npu: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"^report-npu is {report_npu!r}, expected"):
        run(**small_run(), report_npu=report_npu, output=tmp_path / "out")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("isolated", [False, True])
def test_layers_has_the_sums_of_every_part_of_the_npu_asked_for(isolated: bool, tmp_path: Path) -> None:
    result = _tree_run(3, record=["layers"], isolated=isolated, output=tmp_path / "out")
    assert "layers.parquet" in result.metadata["files"]
    table = result.layers
    assert set(table["role"]) == {"all"}
    assert set(table["npu"]) == {3}
    own = result.npus.set_index("npu").loc[3]
    assert table["compute_ps"].sum() == round(own["compute_us"] * PS_PER_US)
    assert table["exposed_ps"].sum() == round(own["exposed_us"] * PS_PER_US)
    for _, row in result.end_to_end.iterrows():
        parts = table[table["layer"] == row["layer_name"]].set_index("part")
        assert list(parts.index) == ["forward", "weight gradient", "input gradient", "tail"]
        assert parts.loc["weight gradient", "communication_ps"] == round(row["wg_total_comm_us"] * PS_PER_US)


def test_without_asking_there_is_no_such_file() -> None:
    with pytest.raises(InputError, match=r"there is no layers.parquet; was it recorded\?"):
        _ = run(**small_run()).layers


def test_layers_has_a_row_for_each_part_of_each_role(tmp_path: Path) -> None:
    driver = TrainingDriver(FakeBackend(4), system(), plain_workload(), 2, loop=pipeline(3, 2, 1000), report_npu=1)
    driver.run()
    write_layers(tmp_path / "layers.parquet", driver.records().roles)
    table = pd.read_parquet(tmp_path / "layers.parquet")
    assert dict(zip(table["role"], table["npu"], strict=True)) == {"first": 1, "last": 2}
    compute = table[table["compute_ps"] > 0].set_index(["role", "part"])["compute_ps"].to_dict()
    assert compute == {
        ("first", "forward"): 2 * 3 * 1_000_000,
        ("first", "weight gradient"): 2 * 3 * 2_000_000,
        ("last", "forward"): 2 * 3 * 1_000_000,
        ("last", "input gradient"): 2 * 3 * 2_000_000,
    }


def test_groups_have_the_exposed_time_of_the_npu_asked_for_whatever_its_role() -> None:
    found = []
    for npu in (1, 2):
        slow = FakeBackend(4, slowness={2: 5})
        driver = TrainingDriver(slow, system(), plain_workload(), 2, loop=pipeline(3, 2, 1000), report_npu=npu)
        driver.run()
        records = driver.records()
        assert sum(records.groups.values()) == records.npus[npu].exposed_ps
        found.append(records.npus[npu].exposed_ps)
    assert found[0] != found[1]


def test_a_file_of_layers_that_can_not_be_written_ends_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from astra_ns3.errors import ResultsNotSaved
    from astra_ns3.experiments import saving

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(saving, "write_layers", full)
    with pytest.raises(ResultsNotSaved, match=r"layers.parquet: No space left on device") as error:
        run(**small_run(), record=["layers"], output=tmp_path / "out")
    assert error.value.result.complete


def test_the_network_is_asked_for_no_table_of_messages_for_the_sake_of_layers() -> None:
    asked: list[bool] = []

    def factory(_plan: NetworkPlan, _seed: int, recorder: Any, _hook: object) -> FakeBackend:
        asked.append(recorder.flows)
        return FakeBackend(NPUS)

    run(**{**small_run(), "network": small_network(), "backend": factory}, record=["layers"])
    assert asked == [False]
