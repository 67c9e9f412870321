"""RoCE messages on idle and shared lines, against closed forms to the picosecond."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from oracles.roce_times import ACK, HEADERS, TELEMETRY, Star, buffered, packets
from support.roce_network import CONTROLS, RELIABILITIES, Flow, play_flows, roce_network, roce_star
from support.star_network import Row, by_hand, incast, one_message, play

GBPS = 10**9
DELAY_PS = 500_000
LINE = Star(100 * GBPS, DELAY_PS)
HPCC_LINE = Star(100 * GBPS, DELAY_PS, TELEMETRY)
PAYLOAD = 1000


@pytest.mark.parametrize("gbps", [25, 100, 400, 800])
@pytest.mark.parametrize("delay_ps", [0, DELAY_PS, 5_000_000])
@pytest.mark.parametrize("size", [1, 2, 3, 999, 1000, 1001, 64_000, 1_000_500, 4_000_000])
def test_a_message_takes_its_packets_one_more_on_the_second_line_and_the_delays(
    gbps: int, delay_ps: int, size: int
) -> None:
    played = play(roce_star(2, rate=f"{gbps}Gbps", delay=f"{delay_ps}ps"), one_message(), size)
    assert played.done_ps(1) == Star(gbps * GBPS, delay_ps).message_ps(size, PAYLOAD)


def test_one_packet_at_100_gbps_and_500_ns_takes_1173_ns_by_hand() -> None:
    # 1000 + 62 + 20 = 1082 bytes are 86.56 ns on each of two lines of 500 ns.
    assert play(roce_star(2), one_message(), 1000).done_ps(1) == 2 * (86_560 + 500_000)


def test_four_megabytes_at_400_gbps_take_4000_packets_and_one_by_hand() -> None:
    # 1082 bytes are 21.64 ns; 4000 of them leave one after the other, the last is sent on by the switch.
    assert play(roce_star(2, rate="400Gbps"), one_message(), 4_000_000).done_ps(1) == 4001 * 21_640 + 2 * 500_000


@pytest.mark.parametrize("rate", ["7Gbps", "40Gbps", "2400Gbps"])
def test_rates_at_which_a_byte_takes_no_whole_picoseconds_round_each_packet_to_the_nearest(rate: str) -> None:
    line = Star(int(rate.removesuffix("Gbps")) * GBPS, DELAY_PS)
    assert play(roce_star(2, rate=rate), one_message(), 64_001).done_ps(1) == line.message_ps(64_001, PAYLOAD)


@pytest.mark.parametrize("payload", [1, 256, 1024, 4096, 9000, 65_000])
def test_any_payload(payload: int) -> None:
    played = play(roce_star(2, payload=payload), one_message(), 100_001 if payload > 1 else 1001)
    assert played.done_ps(1) == LINE.message_ps(played.sent_bytes[0], payload)


@pytest.mark.parametrize("reliability", RELIABILITIES)
@pytest.mark.parametrize("control", ["none", "static-window", "dcqcn", "timely", "dctcp", "swift"])
def test_alone_a_message_goes_at_line_rate_whatever_would_slow_it(control: str, reliability: str) -> None:
    """Nothing is marked, lost, or late; a window of the bandwidth-delay product keeps the line busy."""
    marking = {"ecn": {"kmin": "100KB", "kmax": "100KB"}}
    network = roce_star(2, switch=marking, congestion_control=control, reliability=reliability)
    assert play(network, one_message(), 1_000_000).done_ps(1) == LINE.message_ps(1_000_000, PAYLOAD)


@pytest.mark.parametrize("size", [1, 3, 1000, 20_000])
def test_hpcc_has_42_bytes_more_on_each_data_packet_and_each_ack(size: int) -> None:
    """As much as goes out before the first ACK tells anything."""
    played = play(roce_star(2, congestion_control="hpcc"), one_message(), size, stop_when_done=False)
    assert played.done_ps(1) == HPCC_LINE.message_ps(size, PAYLOAD)
    sizes = packets(size, PAYLOAD)
    assert played.ports["host0"]["sent_bytes"] == sum(buffered(each + HEADERS + 42) for each in sizes)
    assert played.ports["host1"]["sent_bytes"] == len(sizes) * (ACK + 42)


@pytest.mark.parametrize("size", [1001, 4_000_500])
def test_telemetry_takes_its_time_on_every_line(size: int) -> None:
    network = roce_star(2, telemetry_bytes=42, ack_telemetry_bytes=42)
    assert play(network, one_message(), size).done_ps(1) == HPCC_LINE.message_ps(size, PAYLOAD)


@pytest.mark.parametrize("window", [1000, 1001, 4000, 20_000, 28_000, 60_000])
@pytest.mark.parametrize("size", [1, 1001, 500_500])
def test_a_window_lets_the_next_packet_go_when_less_than_it_is_unacknowledged(window: int, size: int) -> None:
    played = play(roce_star(2, window=window), one_message(), size)
    assert played.done_ps(1) == LINE.windowed_ps(size, PAYLOAD, window)


def test_a_window_of_one_packet_takes_a_round_trip_for_each() -> None:
    first_99 = 99 * LINE.round_trip_ps(PAYLOAD)
    played = play(roce_star(2, window=1000), one_message(), 100_000)
    assert played.done_ps(1) == first_99 + LINE.message_ps(1000, PAYLOAD)


@pytest.mark.parametrize("delay_ps", [0, 100_000, 12_345_678])
def test_the_window_of_the_path_is_the_least_that_keeps_the_line_busy(delay_ps: int) -> None:
    """The bandwidth-delay product, in bytes on the line, is above it by the headers' share of a window at most."""
    line = Star(100 * GBPS, delay_ps)
    network = roce_star(2, delay=f"{delay_ps}ps", window="bdp")
    assert play(network, one_message(), 1_000_000).done_ps(1) == line.message_ps(1_000_000, PAYLOAD)
    needed = line.round_trip_ps(PAYLOAD) // line.data_ps(PAYLOAD) * PAYLOAD
    short = play(roce_star(2, delay=f"{delay_ps}ps", window=needed), one_message(), 1_000_000)
    assert short.done_ps(1) > line.message_ps(1_000_000, PAYLOAD)


