"""Congestion controls of queue pairs whose line changes: what they reach is what the line has, then and later."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from contract.test_scenario_files import Files
from support.small_run import small_system

import astra_ns3
from astra_ns3.config.flow_list import FlowList
from astra_ns3.config.network.packet_network import parse_network

US = 10**6
BYTES = 20_000_000
CONTROLS: Sequence[dict[str, Any]] = (
    {"kind": "none"},
    {"kind": "static-window"},
    {"kind": "dcqcn"},
    {"kind": "timely"},
    {"kind": "dctcp"},
    {"kind": "dctcp", "parameters": "hpcc"},
    {"kind": "hpcc"},
    {"kind": "hpcc", "multiple_rates": True},
    {"kind": "hpcc-pint"},
    {"kind": "swift"},
)
each_control = pytest.mark.parametrize("control", CONTROLS, ids=lambda keys: "-".join(map(str, keys.values())))


def star(npus: int, **transport: Any) -> dict[str, Any]:
    link = {"rate": "100Gbps", "delay": "1us"}
    topology = {"kind": "single-switch", "npus": npus, "link": link, "switch": {"buffer": "32MB", "pfc": {}}}
    return {"topology": topology, "transport": {"kind": "roce", "payload": 4096, **transport}}


def message_ps(files: Files, control: Mapping[str, Any], *events: Mapping[str, Any]) -> int:
    """The time of one message between two hosts."""
    flows = files.write("flow.csv", f"source,destination,bytes,start\n0,1,{BYTES},0ns\n")
    files.write("network.yaml", json.dumps(star(2, congestion_control=control)))
    document = {"network": "network.yaml", "jobs": [files.job("one", flows)], "events": events}
    scenario = files.write("scenario.yaml", json.dumps(document))
    return astra_ns3.run_scenario(scenario=files.folder / scenario).finish_ps


@each_control
@pytest.mark.parametrize("rate", ["50%", "10%"])
def test_a_queue_pair_that_opens_on_a_slow_line_has_all_of_it_later(
    tmp_path: Any, control: dict[str, Any], rate: str
) -> None:
    """300 us with a share of the line lose the rest of them (HPCC uses 95%); a control loses below 8% besides."""
    files = Files(tmp_path)
    whole_ps = message_ps(files, control)
    lost_ps = 300 * US * (100 - int(rate.removesuffix("%"))) // 100
    slow_ps = message_ps(files, control, {"at": 0, "nic": 0, "rate": rate, "for": "300us"})
    assert 0.9 * lost_ps <= slow_ps - whole_ps <= lost_ps + 0.08 * whole_ps


@each_control
def test_a_queue_pair_uses_a_line_that_gets_faster(tmp_path: Any, control: dict[str, Any]) -> None:
    """200 us at 100 Gb/s, the rest at 200 Gb/s: so half of the time that was left is saved, but for 8%."""
    files = Files(tmp_path)
    faster = [{"at": "200us", "nic": nic, "rate": "200Gbps"} for nic in (0, 1)]
    whole_ps = message_ps(files, control)
    expected_ps = 200 * US + (whole_ps - 200 * US) / 2
    assert message_ps(files, control, *faster) == pytest.approx(expected_ps, rel=0.08)


@pytest.mark.parametrize(("control", "rate"), [("dcqcn", "20%"), ("timely", "5%"), ("hpcc", "20%")])
@pytest.mark.parametrize("at", ["2ms", "3ms"])
def test_a_moment_on_a_slow_line_leaves_what_a_control_has_learnt(
    tmp_path: Any, control: str, rate: str, at: str
) -> None:
    """Four share a line, each with a quarter of it, which is more than the slow line has: they go on with a quarter.

    By chance DCQCN's times are up to 1% apart.
    """
    files = Files(tmp_path)
    rows = "".join(f"{sender},0,20MB,0ns\n" for sender in range(1, 5))
    flows = files.write("flows.csv", f"source,destination,bytes,start\n{rows}")
    files.write("network.yaml", json.dumps(star(5, congestion_control=control)))

    def played(*events: Mapping[str, Any]) -> tuple[int, int, int]:
        document = {"network": "network.yaml", "jobs": [files.job("one", flows)], "events": events}
        result = astra_ns3.run_scenario(scenario=files.folder / files.write("scenario.yaml", json.dumps(document)))
        counts = result.metadata["statistics"]
        return result.finish_ps, int(counts["marked_frames"]), int(counts["pauses"])

    finish_ps, marks, pauses = played()
    slow_ps, more_marks, more_pauses = played(
        *({"at": at, "nic": nic, "rate": rate, "for": "20us"} for nic in range(1, 5))
    )
    assert slow_ps <= 1.03 * finish_ps
    assert more_marks <= 1.2 * marks + 20
    assert more_pauses <= 1.2 * pauses + 20


def lossless(rate: str, delay: str, buffer: str = "16MB") -> dict[str, Any]:
    """Two leaves and two spines with pauses, whose 12 links are alike."""
    link = {"rate": rate, "delay": delay}
    topology = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4, "link": link, "uplink": link}
    return {
        "topology": {**topology, "switch": {"buffer": buffer, "pfc": {}}},
        "transport": {"kind": "roce", "payload": 4096, "congestion_control": "none"},
    }


def all_links(rate: str, delay: str) -> list[dict[str, Any]]:
    return [{"at": "1us", "link": link, "rate": rate, "delay": delay} for link in range(12)]


@pytest.mark.parametrize("flows", [[(sender, 0, 4) for sender in range(2, 8)], [(n, (n + 4) % 8, 8) for n in range(8)]])
@pytest.mark.parametrize("line", [("400Gbps", "1us"), ("100Gbps", "10us"), ("400Gbps", "10us")])
def test_lines_that_get_faster_or_longer_stay_lossless(
    tmp_path: Any, line: tuple[str, str], flows: list[tuple[int, int, int]]
) -> None:
    """No frame is lost, so an incast and a permutation take as long as on lines that never change."""
    files = Files(tmp_path)
    rows = "".join(f"{source},{to},{size}MB,50us\n" for source, to, size in flows)
    job = files.job("a", files.write("flows.csv", f"source,destination,bytes,start\n{rows}"))
    changed, built = files.play(lossless("100Gbps", "1us"), [job], all_links(*line)), files.play(lossless(*line), [job])
    assert changed.metadata["statistics"]["dropped_frames"] == 0
    assert changed.finish_ps == pytest.approx(built.finish_ps, rel=0.001)


ECN = {"kmin": "400KB", "kmax": "1.6MB", "pmax": 0.2}
RATES: dict[str, Any] = {"rate_ai": "1Gbps", "rate_hai": "5Gbps", "byte_counter": "10MB"}


@pytest.mark.parametrize(
    ("control", "ecn", "events", "stay"),
    [
        ({}, "scaled", [], ["keeps rate_ai, rate_hai, byte_counter as for 100 Gb/s", "ecn keeps the thresholds"]),
        ({"rate_ai": "1Gbps"}, ECN, [], ["keeps rate_hai, byte_counter"]),
        ({"parameters": "paper"}, ECN, [], []),
        (RATES, ECN, [], []),
        ({}, "scaled", [{"npu": "all", "control": RATES}, *({"switch": n, "ecn": ECN} for n in range(4))], []),
    ],
)
def test_numbers_that_stay_those_of_a_first_rate_are_warned_of(
    tmp_path: Any, control: dict[str, Any], ecn: Any, events: list[dict[str, Any]], stay: list[str]
) -> None:
    """The warnings are there from a millisecond on, unless the numbers are written or change as well."""
    files, network = Files(tmp_path), lossless("100Gbps", "1us")
    network["topology"]["switch"]["ecn"] = ecn
    network["transport"]["congestion_control"] = {"kind": "dcqcn", **control}
    job = files.job("a", files.write("flows.csv", "source,destination,bytes,start\n0,1,1KB,50us\n"))
    more = [{"at": "1us", **each} for each in events]
    for last, expected in ({}, stay), ({"for": "2ms"}, stay), ({"for": "100us"}, []):
        lines = [{**each, **last} for each in all_links("400Gbps", "1us")]
        told = [
            each for each in files.play(network, [job], [*lines, *more]).metadata["warnings"] if "though events" in each
        ]
        assert len(told) == len(expected)
        assert all(words in each for words, each in zip(expected, told, strict=True))


@pytest.mark.parametrize(
    ("kind", "delay", "event", "warned"),
    [
        ("swift", "3us", {}, True),
        ("swift", "1.2us", {}, False),
        ("timely", "10us", {}, True),
        ("dctcp", "10us", {}, False),
        ("swift", "3us", {"npu": "all", "control": {"base_target": "40us"}}, False),
    ],
)
def test_delays_that_later_count_as_congestion_are_warned_of(
    tmp_path: Any, kind: str, delay: str, event: dict[str, Any], warned: bool
) -> None:
    """Four links of 3 us are a round trip of 24 us; with 1 us, Swift's target is half a round trip above 8 us."""
    files, network = Files(tmp_path), lossless("100Gbps", "1us")
    network["transport"]["congestion_control"] = kind
    job = files.job("a", files.write("flows.csv", "source,destination,bytes,start\n0,4,1KB,50us\n"))
    events = [*all_links("100Gbps", delay), *([{"at": "1us", **event}] if event else [])]
    told = [each for each in files.play(network, [job], events).metadata["warnings"] if "with the longest" in each]
    assert len(told) == warned


