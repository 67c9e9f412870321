"""What is recorded of RoCE: queue pairs, pauses, use of ports, captures, ideal times of messages."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from oracles.roce_times import ACK, CNP, HEADERS, LINE_GAP, PAUSE, Star, packets, wire
from support.roce_network import LOSSLESS, Flow, play_flows, roce_network, roce_star
from support.star_network import Played, Row, by_hand, incast, one_message, play

SENDERS = 4
SIZE = 400_000
PAYLOAD = 1000
US = 10**6
LINE = Star(100 * 10**9, 500_000)
MARKING = {"kmin": "20KB", "kmax": "100KB", "pmax": 0.5}
QUANTITIES = {
    "rate": "rate_bps",
    "window": "window_bytes",
    "alpha": "alpha_millionths",
    "retransmissions": "retransmitted_bytes",
    "cnps": "cnps",
}
ALL_OBSERVED: dict[str, Any] = {
    "queue_pairs": list(QUANTITIES),
    "pauses": True,
    "utilisation": ["all"],
    "utilisation_interval": "1us",
    "pcap": ["host0", "host1", "switch0:0"],
}


def congested(control: object = "dcqcn", observe: dict[str, Any] | None = None, **keys: Any) -> Any:
    """Senders into one port of a switch that marks and pauses."""
    switch = {"buffer": "400KB", "ecn": MARKING, "pfc": LOSSLESS}
    return roce_star(
        SENDERS + 1,
        switch=switch,
        congestion_control=control,
        observe=observe or ALL_OBSERVED,
        cnp_interval="5us",
        **keys,
    )


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """An incast with everything observed, to the last ACK."""
    folder = tmp_path_factory.mktemp("observed")
    return play(congested(), incast(SENDERS), SIZE, directory=folder, stop_when_done=False)


def values(played: Played, quantity: str, source: int | None = None) -> pd.DataFrame:
    table = played.table("queue_pairs")
    rows: pd.DataFrame = table[table["quantity"] == quantity]
    return rows if source is None else rows[rows["source"] == source]


def test_queue_pair_rows_are_in_order_and_name_the_pair(played: Played) -> None:
    table = played.table("queue_pairs")
    assert table["time_ps"].is_monotonic_increasing
    assert set(zip(table["source"], table["destination"], strict=True)) == {(rank, 0) for rank in range(1, SENDERS + 1)}
    assert set(table["quantity"].astype(str)) <= set(QUANTITIES.values())


def test_a_rate_starts_at_the_lines_and_each_row_is_another(played: Played) -> None:
    for source in range(1, SENDERS + 1):
        rates = values(played, "rate_bps", source)
        assert rates["value"].iloc[0] == LINE.rate_bps
        assert (rates["value"].diff().iloc[1:] != 0).all()
        assert rates["value"].between(100_000_000, LINE.rate_bps).all()


def test_dcqcns_first_cut_halves_the_rate(played: Played) -> None:
    """Alpha is 1 at the first CNP: R (1 - alpha / 2). The time is that of the first CNP."""
    for source in range(1, SENDERS + 1):
        rates, cnps = values(played, "rate_bps", source), values(played, "cnps", source)
        assert rates["value"].iloc[1] == LINE.rate_bps // 2
        assert rates["time_ps"].iloc[1] == cnps["time_ps"].iloc[0]
        alphas = values(played, "alpha_millionths", source)["value"]
        assert alphas.between(0, 1_000_000).all()


def test_cnps_are_those_that_were_sent(played: Played) -> None:
    cnps = values(played, "cnps")
    assert (cnps["value"] == 1).all()
    assert len(cnps) == played.statistics["cnps"] > SENDERS
    for _, each in cnps.groupby("source"):
        assert each["time_ps"].diff().min() >= 5 * US - 2 * LINE.data_ps(PAYLOAD)  # they may wait behind an ACK


def test_without_losses_nothing_is_recorded_as_sent_again(played: Played) -> None:
    assert values(played, "retransmitted_bytes").empty


def test_what_is_sent_again_is_recorded(tmp_path: Path) -> None:
    observe = {"queue_pairs": ["retransmissions"]}
    network = roce_star(2, error_rate=0.002, observe=observe, reliability="selective-repeat", window="bdp")
    lossy = play(network, one_message(), 2_000_000, directory=tmp_path, stop_when_done=False)
    again = values(lossy, "retransmitted_bytes")
    assert len(again) == lossy.statistics["retransmissions"] > 0
    assert (again["value"] == PAYLOAD).all()


def test_only_what_is_asked_for_is_recorded(tmp_path: Path) -> None:
    network = congested(observe={"queue_pairs": ["alpha"]})
    table = play(network, incast(SENDERS), SIZE, directory=tmp_path).table("queue_pairs")
    assert set(table["quantity"].astype(str)) == {"alpha_millionths"}
    assert {path.name for path in tmp_path.glob("*.parquet")} == {"flows.parquet", "queue_pairs.parquet"}


@pytest.mark.parametrize("control", ["dcqcn", "dctcp", "hpcc", "swift"])
def test_by_interval_a_row_has_what_the_changes_say_at_that_time(control: str, tmp_path: Path) -> None:
    tables = []
    for name, interval in (("changes", "0"), ("sampled", "2us")):
        folder = tmp_path / name
        folder.mkdir()
        observe = {"queue_pairs": ["rate", "window", "alpha"], "queue_pair_interval": interval}
        tables.append(play(congested(control, observe), incast(SENDERS), SIZE, directory=folder).table("queue_pairs"))
    changes, sampled = tables
    assert len(sampled) > 0
    assert (sampled["time_ps"] % (2 * US) == 0).all()
    keys = ["source", "quantity"]
    for key, rows in sampled.groupby(keys, observed=True):
        one = changes[(changes["source"] == key[0]) & (changes["quantity"] == key[1])]
        expected = [one[one["time_ps"] <= time]["value"].iloc[-1] for time in rows["time_ps"]]
        assert rows["value"].tolist() == expected
        assert (rows["value"].diff().iloc[1:] != 0).all()


def test_a_window_is_recorded(tmp_path: Path) -> None:
    observe = {"queue_pairs": ["window"]}
    first = play(congested("dctcp", observe, window=100_000), incast(SENDERS), SIZE, directory=tmp_path)
    for source in range(1, SENDERS + 1):
        windows = values(first, "window_bytes", source)["value"]
        assert windows.iloc[0] == 100_000
        assert windows.min() < 60_000  # alpha begins with 1: the first cut halves it
        assert windows.min() >= 2 * PAYLOAD


def test_pauses_are_rows_that_add_up_to_the_ports_counters(played: Played) -> None:
    table = played.table("pauses")
    assert table["time_ps"].is_monotonic_increasing
    assert set(table["paused_priorities"]) == {0, 1 << 3}
    assert set(table["port"].astype(str)) <= {f"host{host}" for host in range(1, SENDERS + 1)}
    for port, rows in table.groupby("port", observed=True):
        stops, starts = rows[rows["paused_priorities"] > 0], rows[rows["paused_priorities"] == 0]
        assert rows["paused_priorities"].tolist() == [8, 0] * len(stops)
        assert len(stops) == played.ports[str(port)]["pauses"]
        assert starts["time_ps"].sum() - stops["time_ps"].sum() == played.ports[str(port)]["paused_ps"]


def test_the_first_pause_comes_when_the_threshold_is_crossed_a_pause_frame_and_a_delay_ago(tmp_path: Path) -> None:
    """Two senders at line rate, packets at the same times; each ingress queue grows by half a packet a packet time.

    Threshold: alpha times what is free of the shared memory. A packet's arrival that brings a queue to it sends the
    pause, on a line that carries nothing else.
    """
    observe = {"pauses": True}
    senders, buffer = 2, 400_000
    network = roce_star(3, switch={"buffer": buffer, "pfc": LOSSLESS}, observe=observe, ack_every=10_000)
    table = play(network, incast(senders), SIZE, directory=tmp_path).table("pauses")
    frame, line_ps = PAYLOAD + HEADERS, LINE.data_ps(PAYLOAD)
    on_line = 2 * LINE.delay_ps * LINE.rate_bps // (8 * 10**12)
    headroom = on_line + 3 * wire(frame) + wire(PAUSE)
    shared = buffer - 3 * (headroom + 4096)
    held = {1: 0, 2: 0}
    pauses: dict[int, int] = {}
    queue: list[int] = []
    arrival = 0
    while len(pauses) < 2:
        arrival += 1  # both senders' packets arrive; one leaves, begun as the first of them came or the last one ended
        for sender in held:
            if arrival > 1 and sender == 1:
                held[queue.pop(0)] -= frame  # the port ended one packet time ago's packet and begins the next
            if arrival > 1 or sender == 2:
                queue.append(sender)
                held[sender] += frame
            parts = {each: max(0, size - 4096) for each, size in held.items()}
            full = parts[sender] > 0 and parts[sender] >= int(0.125 * (shared - sum(parts.values())))
            if full and sender not in pauses:
                sent_ps = line_ps * arrival + LINE.delay_ps
                pauses[sender] = sent_ps + LINE.line_ps(wire(PAUSE)) + LINE.delay_ps
    first = {sender: int(table[table["port"] == f"host{sender}"]["time_ps"].iloc[0]) for sender in held}
    for sender, expected_ps in pauses.items():
        # Which of two packets that come at the same time is first is the switch's affair.
        assert abs(first[sender] - expected_ps) <= line_ps
    assert min(first.values()) in {pauses[1], pauses[2]}


def test_use_of_a_port_adds_up_to_what_it_sent(played: Played) -> None:
    table = played.table("utilisation")
    assert (table["time_ps"] % US == 0).all()
    sums = table.groupby(table["port"].astype(str))["wire_bytes"].sum()
    for name, port in played.ports.items():
        assert sums.get(name, 0) == port["sent_bytes"] + LINE_GAP * port["sent_frames"]


def test_a_busy_port_is_fully_used_in_each_interval(played: Played) -> None:
    """12,500 bytes of the line in a microsecond; a frame counts where it begins."""
    table = played.table("utilisation")
    busy = table[(table["port"] == "switch0:0") & table["time_ps"].between(5 * US, 20 * US)]
    assert len(busy) == 16
    assert (busy["wire_bytes"] - 12_500).abs().max() <= wire(PAYLOAD + HEADERS)
    assert not table.duplicated(["time_ps", "port"]).any()


def capture(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Time (ns), length on the line and bytes of each packet of a capture with nanoseconds or microseconds."""
    data = path.read_bytes()
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    magic, _, _, _, _, _, link = struct.unpack(order + "IHHiIII", data[:24])
    assert magic in (0xA1B2C3D4, 0xA1B23C4D)
    assert link == 1  # Ethernet
    unit = 1000 if magic == 0xA1B2C3D4 else 1
    at = 24
    while at < len(data):
        seconds, fraction, kept, length = struct.unpack(order + "IIII", data[at : at + 16])
        yield seconds * 10**9 + fraction * unit, length, data[at + 16 : at + 16 + kept]
        at += 16 + kept


