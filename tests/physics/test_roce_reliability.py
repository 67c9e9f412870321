"""RoCE on links that lose packets: what each way of repair costs, and that every message arrives once."""

from __future__ import annotations

from pathlib import Path

import pytest
from oracles.roce_times import Star
from support.roce_network import LOSSLESS, RELIABILITIES, Flow, play_flows, roce_star
from support.star_network import Played, one_message, play

from astra_ns3.collectives.lookup import lookup
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.errors import BackendError

MS = 10**9
PAYLOAD = 1000
LINE = Star(100 * 10**9, 500_000)
SIZE = 1_000_000
CHUNK_PACKETS = 4
"""Of go-back-0: 4000 bytes."""


def lost_data(played: Played) -> int:
    """Data packets of host 0's message to host 1 that a line lost."""
    return int(played.ports["host0"]["lost_frames"] + played.ports["switch0:1"]["lost_frames"])


def lost_acks(played: Played) -> int:
    """ACKs and NACKs on their way back that a line lost."""
    return int(played.ports["host1"]["lost_frames"] + played.ports["switch0:0"]["lost_frames"])


def sent_until_told() -> int:
    """Packets from the lost one to the last that left before its NACK came, both counted.

    The next packet brings out the loss. Its first bit leaves one packet later, its last is there two packets and two
    delays after that, and the NACK takes as long as any ACK.
    """
    told_ps = 3 * LINE.data_ps(PAYLOAD) + 2 * LINE.ack_ps() + 4 * LINE.delay_ps
    return 1 + told_ps // LINE.data_ps(PAYLOAD)


@pytest.mark.parametrize("reliability", RELIABILITIES)
def test_one_lost_packet_costs_what_was_sent_until_the_nack_came(reliability: str) -> None:
    """Go-back-N sends all of that again, go-back-0 the lost packet's chunk up to it besides, selective repeat one."""
    seen = 0
    alone_ps = LINE.message_ps(SIZE, PAYLOAD)
    for seed in range(1, 30):
        played = play(
            roce_star(2, error_rate=1e-4, reliability=reliability),
            one_message(),
            SIZE,
            seed=seed,
            stop_when_done=False,
        )
        if (lost_data(played), lost_acks(played)) != (1, 0):
            continue
        seen += 1
        again = played.statistics["retransmissions"]
        assert played.done_ps(1) == alone_ps + again * LINE.data_ps(PAYLOAD)
        assert played.statistics["timeouts"] == 0
        if reliability == "selective-repeat":
            assert again == 1
        elif reliability == "go-back-n":
            assert again == sent_until_told()
        else:
            assert sent_until_told() <= again < sent_until_told() + CHUNK_PACKETS
    assert seen >= 3


@pytest.mark.parametrize("error_rate", [0.001, 0.01, 0.05])
@pytest.mark.parametrize("reliability", RELIABILITIES)
def test_a_message_over_lines_that_lose_packets_arrives(reliability: str, error_rate: float, tmp_path: Path) -> None:
    """Up to 18% of round trips fail, on four lines; what is lost is sent again."""
    lost = []
    for seed in range(1, 6):
        folder = tmp_path / str(seed)
        folder.mkdir()
        network = roce_star(
            2, error_rate=error_rate, window="bdp", reliability={"kind": reliability, "timeout": "50us", "retries": 50}
        )
        # Until 200 ms: 2000 times what it takes without losses.
        played = play_flows(network, [Flow(0, 1, SIZE)], folder, until_ps=200 * MS, seed=seed)
        assert played.table("flows")["bytes"].tolist() == [SIZE]
        lost.append(lost_data(played))
        assert played.statistics["lost_frames"] == lost[-1] + lost_acks(played)
        assert played.statistics["retransmissions"] >= lost[-1]
        assert played.statistics["dropped_frames"] == 0
    assert sum(lost) > 0


def test_selective_repeat_costs_the_least_and_going_back_to_the_start_the_most() -> None:
    """Without a window a loss costs the sender no standstill, so selective repeat takes a packet for each, 0.6%."""
    finishes = []
    for reliability in ("selective-repeat", "go-back-n", "go-back-0"):
        network = roce_star(2, error_rate=0.003, reliability={"kind": reliability, "timeout": "100us"})
        finishes.append(sum(play(network, one_message(), 4_000_000, seed=seed).done_ps(1) for seed in range(1, 6)))
    assert finishes[0] < 1.05 * 5 * LINE.message_ps(4_000_000, PAYLOAD)
    assert finishes[0] < 0.9 * finishes[1]
    assert finishes[1] < finishes[2]