def test_a_buffer_without_room_for_the_headrooms_of_later_lines_is_warned_of(tmp_path: Any) -> None:
    """Each of a leaf's six ports needs 10 MB: 400 Gb/s for 200 us. The headrooms stay those of the first lines."""
    files = Files(tmp_path)
    job = files.job("a", files.write("flows.csv", "source,destination,bytes,start\n0,1,1MB,50us\n"))

    def warned(*events: Mapping[str, Any]) -> bool:
        told = files.play(lossless("100Gbps", "1us"), [job], events).metadata["warnings"]
        return any("headroom at the highest rates and longest delays that events give" in each for each in told)

    assert not warned()
    assert not warned(*all_links("400Gbps", "1us"))
    assert warned(*all_links("400Gbps", "100us"))


@pytest.mark.parametrize("reliability", ["go-back-n", "selective-repeat"])
@pytest.mark.parametrize(
    ("kind", "senders", "payload", "every"),
    [("hpcc", 15, 4096, 2), ("hpcc-pint", 15, 1000, 8), ("swift", 8, 4096, 8), ("dctcp", 15, 4096, 4)],
)
def test_a_window_that_shrinks_below_what_is_in_flight_waits_for_no_timeout(
    kind: str, senders: int, payload: int, every: int, reliability: str
) -> None:
    """The receiver would wait for more packets, and the sender for an acknowledgement, until the timer ends both."""

    def played(ack_every: int) -> Any:
        keys = {"congestion_control": kind, "payload": payload, "ack_every": ack_every, "reliability": reliability}
        sources = list(range(1, senders + 1))
        flows = FlowList.of(sources, [0] * senders, [2_000_000] * senders, [0] * senders)
        return astra_ns3.run(workload=flows, system=small_system(), network=parse_network(star(16, **keys)))

    usual, rare = played(1), played(every)
    assert rare.metadata["statistics"]["timeouts"] == 0
    assert rare.metadata["statistics"]["retransmissions"] == 0
    assert rare.finish_ps == pytest.approx(usual.finish_ps, rel=0.25)


