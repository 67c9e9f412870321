"""Several RoCE queue pairs between two NPUs on lines and paths, and packets out of order on two paths, by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from oracles.roce_times import HEADERS, wire
from support.roce_network import Flow, play_flows, roce_network, roce_star
from support.star_network import Played, Row, by_hand, one_message, play

from astra_ns3.config.transports.roce import RoceTransport

PAYLOAD = 1000
PACKET_PS = wire(PAYLOAD + HEADERS) * 80
"""A full packet on a line of 100 Gb/s."""
DELAY_PS = 500_000
LINK = {"rate": "100Gbps", "delay": "500ns"}
SPINES = 4
SEEDS = range(1, 9)
MESSAGES = 16
MESSAGE_PACKETS = 32

# Hosts 0 and 1, leaves 2 and 3, spines 4 and 5 between them.
TWO_PATHS = """6 4 6
2 3 4 5
0 2 100Gbps 500ns 0
1 3 100Gbps 500ns 0
2 4 100Gbps 500ns 0
4 3 100Gbps 500ns 0
2 5 100Gbps 500ns 0
5 3 100Gbps {delay} 0
"""


def between_leaves(seed: int, **transport: Any) -> Played:
    """As many hosts on either leaf as there are spines; each sends its messages to its like on the other leaf."""
    topology = {
        "kind": "leaf-spine",
        "leaves": 2,
        "spines": SPINES,
        "hosts_per_leaf": SPINES,
        "link": LINK,
        "switch": {"buffer": "1GB"},
        "routing": {"seed": seed},
    }
    rows = [Row(host, host + SPINES, step) for step in range(MESSAGES) for host in range(SPINES)]
    network = roce_network(topology, **transport)
    return play(network, by_hand(2 * SPINES, rows), MESSAGE_PACKETS * PAYLOAD, stop_when_done=True)


def busiest_uplink(played: Played) -> int:
    """Data packets over that link to a spine that most take."""
    return max(int(played.ports[f"switch0:{SPINES + spine}"]["sent_frames"]) for spine in range(SPINES))


TOTAL = MESSAGES * MESSAGE_PACKETS


@pytest.mark.parametrize("backend", ["ns3", "flow"])
@pytest.mark.parametrize(("receiver", "queue_pairs"), [(1, 1), (2, 2)])
def test_messages_inside_a_server_take_no_turns(receiver: int, queue_pairs: int, backend: str, tmp_path: Path) -> None:
    """Two messages to an NPU of another server share the line; inside a server the second waits."""
    network = roce_star(4, queue_pairs_per_pair=2)
    assert isinstance(network.transport, RoceTransport)
    network = network.model_copy(update={"transport": network.transport.without_turns_inside(2)})
    flow = Flow(0, receiver, MESSAGE_PACKETS * PAYLOAD, messages=2)
    played = play_flows(network, [flow], tmp_path, backend=backend)
    first = MESSAGE_PACKETS if queue_pairs == 1 else 2 * MESSAGE_PACKETS - 1
    packets = sorted((played.table("flows")["end_ps"] - 2 * DELAY_PS - PACKET_PS) / PACKET_PS)
    assert packets == pytest.approx([first, 2 * MESSAGE_PACKETS], abs=1 if backend == "flow" else 0)
    assert backend == "flow" or played.statistics["queue_pairs"] == queue_pairs


@pytest.mark.parametrize(("queue_pairs", "use"), [(1, "turns"), (4, "turns"), (4, "split"), (32, "split")])
def test_flows_between_leaves_take_as_long_as_their_busiest_link(queue_pairs: int, use: str) -> None:
    """Where packets never wait for acknowledgements, a link with more than its share is busy from the first one on.

    It begins when the first of its packets has come, which each host sends within a round of its queue pairs, and its
    last one has four lines' delays and three more lines to take. On a link with its share only, packets of several
    hosts may leave gaps between them: no more than each host's queue pairs and messages.
    """
    for seed in SEEDS:
        played = between_leaves(seed, queue_pairs_per_pair=queue_pairs, queue_pair_use=use)
        busiest = busiest_uplink(played)
        assert played.statistics["retransmissions"] == 0
        least_ps = (max(busiest, TOTAL) + 3) * PACKET_PS + 4 * DELAY_PS
        gaps_ps = (2 * SPINES + queue_pairs) * PACKET_PS
        assert least_ps <= played.finish_ps <= least_ps + gaps_ps, seed


def test_one_queue_pair_each_collides_where_many_share_the_spines() -> None:
    """Four flows on four spines, each as fast as a host: with one path each some spine has two flows or more."""
    alone = {seed: between_leaves(seed) for seed in SEEDS}
    many = {seed: between_leaves(seed, queue_pairs_per_pair=32, queue_pair_use="split") for seed in SEEDS}
    assert {busiest_uplink(played) % TOTAL for played in alone.values()} == {0}
    collided = [seed for seed, played in alone.items() if busiest_uplink(played) > TOTAL]
    assert collided
    for seed in collided:
        assert many[seed].finish_ps < alone[seed].finish_ps
    doubled = [seed for seed in collided if busiest_uplink(alone[seed]) == 2 * TOTAL]
    assert doubled
    # Of 128 queue pairs a spine has 32, give or take 4.9: none has twice that, which would leave nothing won.
    for seed in doubled:
        won = alone[seed].finish_ps / many[seed].finish_ps
        assert won == pytest.approx(2 * TOTAL / busiest_uplink(many[seed]), rel=0.05)
        assert won > 1.2


def test_two_queue_pairs_on_two_equal_spines_double_what_a_collision_leaves() -> None:
    """Two hosts on two spines: where both hosts' only queue pairs collide, and one of two of each does not."""
    topology = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 2, "link": LINK}
    rows = [Row(host, host + 2, step) for step in range(10) for host in range(2)]
    found = []
    for seed in range(1, 65):
        made = {**topology, "switch": {"buffer": "1GB"}, "routing": {"seed": seed}}
        one, two = (
            play(roce_network(made, queue_pairs_per_pair=each, queue_pair_use="split"), by_hand(4, rows), 40 * PAYLOAD)
            for each in (1, 2)
        )
        loads = [[played.ports[f"switch0:{2 + spine}"]["sent_frames"] for spine in range(2)] for played in (one, two)]
        if sorted(loads[0]) == [0, 800] and loads[1] == [400, 400]:
            found.append((one.finish_ps, two.finish_ps))
            if len(found) == 3:
                break
    assert found
    for one_ps, two_ps in found:
        assert one_ps == (800 + 3) * PACKET_PS + 4 * DELAY_PS
        # Packets of both hosts may come to a spine together: a packet more, or a few.
        assert (400 + 3) * PACKET_PS + 4 * DELAY_PS <= two_ps <= (400 + 6) * PACKET_PS + 4 * DELAY_PS


