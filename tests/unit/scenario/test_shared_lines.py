"""The warning of jobs that share lines, where flows are unlike packets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from support.small_run import small_system, small_workload

from astra_ns3 import Tenant
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.config.scenario.placement import Placement
from astra_ns3.experiments.scenario_request import ScenarioRequest
from astra_ns3.experiments.tenant_inputs import load_tenants
from astra_ns3.frozen import replace
from astra_ns3.network.plan import NetworkPlan, plan_network
from astra_ns3.scenario import shared_lines
from astra_ns3.scenario.scenario import Tenancy
from astra_ns3.scenario.shared_lines import Lines, sharing
from astra_ns3.scenario.tenant import After, Restart

WARNING = "'a' and 'b' may share lines, where times on flows may be far too long or too short; use --backend ns3"


def leaf_spine(control: str) -> NetworkConfig:
    link = {"rate": "100Gbps", "delay": "500ns"}
    topology = {"kind": "leaf-spine", "leaves": 3, "spines": 2, "hosts_per_leaf": 4, "link": link}
    transport = {"kind": "roce", "congestion_control": control}
    return parse_network({"topology": {**topology, "switch": {"buffer": "64MB", "pfc": {}}}, "transport": transport})


CONTROLLED = leaf_spine("timely")


def warned(
    a: Sequence[int],
    b: Sequence[int] | Placement,
    network: NetworkConfig = CONTROLLED,
    backend: str = "flow",
    **keys: Any,
) -> list[str]:
    tenants = [
        Tenant("a", a, small_workload(), small_system()),
        Tenant("b", b, small_workload(), small_system(), **keys),
    ]
    found = load_tenants(ScenarioRequest(tenants=tenants, network=network, backend=backend))
    return [words for inputs in found for words in inputs.warnings if "share lines" in words]


@pytest.mark.parametrize(
    ("a", "b", "share"),
    [
        ([0, 4], [1, 5], True),
        ([0, 4], [1, 8], True),  # up from leaf 0
        ([0, 8], [4, 9], True),  # down to leaf 2
        ([0, 1], [2, 3], False),
        ([0, 1, 4, 5], [8, 9, 10], False),
        ([0, 4], [1, 2], False),
    ],
)
def test_jobs_are_told_that_have_ways_over_one_line(a: list[int], b: list[int], share: bool) -> None:
    assert warned(a, b) == [WARNING] * share


def test_jobs_are_not_told_where_flows_are_like_packets_or_where_one_follows_the_other() -> None:
    a, b = [0, 4], [1, 5]
    assert not warned(a, b, backend="ns3")
    assert not warned(a, b, leaf_spine("none"))  # where flows meet in queues
    assert not warned(a, b, after=After("a"))
    assert warned(a, b, after=After("a", 1)) == [WARNING]


@pytest.mark.parametrize(
    ("of_a", "of_b", "of_c", "share"),
    [
        ({}, {"after": After("a")}, {"after": After("b")}, False),
        ({}, {"after": After("a")}, {"after": After("b", 1)}, False),  # which has started by then
        ({}, {"after": After("a", 1)}, {"after": After("b")}, True),
        ({}, {"after": After("a"), "end_ps": 5}, {"after": After("b")}, True),  # b may end before it starts
        ({"end_ps": 5}, {}, {"start_ps": 5}, False),
        ({"end_ps": 5}, {}, {"start_ps": 4}, True),
        ({"end_ps": 5}, {"start_ps": 6}, {"after": After("b", 1)}, False),
        ({"end_ps": 5}, {"start_ps": 4}, {"after": After("b"), "start_ps": 1}, False),
        ({"end_ps": 6}, {"start_ps": 4}, {"after": After("b"), "start_ps": 1}, True),
        ({"end_ps": 5}, {}, {"after": After("a", 1), "start_ps": 5}, False),
        ({"end_ps": 5}, {}, {"after": After("a", 1), "start_ps": 4}, True),
    ],
)
def test_jobs_that_never_play_at_a_time_share_no_lines(
    of_a: dict[str, Any], of_b: dict[str, Any], of_c: dict[str, Any], share: bool
) -> None:
    npus_and_times = {"a": ([0, 4], of_a), "b": ([8, 9], of_b), "c": ([1, 5], of_c)}
    tenants = [
        Tenant(name, npus, small_workload(), small_system(), **times) for name, (npus, times) in npus_and_times.items()
    ]
    found = load_tenants(ScenarioRequest(tenants=tenants, network=CONTROLLED, backend="flow"))
    expected = [WARNING.replace("'b'", "'c'")] * share
    assert [words for inputs in found for words in inputs.warnings if "share lines" in words] == expected


def test_lines_are_looked_for_once_for_each_job_until_two_share_one(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[set[int]] = []

    def found(_: NetworkPlan, hosts: set[int]) -> Lines:
        asked.append(hosts)
        return {(host % 4, 0) for host in hosts}

    monkeypatch.setattr(shared_lines, "_lines", found)
    plan, plays = plan_network(CONTROLLED), [(0,), (1,), (2,), (5,), (6,), (7,)]
    tenants = [Tenancy(f"job {npus[0]}", npus, 0, (1,), None) for npus in plays]
    assert sharing(plan, tenants) == ("job 1", "job 5")
    assert asked == [{0}, {1}, {2}, {5}, {6}, {7}]
    assert sharing(plan, [tenants[1], tenants[3], tenants[4]]) == ("job 1", "job 5")
    assert asked[6:] == [{1}, {5}]
    assert sharing(plan, [tenants[0], replace(tenants[4], after=After("job 0"))]) is None
    assert len(asked) == 8


def test_jobs_that_arrive_are_told_without_names_as_nobody_knows_their_npus() -> None:
    assert warned([0, 4], Placement.model_validate({"place": "packed", "count": 2}), arrives=True) == [
        WARNING.replace("'a' and 'b'", "jobs that arrive")
    ]


@pytest.mark.parametrize(
    ("control", "changed", "told"),
    [
        ("none", {"delay": "501ns"}, " as the network changes (by -46% to +68% in 24 drawn pairs)"),
        ("timely", {"delay": "501ns"}, ""),
        ("none", {"rate": "99%"}, None),
        ("none", {"delay": "500ns"}, None),
    ],
)
def test_jobs_are_told_that_changes_of_the_network_cost_their_times_what_queues_would_tell(
    control: str, changed: dict[str, str], told: str | None
) -> None:
    """The change comes after all else; a congestion control lets flows meet in no queues in any case.

    Queues play changes of rates, too; an event that says what is so anyway changes nothing.
    """
    events: Any = [{"at": "10s", "link": ["leaf 0", "spine 0"], **changed, "for": "3ms"}]
    tenants = [Tenant(name, npus, small_workload(), small_system()) for name, npus in (("a", [0, 4]), ("b", [1, 5]))]
    request = ScenarioRequest(scenario={"events": events}, tenants=tenants, network=leaf_spine(control), backend="flow")
    found = [words for inputs in load_tenants(request) for words in inputs.warnings if "share lines" in words]
    assert found == ([] if told is None else [WARNING.replace("too short;", f"too short{told};")])


@pytest.mark.parametrize("jobs", [1, 2])
def test_only_a_job_that_arrives_beside_others_is_told_of(jobs: int) -> None:
    place = Placement.model_validate({"place": "packed", "count": 2})
    tenants = [Tenant(name, place, small_workload(), small_system(), arrives=True) for name in "ab"[:jobs]]
    tenants[0] = replace(tenants[0], restart=Restart(1, 2))
    found = load_tenants(ScenarioRequest(tenants=tenants, network=CONTROLLED, backend="flow"))
    told = [words for inputs in found for words in inputs.warnings if "share lines" in words]
    assert told == [WARNING.replace("'a' and 'b'", "jobs that arrive")] * (jobs - 1)