@pytest.mark.parametrize("size", [1, 1000, 1001, 64_000])
def test_completion_at_the_sender_waits_for_the_last_ack(size: int) -> None:
    """The ACK of a last, small packet queues behind the one before it."""
    played = play(roce_star(2, completion="acknowledged"), one_message(), size)
    assert played.done_ps(1) == LINE.acknowledged_ps(size, PAYLOAD)


@pytest.mark.parametrize(("every", "acks"), [(1, 10), (2, 5), (3, 4), (4, 3), (100, 1)])
def test_acks_are_one_for_so_many_packets_and_one_for_the_last(every: int, acks: int) -> None:
    played = play(roce_star(2, ack_every=every), one_message(), 10_000, stop_when_done=False)
    assert played.done_ps(1) == LINE.message_ps(10_000, PAYLOAD)
    assert played.ports["host1"]["sent_frames"] == acks
    assert played.ports["host1"]["sent_bytes"] == acks * ACK


@pytest.mark.parametrize("fan_in", [2, 8, 64])
@pytest.mark.parametrize("size", [1000, 100_500])
def test_the_last_of_messages_into_one_port_ends_with_all_their_packets(fan_in: int, size: int) -> None:
    played = play(roce_star(fan_in + 1), incast(fan_in), size)
    assert played.done_ps(0) == LINE.shared_port_ps([size] * fan_in, PAYLOAD)


def test_messages_of_several_sizes_into_one_port_end_with_all_their_packets() -> None:
    """As hosts send to host 0: 1, 2, ... blocks of 50 kB; each is on its line before the port has sent the rest."""
    rows = [Row(sender, 0, step) for sender in range(1, 5) for step in range(sender)]
    played = play(roce_star(5), by_hand(5, rows), 50_000)
    assert played.done_ps(0) == LINE.shared_port_ps([50_000, 100_000, 150_000, 200_000], PAYLOAD)


@pytest.mark.parametrize("fan_out", [2, 7, 64])
def test_queue_pairs_take_turns_on_a_senders_line(fan_out: int, tmp_path: Path) -> None:
    """All end within one round of packets, and the last when the line has sent them all."""
    rows = [Row(0, receiver) for receiver in range(1, fan_out + 1)]
    played = play(roce_star(fan_out + 1), by_hand(fan_out + 1, rows), 50_000, directory=tmp_path)
    last_ps = LINE.shared_sender_ps([50_000] * fan_out, PAYLOAD)
    expected = {receiver: last_ps - (fan_out - receiver) * LINE.data_ps(PAYLOAD) for receiver in range(1, fan_out + 1)}
    flows = played.table("flows")
    assert dict(zip(flows["destination"].tolist(), flows["end_ps"].tolist(), strict=True)) == expected