@pytest.mark.parametrize("use", ["turns", "split"])
def test_a_window_is_each_queue_pairs_own(use: str) -> None:
    """With a packet's window a queue pair sends a packet each round trip, and four send four."""
    rows = [Row(0, 1, step) for step in range(4)]
    finish = {
        queue_pairs: play(
            roce_star(2, window=PAYLOAD, queue_pairs_per_pair=queue_pairs, queue_pair_use=use),
            by_hand(2, rows),
            20 * PAYLOAD,
        ).finish_ps
        for queue_pairs in (1, 4)
    }
    ack_ps = wire(HEADERS + 4) * 80
    round_trip_ps = 2 * (PACKET_PS + ack_ps) + 4 * DELAY_PS
    one_way_ps = 2 * PACKET_PS + 2 * DELAY_PS
    assert finish[1] == 79 * round_trip_ps + one_way_ps
    assert finish[4] == 19 * round_trip_ps + one_way_ps + 3 * PACKET_PS


def over_two_paths(folder: Path, packets: int, delay: str, routing: str, **transport: Any) -> Played:
    """One message; the second path may have a longer delay than the first."""
    (folder / "graph.txt").write_text(TWO_PATHS.format(delay=delay), encoding="utf-8")
    topology = {
        "kind": "file",
        "path": str(folder / "graph.txt"),
        "switch": {"buffer": "1GB"},
        "routing": {"kind": routing},
    }
    network = roce_network(topology, **transport)
    return play(network, one_message(), packets * PAYLOAD, directory=folder, stop_when_done=False)


PATIENT = {"kind": "selective-repeat", "reordering_packets": 1000}


@pytest.mark.parametrize(
    ("delay", "out_of_order"),
    [
        ("500ns", 0),
        ("586ns", 0),  # 86 ns later, and the next packet leaves 86.56 ns later
        ("587ns", 50),  # the next one of the other path comes before it
        ("5us", 50),  # so do several: it is one packet all the same
    ],
)
def test_spraying_in_turns_over_paths_of_two_lengths_puts_every_packet_of_the_longer_behind_the_next(
    delay: str, out_of_order: int, tmp_path: Path
) -> None:
    """Of 101 packets the longer path has 50 with a successor on the other, whichever path comes first."""
    played = over_two_paths(tmp_path, 101, delay, "spray", reliability=PATIENT)
    assert played.statistics["out_of_order_packets"] == out_of_order
    assert played.statistics["retransmissions"] == 0


@pytest.mark.parametrize("reliability", ["go-back-n", PATIENT])
@pytest.mark.parametrize(("queue_pairs", "use"), [(1, "turns"), (8, "split")])
def test_nothing_is_out_of_order_where_each_queue_pair_has_one_path(
    queue_pairs: int, use: str, reliability: Any, tmp_path: Path
) -> None:
    keys = {"queue_pairs_per_pair": queue_pairs, "queue_pair_use": use, "reliability": reliability}
    played = over_two_paths(tmp_path, 101, "5us", "ecmp", **keys)
    assert played.statistics["out_of_order_packets"] == played.statistics["retransmissions"] == 0
    used = [played.ports[f"switch0:{1 + path}"]["sent_frames"] > 0 for path in range(2)]
    assert sum(used) == (1 if queue_pairs == 1 else 2)


def test_packets_that_go_back_n_throws_away_are_counted_where_they_arrive(tmp_path: Path) -> None:
    statistics = over_two_paths(tmp_path, 101, "5us", "spray", reliability="go-back-n").statistics
    assert statistics["retransmissions"] > 0
    assert statistics["out_of_order_packets"] > 0


def test_losses_alone_put_nothing_out_of_order() -> None:
    """What is sent again comes late, but behind nothing that was sent after it."""
    for reliability in ("go-back-n", "go-back-0", "selective-repeat"):
        network = roce_star(2, error_rate=0.02, reliability={"kind": reliability, "timeout": "50us", "retries": 0})
        statistics = play(network, one_message(), 500 * PAYLOAD, stop_when_done=False).statistics
        assert statistics["retransmissions"] > 0
        assert statistics["out_of_order_packets"] == 0
