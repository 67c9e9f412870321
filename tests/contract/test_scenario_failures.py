"""Failures that nobody notices at once, played: what is lost until then, what recovery does, and jobs beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from contract.test_scenario_files import LINK, Files, leaf_spine, ring, star
from oracles.causal_chain import CausalChain

import astra_ns3
from astra_ns3 import ScenarioResult
from astra_ns3.errors import AstraNs3Error, InputError
from astra_ns3.network.api import Limits
from astra_ns3.report.explanation.explain import explain
from astra_ns3.report.explanation.parts import OTHER, STILL
from astra_ns3.report.explanation.path import critical_path
from astra_ns3.report.explanation.run_tables import Tables
from astra_ns3.report.explanation.what_ifs import FASTER_NPUS

US, MS = 10**6, 10**9
TIMEOUT_PS = 100 * US
RELIABILITY = {"kind": "go-back-n", "timeout": "100us", "retries": 0}
FLOW_BYTES = 4_000_000


class Recovering(Files):
    """Scenarios with failures and recovery."""

    def play(
        self,
        network: Mapping[str, Any],
        jobs: Sequence[Mapping[str, Any]],
        events: Sequence[Mapping[str, Any]] = (),
        **options: Any,
    ) -> ScenarioResult:
        more: dict[str, Any] = {key: options.pop(key) for key in ("recovery", "failures", "traffic") if key in options}
        self.write("network.yaml", json.dumps(network))
        document: dict[str, Any] = {"network": "network.yaml", "jobs": jobs, "events": events, **more}
        self.write("scenario.yaml", json.dumps(document))
        return astra_ns3.run_scenario(scenario=self.folder / "scenario.yaml", **options)


@pytest.fixture
def recovering(tmp_path: Path) -> Recovering:
    return Recovering(tmp_path)


def one_flow(files: Recovering, events: Sequence[Mapping[str, Any]] = (), **options: Any) -> ScenarioResult:
    """One message from a host of a leaf to a host of the other, over one of two spines."""
    flows = files.write("flow.csv", f"source,destination,bytes,start\n0,1,{FLOW_BYTES},0ns\n")
    reliability = {**RELIABILITY, **options.pop("reliability", {})}
    network = leaf_spine(hosts=2, congestion_control="none", reliability=reliability)
    return files.play(network, [files.job("one", flows, npus=[0, 2])], events, **options)


def statistics(result: ScenarioResult) -> Mapping[str, int | float]:
    return result.metadata["statistics"]


def used_spine(files: Recovering) -> int:
    """Return over which spine the flow goes."""
    found = one_flow(files).switches
    sent = {
        name: int(found.loc[found["port"].str.startswith(f"{name}:"), "sent_bytes"].sum())
        for name in ("switch2", "switch3")
    }
    return int(sent["switch3"] > sent["switch2"])


def far_link(files: Recovering, **keys: Any) -> list[dict[str, Any]]:
    """The link from the flow's spine to its receiver's leaf fails after 50 us: the spine has no other way."""
    return [{"at": "50us", "link": [f"spine {used_spine(files)}", "leaf 1"], "up": False, **keys}]


CONVERGE = {"routes": {"kind": "converge", "after": "730us", "local-repair": "20us"}}


def test_routes_lead_into_a_black_hole_until_they_converge(recovering: Recovering) -> None:
    events = far_link(recovering)
    idle = one_flow(recovering).finish_ps
    at_once = one_flow(recovering, events)
    late = one_flow(recovering, events, recovery=CONVERGE)
    assert at_once.complete
    assert late.complete
    # At once, only what was on its way is lost, and a NACK makes that good.
    assert idle < at_once.finish_ps < idle + TIMEOUT_PS
    # The message goes on with the first timeout after routes have converged; it had all but 50 us to go.
    assert 780 * US < late.finish_ps - (idle - 50 * US) < 780 * US + TIMEOUT_PS + 5 * US
    assert statistics(late)["down_frames"] > 10 * statistics(at_once).get("down_frames", 1)
    (warning,) = [words for words in late.metadata["warnings"] if "known to be down" in words]
    spine = events[0]["link"][0]
    assert f"at switch {2 + int(spine[-1])} ('{spine}') towards switch 1 ('leaf 1')" in warning
    for tenant in late.tenants.values():
        assert warning in tenant.metadata["warnings"]


def test_a_warning_about_one_job_s_flows_is_in_that_job_s_folder_alone(recovering: Recovering) -> None:
    header = "source,destination,bytes,start\n"
    twice = recovering.write("twice.csv", f"{header}0,1,100000,0ns\n0,1,100000,1ns\n")
    once = recovering.write("once.csv", f"{header}0,1,100000,0ns\n")
    jobs = [recovering.job("twice", twice, npus=[0, 2]), recovering.job("once", once, npus=[1, 3])]
    result = recovering.play(leaf_spine(hosts=2, congestion_control="none"), jobs)
    warned = {
        name: any("1 of 2 flows started while" in words for words in each.metadata["warnings"])
        for name, each in {"": result, **result.tenants}.items()
    }
    assert warned == {"": True, "twice": True, "once": False}


def test_a_sender_that_draws_a_new_path_does_not_wait_for_routes(recovering: Recovering) -> None:
    events = far_link(recovering)
    patient = one_flow(recovering, events, recovery=CONVERGE)
    drawing = one_flow(recovering, events, recovery=CONVERGE, reliability={"new_path_after": 1})
    draws = statistics(drawing)["new_paths"]
    assert draws >= 1
    assert statistics(patient)["new_paths"] == 0
    idle = one_flow(recovering).finish_ps
    # Each draw follows a timeout, and the last of them finds the other spine.
    assert drawing.finish_ps < idle + (draws + 1) * TIMEOUT_PS + 5 * US
    assert drawing.finish_ps < patient.finish_ps - 300 * US


def test_ends_with_another_port_repair_their_tables_before_routes_converge(recovering: Recovering) -> None:
    near = [{"at": "50us", "link": ["leaf 0", f"spine {used_spine(recovering)}"], "up": False}]
    found = one_flow(recovering, near, recovery=CONVERGE)
    idle = one_flow(recovering).finish_ps
    assert found.finish_ps < idle + 2 * TIMEOUT_PS


@pytest.mark.parametrize("backend", ["ns3", "flow"])
def test_hellos_notice_a_failure_late_and_what_is_sent_until_then_is_lost(recovering: Recovering, backend: str) -> None:
    hello = {"detection": {"kind": "hello", "interval": "200us", "multiplier": 2, "seed": 3}}
    near = [{"at": "50us", "link": ["leaf 0", f"spine {used_spine(recovering)}"], "up": False}]
    idle = one_flow(recovering, backend=backend).finish_ps
    found = one_flow(recovering, near, recovery=hello, backend=backend)
    noticed_ps = found.finish_ps - idle + 50 * US
    # 200 us to 400 us after the failure, then the next timeout of packets, and flows at once
    assert 250 * US < noticed_ps < 450 * US + (TIMEOUT_PS if backend == "ns3" else 0) + 5 * US
    bound = (
        "may wait for a timeout, and flows wait only until routes have converged; times with packets may be far "
        "longer, and senders may give up, so that jobs end or begin again"
    )
    assert any(bound in words for words in found.metadata["warnings"]) == (backend == "flow")
    assert not any(bound in words for words in one_flow(recovering, backend=backend).metadata["warnings"])
    if backend == "ns3":
        assert statistics(found)["silent_frames"] > 100
        assert any("before their ends noticed" in words for words in found.metadata["warnings"])


def test_a_flap_that_no_hello_misses_costs_what_it_loses_and_no_route(recovering: Recovering) -> None:
    hello = {"detection": {"kind": "hello", "interval": "500us"}}
    near = [{"at": "50us", "link": ["leaf 0", f"spine {used_spine(recovering)}"], "up": False, "for": "20us"}]
    found = one_flow(recovering, near, recovery=hello)
    idle = one_flow(recovering).finish_ps
    assert statistics(found)["silent_frames"] > 0
    assert "down_frames" not in statistics(found)
    # 20 us of packets are lost, and what came between the first packet behind them and its NACK is sent again.
    assert idle + 20 * US < found.finish_ps < idle + 30 * US


def test_all_bytes_arrive_whatever_is_lost_until_it_is_known(recovering: Recovering) -> None:
    workload = recovering.write("ring.txt", ring(2_000_000))
    network = leaf_spine(hosts=4, reliability=RELIABILITY)
    jobs = [recovering.job(name, workload, npus={"place": "spread", "count": 4}) for name in ("one", "other")]
    failures = {"link": {"mtbf": "2ms", "repair": {"mean": "100us"}}, "until": "2ms", "seed": 5}
    recovery = {
        "detection": {"kind": "hello", "interval": "30us"},
        "routes": {"kind": "converge", "after": "80us", "local-repair": "10us"},
    }
    for transport in ("roce", "tcp"):
        if transport == "tcp":
            network = leaf_spine("tcp", hosts=4)
        found = recovering.play(network, jobs, failures=failures, recovery=recovery, record=["flows"])
        assert found.complete
        assert all(event["drawn"] for event in found.metadata["events"])
        assert len(found.metadata["events"]) > 2
        for job in found.tenants.values():
            assert job.flows["bytes"].sum() == 2 * 3 * 2_000_000


EVERYTHING: list[dict[str, Any]] = [
    {"at": "10us", "link": ["leaf 0", "spine 1"], "up": False, "for": "40us", "every": "100us", "times": 3},
    {"at": "20us", "switch": "spine 0", "up": False, "for": "90us"},
    {"at": "30us", "nic": 2, "rate": "50%", "for": "150us"},
    {"at": "40us", "nic": 5, "storm": True, "for": "30us"},
    {"at": "50us", "npu": 1, "still": True, "for": "60us"},
    {"at": "5us", "npu": 6, "slower": 3, "for": "200us"},
    {"at": "15us", "switch": "leaf 1", "ecn": {"kmin": "5KB", "kmax": "50KB", "pmax": 0.5}, "for": "100us"},
]
RECOVERY = {
    "detection": {"kind": "hello", "interval": "10us"},
    "routes": {"kind": "converge", "after": "25us", "local-repair": "5us"},
}


def lossless() -> dict[str, Any]:
    network = leaf_spine(hosts=4, congestion_control="dcqcn", reliability={**RELIABILITY, "new_path_after": 1})
    network["topology"]["switch"] = {"buffer": "4MB", "pfc": {}}
    return network


def test_all_kinds_of_events_play_alike_on_one_core_and_on_two(recovering: Recovering, tmp_path: Path) -> None:
    jobs = [recovering.job(name, npus={"place": "spread", "count": 4}) for name in ("one", "other")]
    played = [
        recovering.play(
            lossless(), jobs, EVERYTHING, recovery=RECOVERY, record=["flows"], cores=cores, output=tmp_path / str(cores)
        )
        for cores in (1, 2)
    ]
    one, two = played
    assert one.complete
    assert one.metadata["statistics"] == two.metadata["statistics"]
    assert one.switches.equals(two.switches)
    for name in ("one", "other"):
        assert one.tenants[name].flows.equals(two.tenants[name].flows)


def test_a_storm_of_pauses_stops_what_comes_in_and_the_watchdog_names_it(recovering: Recovering) -> None:
    flows = recovering.write("flow.csv", f"source,destination,bytes,start\n0,1,{FLOW_BYTES},0ns\n")
    network = star(2, congestion_control="none")
    network["topology"]["switch"] = {"buffer": "32MB", "pfc": {"watchdog": "100us"}}
    job = [recovering.job("one", flows)]
    idle = recovering.play(network, job).finish_ps
    storm = [{"at": "50us", "nic": 1, "storm": True, "for": "700us"}]
    found = recovering.play(network, job, storm)
    # The pause takes its way to the switch and back, as the one that lets go does.
    assert found.finish_ps == pytest.approx(idle + 700 * US, abs=US)
    assert statistics(found)["pause_storms"] >= 1
    assert statistics(found)["retransmissions"] == 0
    other = recovering.play(network, job, [{"at": "50us", "nic": 0, "storm": True, "for": "700us"}])
    assert other.finish_ps < idle + 3 * US  # nothing but acknowledgements goes there


@pytest.mark.parametrize("backend", ["ns3", "flow", "analytical", "analytical-queues"])
def test_an_npu_that_stands_still_computes_nothing_and_begins_no_message(recovering: Recovering, backend: str) -> None:
    computes = "DATA\n1\none -1 400000 NONE 0 0 NONE 0 0 NONE 0 0\n"
    job = [recovering.job("one", recovering.write("computes.txt", computes), npus=[0, 1])]
    still = [{"at": "100us", "npu": 1, "still": True, "for": "250us"}]
    idle = recovering.play(star(4), job, backend=backend).finish_ps
    assert idle == 400 * US
    assert recovering.play(star(4), job, still, backend=backend).finish_ps == 650 * US
    assert recovering.play(star(4), job, [{**still[0], "npu": 2}], backend=backend).finish_ps == idle
    late = [recovering.job("one", npus=[0, 1], start="50us")]
    sends = recovering.write("ring.txt", ring(1_000_000))
    late[0]["workload"] = sends
    before = recovering.play(star(4), late, backend=backend)
    found = recovering.play(star(4), late, [{"at": "0s", "npu": 1, "still": True, "for": "250us"}], backend=backend)
    assert before.tenants["one"].finish_ps < 200 * US < found.tenants["one"].finish_ps
    # NPU 0 sends its part meanwhile, so that NPU 1 has less to wait for.
    assert found.tenants["one"].finish_ps <= before.tenants["one"].finish_ps + 200 * US


def test_the_chain_passes_an_npu_that_stands_still_as_messages_come(recovering: Recovering, tmp_path: Path) -> None:
    job = [recovering.job("one", recovering.write("ring.txt", ring(1_000_000)), npus=[0, 1])]
    idle = recovering.play(star(4), job)
    still = [{"at": "15us", "npu": 1, "still": True, "for": "1ms"}]
    options = {"record": ["timeline", "accounts"], "output": tmp_path / "out"}
    found = recovering.play(star(4), job, still, **options).tenants["one"]
    chain = critical_path(Tables(found))
    assert CausalChain(found).problems(chain) == []
    (link,) = [each for each in chain if each.kind == STILL]
    assert (link.npu, link.end_ps) == (1, 1015 * US)
    assert explain(found).kinds[STILL] == link.time_ps
    assert found.finish_ps - idle.finish_ps == pytest.approx(link.time_ps, rel=0.05)


@pytest.mark.parametrize(
    ("factor", "passes", "times"),
    [
        (1, 2, (("120us", "400us"), ("300us", "1ms"))),
        (4, 2, (("120us", "400us"), ("300us", "1ms"))),
        (10, 1, (("150us", "1500us"),)),  # the message still comes while NPU 1 stands still
        (1, 1, (("150us", "500us"),)),  # all is over before
    ],
)
def test_faster_computing_before_an_npu_stands_still_saves_at_most_what_is_said(
    recovering: Recovering, tmp_path: Path, factor: int, passes: int, times: Sequence[tuple[str, str]]
) -> None:
    """Messages of the first pass come while NPU 1 stands still; NPU 0 takes ``factor`` times as long to compute.

    NPU 1 waits for its first message.
    """
    work = "DATA\n1\none -1 100000 NONE 0 0 NONE 0 0 ALLREDUCE 1000000 0\n"
    job = [recovering.job("one", recovering.write("one.txt", work), npus=[0, 1], passes=passes)]
    stalls = [{"at": at, "npu": 1, "still": True, "for": length} for at, length in times]
    stills: list[dict[str, Any]] = [*stalls, {"at": "0us", "npu": 0, "slower": factor, "for": "1ms"}]
    options: Mapping[str, Any] = {"record": ["timeline", "accounts"]}
    runs = [
        recovering.play(star(4), job, stills, compute_scale=scale, output=tmp_path / str(scale), **options).tenants[
            "one"
        ]
        for scale in (1.0, 0.5)
    ]
    chain = critical_path(Tables(runs[0]))
    assert CausalChain(runs[0]).problems(chain) == []
    kinds = {each.kind for each in chain}
    assert STILL in kinds
    assert OTHER not in kinds
    saved = {each.change: each.time_ps for each in explain(runs[0]).what_ifs}
    assert runs[0].finish_ps - runs[1].finish_ps <= saved[FASTER_NPUS]


def test_an_npu_that_is_slower_for_a_while_computes_so_many_times_as_long(recovering: Recovering) -> None:
    computes = "DATA\n1\none -1 400000 NONE 0 0 NONE 0 0 NONE 0 0\n"
    job = [recovering.job("one", recovering.write("computes.txt", computes), npus=[3, 1], start="20us")]
    slower = [{"at": "100us", "npu": 3, "slower": 4, "for": "200us"}]
    # 80 us before, 50 us worth of work in 200 us, 270 us after
    found = recovering.play(star(4), job, slower)
    assert found.tenants["one"].finish_ps == 550 * US


def test_a_switch_marks_by_other_thresholds_for_a_while(recovering: Recovering) -> None:
    flows = recovering.write("flow.csv", "source,destination,bytes,start\n0,2,4000000,0ns\n1,2,4000000,0ns\n")
    network = star(4, congestion_control="none")
    network["topology"]["switch"] = {"buffer": "32MB", "ecn": {"kmin": "30MB", "kmax": "31MB"}}
    job = [recovering.job("one", flows)]
    assert statistics(recovering.play(network, job))["marked_frames"] == 0
    low = {"at": "100us", "switch": 0, "ecn": {"kmin": "1KB", "kmax": "2KB"}}
    short = statistics(recovering.play(network, job, [{**low, "for": "100us"}]))["marked_frames"]
    # The queue at the receiver's port never empties until the end: all that leaves in 100 us is marked.
    assert short == pytest.approx(100 * US * 1e11 / 8 / 1e12 / 1082, rel=0.01)
    assert statistics(recovering.play(network, job, [low]))["marked_frames"] > 5 * short


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({"switch": 0, "storm": True}, "is of a nic, expected up or ecn or buffer or pfc of a switch"),
        (
            {"npu": 0, "ecn": {"kmin": 0, "kmax": 1}},
            "is of a switch, expected up or still or slower or control of a npu",
        ),
        ({"nic": 0, "storm": True}, "no pause stops switch 0, expected a switch with pfc"),
        ({"npu": 9, "still": True, "for": "1us"}, "npu is 9"),
        ({"npu": 0, "still": True}, "has no end, expected for: TIME beside it, or up: false"),
        ({"npu": 0, "still": False, "for": "1us"}, "expected true"),
        ({"npu": 0, "slower": 0}, "events.0.slower"),
        ({"switch": 0, "ecn": {"kmin": "2KB", "kmax": "1KB"}}, "above kmax"),
    ],
)
def test_events_that_can_not_be_are_refused_in_one_line(
    recovering: Recovering, event: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError) as error:
        recovering.play(star(4), [recovering.job("one")], [{"at": "1us", **event}])
    assert message in str(error.value)
    assert "scenario.yaml:1" in str(error.value)
    assert "\n" not in str(error.value)


def test_what_a_backend_does_not_know_is_refused_by_name(recovering: Recovering) -> None:
    network = star(4)
    network["topology"]["switch"] = {"buffer": "4MB", "pfc": {}}
    job = [recovering.job("one")]
    with pytest.raises(InputError, match="'storm' changes nothing on the backend flow, expected ns3"):
        recovering.play(network, job, [{"at": 0, "nic": 0, "storm": True}], backend="flow")
    failures = {"link": {"mtbf": "1ms"}, "until": "1ms"}
    with pytest.raises(InputError, match="nothing fails on the backend analytical, expected ns3 or flow"):
        recovering.play(network, job, failures=failures, backend="analytical")


def test_a_network_that_failures_cut_for_ever_is_refused_before_the_run(recovering: Recovering) -> None:
    failures = {"nic": {"mtbf": "100us"}, "until": "1ms"}
    with pytest.raises(InputError, match=r"on and for ever no way leads from NPU \d to NPU \d, both of job 'one'"):
        recovering.play(star(4), [recovering.job("one")], failures=failures)


@pytest.mark.parametrize("transport", ["roce", "tcp"])
def test_a_job_whose_transport_gives_up_ends_and_the_others_go_on(
    recovering: Recovering, transport: str, tmp_path: Path
) -> None:
    keys: dict[str, Any] = {"reliability": {**RELIABILITY, "retries": 3}}
    if transport == "tcp":
        keys = {"min_rto": "1ms", "data_retries": 2}
    network = leaf_spine(transport, hosts=4, **keys)
    workload = recovering.write("ring.txt", ring(4_000_000))
    jobs = [
        recovering.job("dies", workload, npus=[0, 1, 2], passes=50),
        recovering.job("lives", npus=[4, 5, 6, 7], passes=20, seed=1),
    ]
    event = [{"at": "100us", "npu": 2, "up": False, "for": "10s"}]
    with pytest.raises(AstraNs3Error, match=r"job 'dies': .*NPU [0-2] to NPU [0-2]") as error:
        recovering.play(network, jobs, event, output=tmp_path / "out")
    assert "lives" not in str(error.value)
    found = ScenarioResult.load(tmp_path / "out")
    assert not found.complete
    assert not found.tenants["dies"].complete
    assert found.tenants["lives"].complete
    alone = recovering.play(network, [jobs[1]])
    assert found.tenants["lives"].finish_ps == alone.tenants["lives"].finish_ps


@pytest.mark.parametrize("backend", ["ns3", "flow"])
@pytest.mark.parametrize("transport", ["roce", "tcp"])
def test_a_message_that_begins_while_no_way_leads_on_waits_for_one(
    recovering: Recovering, backend: str, transport: str
) -> None:
    workload = recovering.write("ring.txt", ring(100_000))
    jobs = [recovering.job("one", workload, npus=[0, 1], start="10us")]
    keys: dict[str, Any] = {"reliability": RELIABILITY} if transport == "roce" else {"min_rto": "1ms"}
    dead = [{"at": "5us", "nic": 1, "up": False, "for": "300us"}]
    idle = recovering.play(star(2, transport, **keys), jobs, backend=backend)
    found = recovering.play(star(2, transport, **keys), jobs, dead, backend=backend)
    assert found.complete
    assert found.finish_ps > 305 * US
    if backend == "flow":
        assert found.finish_ps - idle.finish_ps == pytest.approx(295 * US, abs=10 * US)


@pytest.mark.parametrize("backend", ["ns3", "flow"])
def test_a_server_goes_on_over_its_other_nics_where_npus_forward(recovering: Recovering, backend: str) -> None:
    scale_up = {"link": {"rate": "1Tbps", "delay": "100ns"}, "switch": {"buffer": "16MB", "pfc": {}}}
    scale_out = {"kind": "single-switch", "link": LINK, "switch": {"buffer": "16MB", "pfc": {}}}
    topology = {"kind": "hierarchical", "nodes": 2, "npus_per_node": 2, "nics_per_node": 2}
    network: dict[str, Any] = {
        "topology": {**topology, "scale_up": scale_up, "scale_out": scale_out},
        "transport": {"kind": "roce", "reliability": RELIABILITY},
    }
    flows = recovering.write("flow.csv", "source,destination,bytes,start\n0,2,1000000,0ns\n1,3,1000000,0ns\n")
    job, dead = [recovering.job("one", flows)], [{"at": "0s", "nic": 0, "up": False}]
    with pytest.raises(InputError, match="for ever no way leads from NPU 0 to NPU 2"):
        recovering.play(network, job, dead, backend=backend)
    network["topology"]["forwarding"] = {"by": "hosts", "switch": {"buffer": "16MB", "pfc": {}}}
    idle = recovering.play(network, job, backend=backend).finish_ps
    found = recovering.play(network, job, dead, backend=backend)
    assert found.complete
    # Both flows take the one NIC that is left.
    assert found.finish_ps == pytest.approx(2 * idle, rel=0.05)


@pytest.mark.parametrize("hello", [False, True])
def test_no_pause_outlives_a_link_that_failed_while_it_was_told(recovering: Recovering, hello: bool) -> None:
    """Two senders crowd a receiver, so that NICs are stopped and let go on all the time, while a NIC flaps."""
    flows = recovering.write("flow.csv", "source,destination,bytes,start\n0,2,2000000,0ns\n1,2,2000000,0ns\n")
    network = star(3, congestion_control="none", reliability=RELIABILITY)
    network["topology"]["switch"] = {"buffer": "200KB", "pfc": {}}
    flaps = [{"at": "20us", "nic": 0, "up": False, "for": "3us", "every": "11us", "times": 20}]
    detection = {"detection": {"kind": "hello", "interval": "10us"}} if hello else {}
    job = [recovering.job("one", flows)]
    idle = recovering.play(network, job)
    assert statistics(idle)["pauses"] > 20
    found = recovering.play(network, job, flaps, recovery=detection, limits=Limits(simulated_ps=20 * MS))
    assert found.complete
    lost = "silent_frames" if hello else "cut_frames"
    assert statistics(found)[lost] > 0
    # 20 flaps, each with at most a timeout until what it lost is sent again
    assert found.finish_ps < idle.finish_ps + 20 * (TIMEOUT_PS + 3 * US)


def test_a_list_of_flows_whose_transport_gives_up_is_not_complete(recovering: Recovering, tmp_path: Path) -> None:
    flows = recovering.write("flow.csv", "source,destination,bytes,start\n0,1,4MB,0ns\n1,2,1KB,0ns\n")
    jobs = [recovering.job("dies", flows, npus=[0, 1, 2]), recovering.job("lives", npus=[4, 5, 6, 7], passes=20)]
    network = leaf_spine(hosts=4, reliability={**RELIABILITY, "retries": 3})
    event = [{"at": "100us", "npu": 1, "up": False, "for": "10s"}]
    with pytest.raises(AstraNs3Error, match=r"job 'dies': .*NPU 0 to NPU 1"):
        recovering.play(network, jobs, event, output=tmp_path / "out")
    dies, lives = ScenarioResult.load(tmp_path / "out").metadata["jobs"]
    assert (dies["complete"], dies["started"], dies["delivered"]) == (False, 2, 1)
    assert lives["complete"]


def test_traffic_whose_transport_gives_up_ends_no_job_on_its_npus(recovering: Recovering) -> None:
    workload = recovering.write("slow.txt", "DATA\n1\nslow -1 4000000 NONE 0 0 NONE 0 0 ALLREDUCE 4000 0\n")
    jobs = [recovering.job("computes", workload, npus=[0, 1])]
    traffic = [{"name": "web", "kind": "constant", "sizes": "10KB", "rate": "1Gbps", "npus": [1, 2], "end": "1ms"}]
    event = [{"at": "100us", "nic": 1, "up": False, "for": "2ms"}]
    network = star(4, reliability={**RELIABILITY, "retries": 3})
    with pytest.raises(AstraNs3Error, match=r"^job 'web': RoCE queue pair .*from NPU [12] to NPU [12]") as raised:
        recovering.play(network, jobs, event, traffic=traffic)
    job, web = raised.value.result.metadata["jobs"]
    assert (job["ended_by"], job["complete"]) == ("programs", True)
    assert web["ended_by"] == "transport"


@pytest.mark.parametrize(
    ("kind", "restarts", "told"), [("npu", True, True), ("nic", True, False), ("npu", False, False)]
)
def test_failures_of_npus_are_said_to_end_no_try(recovering: Recovering, kind: str, restarts: bool, told: bool) -> None:
    flows = recovering.write("flow.csv", "source,destination,bytes,start\n0,1,4000,0ns\n")
    keys = {"restart": {"after": "1ms", "at-most": 3}} if restarts else {}
    failures = {kind: {"mtbf": "1h", "repair": "1ms"}, "until": "1ms"}
    job = recovering.job("one", flows, npus=[0, 2], **keys)
    result = recovering.play(leaf_spine(hosts=2), [job], failures=failures)
    words = "failures.npu: failures of an NPU of 'one' only cut its lines, and end no try by themselves"
    assert any(words in each for each in result.metadata["warnings"]) == told