def opcode_of(packet: bytes, length: int) -> int:
    """Opcode of the base transport header; checks Ethernet, IP and UDP around it, but for checksums: ns-3 has none."""
    assert packet[12:14] == b"\x08\x00"
    ip = packet[14:34]
    assert ip[0] == 0x45
    assert struct.unpack(">H", ip[2:4]) == (length - 14,)
    assert ip[9] == 17
    source, destination, udp_length, _ = struct.unpack(">HHHH", packet[34:42])
    assert destination == 4791
    assert source >= 0xC000  # Annex A17: from the dynamic ports
    assert udp_length == length - 34
    return packet[42]


DATA, ACKNOWLEDGE, NOTIFICATION = 0x04, 0x11, 0x81
BASE_HEADERS = 14 + 20 + 8 + 12
KEPT = 96
"""Bytes of each packet that a capture holds."""


def test_a_capture_has_every_packet_of_its_port_as_rocev2(played: Played) -> None:
    assert played.directory is not None
    sizes = {DATA: PAYLOAD + HEADERS, ACKNOWLEDGE: ACK, NOTIFICATION: CNP}
    counts: dict[str, dict[int, int]] = {}
    for port in ("host0", "host1", "switch0-0"):
        found = counts.setdefault(port, dict.fromkeys(sizes, 0))
        before_ns = 0
        for time_ns, length, packet in capture(played.directory / f"{port}.pcap"):
            assert len(packet) == min(length, KEPT)
            opcode = opcode_of(packet, length)
            headers = BASE_HEADERS + (4 if opcode == ACKNOWLEDGE else 0)
            assert not any(packet[headers:])  # payload and ICRC are zeros, not what lay in memory before
            assert length == sizes[opcode] - 4  # the FCS isn't captured
            found[opcode] += 1
            assert before_ns <= time_ns
            before_ns = time_ns
    each = SIZE // PAYLOAD
    assert counts["host1"] == {DATA: each, ACKNOWLEDGE: 0, NOTIFICATION: 0}
    assert counts["switch0-0"] == {DATA: SENDERS * each, ACKNOWLEDGE: 0, NOTIFICATION: 0}
    cnps = played.statistics["cnps"]
    assert counts["host0"] == {DATA: 0, ACKNOWLEDGE: SENDERS * each, NOTIFICATION: cnps}


