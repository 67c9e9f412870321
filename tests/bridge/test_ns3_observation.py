"""What the ns-3 backend writes down while it runs: connections, queues, captures, messages, ports."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from oracles.tcp_times import HEADERS, Star
from support.small_run import small_run, small_system
from support.star_network import Played, Row, by_hand, incast, one_message, play, star

import astra_ns3
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.errors import InputError
from astra_ns3.report.records import Recorded
from astra_ns3.workload.files.astra_sim import parse_workload

SENDERS = 4
SIZE = 300_000
SEGMENT = 1460
LINE = Star(100 * 10**9, 500_000)
QUANTITIES = ("congestion_window", "rtt", "retransmissions", "timeouts")
INTERVAL_PS = 1_000_000
BUFFER_BYTES = 100_000
ROWS_KEPT = 65_536
"""The native library hands its rows over when it has so many."""


@pytest.fixture(scope="module", params=["1GB", BUFFER_BYTES], ids=["lossless", "lossy"])
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Played:
    """An incast with everything observed, once with a buffer that suffices and once with one that doesn't."""
    observe: dict[str, object] = {
        "connections": list(QUANTITIES),
        "queues": ["all"],
        "queue_interval": f"{INTERVAL_PS}ps",
        "pcap": ["host1", "switch0:0"],
    }
    network = star(SENDERS + 1, buffer=request.param, min_rto="1ms", observe=observe)
    return play(network, incast(SENDERS), SIZE, directory=tmp_path_factory.mktemp("observed"))


def values(played: Played, quantity: str) -> pd.DataFrame:
    table = played.table("connections")
    rows: pd.DataFrame = table[table["quantity"] == quantity]
    return rows


def test_connection_rows_are_in_order_and_name_the_pair(played: Played) -> None:
    table = played.table("connections")
    assert table["time_ps"].is_monotonic_increasing
    assert table["time_ps"].max() <= played.end_ps
    assert set(zip(table["source"], table["destination"], strict=True)) == {(rank, 0) for rank in range(1, SENDERS + 1)}


def test_the_congestion_window_starts_at_the_initial_window(played: Played) -> None:
    windows = values(played, "congestion_window_bytes")
    assert windows.groupby("source")["value"].first().tolist() == [10 * SEGMENT] * SENDERS
    assert windows["value"].max() > 10 * SEGMENT


def test_no_round_trip_is_shorter_than_the_network_allows(played: Played) -> None:
    round_trips = values(played, "rtt_ps")
    assert set(round_trips["source"]) == set(range(1, SENDERS + 1))
    # The handshake of the sender that comes first at the common port meets nobody.
    assert round_trips["value"].iloc[0] == LINE.handshake_ps()
    assert round_trips["value"].min() >= 4 * LINE.hop_ps(HEADERS)


def test_retransmissions_and_timeouts_are_there_exactly_when_frames_were_dropped(played: Played) -> None:
    sent_again, timeouts = values(played, "retransmitted_bytes"), values(played, "timeouts")
    lossy = played.statistics["dropped_frames"] > 0
    assert lossy == (played.ports["switch0:0"]["highest_queue_bytes"] <= BUFFER_BYTES)
    assert (len(sent_again) > 0) == lossy
    assert len(sent_again) == played.statistics["retransmissions"]
    assert timeouts["value"].sum() == played.statistics["timeouts"]
    assert sent_again["value"].between(1, SEGMENT).all()


def test_queues_are_sampled_at_multiples_of_the_interval_when_they_changed(played: Played) -> None:
    queues = played.table("queues")
    assert (queues["time_ps"] % INTERVAL_PS == 0).all()
    assert set(queues["port"]) <= set(played.ports)
    for port, rows in queues.groupby("port", observed=True):
        assert rows["time_ps"].is_monotonic_increasing
        assert rows["time_ps"].is_unique
        assert (rows["queue_bytes"].diff().iloc[1:] != 0).all()
        assert 0 < rows["queue_bytes"].max() <= played.ports[str(port)]["highest_queue_bytes"]


def test_the_bottleneck_has_the_longest_queue_and_it_is_seen(played: Played) -> None:
    longest = played.table("queues").groupby("port", observed=True)["queue_bytes"].max()
    assert longest.idxmax() == "switch0:0"
    # Between two samples 1 us apart, four senders bring at most 3 x 12,500 bytes more than leave.
    assert longest["switch0:0"] > played.ports["switch0:0"]["highest_queue_bytes"] - 3 * 12_500


