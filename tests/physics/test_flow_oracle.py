"""The flow backend against progressive filling of all flows at every event, written apart (oracles/flow_rates.py)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from oracles.fifo_queues import Fifo, FifoFlow
from oracles.flow_rates import OracleFlow, play
from support.lengths import some_slow
from support.roce_network import Flow, play_flows, roce_network

from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.config.transports.roce import RoceTransport
from astra_ns3.network.ns3 import flow_backend
from astra_ns3.network.plan import NetworkPlan, plan_network
from astra_ns3.topology.paths import path

CASES = 1_000
QUEUE_CASES = 200
CASES_AT_ONCE = 50
TOLERANCE_PS = 1_000
"""1 ns: the native half rounds levels to 40 bits, ends to picoseconds."""
PS_TIMES_BITS = 8e12
HEADERS, GAP = 62, 20
"""Of RoCE, on the line: Ethernet, IP, UDP, BTH, ICRC and FCS; preamble and gap."""
TELEMETRY = {"hpcc": 42}
RATES = (25, 40, 100, 200)


def _tree(draw: random.Random, folder: Path, case: int, control: str) -> tuple[NetworkConfig, int]:
    """A tree of switches with hosts, in which every way is the only one."""
    switches, hosts = draw.randint(1, 4), draw.randint(2, 8)
    lines = [(hosts + each, hosts + draw.randrange(each)) for each in range(1, switches)]
    lines += [(host, hosts + draw.randrange(switches)) for host in range(hosts)]
    ends = [f"{a} {b} {draw.choice(RATES)}Gbps 500ns 0" for a, b in lines]
    names = " ".join(str(hosts + each) for each in range(switches))
    file = folder / f"tree-{case}.txt"
    file.write_text("\n".join([f"{hosts + switches} {switches} {len(lines)}", names, *ends]) + "\n", encoding="utf-8")
    transport: dict[str, Any] = {"payload": draw.choice([1000, 4096]), "ack_every": draw.choice([1, 4])}
    if draw.random() < 0.3:
        transport["window"] = draw.choice([20_000, 200_000])
    if draw.random() < 0.3:
        more: tuple[str, object] = draw.choice([("queue_pairs", "per-message"), ("queue_pairs_per_pair", 2)])
        transport[more[0]] = more[1]
    config = roce_network(
        {"kind": "file", "path": str(file), "switch": {"buffer": "1GB"}}, congestion_control=control, **transport
    )
    return config, hosts


def _flows(draw: random.Random, hosts: int) -> list[Flow]:
    found = []
    for _ in range(draw.randint(1, 20)):
        sender, receiver = draw.sample(range(hosts), 2)
        start = 0 if draw.random() < 0.3 else draw.randrange(100_000_000)
        found.append(
            Flow(sender, receiver, draw.choice([1, 3_000, 50_000, 1_000_000]) + draw.randrange(9_999), 1, start)
        )
    return found


class Case:
    """One case: what the backend did, and what the oracle expects of each message."""

    def __init__(self, seed: int, folder: Path, control: str) -> None:
        draw = random.Random(seed)
        config, hosts = _tree(draw, folder, seed, control)
        self.flows = _flows(draw, hosts)
        self.plan = plan_network(config)
        self.played = play_flows(config, self.flows, folder, backend="flow")
        self.control = control
        self.rows: Any = self.played.table("flows").set_index("phase").sort_index()  # where small instances are

    def expected_ps(self) -> Iterator[float]:
        """When each message arrives."""
        found, order = [], sorted(range(len(self.flows)), key=lambda number: (self.flows[number].start_ps, number))
        turns: dict[tuple[int, int], int] = {}
        made: dict[int, OracleFlow] = {}
        for number in order:
            flow = self.flows[number]
            pair = flow.sender, flow.receiver
            turn = turns[pair] = turns.get(pair, -1) + 1
            made[number] = _oracle_flow(self.plan, flow, turn)
        for number in range(len(self.flows)):
            found.append(made[number])
        graph = self.plan.graph
        lines = {
            (link * 2 + way): each.rate_bps / PS_TIMES_BITS for link, each in enumerate(graph.links) for way in (0, 1)
        }
        if self.control == "none" and not any(each.window for each in made.values()):
            self._through_queues([made[number] for number in order], lines)
        else:
            play([made[number] for number in order], lines)
        last: dict[int, float] = {}
        for number in order:
            each = made[number]
            narrowest = min(lines[link] for link in each.forth)
            latency = self.rows.loc[number, "ideal_ps"] - each.bytes / narrowest
            arrival = max(each.end_ps + latency, last.get(each.queue, 0.0) if each.queue >= 0 else 0.0)
            last[each.queue] = arrival
            each.end_ps = arrival
        return iter([each.end_ps for each in found])

    def _through_queues(self, flows: list[OracleFlow], lines: dict[int, float]) -> None:
        """When the last byte of each flow has left its last queue, but for the delays of the lines before it."""
        delays = {link: self.plan.graph.links[link // 2].delay_ps for link in lines}
        fifo = Fifo({link: (rate, delays[link]) for link, rate in lines.items()})
        for each in flows:
            way, back = tuple(each.forth), tuple(each.back)
            after = each.after_ps - sum(delays[link] for link in way)
            fifo.add(FifoFlow(each.start_ps, each.bytes, way, each.queue, back, each.back_share, after))
        fifo.run()
        for each, played in zip(flows, fifo.flows, strict=True):
            each.end_ps = played.end_ps - sum(delays[link] for link in played.way[:-1])


def _oracle_flow(plan: NetworkPlan, flow: Flow, turn: int) -> OracleFlow:
    (transport,) = plan.transports.values()
    assert isinstance(plan.config, NetworkConfig)
    keys = plan.config.transport
    assert isinstance(keys, RoceTransport)
    payload, around = transport.payload_bytes, HEADERS + TELEMETRY.get(keys.congestion_control.kind, 0)
    wire, ack = around + GAP, transport.answer_wire_bytes
    packets = -(-flow.bytes // payload)
    last = flow.bytes - (packets - 1) * payload
    bytes = (packets - 1) * (payload + wire) + max(last + around, 64) + GAP
    answers = -(-packets // transport.answer_every)
    forth, back = _links(plan, flow.sender, flow.receiver), _links(plan, flow.receiver, flow.sender)
    pairs, queues = plan.graph.hosts, transport.queue_pairs
    queue = -1 if transport.pair_of_message else ((flow.sender * pairs + flow.receiver) * queues + turn % queues)
    cap, trip_ps, window_trip_ps = float("inf"), 0.0, 0.0
    window, lowest = transport.window_bytes, min(_rate(plan, link) for link in forth)
    if window:
        full = sum((payload + wire) / _rate(plan, link) for link in forth)
        answer = sum(ack / _rate(plan, link) for link in back)
        delays = sum(plan.graph.links[link // 2].delay_ps for link in (*forth, *back))
        trip_ps = full + answer + delays
        window = int(trip_ps * lowest) if transport.window_of_path else window
        together = min(transport.answer_every, -(-window // payload))
        window_trip_ps = trip_ps + (together - 1) * (payload + wire) / lowest
        if not transport.flow_window_step_bytes:
            window = -(-window // payload) * payload
            cap = window / payload * (payload + wire) / window_trip_ps
    return OracleFlow(
        flow.start_ps,
        bytes,
        dict.fromkeys(forth, 1.0),
        dict.fromkeys(back, 1.0),
        answers * ack / bytes,
        _first_ps(plan, forth, min(bytes, payload + wire)),
        cap,
        queue,
        flow.bytes,
        window,
        1 / (1 - transport.flow_headroom) - 1,
        transport.flow_start_cost,
        min(cap, lowest),
        trip_ps,
        window_trip_ps,
        transport.flow_window_step_bytes,
        (payload + wire) / payload,
        payload + wire,
        transport.flow_rise_round_trips,
    )


def _first_ps(plan: NetworkPlan, links: list[int], bytes: int) -> int:
    """When the first packet has arrived."""
    lines = [plan.graph.links[link // 2] for link in links]
    return sum(each.delay_ps + round(bytes * PS_TIMES_BITS / each.rate_bps) for each in lines)


def _rate(plan: NetworkPlan, link: int) -> float:
    return plan.graph.links[link // 2].rate_bps / PS_TIMES_BITS


def _links(plan: NetworkPlan, sender: int, receiver: int) -> list[int]:
    """Each link of the way, twice its number, and one more where it is crossed from its second end."""
    found = []
    for node, port in path(plan.graph, plan.tables, sender, receiver):
        link = plan.graph.ports[node][port].link
        found.append(link * 2 + (plan.graph.links[link].a != node))
    return found


@pytest.mark.parametrize("first", some_slow(range(0, CASES, CASES_AT_ONCE), range(0, CASES, 4 * CASES_AT_ONCE)))
def test_each_message_arrives_when_plain_filling_says(tmp_path: Path, first: int) -> None:
    for seed in range(first, first + CASES_AT_ONCE):
        _check(seed, tmp_path, "timely")


@pytest.mark.parametrize("control", ["hpcc", "swift"])
def test_the_terms_of_a_control_count_as_plain_filling_says(tmp_path: Path, control: str) -> None:
    for seed in range(CASES, CASES + CASES_AT_ONCE):
        _check(seed, tmp_path, control)


@pytest.mark.parametrize(
    "first", some_slow(range(2 * CASES, 2 * CASES + QUEUE_CASES, CASES_AT_ONCE), [2 * CASES, 2 * CASES + CASES_AT_ONCE])
)
def test_flows_through_queues_arrive_when_exact_queues_say(
    tmp_path: Path, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flow_backend, "QUEUE_GRAIN_BYTES", 0.0)
    monkeypatch.setattr(flow_backend, "QUEUE_GRAIN_SHARE", 0.0)
    for seed in range(first, first + CASES_AT_ONCE):
        _check(seed, tmp_path, "none")


def test_grains_of_queues_move_ends_by_little(tmp_path: Path) -> None:
    """A grain is 2,048 bytes (0.7 us at 25 Gb/s) or 3% of a queue: so much each end may move, and others by it."""
    for seed in range(2 * CASES, 2 * CASES + CASES_AT_ONCE):
        folder = tmp_path / str(seed)
        folder.mkdir()
        case = Case(seed, folder, "none")
        for number, expected in enumerate(case.expected_ps()):
            may = 1_000_000 + 0.05 * (expected - case.flows[number].start_ps)
            assert case.rows.loc[number, "end_ps"] == pytest.approx(expected, abs=may), (seed, number)


def _check(seed: int, parent: Path, control: str) -> None:
    folder = parent / str(seed)
    folder.mkdir()
    case = Case(seed, folder, control)
    for number, expected in enumerate(case.expected_ps()):
        assert case.rows.loc[number, "end_ps"] == pytest.approx(expected, abs=TOLERANCE_PS), (seed, number)