def test_marked_packets_are_marked_in_the_capture_behind_the_port_that_marked_them(played: Played) -> None:
    assert played.directory is not None
    marks = {}
    for port in ("host1", "switch0-0"):
        ecn = [packet[15] & 3 for _, _, packet in capture(played.directory / f"{port}.pcap")]
        assert set(ecn) <= {0b10, 0b11}  # ECT(0), or CE (RFC 3168)
        marks[port] = ecn.count(0b11)
    assert marks == {"host1": 0, "switch0-0": played.ports["switch0:0"]["marked_frames"]}
    assert marks["switch0-0"] > 0


def test_a_capture_has_pauses_of_a_switch_port_as_ieee_802_3_has_them(tmp_path: Path) -> None:
    observe = {"pcap": ["switch0:1"]}
    paused = play(congested("none", observe), incast(SENDERS), SIZE, directory=tmp_path, stop_when_done=False)
    frames = [packet for _, _, packet in capture(tmp_path / "switch0-1.pcap") if packet[12:14] == b"\x88\x08"]
    assert len(frames) == paused.ports["switch0:1"]["pause_frames"] > 0
    for frame in frames:
        assert len(frame) == 60
        assert frame[:6] == bytes.fromhex("0180c2000001")
        assert frame[14:16] == b"\x01\x01"  # priority-based flow control
        assert frame[17] & 1 << 3  # it tells of priority 3
        quanta = list(struct.unpack(">8H", frame[18:34]))
        assert quanta in ([0] * 8, [0, 0, 0, 0xFFFF, 0, 0, 0, 0])  # to go on, or to stop that one


