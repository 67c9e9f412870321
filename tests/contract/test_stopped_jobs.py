"""Jobs that are stopped as was asked, at their end or with the others, are explained as runs that a limit stops."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.small_run import small_network, small_system, small_workload

import astra_ns3
from astra_ns3 import ScenarioResult, Tenant
from astra_ns3.config.core.forever import FOREVER
from astra_ns3.config.flow_list import FlowList
from astra_ns3.errors import InputError, LimitReached
from astra_ns3.frozen import replace
from astra_ns3.network.api import Limits
from astra_ns3.report.explanation.explain import explain
from astra_ns3.report.explanation.explanation import Explanation
from astra_ns3.report.explanation.parts import STOPPED, Segment
from astra_ns3.report.page.page import report_page

NPUS = 8
BACKENDS = ["ns3", "flow"]
US = 1_000_000
SHARES = (7, 5, 3, 2)
"""A job is stopped after so many parts of its time."""


def job(name: str, first: int, **more: Any) -> Tenant:
    return Tenant(name, range(first, first + 4), small_workload(), small_system(), **more)


def play(folder: Path, backend: str, jobs: Sequence[Tenant], **options: Any) -> ScenarioResult:
    network = small_network(npus=NPUS)
    return astra_ns3.run_scenario(
        network=network, tenants=jobs, backend=backend, record=["all"], output=folder, **options
    )


def limited(folder: Path, backend: str, jobs: Sequence[Tenant], at_ps: int) -> ScenarioResult:
    with pytest.raises(LimitReached) as raised:
        play(folder, backend, jobs, limits=Limits(simulated_ps=at_ps))
    assert isinstance(raised.value.result, ScenarioResult)
    return raised.value.result


def links(found: Explanation) -> list[Segment]:
    """The chain without the rows of its operations, whose order in the table is the backend's."""
    return [replace(each, operation=-1) for each in found.segments]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("share", SHARES)
def test_a_job_that_its_end_stops_has_the_chain_of_one_that_a_limit_stops(
    share: int, backend: str, tmp_path: Path
) -> None:
    at_ps = play(tmp_path / "whole", backend, [job("a", 0, passes=2)]).finish_ps // share
    run = play(tmp_path / "end", backend, [job("a", 0, passes=2, end_ps=at_ps)]).tenants["a"]
    expected = explain(limited(tmp_path / "limit", backend, [job("a", 0, passes=2)], at_ps).tenants["a"])
    found = explain(run)
    assert (found.subject, found.time_ps) == ("run a, which was stopped before its end", at_ps)
    assert links(found) == links(expected)
    assert found.segments[-1].kind == STOPPED
    assert "the rest of the run, which was stopped: the job was ended by its end" in found.missing
    assert explain(run, iteration=0).segments == found.segments
    assert found.document()["subject"] == found.subject
    assert "stopped before its end" in report_page([run], {})
    assert "<small>the job was ended by its end</small>" in report_page([run], {})


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_job_that_the_others_stop_tells_of_no_end_of_a_collective_that_had_none(backend: str, tmp_path: Path) -> None:
    result = play(tmp_path / "run", backend, [job("a", 0), job("noise", 4, passes=FOREVER, start_ps=3 * US)])
    noise = result.tenants["noise"]
    found = explain(noise)
    assert found.segments[-1].kind == STOPPED
    assert "the rest of the run, which was stopped: the job was ended by others" in found.missing
    assert not found.what_ifs
    assert any(words.startswith("what may help: the job's end isn't that of its programs") for words in found.missing)
    assert explain(noise, iteration=0).what_ifs
    assert explain(result.tenants["a"]).what_ifs
    unended = noise.collectives[noise.collectives["end_us"].isna()]["collective"].tolist()
    assert unended
    for number in unended:
        with pytest.raises(InputError, match=f"collective {number} had not ended when the run was stopped"):
            explain(noise, collective=number)


def test_flows_that_are_stopped_have_no_passes_that_could_be_explained(tmp_path: Path) -> None:
    flows = Tenant("flows", range(4, 8), FlowList.of([0, 0], [1, 1], [1000, 1000], [0, 10**12]), small_system())
    result = play(tmp_path / "run", "flow", [job("a", 0), replace(flows, end_ps=3 * US)])
    (words,) = (words for words in explain(result.tenants["flows"]).missing if words.startswith("what may help"))
    assert words == "what may help: the job's end isn't that of its programs"


def test_a_job_that_did_end_and_one_of_an_older_file_are_explained_as_before(tmp_path: Path) -> None:
    result = play(tmp_path / "run", "flow", [job("a", 0, end_ps=10**12), job("noise", 4, passes=FOREVER)])
    whole = explain(result.tenants["a"])
    assert (whole.subject, STOPPED in whole.kinds) == ("run a", False)
    assert not any("was stopped" in words for words in whole.missing)
    path = tmp_path / "run" / "job-noise" / "run.json"
    told = json.loads(path.read_text(encoding="utf-8"))
    del told["job"]["ended_by"]
    path.write_text(json.dumps(told), encoding="utf-8")
    assert explain(astra_ns3.Result.load(path.parent)).subject == "run noise"