def pcap_records(path: Path) -> Iterator[tuple[int, bytes, int]]:
    """Time in ns, captured bytes and original length of each record; checks the header."""
    content = path.read_bytes()
    magic, major, minor, _, _, snap_bytes, link_type = struct.unpack_from("<IHHiIII", content)
    assert (magic, major, minor) == (0xA1B23C4D, 2, 4)  # nanosecond stamps
    assert link_type == 101  # raw IP
    offset = 24
    while offset < len(content):
        seconds, nanoseconds, captured, original = struct.unpack_from("<IIII", content, offset)
        assert captured == min(original, snap_bytes)
        offset += 16
        yield seconds * 10**9 + nanoseconds, content[offset : offset + captured], original
        offset += captured
    assert offset == len(content)


def test_where_some_messages_go_over_tcp_and_others_over_roce_all_are_ethernet_frames(tmp_path: Path) -> None:
    link = {"rate": "100Gbps", "delay": "500ns"}
    topology = {"kind": "single-switch", "npus": 4, "link": link, "switch": {"buffer": "1MB"}, "dimensions": [2, 2]}
    network = {"topology": topology, "transports": ["tcp", "roce"], "observe": {"pcap": ["host2"]}}
    workload = "DATA\n1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 4000 1\n"
    astra_ns3.run(
        network=parse_network(network),
        workload=parse_workload(workload, "one.txt"),
        system=small_system(**{"all-reduce-implementation": ["ring", "ring"]}),
        output=tmp_path,
    )
    content = (tmp_path / "host2.pcap").read_bytes()
    assert struct.unpack_from("<I", content, 20) == (1,)  # Ethernet
    found = set()
    offset = 24
    while offset < len(content):
        _, _, kept, length = struct.unpack_from("<IIII", content, offset)
        frame = content[offset + 16 : offset + 16 + kept]
        offset += 16 + kept
        assert frame[6:14] == bytes.fromhex("0200000000020800")  # from NPU 2, IPv4
        assert int.from_bytes(frame[16:18], "big") == length - 14
        assert int.from_bytes(frame[2:6], "big") + 0x0A000001 == int.from_bytes(frame[30:34], "big")
        found.add((frame[23], frame[5]))
    assert found == {(6, 3), (17, 0)}  # TCP to its neighbour, UDP to the other pair


