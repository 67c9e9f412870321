"""Messages and the order of peers, against the source's own example and arithmetic by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from astra_ns3.nccl.communicator import Communicator
from astra_ns3.nccl.point_to_point import (
    channels_of_round,
    gates_of,
    group_size,
    p2p_of,
    rounds_of,
    turns_of_channels,
    uses_pxn,
    why_no_pxn,
)

Make = Callable[..., Communicator]
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def peer_order(communicator: Communicator, rank: int) -> list[tuple[int, int]]:
    """For each round of an all-to-all whom ``rank`` sends to and whom it receives from."""
    size = group_size(communicator)
    groups, group, local = communicator.ranks // size, rank // size, rank % size
    ways = [(way * far, way * near) for far, near in rounds_of(communicator) for way in (1, -1)]
    peers = [(group + far) % groups * size + (local + near) % size for far, near in ways]
    return list(zip(peers[::2], peers[1::2], strict=True))


def test_distances_between_16_groups_are_those_of_the_source(make: Make) -> None:
    # the example in init.cc
    distances = [send for send, _ in peer_order(make("h100", 16, 1), 0)]
    assert distances == [0, 1, 3, 6, 10, 15, 5, 12, 4, 13, 7, 2, 14, 11, 9, 8]


def test_a_rank_talks_to_one_group_after_the_other(make: Make) -> None:
    sends = [send for send, _ in peer_order(make("h100", 3, 8), 9)]
    assert sends[:8] == [9, 10, 11, 12, 13, 14, 15, 8]
    assert sends[8:16] == [17, 18, 19, 20, 21, 22, 23, 16]
    assert [send for send, _ in peer_order(make("h100", 1, 8, "2.26"), 0)] == [0, 1, 3, 6, 2, 7, 5, 4]


@pytest.mark.parametrize("version", ["2.20", "2.26", "2.29"])
@pytest.mark.parametrize(("servers", "gpus"), [(1, 8), (2, 8), (3, 6), (10, 1), (5, 3), (1, 2)])
def test_each_round_pairs_senders_and_receivers(make: Make, version: str, servers: int, gpus: int) -> None:
    communicator = make("h100", servers, gpus, version)
    ranks = range(communicator.ranks)
    orders = [peer_order(communicator, rank) for rank in ranks]
    for rank in ranks:
        assert sorted(send for send, _ in orders[rank]) == list(ranks)
        assert orders[rank][0] == (rank, rank)
        for turn, (send, _) in enumerate(orders[rank]):
            assert orders[send][turn][1] == rank


def test_messages_between_2_servers_use_up_to_4_channels(make: Make) -> None:
    communicator = make("h100", 2, 8)
    # parts of 64 KiB at least; one channel first, more while a part is above 128 KiB
    found = {size: p2p_of(communicator, size) for size in (64 * KIB, 256 * KIB, MIB, GIB)}
    assert [(one.parts, one.part_bytes) for one in found.values()] == [
        (1, 64 * KIB),
        (2, 128 * KIB),
        (4, 256 * KIB),
        (4, 256 * MIB),
    ]
    assert {(one.channels, one.channels_per_peer, one.protocol, one.uses_pxn) for one in found.values()} == {
        (16, 4, "Simple", True)
    }


def test_messages_between_10_servers_have_one_channel(make: Make) -> None:
    one = p2p_of(make("h100", 10, 8), 100 * MIB)
    assert (one.channels, one.channels_per_peer, one.parts, one.part_bytes) == (16, 1, 1, 100 * MIB)


def test_chunks_through_the_network_are_smaller_for_few_bytes(make: Make) -> None:
    communicator = make("h100", 2, 8)
    sizes = (100_000, 128 * KIB, MIB - 1, MIB, GIB)
    assert [p2p_of(communicator, size).chunk_bytes // KIB for size in sizes] == [32, 64, 64, 128, 128]
    assert p2p_of(make("nvl72", 2, 72, "2.29"), GIB).chunk_bytes == 256 * KIB
    assert p2p_of(make("nvl72", 2, 72, "2.28"), GIB).chunk_bytes == 128 * KIB


def test_messages_in_one_server_use_ll_for_16_kib_a_channel(make: Make) -> None:
    communicator = make("h100", 1, 8)
    # 32 channels, of 8 ranks four each; parts of 64 KiB at least
    small, large = p2p_of(communicator, 16 * KIB), p2p_of(communicator, 16 * KIB + 1)
    assert (small.protocol, small.parts, small.chunk_bytes) == ("LL", 1, 32 * KIB)
    assert (large.protocol, large.parts, large.chunk_bytes) == ("Simple", 1, 512 * KIB)
    assert [p2p_of(communicator, size).parts for size in (256 * KIB, 64 * MIB, 128 * MIB, GIB)] == [4, 4, 8, 32]
    assert not small.uses_pxn


def test_connections_between_servers_have_no_ll(make: Make) -> None:
    communicator = make("h100", 2, 8)
    assert p2p_of(communicator, 8).protocol == "Simple"
    assert p2p_of(communicator, 8, remote=False).protocol == "LL"


def test_pxn_needs_nvlink_gpudirect_and_a_second_gpu(make: Make) -> None:
    assert uses_pxn(make("h100", 2, 8))
    for without in (
        make("h100", 2, 1),
        make("h100", 1, 8),
        make("h100", 2, 8, pxn_disable=1),
        make("h100", 2, 8, sockets=True),
        make("4 a100", 2, 4),  # NICs beyond the host bridge
        make("2 over PCIe", 2, 2),
    ):
        assert not uses_pxn(without)


def test_what_keeps_messages_from_pxn_is_named(make: Make) -> None:
    assert why_no_pxn(make("h100", 2, 8)) is None
    reasons = {
        "a server has one GPU": make("h100", 2, 1),
        "NCCL_PXN_DISABLE=1": make("h100", 2, 8, pxn_disable=1),
        "sockets have no GPUDirect": make("h100", 2, 8, sockets=True),
        "a GPU's path to its NIC is PHB": make("4 a100", 2, 4),
        "the GPUs have no NVLink": make("2 over PCIe", 2, 2),
    }
    assert {why_no_pxn(communicator): communicator for communicator in reasons.values()} == reasons


def test_gates_are_the_first_gpus_of_the_nics_of_a_number(make: Make) -> None:
    assert gates_of(make("h100", 2, 8)) == tuple(range(8))
    assert gates_of(make("h100", 2, 4)) == tuple(range(4))
    assert gates_of(make("h100 with 4 NICs", 2, 8)) == (0, 0, 2, 2, 4, 4, 6, 6)
    assert gates_of(make("h100", 2, 8, pxn_disable=1)) == gates_of(make("h100", 1, 8)) == ()


def test_rounds_lead_to_the_peers_of_each_rank(make: Make) -> None:
    assert rounds_of(make("h100", 3, 2)) == ((0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1))
    # NCCL 2.26 has quadratic distances inside a group, too; four groups are 0, 1, 3 and 2 on.
    assert [far for far, _ in rounds_of(make("h100", 4, 4, "2.26"))[::4]] == [0, 1, 3, 2]
    assert [near for _, near in rounds_of(make("h100", 4, 4, "2.26"))[:4]] == [0, 1, 3, 2]


def test_channels_are_dealt_to_rounds(make: Make) -> None:
    """10 x 8, one part: a channel for each group of 8 rounds, in the order of reversed bits of 4."""
    dealt = turns_of_channels(make("h100", 10, 8), 1, range(1, 80))
    assert dealt == {
        channel: tuple(range(max(8 * group, 1), 8 * group + 8))
        for channel, group in sorted(zip((0, 8, 4, 12, 2, 10, 6, 14, 1, 9), range(10), strict=True))
    }
    # 2 x 8, four parts: the own server's rounds have channels 0 to 3, the other's 8 to 11.
    dealt = turns_of_channels(make("h100", 2, 8), 4, range(1, 16))
    assert dealt == {**dict.fromkeys(range(4), (*range(1, 8),)), **dict.fromkeys(range(8, 12), (*range(8, 16),))}


def test_channels_per_net_peer_can_be_set(make: Make) -> None:
    assert p2p_of(make("h100", 10, 8, nchannels_per_net_peer=8), GIB).parts == 8
    assert p2p_of(make("h100", 10, 8, "2.19", nchannels_per_net_peer=8), GIB).parts == 8


def test_rounds_of_a_group_share_a_channel_and_groups_are_far_apart(make: Make) -> None:
    communicator = make("h100", 10, 8)
    assert {channels_of_round(communicator, turn, 1) for turn in range(8)} == {(0,)}
    assert [channels_of_round(communicator, 8 * group, 1)[0] for group in range(4)] == [0, 8, 4, 12]
    assert channels_of_round(make("h100", 2, 8), 8, 4) == (8, 9, 10, 11)
    assert channels_of_round(make("h100", 2, 8, "2.26"), 8, 4) == (1, 9, 5, 13)


def test_a_message_of_nothing_has_one_empty_part(make: Make) -> None:
    one = p2p_of(make("h100", 2, 8), 0)
    assert (one.parts, one.part_bytes) == (1, 0)