RING = "source,destination,bytes,start\n" + "".join(f"{npu},{(npu + 4) % 8},1MB,50us\n" for npu in range(8))


def told_of(files: Files, network: Mapping[str, Any], events: Sequence[Mapping[str, Any]], **options: Any) -> list[str]:
    """Return the warnings that a change, and no network that is so from the first, has."""
    job = files.job("a", files.write("flows.csv", RING))
    first, changed = (files.play(network, [job], each, **options).metadata["warnings"] for each in ([], events))
    return [each for each in changed if each not in first]


@pytest.mark.parametrize(
    ("control", "event", "words"),
    [
        ({"kind": "swift"}, {}, "keeps base_target, per_hop, fs_range as for a round trip"),
        ({"kind": "swift", "base_target": "30us", "per_hop": 0, "fs_range": "100us"}, {}, ""),
        ({"kind": "swift"}, {"npu": "all", "control": {"base_target": "5us", "per_hop": 0, "fs_range": "9us"}}, ""),
        ({"kind": "hpcc-pint"}, {}, "switches measure utilisation as for a round trip"),
        ({"kind": "hpcc"}, {}, ""),
    ],
)
def test_numbers_of_a_first_round_trip_are_warned_of(
    tmp_path: Any, control: dict[str, Any], event: dict[str, Any], words: str
) -> None:
    """Four links of 1 us are a round trip of 8 us, and then of 2 us."""
    files, network = Files(tmp_path), lossless("100Gbps", "1us")
    network["transport"]["congestion_control"] = control
    events = [*all_links("100Gbps", "250ns"), *([{"at": "1us", **event}] if event else [])]
    told = [each for each in told_of(files, network, events) if "round trip" in each]
    assert len(told) == bool(words)
    assert words in "".join(told)


