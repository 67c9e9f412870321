"""What a model's run says of what was exposed: nothing of it is missing in any table."""

from __future__ import annotations

from math import prod
from typing import Any

import pytest
from support.fake_backend import FakeBackend
from support.models import model_of
from support.training import training_system

from astra_ns3.experiments.astra_sim_tables import END_TO_END, astra_sim_tables
from astra_ns3.network.api import EndpointModel
from astra_ns3.network.records import RunRecords
from astra_ns3.playing.player.programs_driver import ProgramsDriver
from astra_ns3.playing.training.making import training_programs

EXPERTS = {"count": 8, "active": 2, "feed_forward": 64}
MODELS: dict[str, tuple[int, dict[str, Any], dict[str, Any]]] = {
    "data": (4, {}, {}),
    "ZeRO 1": (4, {}, {"zero": 1}),
    "ZeRO 3": (4, {}, {"zero": 3, "prefetch": 1}),
    "tensor, sequence and pipeline": (16, {}, {"tensor": 2, "sequence": True, "pipeline": 4, "zero": 1}),
    "context": (8, {}, {"context": 4}),
    "experts": (8, {"experts": EXPERTS}, {"tensor": 2, "expert": 4}),
    "a tied embedding": (8, {"tied_embeddings": True}, {"pipeline": 2}),
    "a parameter server": (5, {}, {"servers": 1}),
}
"""NPUs, keys of the model, keys of ``parallel``."""


def played(name: str, report_npu: int = 0) -> RunRecords:
    """A small model's two iterations; a message takes its bytes in ps, so that little of it is hidden."""
    npus, keys, parallel = MODELS[name]
    model = model_of(
        {
            "kind": "transformer",
            "name": "any",
            "model": {"layers": 4, "hidden": 64, "heads": 16, "vocabulary": 256, **keys},
            "training": {"sequence": 64, "micro_batches": 4, "recompute": "full"},
            "parallel": parallel,
            "compute": {"device": "H100", "launch_overhead": 0},
        }
    )
    programs = training_programs(model.plan(npus), model.clock(), 2, (npus,))
    network = FakeBackend(
        prod(programs.dimensions), message_ps=lambda bytes: 1000 + 10 * bytes, endpoint=EndpointModel(0)
    )
    driver = ProgramsDriver(network, training_system(1), programs, report_npu=report_npu)
    driver.run()
    return driver.records()


def _total_ps(rows: list[dict[str, Any]], what: str) -> int:
    return sum(round(1e6 * float(row[f"{of} {what}"])) for row in rows for of in ("fwd", "wg", "ig"))


@pytest.mark.parametrize("name", MODELS)
def test_the_columns_of_end_to_end_add_up_to_all_computing_and_all_exposed_time(name: str) -> None:
    for report_npu in (0, MODELS[name][0] - 1):
        records = played(name, report_npu)
        npu = records.npus[report_npu]
        table = next(table for table in astra_sim_tables(records, "x") if table.name == END_TO_END)
        rows = [dict(zip(table.header, row, strict=True)) for row in table.rows]
        assert npu.exposed_ps > 0
        assert (_total_ps(rows, "compute"), _total_ps(rows, "exposed comm")) == (npu.compute_ps, npu.exposed_ps)


def test_what_is_sent_of_gradients_weights_and_between_stages_stands_with_the_pass_that_it_belongs_to() -> None:
    records = played("tensor, sequence and pipeline", report_npu=8)
    table = next(table for table in astra_sim_tables(records, "x") if table.name == END_TO_END)
    rows = {str(row[0]): dict(zip(table.header, row, strict=True)) for row in table.rows}
    total = {name: [float(str(row[f"{of} total comm"])) for of in ("fwd", "wg", "ig")] for name, row in rows.items()}
    forward, weights, inputs = total["pipeline"]
    assert (forward > 0, weights, inputs > 0) == (True, 0, True)
    passes = {part: times.comm_ps for part, times in records.layers[3].parts.items()}
    assert passes["gradient"] > 0 < passes["weights"]
    assert total[records.layers[3].name][1] == (passes["gradient"] + passes["weights"]) / 1e6


GROUPS = {
    "data": {"gradient"},
    "ZeRO 1": {"gradient", "gradient, weights"},
    "ZeRO 3": {"gradient", "gradient, weights"},
    "tensor, sequence and pipeline": {"tensor", "pipeline", "gradient", "gradient, weights"},
    "context": {"context", "gradient"},
    "experts": {"tensor", "expert", "gradient"},
    "a tied embedding": {"pipeline", "gradient", "first and last stage"},
    "a parameter server": {"servers"},
}


@pytest.mark.parametrize("name", MODELS)
def test_exposed_time_by_group_is_all_of_it_on_the_npu_of_each_role(name: str) -> None:
    """Which kinds of groups there are follows from the degrees."""
    records = played(name)
    for role in records.roles:
        assert sum(role.groups.values()) == records.npus[role.npu].exposed_ps
        assert set(role.groups) <= GROUPS[name]
    assert {group for role in records.roles for group in role.groups} == GROUPS[name]
    assert records.groups == records.roles[0].groups
    assert list(records.groups.values()) == sorted(records.groups.values(), reverse=True)
