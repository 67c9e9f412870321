"""Lists of flows on real networks: what closed forms say of flows alone, of two that share a line, of an incast."""

from __future__ import annotations

import random
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.small_run import small_system

import astra_ns3
from astra_ns3.config.flow_list import FlowList
from astra_ns3.config.formats.analytical import AnalyticalDimension, TopologyName
from astra_ns3.config.network.analytical_network import AnalyticalNetwork
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.errors import InputError, LimitReached
from astra_ns3.experiments.given_files import read_files
from astra_ns3.experiments.jobs.flows import system_of_flows
from astra_ns3.experiments.metadata import usual_options
from astra_ns3.experiments.options import Options
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.result import Result
from astra_ns3.experiments.seeds import execute_seeds
from astra_ns3.experiments.validate import validate
from astra_ns3.network.api import Limits
from astra_ns3.report.comparison.compare import compare
from astra_ns3.report.comparison.text import difference_row
from astra_ns3.report.explanation.explain import explain
from astra_ns3.report.page.page import report_page
from astra_ns3.report.pictures.kind import Choice
from astra_ns3.report.pictures.kinds import IN_FILES, kind_of
from astra_ns3.report.seeds import seeds_text
from astra_ns3.report.timeline.timeline import left_out
from astra_ns3.studies.measures import measures_of
from astra_ns3.workload.files.flows.reading import read_flows

ENDPOINT_PS = 10_000
"""An NPU's delay on either end."""
PACKET_PS = (1000 + 62 + 20) * 80
"""A full packet of 1,000 bytes on a line of 100 Gb/s."""
LINE_PS = 500_000
TOPOLOGIES: tuple[TopologyName, ...] = ("ring", "switch", "fully-connected")


def star(npus: int = 4, **transport: Any) -> NetworkConfig:
    return parse_network(
        {
            "topology": {
                "kind": "single-switch",
                "npus": npus,
                "link": {"rate": "100Gbps", "delay": "500ns"},
                "switch": {"buffer": "1GB"},
            },
            "transport": transport or {"kind": "roce", "queue_pairs": "per-message"},
        }
    )


def played(flows: FlowList, network: NetworkConfig | AnalyticalNetwork, **options: Any) -> Result:
    return astra_ns3.run(
        workload=flows, system=small_system(), network=network, record=["flows"], isolated=True, **options
    )


def rows(result: Result) -> list[tuple[int, int, int]]:
    """Start, end and ideal of each flow, by number."""
    frame = result.completions.sort_values("flow")
    columns = (frame[name].tolist() for name in ("start_ps", "end_ps", "ideal_ps"))
    return list(zip(*columns, strict=True))


def test_a_flow_alone_over_roce_has_slowdown_1_whatever_its_size() -> None:
    sizes = [1, 999, 1_000, 1_001, 123_457, 2_000_000]
    starts = [number * 10**9 for number in range(len(sizes))]
    result = played(FlowList.of([0] * 6, [1] * 6, sizes, starts), star())
    assert [end - start for start, end, _ in rows(result)] == [ideal for _, _, ideal in rows(result)]
    alone = 2 * ENDPOINT_PS + 2 * LINE_PS + 1_001 * PACKET_PS - 1_000 * PACKET_PS  # both lines, a packet of a full one
    assert rows(result)[2][2] == alone + PACKET_PS
    of_all = result.metadata["flows"]["all"]
    assert of_all is not None
    assert of_all["slowdowns"] is not None
    assert of_all["slowdowns"]["max"] == 1.0


