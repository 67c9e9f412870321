"""Switches that reduce for several jobs, and what they stand against."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import astra_ns3
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.errors import BackendError, InputError, SimulationStalled
from astra_ns3.experiments.scenario_request import ScenarioRequest
from astra_ns3.experiments.scenario_view import view_scenario
from astra_ns3.report.timeline.timeline import write_timeline
from astra_ns3.scenario.failures import NAMED
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.measures import measure

INPUTS = Path(__file__).resolve().parents[2] / "inputs"
NETWORK: dict[str, Any] = {
    "topology": {
        "kind": "leaf-spine",
        "leaves": 4,
        "spines": 2,
        "hosts_per_leaf": 4,
        "link": {"rate": "100Gbps", "delay": "500ns"},
        "switch": {"buffer": "64MB", "pfc": {}, "reduction": {}},
    },
    "transport": {"kind": "roce", "payload": 4096, "congestion_control": "none"},
}
ALL_REDUCE = str(INPUTS / "workload" / "micro-all-reduce.txt")
SHARP = str(INPUTS / "system" / "sharp.yaml")


def job(name: str, npus: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "workload": ALL_REDUCE, "system": SHARP, "npus": npus, **more}


def played(folder: Path, *jobs: dict[str, Any], network: dict[str, Any] = NETWORK, **more: Any) -> Any:
    """Return the result of a scenario with these jobs, each a thirty-second of a MiB."""
    folder.mkdir()
    for name, content in (("network", network), ("scenario", {"network": "network.json", "jobs": jobs, **more})):
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return astra_ns3.run_scenario(
        scenario=folder / "scenario.json", comm_scale=1 / 32, output=folder / "run", record=["flows"], isolated=False
    )


def recorded(
    network: Path, folder: Path, record: Sequence[str] = ("accounts", "timeline"), **more: Any
) -> astra_ns3.Result:
    """Return a run of the all-reduce alone, by default with what explanations read."""
    return astra_ns3.run(
        workload=ALL_REDUCE,
        system=SHARP,
        network=network,
        output=folder / "run",
        comm_scale=1 / 32,
        record=record,
        isolated=False,
        **more,
    )


def test_jobs_on_leaves_and_spines_of_their_own_are_as_alone(tmp_path: Path) -> None:
    first, second = job("first", [0, 1, 4, 5]), job("second", [8, 9, 12, 13])
    together, alone = played(tmp_path / "both", first, second), played(tmp_path / "alone", first)
    for name in ("flows.parquet", "collectives.csv", "EndToEnd.csv"):
        both, one = (tmp_path / folder / "run" / "job-first" / name for folder in ("both", "alone"))
        assert both.read_bytes() == one.read_bytes()
    flows = together.tenants["second"].flows
    # Leaves 2 and 3, and the other spine than the first job's: behind the network's 16 NPUs.
    assert set(flows["source"]) == set(flows["destination"]) == {0, 1, 2, 3, 16 + 2, 16 + 3, 16 + 5}
    assert set(alone.tenants["first"].flows["source"]) == {0, 1, 2, 3, 16, 17, 16 + 4}


def test_jobs_on_one_leaf_have_parts_of_its_switch(tmp_path: Path) -> None:
    result = played(tmp_path / "both", job("first", [0, 1]), job("second", [2, 3]))
    for name in ("first", "second"):
        flows = result.tenants[name].flows
        assert set(flows["destination"]) == {0, 1, 16}
        assert (flows["end_ps"] - flows["start_ps"] >= flows["ideal_ps"]).all()


def test_two_algorithms_on_the_same_npus_have_reducers_of_their_own(tmp_path: Path) -> None:
    """An all-reduce uses one spine, an all-gather with trees over both spines another set of switches."""
    system = tmp_path / "system.yaml"
    text = Path(SHARP).read_text(encoding="utf-8")
    system.write_text(text.replace("all-gather-implementation: [ring]", "all-gather-implementation: [fred]"), "utf-8")
    used = {}
    for name, layers in (("both", ["ALLREDUCE", "ALLGATHER"]), ("one", ["ALLREDUCE"]), ("other", ["ALLGATHER"])):
        rows = [f"{number} -1 0 NONE 0 0 NONE 0 0 {kind} 65536 0" for number, kind in enumerate(layers)]
        workload = tmp_path / f"{name}.txt"
        workload.write_text("\n".join(["DATA", str(len(rows)), *rows, ""]), encoding="utf-8")
        alone = {"name": "a", "workload": str(workload), "system": str(system), "npus": [0, 1, 4, 5]}
        flows = played(tmp_path / name, alone).tenants["a"].flows
        used[name] = sorted(zip(flows["source"], flows["destination"], flows["bytes"], strict=True))
    assert used["both"] == sorted(used["one"] + used["other"])
    assert {source for source, *_ in used["one"]} != {source for source, *_ in used["other"]}


def test_a_job_goes_on_over_a_tree_whose_link_fails_and_comes_back(tmp_path: Path) -> None:
    events = [{"at": "1us", "link": ["leaf 0", "spine 0"], "up": False, "for": "300us"}]
    jobs = job("first", [0, 1, 4, 5])
    calm, hit = played(tmp_path / "calm", jobs), played(tmp_path / "hit", jobs, events=events)
    assert hit.tenants["first"].finish_ps > calm.tenants["first"].finish_ps


@pytest.mark.parametrize(
    ("options", "network", "words"),
    [
        ({"backend": "analytical"}, {}, "sharp: found backend 'analytical', expected ns3 or flow"),
        ({}, {"transport": {"kind": "tcp"}}, "sharp: found transport tcp, expected roce"),
        ({}, {"topology": {**NETWORK["topology"], "switch": {"buffer": "64MB"}}}, "sharp: no switch of the network"),
    ],
)
def test_what_switches_cannot_reduce_over_is_refused_before_the_run(
    tmp_path: Path, options: dict[str, Any], network: dict[str, Any], words: str
) -> None:
    file = tmp_path / "network.json"
    file.write_text(json.dumps({**NETWORK, **network}), encoding="utf-8")
    with pytest.raises(InputError, match=words):
        astra_ns3.run(workload=ALL_REDUCE, system=SHARP, network=file, isolated=False, **options)


def test_a_job_that_arrives_is_refused(tmp_path: Path) -> None:
    arrivals = tmp_path / "arrivals.csv"
    arrivals.write_text(f"time,npus,workload,passes\n0us,4,{ALL_REDUCE},1\n", encoding="utf-8")
    with pytest.raises(InputError, match="sharp: a job that arrives gets its NPUs too late for trees"):
        played(tmp_path / "late", arrivals={"file": str(arrivals), "system": SHARP})


def test_a_reduction_s_room_below_a_piece_is_refused(tmp_path: Path) -> None:
    switch = {"buffer": "64MB", "reduction": {"piece": "64KiB", "buffer": "4KiB"}}
    file = tmp_path / "network.json"
    file.write_text(json.dumps({**NETWORK, "topology": {**NETWORK["topology"], "switch": switch}}), encoding="utf-8")
    with pytest.raises(InputError, match=r"reduction.buffer': found 4096 bytes, expected room for a piece"):
        astra_ns3.run(workload=ALL_REDUCE, system=SHARP, network=file, isolated=False)


def test_explanations_follow_messages_through_switches(tmp_path: Path) -> None:
    file = tmp_path / "network.json"
    file.write_text(json.dumps(NETWORK), encoding="utf-8")
    result = recorded(file, tmp_path)
    chain = astra_ns3.explain(result).segments
    assert {segment.kind for segment in chain} <= {"message", "endpoint"}
    through = [segment.npu for segment in chain if segment.kind == "message"]
    assert through[0] < 16 <= through[1]
    assert max(through) == 16 + 4  # the root


@pytest.mark.parametrize("algorithm", ["sharp", "fred", "nvls"])
def test_a_collective_that_switches_cannot_reduce_is_refused(algorithm: str, tmp_path: Path) -> None:
    file = tmp_path / "network.json"
    file.write_text(json.dumps(NETWORK), encoding="utf-8")
    with pytest.raises(InputError, match="all_to_all: switches can't reduce it"):
        astra_ns3.run(
            workload=INPUTS / "workload" / "micro-all-to-all.txt",
            system=SHARP,
            network=file,
            changes={"system.all-to-all-implementation": [algorithm]},
            isolated=False,
        )


def test_a_timeline_names_reducers(tmp_path: Path) -> None:
    file = tmp_path / "network.json"
    file.write_text(json.dumps(NETWORK), encoding="utf-8")
    result = recorded(file, tmp_path, record=["flows", "timeline"])
    write_timeline(result, tmp_path / "trace.pftrace", 1000)
    trace = (tmp_path / "trace.pftrace").read_bytes()
    assert b"to reducer 16" in trace
    assert b"to NPU 16" not in trace


def test_a_switch_that_dies_is_named_as_one(tmp_path: Path) -> None:
    network = {**NETWORK, "transport": {**NETWORK["transport"], "reliability": {"timeout": "20us", "retries": 1}}}
    gone = {"at": "1us", "switch": "spine 0", "up": False}
    with pytest.raises(BackendError, match="from NPU 0 to the reducer of switch 4 gave up"):
        played(tmp_path / "dead", job("a", [0, 4]), network=network, events=[gone])


def test_a_tree_s_switch_that_is_down_from_the_start_is_refused(tmp_path: Path) -> None:
    gone = {"at": "0us", "switch": "spine 0", "up": False}
    with pytest.raises(InputError, match="switch 4 is to reduce, and is down from the start"):
        played(tmp_path / "dead", job("a", [0, 4]), events=[gone])


def test_validate_counts_the_groups_of_a_switch(tmp_path: Path) -> None:
    topology = {**NETWORK["topology"], "switch": {"buffer": "64MB", "pfc": {}, "reduction": {"groups": 1}}}
    files = {"network": {**NETWORK, "topology": topology}, "one": [job("a", [0, 1])]}
    files["two"] = [*files["one"], job("b", [2, 3])]
    for name, content in files.items():
        written = {"network": "network.json", "jobs": content} if isinstance(content, list) else content
        (tmp_path / f"{name}.json").write_text(json.dumps(written), encoding="utf-8")
    assert view_scenario(ScenarioRequest(scenario=tmp_path / "one.json")).document()["forecast"]
    with pytest.raises(InputError, match="switch 0 has room for 1 of the groups of a run, and this run has 2"):
        view_scenario(ScenarioRequest(scenario=tmp_path / "two.json"))


def test_counts_of_a_network_and_what_fails_by_chance_leave_reducers_out() -> None:
    graph = build_graph(parse_network(NETWORK).topology)
    counted = measure(graph)
    assert (counted.hosts, sum(each.count for each in counted.links)) == (16, 16 + 8)
    assert len(NAMED["link"](graph)) == 16 + 8


def test_a_switch_spends_no_time_on_a_message_where_an_npu_has_an_endpoint_delay(tmp_path: Path) -> None:
    """The first switch's number is the number of NPUs."""
    file = tmp_path / "network.json"
    one = {key: NETWORK["topology"][key] for key in ("link", "switch")}
    topology = {**one, "kind": "single-switch", "npus": 4}
    file.write_text(json.dumps({**NETWORK, "topology": topology}), encoding="utf-8")
    result = recorded(file, tmp_path, changes={"system.endpoint-delay": 1000})
    chain = astra_ns3.explain(result).segments
    assert {segment.npu for segment in chain if segment.kind == "message"} >= {4}
    delays = [(segment.npu, segment.end_ps - segment.start_ps) for segment in chain if segment.kind == "endpoint"]
    assert {npu for npu, _ in delays} <= set(range(4))
    assert {delay_ps for _, delay_ps in delays} == {1_000_000}
    assert chain[0].start_ps == 0
    assert chain[-1].end_ps == result.finish_ps


def test_flows_whose_reducing_switch_stays_down_say_who_waits_for_it(tmp_path: Path) -> None:
    """With packets, a queue pair of two reducers gives up."""
    files = {"network": NETWORK, "scenario": {"network": "network.json", "jobs": [job("a", [0, 1, 4, 5])]}}
    files["scenario"]["events"] = [{"at": "1us", "switch": "spine 0", "up": False}]
    for name, content in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(SimulationStalled, match=r"waits for \d+ messages: a reducer to 0"):
        astra_ns3.run_scenario(scenario=tmp_path / "scenario.json", backend="flow", isolated=False)
