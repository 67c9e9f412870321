"""What can't end within the time that 64 bits of picoseconds hold is refused before it is played."""

from __future__ import annotations

import re
from contextlib import nullcontext
from typing import Any

import pytest
from support.fake_backend import FakeBackend
from support.graphs.small_graphs import SmallGraphs, compute
from support.small_run import NPUS, small_network, small_system

import astra_ns3
from astra_ns3 import Tenant
from astra_ns3.config.core.forever import FOREVER
from astra_ns3.config.flow_list import FlowList
from astra_ns3.errors import InputError
from astra_ns3.experiments.forecasting.end import check_end
from astra_ns3.experiments.options import Options
from astra_ns3.experiments.scenario_request import ScenarioRequest
from astra_ns3.experiments.tenant_inputs import load_tenants, parts_of
from astra_ns3.experiments.validate import validate
from astra_ns3.units import LARGEST_INTEGER, parse_time_ps
from astra_ns3.workload.files.astra_sim import parse_workload

LATE_PS = 6 * 10**18
# Forward and weight gradient of one layer: 4e18 ps each pass, of which two are below 2^63 and three above.
LONG = "DATA\n1\nfirst -1 2000000000000000 NONE 0 0 NONE 0 2000000000000000 ALLREDUCE 4000 0\n"


def test_computing_beyond_the_end_of_time_is_refused_by_validate_and_run() -> None:
    text = parse_workload(LONG, "long.txt")
    files: dict[str, Any] = {"workload": text, "system": small_system(), "network": small_network()}
    validate(**files, options=Options(passes=2))
    told = "^long.txt: NPU 0 computes for 12000000 s, which ends beyond 106 days, .*; use fewer passes, or shorter"
    with pytest.raises(InputError, match=told):
        validate(**files, options=Options(passes=3))
    with pytest.raises(InputError, match=told):
        astra_ns3.run(**files, passes=3, backend=FakeBackend(NPUS))


def test_computing_of_any_npu_of_a_trace_beyond_the_end_of_time_is_refused_by_validate_and_run() -> None:
    """Two computations of NPU 2 on its device, of 5e18 ps each, go one after the other."""
    long_us = 5 * 10**12
    rank = compute(1, long_us), compute(2, long_us)
    files: dict[str, Any] = {"system": small_system(), "network": small_network()}
    told = "^small: NPU 2 computes for 10000000 s, which ends beyond 106 days, .*; use shorter computations$"
    graphs = SmallGraphs(((), (compute(1, 5),), rank, *[()] * (NPUS - 3)))
    with pytest.raises(InputError, match=told):
        validate(graphs, **files)
    with pytest.raises(InputError, match=told):
        astra_ns3.run(workload=graphs, **files, backend=FakeBackend(NPUS))


def test_computing_of_a_device_beside_that_of_its_host_may_be_as_long() -> None:
    long_us = 5 * 10**12
    rank = compute(1, long_us), compute(2, long_us, on_host=True)
    graphs = SmallGraphs((rank, *[()] * (NPUS - 1)))
    validate(graphs, small_system(), small_network())


def test_a_flow_that_starts_too_late_for_its_data_is_refused_with_its_start() -> None:
    starts = [0, LARGEST_INTEGER - 10**9]
    run: dict[str, Any] = {"system": small_system(), "network": small_network()}
    validate(FlowList.of([0, 1], [1, 2], [1, 1], starts, source="flows.csv"), **run)
    flows = FlowList.of([0, 1], [1, 2], [10**15, 10**15], starts, source="flows.csv")
    told = (
        r"^flows.csv: flow 1 starts at 9223372 s and sends 1000 TB, which ends .*; expected an earlier start, or less"
    )
    with pytest.raises(InputError, match=told):
        validate(flows, **run)
    with pytest.raises(InputError, match=told):
        astra_ns3.run(workload=flows, **run, backend=FakeBackend(NPUS))


@pytest.mark.parametrize(
    ("times", "refused"),
    [
        ({}, False),
        ({"start_ps": LATE_PS}, True),
        ({"start_ps": LATE_PS, "end_ps": LATE_PS + 1}, False),
        ({"passes": 3}, True),
        ({"passes": FOREVER}, False),
    ],
)
def test_of_a_scenario_jobs_count_that_play_to_their_end(times: dict[str, Any], refused: bool) -> None:
    plain = Tenant("b", [2, 3], parse_workload(LONG), small_system())
    tenants = [Tenant("a", [0, 1], parse_workload(LONG, "long.txt"), small_system(), **times), plain]
    request = ScenarioRequest(network=small_network(), tenants=tenants)
    parts = parts_of(request, load_tenants(request))
    with pytest.raises(InputError, match=r"^long.txt: NPU 0 computes for ") if refused else nullcontext():
        check_end(parts)


def test_a_time_that_is_too_late_is_told_in_days() -> None:
    with pytest.raises(InputError, match=re.escape(f"the most is {LARGEST_INTEGER} ps (106 days)")):
        parse_time_ps("9300000s")