@pytest.mark.parametrize("ecn", [None, ECN])
def test_thresholds_of_a_first_buffer_are_warned_of_unless_they_are_written(tmp_path: Any, ecn: Any) -> None:
    """A quarter of the buffer, less than the usual thresholds, holds them at first; the later buffer has room."""
    files, network = Files(tmp_path), lossless("100Gbps", "1us", "2MB")
    network["transport"]["congestion_control"] = "dcqcn"
    network["topology"]["switch"] |= {"ecn": ecn} if ecn else {}
    told = told_of(files, network, [{"at": "1us", "switch": number, "buffer": "32MB"} for number in range(4)])
    assert any("ecn keeps the thresholds of the first buffer" in each for each in told) == (ecn is None)


@pytest.mark.parametrize("longest", [True, False])
def test_flows_that_keep_the_window_of_the_first_longest_path_say_so(tmp_path: Any, longest: bool) -> None:
    """Windows of each path follow: with 10 us instead of 1 us, they are ten times as large, as on such lines."""
    files = Files(tmp_path)

    def network(delay: str) -> dict[str, Any]:
        made = lossless("100Gbps", delay)
        made["transport"] |= {"congestion_control": "static-window", "base_rtt_of": "longest" if longest else "path"}
        return made

    events = all_links("100Gbps", "10us")
    assert any("keep the window" in each for each in told_of(files, network("1us"), events, backend="flow")) == longest
    job = files.job("a", files.write("flows.csv", RING))
    later = files.play(network("1us"), [job], events, backend="flow").finish_ps
    built = files.play(network("10us"), [job], backend="flow").finish_ps
    assert (later > 1.5 * built) == longest


@pytest.mark.parametrize(("rate", "warned"), [("200Gbps", True), ("90Gbps", False)])
def test_pauses_that_stay_those_of_a_first_rate_are_warned_of(tmp_path: Any, rate: str, warned: bool) -> None:
    """With a reference of 100 Gb/s, alpha doubles at 200 Gb/s."""
    files, network = Files(tmp_path), lossless("100Gbps", "1us")
    network["topology"]["switch"]["pfc"] = {"reference_rate": "100Gbps"}
    told = told_of(files, network, all_links(rate, "1us"))
    assert any("pfc keeps the alpha" in each for each in told) == warned