def test_data_and_acks_of_both_directions_share_a_line() -> None:
    """In an exchange each line carries as many ACKs as packets; ACKs of the last round trip come after the data."""
    size = 1_000_000
    sent = size // PAYLOAD
    last_round = LINE.round_trip_ps(PAYLOAD) // LINE.data_ps(PAYLOAD) + 1
    played = play(roce_star(2), by_hand(2, [Row(0, 1), Row(1, 0)]), size)
    alone_ps = LINE.message_ps(size, PAYLOAD)
    assert alone_ps + (sent - last_round) * LINE.ack_ps() <= played.finish_ps <= alone_ps + (sent + 1) * LINE.ack_ps()


@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("queue_pairs", ["per-pair", "per-message"])
def test_a_message_of_one_packet_takes_the_same_on_an_old_queue_pair_as_on_a_new_one(
    control: str, queue_pairs: str, tmp_path: Path
) -> None:
    rows = [Row(step % 2, 1 - step % 2, step, wait_step=step - 1, wait_count=int(step > 0)) for step in range(20)]
    network = roce_star(2, congestion_control=control, queue_pairs=queue_pairs, window=1_000_000)
    flows = play(network, by_hand(2, rows), 1000, directory=tmp_path).table("flows")
    telemetry: dict[str, int] = {"hpcc": TELEMETRY, "hpcc-pint": 2}
    line = Star(100 * GBPS, DELAY_PS, telemetry.get(control, 0))
    taken = (flows["end_ps"] - flows["start_ps"]).tolist()
    # The ACK of a message and the next message leave at the same time; the ACK goes first.
    assert taken == [line.message_ps(1000, PAYLOAD)] + [line.message_ps(1000, PAYLOAD) + line.ack_ps()] * 19


@pytest.mark.parametrize("control", ["none", "hpcc"])
@pytest.mark.parametrize("size", [1000, 20_000])
def test_each_line_more_takes_a_packet_and_a_delay_more(control: str, size: int) -> None:
    """Leaf, spine, leaf: four lines. HPCC's 42 bytes hold what up to five switches write; none adds any."""
    topology = {
        "kind": "leaf-spine",
        "leaves": 2,
        "spines": 2,
        "hosts_per_leaf": 2,
        "link": {"rate": "100Gbps", "delay": "500ns"},
        "switch": {"buffer": "64MB"},
    }
    played = play(roce_network(topology, congestion_control=control), one_message(), size, ranks=[0, 3])
    line = HPCC_LINE if control == "hpcc" else LINE
    assert played.done_ps(3) == line.message_ps(size, PAYLOAD) + 2 * (line.data_ps(PAYLOAD) + DELAY_PS)


def test_a_message_of_more_than_4_gib() -> None:
    """Byte counts and stream positions are 64 bits wide end to end."""
    size, payload = 2**32 + 1_000_000, 65_000
    network: Any = roce_star(2, payload=payload, ack_every=64)
    played = play(network, one_message(), size)
    assert played.done_ps(1) == LINE.message_ps(size, payload)
    assert played.sent_bytes == [size, 0]
    assert played.ports["host0"]["sent_bytes"] == size + len(packets(size, payload)) * HEADERS


@pytest.mark.parametrize("start_ps", [1, 86_559, 86_560, 86_561, 173_119, 173_121, 300_000, 900_000])
def test_a_message_never_leaves_before_it_is_handed_over(start_ps: int, tmp_path: Path) -> None:
    # 1000 + 62 + 20 bytes take 86,560 ps at 100 Gb/s. The first message's two packets have left by 173,120 ps, while
    # both are still on their way; the second message may follow then, or when it comes, and crosses two lines.
    packet_ps = 86_560
    flows = [Flow(0, 1, 2000), Flow(0, 1, 1000, start_ps=start_ps)]
    arrived = play_flows(roce_star(2), flows, tmp_path).table("flows").set_index("collective")["end_ps"]
    assert arrived.max() == max(start_ps, 2 * packet_ps) + 2 * (packet_ps + 500_000)