@pytest.mark.parametrize("size", [1, 1000, 1001, 64_000, 1_000_500])
@pytest.mark.parametrize("telemetry", [0, 42])
def test_the_ideal_time_of_a_message_is_its_time_alone(size: int, telemetry: int, tmp_path: Path) -> None:
    network = roce_star(2, telemetry_bytes=telemetry, ack_telemetry_bytes=telemetry)
    flows = play(network, one_message(), size, directory=tmp_path).table("flows")
    line = Star(LINE.rate_bps, LINE.delay_ps, telemetry)
    assert flows["ideal_ps"].tolist() == [line.message_ps(size, PAYLOAD)]
    assert (flows["end_ps"] - flows["start_ps"]).tolist() == flows["ideal_ps"].tolist()


@pytest.mark.parametrize("size", [1, 1000, 64_000, 1_000_500])
@pytest.mark.parametrize(("rate", "rounding"), [("100Gbps", "1ns"), ("400Gbps", "1ns"), ("300Gbps", "3ns")])
@pytest.mark.parametrize("completion", ["arrival", "acknowledged"])
def test_no_message_is_faster_than_its_ideal_time_where_times_are_rounded(
    size: int, rate: str, rounding: str, completion: str, tmp_path: Path
) -> None:
    """300 Gb/s too, where a byte takes no whole number of picoseconds."""
    network = roce_star(2, rate=rate, time_rounding=rounding, completion=completion)
    flows = play(network, one_message(), size, directory=tmp_path).table("flows")
    multiple_ps = int(rounding.removesuffix("ns")) * 1000
    assert (flows["ideal_ps"] - 2 * (1 + (completion == "acknowledged")) * 500_000).mod(multiple_ps).tolist() == [0]
    assert (flows["end_ps"] - flows["start_ps"]).tolist() == flows["ideal_ps"].tolist()


def test_the_ideal_time_of_a_message_does_not_know_of_others(tmp_path: Path) -> None:
    rows = [Row(sender, 0) for sender in range(1, 5)] + [Row(0, 1, 1)]
    flows = play(roce_star(5), by_hand(5, rows), SIZE, directory=tmp_path).table("flows")
    assert set(flows["ideal_ps"]) == {LINE.message_ps(SIZE, PAYLOAD)}
    assert ((flows["end_ps"] - flows["start_ps"]) >= flows["ideal_ps"]).all()


def test_the_ideal_time_with_completion_at_the_sender_counts_the_ack(tmp_path: Path) -> None:
    flows = play(roce_star(2, completion="acknowledged"), one_message(), 1000, directory=tmp_path).table("flows")
    assert flows["ideal_ps"].tolist() == [LINE.acknowledged_ps(1000, PAYLOAD)]


def test_the_ideal_time_takes_the_slowest_line_of_the_path(tmp_path: Path) -> None:
    """Hosts at 100 Gb/s, 25 Gb/s between the switches: packets are sent on one by one there."""
    topology = {
        "kind": "dumbbell",
        "left": 1,
        "right": 1,
        "link": {"rate": "100Gbps", "delay": "500ns"},
        "bottleneck": {"rate": "25Gbps", "delay": "3us"},
        "switch": {"buffer": "64MB"},
    }
    size = 100_000
    flows = play_flows(roce_network(topology), [Flow(0, 1, size)], tmp_path).table("flows")
    slow = Star(25 * 10**9, 0)
    first_ps = LINE.data_ps(PAYLOAD) + 500_000
    expected_ps = first_ps + sum(slow.data_ps(each) for each in packets(size, PAYLOAD)) + 3 * US
    expected_ps += LINE.data_ps(PAYLOAD) + 500_000
    assert flows["end_ps"].tolist() == flows["ideal_ps"].tolist() == [expected_ps]