def test_the_ideal_of_a_flow_is_that_of_its_message_and_both_endpoints() -> None:
    network = parse_network(
        {
            "topology": {
                "kind": "dumbbell",
                "left": 2,
                "right": 2,
                "link": {"rate": "100Gbps", "delay": "500ns"},
                "bottleneck": {"rate": "40Gbps", "delay": "3us"},
                "switch": {"buffer": "1GB"},
            },
            "transport": {"kind": "roce", "completion": "acknowledged", "queue_pairs": "per-message"},
        }
    )
    flows = FlowList.of([0, 0, 2, 3], [1, 2, 3, 0], [10, 54_321, 3_000, 999_999], [0, 0, 0, 0])
    result = played(flows, network)
    messages = result.flows.sort_values("collective")["ideal_ps"].to_numpy()
    ours = result.completions.sort_values("flow")["ideal_ps"].to_numpy()
    assert (ours - messages).tolist() == [2 * ENDPOINT_PS] * 4


def test_two_flows_through_one_line_take_twice_the_time_of_one() -> None:
    packets = 1_000
    flows = FlowList.of([0, 1], [2, 2], [1_000 * packets] * 2, [0, 0])
    result = played(flows, star())
    # Both send at full rate; the line to NPU 2 carries all packets of both, one behind the other.
    last = 2 * ENDPOINT_PS + 2 * LINE_PS + PACKET_PS + 2 * packets * PACKET_PS
    ends = sorted(end for _, end, _ in rows(result))
    assert ends[1] == last
    assert last - ends[0] <= PACKET_PS  # they took turns
    of_all = result.metadata["flows"]["all"]
    assert of_all is not None
    slowdowns = of_all["slowdowns"]
    assert slowdowns is not None
    assert slowdowns["max"] == pytest.approx(2, rel=0.01)


def test_an_incast_ends_when_the_receivers_line_has_carried_all() -> None:
    senders, packets = 7, 100
    flows = FlowList.of(range(1, 8), [0] * senders, [1_000 * packets] * senders, [0] * senders)
    result = played(flows, star(8))
    last = 2 * ENDPOINT_PS + 2 * LINE_PS + PACKET_PS + senders * packets * PACKET_PS
    assert max(end for _, end, _ in rows(result)) == last
    # The receiver's line is never idle from the first packet on.
    goodput = result.metadata["flows"]["goodput_bps"]
    assert goodput == pytest.approx(100e9 * 1000 / 1082, rel=0.02)
    assert result.goodput["bytes"].sum() == 1_000 * packets * senders


def test_a_chain_starts_each_when_the_one_before_is_there() -> None:
    flows = FlowList.of([0, 1, 2], [1, 2, 3], [5_000] * 3, [0] * 3, [(), (0,), (1,)])
    found = rows(played(flows, star()))
    one = found[0][2]
    assert found == [(0, one, one), (one, 2 * one, one), (2 * one, 3 * one, one)]


QUEUE_PAIRS = ("per-pair", "per-message")


@pytest.mark.parametrize("queue_pairs", QUEUE_PAIRS)
def test_messages_of_a_connection_follow_one_another_without_a_gap(tmp_path: Path, queue_pairs: str) -> None:
    """In uet-htsim ten messages of 10 packets take what one flow of 100 takes (46.89 us both); so they do here."""
    file = tmp_path / "messages.cm"
    file.write_text("Nodes 4\n" + "0->1 id 1 msg start 0 size 40860\n" * 10, encoding="utf-8")
    network = star(kind="roce", payload=4086, queue_pairs=queue_pairs)
    messages, one = (rows(played(flows, network)) for flows in (read_flows(file), FlowList.of([0], [1], [408600], [0])))
    ends = [end for _, end, _ in messages]
    ten_packets_ps = 10 * (4086 + 62 + 20) * 80
    assert [after - before for before, after in pairwise(ends)] == [ten_packets_ps] * 9
    assert ends[-1] == one[0][1]