def test_tables_are_written_and_read_where_a_folder_has_no_name_in_utf_8(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    astra_ns3.run(**{**small_run(), "backend": "ns3"}, output=folder / "out", record=("flows",), isolated=False)
    assert Recorded(folder / "out" / "flows.parquet").rows > 0


def test_the_second_port_of_a_host_is_observed_under_its_name(tmp_path: Path) -> None:
    topology = {"kind": "full-mesh", "npus": 3, "link": {"rate": "100Gbps", "delay": "500ns"}}
    observe = {
        "queues": ["host0:1"],
        "queue_interval": "100ns",
        "utilisation": ["host0", "host0:1"],
        "pcap": ["host0:1"],
    }
    network = parse_network({"topology": topology, "transport": "tcp", "observe": observe})
    played = play(network, by_hand(3, [Row(0, 2)]), 100_000, directory=tmp_path)
    assert set(played.table("queues")["port"]) == {"host0:1"}
    busy = played.table("utilisation")
    assert set(busy[busy["wire_bytes"] > 0]["port"]) == {"host0:1"}
    assert len(list(pcap_records(tmp_path / "host0-1.pcap"))) == played.ports["host0:1"]["sent_frames"] > 0


@pytest.mark.parametrize(("port", "file", "destination"), [("host1", "host1", 0), ("switch0:0", "switch0-0", 0)])
def test_a_capture_holds_every_packet_the_port_sent(played: Played, port: str, file: str, destination: int) -> None:
    assert played.directory is not None
    records = list(pcap_records(played.directory / f"{file}.pcap"))
    counters = played.ports[port]
    assert len(records) == counters["sent_frames"]
    assert sum(max(64, length + 18) for _, _, length in records) == counters["sent_bytes"]
    times = [time_ns for time_ns, _, _ in records]
    assert times == sorted(times)
    assert times[-1] * 1000 <= played.end_ps
    for _, packet, length in records:
        assert packet[0] == 0x45  # IPv4, 20 bytes of header
        assert int.from_bytes(packet[2:4], "big") == length
        assert packet[9] == 6  # TCP
        assert packet[16:20] == bytes([10, 0, 0, 1 + destination])


def test_flows_have_one_row_per_message_with_its_rank_pair_bytes_and_times(played: Played) -> None:
    flows = played.table("flows")
    columns = ["source", "destination", "collective", "chunk", "phase", "row", "bytes"]
    assert flows.columns.tolist() == [*columns, "start_ps", "end_ps", "ideal_ps"]
    assert set(flows["ideal_ps"]) == {0}  # it is RoCE's to say
    assert sorted(flows["source"]) == [1, 2, 3, 4]
    assert set(flows["destination"]) == {0}
    assert set(flows["bytes"]) == {SIZE}
    assert flows["end_ps"].is_monotonic_increasing
    assert (flows["start_ps"] == 0).all()
    assert flows["end_ps"].max() == played.done_ps(0)


def test_observing_changes_nothing(played: Played) -> None:
    buffer = BUFFER_BYTES if played.statistics["dropped_frames"] else "1GB"
    plain = play(star(SENDERS + 1, buffer=buffer, min_rto="1ms"), incast(SENDERS), SIZE)
    assert plain.listener.done == played.listener.done
    assert plain.ports == played.ports
    counts = ("events", "packets", "retransmissions", "timeouts")
    assert [plain.statistics[name] for name in counts] == [played.statistics[name] for name in counts]


@pytest.mark.parametrize(
    ("quantity", "column"), [("rtt", "rtt_ps"), ("congestion_window", "congestion_window_bytes"), ("timeouts", None)]
)
def test_only_what_was_asked_for_is_written(quantity: str, column: str | None, tmp_path: Path) -> None:
    observe: dict[str, object] = {"connections": [quantity], "queues": ["switch0:1"]}
    played = play(star(3, observe=observe), incast(2), 50_000, directory=tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "connections.parquet",
        "flows.parquet",
        "queues.parquet",
    ]
    assert set(played.table("connections")["quantity"]) == ({column} if column else set())
    assert set(played.table("queues")["port"]) <= {"switch0:1"}


def test_nothing_is_written_unless_asked_for(tmp_path: Path) -> None:
    play(star(2), one_message(), 1000, directory=tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["flows.parquet"]


def test_messages_are_streamed_in_row_groups_of_bounded_size(tmp_path: Path) -> None:
    messages = 2 * ROWS_KEPT + 10
    network = star(2, npus_per_host=2)
    play(network, by_hand(2, [Row(0, 1)] * messages), 1, directory=tmp_path)
    metadata = pq.read_metadata(tmp_path / "flows.parquet")
    sizes = [metadata.row_group(index).num_rows for index in range(metadata.num_row_groups)]
    assert sizes == [ROWS_KEPT, ROWS_KEPT, 10]
    rows = pd.read_parquet(tmp_path / "flows.parquet")["row"]
    assert rows.tolist() == list(range(messages))


@pytest.mark.parametrize(
    "observe", [{"queues": ["switch0:9"]}, {"queues": ["host7"]}, {"pcap": ["switch1:0"]}, {"pcap": ["host0", "host9"]}]
)
def test_a_port_that_does_not_exist_is_an_input_error(observe: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"there is no|has ports 0 to"):
        play(star(2, observe=observe), one_message(), 1000)
    assert play(star(2), one_message(), 1000).finish_ps > 0  # the next session is not in its way


def test_ports_add_up() -> None:
    """Without drops every frame leaves two ports; IP packets received are frames that left the switch."""
    played = play(star(SENDERS + 1), incast(SENDERS), SIZE, stop_when_done=False)
    frames = {name: port["sent_frames"] for name, port in played.ports.items()}
    sizes = {name: port["sent_bytes"] for name, port in played.ports.items()}
    for counts in (frames, sizes):
        nics = sum(count for name, count in counts.items() if name.startswith("host"))
        assert nics == sum(count for name, count in counts.items() if name.startswith("switch"))
    assert played.statistics["packets"] == sum(count for name, count in frames.items() if name.startswith("switch"))
    assert frames["switch0:0"] == sum(frames[f"host{rank}"] for rank in range(1, SENDERS + 1))
    assert [port["link_to"] for name, port in played.ports.items() if name.startswith("switch")] == [
        f"host{rank}" for rank in range(SENDERS + 1)
    ]


def test_marks_are_counted_where_they_are_made() -> None:
    network = star(3, congestion_control="Dctcp", ecn={"kmin": 0, "kmax": 1})
    played = play(network, incast(2), SIZE)
    marked = {name: port["marked_frames"] for name, port in played.ports.items()}
    assert {name for name, count in marked.items() if count} == {"switch0:0"}
    # Marking by queue length as it is on arrival: a frame that finds the line free is not marked.
    assert marked["switch0:0"] < played.ports["switch0:0"]["sent_frames"]


def test_the_same_config_as_a_file_names_the_observed_things() -> None:
    network = parse_network(star(2, observe={"queues": ["all"], "connections": ["rtt"]}).document())
    assert network.observe.queues == ("all",)
    assert network.observe.connections == ("rtt",)