def test_going_back_to_the_start_of_the_message_livelocks_where_go_back_n_does_not(tmp_path: Path) -> None:
    """Guo et al., "RDMA over Commodity Ethernet at Scale", SIGCOMM 2016, section 4.1: messages of 4 MB, one packet in
    256 dropped. Goodput was zero with go-back-0; 4000 packets in a row arrive with a probability of 10^-7."""
    error_rate = 1 - (255 / 256) ** 0.5  # of each of two lines
    for kind, arrives in (("go-back-0", False), ("go-back-n", True)):
        folder = tmp_path / kind
        folder.mkdir()
        reliability: dict[str, object] = {"kind": kind, "retries": 0, "timeout": "100us"}
        if kind == "go-back-0":
            reliability["go_back_0_chunk"] = 0
        network = roce_star(2, error_rate=error_rate, reliability=reliability)
        played = play_flows(network, [Flow(0, 1, 4_000_000)], folder, until_ps=20 * MS)
        assert len(played.table("flows")) == int(arrives)
        # The line was busy all the time with nothing to show for it.
        assert arrives or played.ports["host0"]["sent_frames"] > 0.8 * 20 * MS / LINE.data_ps(PAYLOAD)


@pytest.mark.parametrize("lossless", [False, True])
@pytest.mark.parametrize("queue_pairs", ["per-pair", "per-message"])
@pytest.mark.parametrize("reliability", RELIABILITIES)
def test_every_message_of_a_collective_arrives_once(
    reliability: str, queue_pairs: str, lossless: bool, tmp_path: Path
) -> None:
    """Four all-reduces in sequence, a packet in 200 lost on each line."""
    ranks, repeat = 8, 4
    ring = lookup(CollectiveKind.ALL_REDUCE, "ring", ranks)
    network = roce_star(
        ranks,
        error_rate=0.005,
        switch={"pfc": LOSSLESS} if lossless else None,
        queue_pairs=queue_pairs,
        window="bdp",
        reliability={"kind": reliability, "timeout": "50us", "retries": 50},
    )
    played = play(network, ring, 80_000, repeat=repeat, directory=tmp_path)
    assert len(played.listener.done) == ranks * repeat
    assert played.statistics["lost_frames"] > 0
    flows = played.table("flows")
    assert len(flows) == ring.messages * repeat
    assert not flows.duplicated(["collective", "chunk", "phase", "row"]).any()
    assert (flows["bytes"] == 10_000).all()
    # No message is faster than on an idle network.
    assert (flows["end_ps"] - flows["start_ps"]).min() >= LINE.message_ps(10_000, PAYLOAD)


@pytest.mark.parametrize("reliability", RELIABILITIES)
def test_a_lost_last_packet_waits_for_the_timeout(reliability: str) -> None:
    """Nothing comes after it that could bring out the loss."""
    timeout_ps = 50_000_000
    alone_ps = LINE.message_ps(PAYLOAD, PAYLOAD)
    waits = set()
    for seed in range(1, 40):
        network = roce_star(2, error_rate=0.1, reliability={"kind": reliability, "timeout": "50us", "retries": 50})
        played = play(network, one_message(), PAYLOAD, seed=seed)
        waits.add(divmod(played.done_ps(1) - alone_ps, timeout_ps))
        assert played.statistics["timeouts"] == (played.done_ps(1) - alone_ps) // timeout_ps
    # A timeout for each try that failed, and nothing besides.
    assert {rest for _, rest in waits} == {0}
    assert {0, 1} <= {times for times, _ in waits}


@pytest.mark.parametrize("retries", [1, 7])
def test_a_line_that_loses_nearly_everything_is_an_error_after_the_retries(retries: int) -> None:
    network = roce_star(2, error_rate=0.9999, reliability={"retries": retries, "timeout": "20us"})
    with pytest.raises(BackendError, match=f"from NPU 0 to NPU 1 gave up after {retries + 1} timeouts in a row"):
        play(network, one_message(), SIZE)