@pytest.mark.parametrize("backend", ["ns3", "flow"])
@pytest.mark.parametrize("queue_pairs", QUEUE_PAIRS)
def test_ids_between_two_nodes_are_connections_side_by_side(tmp_path: Path, queue_pairs: str, backend: str) -> None:
    """Two connections share the line equally, so both end their first message once as many bytes as two have passed.

    A line without an id has a connection of its own, and gets a third of the line until it ends.
    """
    file, network, packets = tmp_path / "messages.cm", star(kind="roce", queue_pairs=queue_pairs), 500
    ids = ("id 1", "id 1 msg", "id 2", "id 2 msg")
    for more, passed in ((0, (2, 4, 2, 4)), (1, (3, 5, 3, 5, 3))):
        lines = [f"0->1 {word} start 0 size {packets * 1000}" for word in (*ids, *[""] * more)]
        file.write_text("\n".join(["Nodes 4", *lines]), encoding="utf-8")
        result = played(read_flows(file), network, backend=backend)
        way = 2 * ENDPOINT_PS + 2 * LINE_PS + PACKET_PS
        expected = [way + messages * packets * PACKET_PS for messages in passed]
        assert [end for _, end, _ in rows(result)] == pytest.approx(expected, abs=4 * PACKET_PS)
        assert result.metadata["flows"]["overlapping"] == 0
        assert not any("per-message" in warning for warning in result.metadata["warnings"])
        if backend == "ns3":
            assert result.metadata["statistics"]["queue_pairs"] == 2 + more
            assert validate(read_flows(file), small_system(), network).forecast.queue_pairs == 2 + more


@pytest.mark.parametrize("queue_pairs", QUEUE_PAIRS)
def test_two_flows_of_a_pair_share_its_queue_pair_or_have_their_own(queue_pairs: str) -> None:
    packets = 500
    flows = FlowList.of([0, 0], [1, 1], [1_000 * packets] * 2, [0, 0])
    network = star(kind="roce", queue_pairs=queue_pairs)
    result = played(flows, network)
    opened = 1 if queue_pairs == "per-pair" else 2
    assert result.metadata["statistics"]["queue_pairs"] == opened
    assert validate(flows, small_system(), network).forecast.queue_pairs == opened
    (_, first, _), (_, second, _) = rows(result)
    both = 2 * ENDPOINT_PS + 2 * LINE_PS + PACKET_PS + 2 * packets * PACKET_PS
    assert second == both
    if queue_pairs == "per-pair":
        assert first == both - packets * PACKET_PS
    else:
        assert first == both - PACKET_PS


def test_a_lone_flow_over_tcp_is_slower_than_its_ideal_only_by_handshake_and_slow_start() -> None:
    flows = FlowList.of([0, 0], [1, 1], [1_000, 50_000_000], [0, 10**9])
    found = rows(played(flows, star(kind="tcp")))
    slowdowns = [(end - start) / ideal for start, end, ideal in found]
    assert 1.5 < slowdowns[0] < 3  # three ways and the data instead of one way
    assert 1 <= slowdowns[1] < 1.1


@pytest.mark.parametrize("backend", ["analytical", "analytical-queues"])
def test_a_flow_alone_on_an_analytical_network_has_slowdown_1(backend: str) -> None:
    grid = (
        AnalyticalDimension(topology="ring", npus=4, bytes_per_ns=50.0, link_latency_ns=500.0),
        AnalyticalDimension(topology="switch", npus=4, bytes_per_ns=25.0, link_latency_ns=700.0, nic_latency_ns=30.0),
    )
    pairs = [(0, 1), (0, 2), (0, 5), (3, 12), (15, 0)]
    sources, destinations = zip(*pairs, strict=True)
    flows = FlowList.of(sources, destinations, [1_000_000] * 5, [number * 10**9 for number in range(5)])
    result = played(flows, AnalyticalNetwork(grid=grid), backend=backend)
    for start, end, ideal in rows(result):
        assert end - start == ideal


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("backend", ["analytical", "analytical-queues"])
def test_a_drawn_flow_alone_takes_its_ideal_to_the_picosecond(backend: str, seed: int) -> None:
    chance = random.Random(seed)
    grid = tuple(
        AnalyticalDimension(
            topology=topology,
            npus=4,
            bytes_per_ns=chance.uniform(1, 90),
            link_latency_ns=chance.uniform(0, 900),
            nic_latency_ns=chance.uniform(0, 50),
            router_latency_ns=chance.uniform(0, 50),
        )
        for topology in chance.sample(TOPOLOGIES, 3)
    )
    sources, destinations = zip(*(chance.sample(range(64), 2) for _ in range(40)), strict=True)
    sizes = [chance.randrange(1, 1_000_000) for _ in sources]
    flows = FlowList.of(sources, destinations, sizes, [number * 10**9 for number in range(40)])
    for start, end, ideal in rows(played(flows, AnalyticalNetwork(grid=grid), backend=backend)):
        assert end - start == ideal


