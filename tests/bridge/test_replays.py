"""What a replay of a model tells of faster lines and NPUs is what runs with these save."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.studies import INPUTS

import astra_ns3
from astra_ns3.config.core.plain import JsonObject
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.report.explanation.explain import explain
from astra_ns3.report.explanation.recorded import at_once, in_turn


def small_model(folder: Path, parallel: JsonObject, times: int = 1, **options: Any) -> astra_ns3.Result:
    """A transformer of four layers on two servers of four NPUs; ``times``: so many times as fast are all lines."""
    shape: JsonObject = {"layers": 4, "hidden": 1024, "heads": 16, "kv_heads": 4, "gated": True, "vocabulary": 8000}
    if "expert" in parallel:
        shape |= {"experts": {"count": 8, "active": 2, "feed_forward": 1024}}
    model = {"kind": "transformer", "name": "small", "compute": "H100", "model": shape, "parallel": parallel}
    model |= {"training": {"sequence": 1024, "micro_batch": 1, "micro_batches": 4, "datatype": "bfloat16"}}
    (folder / "model.yaml").write_text(json.dumps(model), encoding="utf-8")
    inside, outside = ({"rate": f"{rate * times}Gbps", "delay": "500ns"} for rate in (2400, 200))
    switch = {"buffer": "64MB", "pfc": {}}
    spine = {"kind": "leaf-spine", "leaves": 1, "spines": 1, "hosts_per_leaf": 8, "link": outside, "uplink": outside}
    topology = {"kind": "hierarchical", "nodes": 2, "npus_per_node": 4, "scale_out": spine | {"switch": switch}}
    topology |= {"scale_up": {"link": inside, "switch": switch}}
    return astra_ns3.run(
        workload=folder / "model.yaml",
        system=INPUTS / "system/hier.txt",
        network=parse_network({"topology": topology, "transport": {"kind": "roce", "payload": 4096}}),
        backend="flow",
        **options,
    )


@pytest.mark.parametrize(
    "parallel",
    [
        pytest.param({"expert": 4}, id="collectives that NPUs find ended"),
        pytest.param({"context": 2, "zero": 2}, id="messages behind those of collectives"),
    ],
)
def test_a_replay_tells_what_faster_lines_and_npus_save_of_a_model(parallel: JsonObject, tmp_path: Path) -> None:
    before = small_model(tmp_path, parallel, record=["timeline", "accounts"], output=tmp_path / "out")
    told = {each.change: each.time_ps / before.finish_ps for each in explain(before).what_ifs}
    for change, after in (
        ("with lines twice as fast", small_model(tmp_path, parallel, 2)),
        ("with NPUs that compute twice as fast", small_model(tmp_path, parallel, compute_scale=0.5)),
    ):
        assert told.get(change, 0) == pytest.approx(1 - after.finish_ps / before.finish_ps, abs=0.02)


def test_phases_pass_a_line_in_the_order_of_their_starts() -> None:
    """The second and the last wait for the one before them, the third finds the line idle."""
    starts, ends = np.array([0, 1, 10, 11]), np.array([4, 6, 12, 17])
    assert in_turn(starts, ends).tolist() == [4, 2, 2, 5]
    assert in_turn(starts[::-1], ends[::-1]).tolist() == [5, 2, 2, 4]
    assert (at_once(starts, ends), at_once(starts[[0, 2]], ends[[0, 2]])) == (2, 1)
    assert at_once(np.array([0, 4]), np.array([4, 8])) == 1