def test_flows_meet_at_links_of_the_analytical_network_with_queues() -> None:
    grid = (AnalyticalDimension(topology="switch", npus=4, bytes_per_ns=100.0, link_latency_ns=500.0),)
    flows = FlowList.of([0, 1], [2, 2], [1_000_000] * 2, [0, 0])
    found = rows(played(flows, AnalyticalNetwork(grid=grid), backend="analytical-queues"))
    # 10 us up and 10 us down; the second waits for the first at the way down.
    alone = 2 * ENDPOINT_PS + 2 * (10_000_000 + 500_000)
    assert sorted(end for _, end, _ in found) == [alone, alone + 10_000_000]


def test_equal_runs_give_equal_tables(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    sources = rng.integers(0, 8, 300)
    destinations = (sources + rng.integers(1, 8, 300)) % 8
    flows = FlowList.of(sources, destinations, rng.integers(1, 30_000, 300), rng.integers(0, 10**8, 300))
    for name in ("a", "b"):
        played(flows, star(8), output=tmp_path / name)
    for file in ("completions.parquet", "flow_completion.csv", "goodput.csv"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_what_was_delivered_before_a_limit_is_saved(tmp_path: Path) -> None:
    flows = FlowList.of([0, 1], [1, 2], [1_000, 1_000], [0, 10**12])
    with pytest.raises(LimitReached) as caught:
        played(flows, star(), limits=Limits(simulated_ps=10**9), output=tmp_path / "a")
    result = caught.value.result
    assert result.completions["flow"].tolist() == [0]
    assert result.metadata["flows"]["delivered"] == 1
    assert not result.complete


@pytest.mark.parametrize(
    ("transport", "told"),
    [
        ({"kind": "roce"}, "1 of 3 flows started while another between the same two NPUs was being sent"),
        ({"kind": "tcp"}, "on their one TCP connection: transport: {kind: roce, queue_pairs: per-message}"),
        ({"kind": "roce", "queue_pairs": "per-message"}, ""),
    ],
)
def test_flows_that_wait_for_another_of_their_pair_are_told(transport: dict[str, Any], told: str) -> None:
    """The second starts 1 us after the first, which takes 8 us; the third goes the other way."""
    result = played(FlowList.of([0, 0, 1], [1, 1, 0], [100_000] * 3, [0, 1_000_000, 0]), star(**transport))
    assert result.metadata["flows"]["overlapping"] == 1
    found = [line for line in result.metadata["warnings"] if "started while another" in line]
    assert ([told in line for line in found] == [True]) if told else not found
    as_flows = played(
        FlowList.of([0, 0, 1], [1, 1, 0], [100_000] * 3, [0, 1_000_000, 0]), star(**transport), backend="flow"
    )
    assert any(told in line for line in as_flows.metadata["warnings"]) == bool(told)
    apart = played(FlowList.of([0, 0, 1], [1, 1, 0], [100_000] * 3, [0, 50_000_000, 0]), star(**transport))
    assert not [line for line in apart.metadata["warnings"] if "started while another" in line]


def test_a_flow_that_starts_once_the_one_before_has_been_handed_out_does_not_count_as_waiting() -> None:
    """A kilobyte leaves within 0.1 us and arrives a microsecond later: the queue pair is free meanwhile."""
    result = played(FlowList.of([0, 0], [1, 1], [1_000] * 2, [0, 500_000]), star())
    assert (result.completions["end_ps"] - result.completions["start_ps"] == result.completions["ideal_ps"]).all()
    assert result.metadata["flows"]["overlapping"] == 0
    assert not [line for line in result.metadata["warnings"] if "started while another" in line]


def test_tables_of_training_loops_are_told_to_be_without_effect_and_nothing_advises_them(tmp_path: Path) -> None:
    flows = FlowList.of([0, 1], [1, 2], [1_000, 2_000], [0, 0])
    result = astra_ns3.run(
        workload=flows,
        system=small_system(),
        network=star(),
        record=["timeline", "layers"],
        output=tmp_path / "run",
        isolated=True,
    )
    told = "is a list of flows; without effect on it: --record timeline, --record layers"
    assert [line for line in result.metadata["warnings"] if told in line]
    advice = " ".join([*left_out(result), explain(result).text(), *(kind.advice(result) for kind in IN_FILES)])
    assert "--record flows" in advice
    assert "timeline" not in advice
    assert "layers" not in advice
    assert "2 of 2 delivered" in explain(result).text()
    without = {kind.name for kind in IN_FILES if not kind.suits(result)}
    assert without == {"layers", "exposed", "timeline", "bandwidth", "memory"}
    with pytest.raises(InputError, match="'layers' shows nothing of a list of flows"):
        kind_of("layers").drawn(result, Choice())
    with pytest.raises(InputError, match="a list of flows has no passes, collectives or critical path"):
        explain(result, iteration=0)


def test_two_runs_of_flows_are_compared_by_slowdown_and_completion(tmp_path: Path) -> None:
    flows = FlowList.of([0, 2], [1, 1], [100_000] * 2, [0, 0])
    apart = FlowList.of([0, 2], [1, 1], [100_000] * 2, [0, 10**9])
    compared = compare(played(flows, star()), played(apart, star()))
    (group,) = [group for group in compared.groups if group.name == "flows"]
    changes = {each.name: (each.a, each.b) for each in group.differences}
    assert changes["slowdown max"][1] == 1.0
    assert changes["slowdown max"][0] == pytest.approx(2, rel=0.1)  # both through the receiver's line
    assert "completion p99" in changes
    (goodput,) = (difference_row(each) for each in group.differences if each.name == "goodput")
    # 200 KB: through the receiver's line one behind the other, and over 1 ms and 8.7 us.
    assert [each.endswith(" Gb/s") for each in goodput[1:3]] == [True, True]
    assert float(goodput[2].split()[0]) == pytest.approx(8 * 200e3 / 1.0087e6, rel=0.01)
    assert [group for group in compared.groups if group.name == "flows by size"]


def test_accounts_of_tcp_are_not_set_beside_those_of_roce_and_flows_expose_nothing() -> None:
    flows = FlowList.of([0, 2], [1, 1], [100_000] * 2, [0, 0])
    keys: dict[str, Any] = {"workload": flows, "system": small_system(), "record": ["accounts"], "isolated": True}
    roce, over_tcp = astra_ns3.run(**keys, network=star()), astra_ns3.run(**keys, network=star(kind="tcp"))
    apart = astra_ns3.run(**keys, network=star(kind="roce"))
    beside = {each.name: each.differences for each in compare(roce, over_tcp).groups}
    assert "accounts" not in beside
    assert any("TCP's count the last segment" in note for note in compare(roce, over_tcp).notes)
    assert {each.name for each in beside["totals"]} == {"finish"}
    assert "exposed" not in compare(roce, over_tcp).text()
    alike = compare(roce, apart)
    assert "accounts" in {each.name for each in alike.groups}
    assert not alike.notes


def test_a_page_about_flows_names_them_and_says_whose_percentile_a_slowdown_is(tmp_path: Path) -> None:
    flows = FlowList.of([0, 2, 0], [1, 1, 3], [100_000, 200_000, 100], [0, 0, 0])
    text = report_page([played(flows, star(), output=tmp_path / "run")], usual_options())
    assert re.search(r"<dt>completion p99</dt><dd>[^<]*<small>p99 of slowdowns [0-9.]+</small>", text)
    assert "<th>flow</th>" in text
    assert "<th>collective</th>" not in text


def test_the_accounts_of_flows_are_drawn_of_all_and_of_the_slowest(tmp_path: Path) -> None:
    flows = FlowList.of([0, 2, 0], [1, 1, 3], [100_000] * 3, [0, 0, 0])
    result = astra_ns3.run(
        workload=flows,
        system=small_system(),
        network=star(),
        record=["accounts"],
        output=tmp_path / "run",
        isolated=True,
    )
    (axes,) = kind_of("accounts").drawn(result, Choice()).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["all messages", "slowest 1%"]
    assert "of flow 0, at" in explain(result).text()


@pytest.mark.parametrize("backend", ["ns3", "flow"])
def test_an_explanation_of_an_incast_blames_the_ports_where_messages_waited(backend: str, tmp_path: Path) -> None:
    """As much at all ports together as in all accounts; as flows, all of it at the switch's port of the receiver."""
    flows = FlowList.of([0, 1, 2], [3, 3, 3], [1_000_000] * 3, [0] * 3)
    network = star(kind="roce", queue_pairs="per-message", congestion_control="none")
    result = astra_ns3.run(
        workload=flows, system=small_system(), network=network, backend=backend, record=["accounts"],
        output=tmp_path / "out", isolated=False,
    )  # fmt: skip
    ports = dict(explain(result).ports)
    accounts = result.accounts.sum(numeric_only=True)
    at_switch = int(accounts["switch_queue_ps"] + accounts["switch_paused_ps"])
    assert sum(ports.values()) == at_switch + int(accounts["nic_queue_ps"] + accounts["nic_paused_ps"])
    assert ports["switch0:3"] == at_switch > 10**8


def test_flows_have_no_time_of_computing_or_waiting_in_any_table() -> None:
    result = played(FlowList.of([0], [1], [1000], [0]), star())
    assert not {"compute_ps", "exposed_ps"} & set(result.metadata)
    assert {(row["compute_us"], row["exposed_us"]) for row in result.rows("npus.csv")} == {("", "")}
    found = measures_of(result)
    assert (found["compute_us"], found["exposed_us"]) == (None, None)
    assert found["finish_us"] is not None
    assert "exposed" not in explain(result).text()


def test_seeds_of_flows_tell_of_no_waiting() -> None:
    flows, system = FlowList.of([0], [1], [1000], [0]), small_system()
    document = execute_seeds(RunRequest(workload=flows, system=system, network=star(), backend="flow"), 2).document
    assert document["exposed"] is None
    assert "exposed" not in seeds_text(document, None)
    assert "all seeds gave the same" in seeds_text(document, None)


def test_hosts_of_hpcc_are_npus_in_their_order_whatever_numbers_switches_have(tmp_path: Path) -> None:
    """HPCC's own example: switch 0, and hosts from 1 on. Two of four have fast lines, and the flow is theirs."""
    lines = [f"{host} 0 {rate}Gbps 0.001ms 0" for host, rate in ((1, 100), (2, 100), (3, 25), (4, 25))]
    (tmp_path / "tree.txt").write_text("\n".join(["5 1 4", "0", *lines]), encoding="utf-8")
    topology = {"kind": "file", "path": str(tmp_path / "tree.txt"), "switch": {"buffer": "32MiB"}}
    network = parse_network({"topology": topology, "transport": {"kind": "roce"}})

    def ends(flow: str) -> tuple[list[int], list[int]]:
        (tmp_path / "flow.txt").write_text(f"1\n{flow} 3 100 1000000 0\n", encoding="utf-8")
        found = read_files(tmp_path / "flow.txt", system_of_flows(None), network, Options()).workload
        assert isinstance(found, FlowList)
        return found.sources.tolist(), found.destinations.tolist()

    assert ends("1 2") == ([0], [1])
    assert ends("4 3") == ([3], [2])
    with pytest.raises(InputError, match=r"flow.txt:2: flow 0 names node 0, which is no host of the topology"):
        ends("1 0")
