"""What the search of channels comes to, against logs that users published and against arithmetic by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from astra_ns3.nccl.channels import channels_per_peer, launched_channels, nvls_channels, p2p_channels, ring_channels
from astra_ns3.nccl.communicator import Communicator
from astra_ns3.nccl.graphs import Graph, graph_of

Make = Callable[..., Communicator]


def _widths(graph: Graph) -> tuple[int, float, float]:
    return graph.channels, graph.bw_intra, graph.bw_inter


def test_ring_of_one_h100_server_is_6_channels_of_60_doubled(make: Make) -> None:
    # 18 links of 20.6 = 370.8 GB/s: six channels of 60, then twice as many of half the width
    assert _widths(graph_of(make("h100", 1, 8), "ring")) == (12, 30.0, 30.0)
    assert ring_channels(make("h100", 1, 8)) == 24


def test_ring_of_one_a100_server_has_24_channels(make: Make) -> None:
    # 240 GB/s: six of 40, doubled; "24 coll channels", "Channel 00/24 : 0 1 2 3" in nccl#578
    communicator = make("a100", 1, 4, "2.20")
    assert _widths(graph_of(communicator, "ring")) == (12, 20.0, 20.0)
    assert (ring_channels(communicator), p2p_channels(communicator)) == (24, 32)
    assert graph_of(communicator, "ring").orders[0] == (0, 1, 2, 3)


def test_rings_through_2_nics_of_an_h800_return_over_nvlink(make: Make) -> None:
    # nccl#1313, graph1.xml: nchannels 4, speeds 24, NVL, PXN, samechannels 0, crossnic 0, and these orders
    graph = graph_of(make("h800 with 2 NICs", 2, 8, "2.21"), "ring")
    assert _widths(graph) == (4, 24.0, 24.0)
    assert (graph.type_intra, graph.type_inter, graph.same_channels, graph.cross_nic) == ("NVL", "PXN", False, 0)
    assert graph.orders[:3] == ((0, 7, 6, 5, 4, 3, 2, 1), (7, 6, 5, 4, 3, 2, 1, 0), (0, 7, 6, 5, 4, 3, 2, 1))
    assert graph.nics[:2] == ((0, 0), (1, 1))


def test_rings_without_pxn_cross_the_nics_of_2_h20(make: Make) -> None:
    # nccl#1189: crossNic 1, nChannels 4, bw 24/24, type NVL/PIX; 8 coll, 8 p2p channels, 2 per peer
    communicator = make("h20 with 2 NICs", 2, 2, "2.19", pxn_disable=1)
    graph = graph_of(communicator, "ring")
    assert _widths(graph) == (4, 24.0, 24.0)
    assert (graph.type_intra, graph.type_inter, graph.cross_nic) == ("NVL", "PIX", 1)
    assert graph.orders[:2] == ((0, 1), (1, 0))
    assert graph.nics[:2] == ((0, 1), (1, 0))
    assert ring_channels(communicator) == p2p_channels(communicator) == 8
    assert channels_per_peer(communicator) == 2


def test_rings_of_8_nics_of_400g_don_t_fit_through_nvlink_at_full_width(make: Make) -> None:
    # 8 x 48 = 384 > 370.8; so since 2.20 they cross NICs, and before, when that had to be 15% wider, they are of 45
    crossed, older = (graph_of(make("h100", 10, 8, version), "ring") for version in ("2.29", "2.19"))
    assert (*_widths(crossed), crossed.cross_nic, crossed.type_inter) == (8, 48.0, 48.0, 2, "PXB")
    assert (*_widths(older), older.cross_nic, older.type_inter) == (8, 45.0, 45.0, 0, "PXN")


@pytest.mark.parametrize(("gpus", "channels"), [(1, 4), (2, 8), (4, 16), (8, 16)])
def test_channels_of_10_h100_servers_by_gpus_used(make: Make, gpus: int, channels: int) -> None:
    # the reference's section 1.3, checked there against measured send/recv
    communicator = make("h100", 10, gpus)
    assert ring_channels(communicator) == p2p_channels(communicator) == channels


def test_rings_of_2_a100_servers_use_each_nic_once(make: Make) -> None:
    # 24 GB/s: PCIe 4.0 x16, below the 25 of a NIC; narrow channels are not doubled by the search
    communicator = make("a100", 2, 8)
    assert _widths(graph_of(communicator, "ring")) == (8, 24.0, 24.0)
    assert ring_channels(communicator) == 16
    # 8 x 30 x 7 hops of 8 = 210 of 240 GB/s inside; 8 x 48 x 7/8 would be 336
    tree = graph_of(communicator, "tree")
    assert (*_widths(tree), tree.pattern) == (8, 30.0, 24.0, "balanced_tree")


def test_directly_linked_gpus_use_all_6_circles_of_4(make: Make) -> None:
    # nccl#713: six rings on four GPUs with two links' width between each pair
    graph = graph_of(make("4 a100", 1, 4), "ring")
    assert _widths(graph) == (12, 20.0, 20.0)
    assert len(set(graph.orders)) == 6


def test_cube_mesh_has_6_rings_doubled_to_12(make: Make) -> None:
    # six links of 20 GB/s a GPU, every one used once in each direction
    communicator = make("dgx-1v", 1, 8, "2.18")
    assert _widths(graph_of(communicator, "ring")) == (6, 20.0, 20.0)
    assert ring_channels(communicator) == 12


def test_a_peer_over_pcie_has_two_channels_however_many_there_are(make: Make) -> None:
    for version in ("2.19", "2.22", "2.29"):
        communicator = make("2 over PCIe", 1, 2, version, min_ctas=8)
        assert (p2p_channels(communicator), channels_per_peer(communicator)) == (8, 2)


def test_gpus_on_two_sockets_over_pcie_have_one_channel_of_10(make: Make) -> None:
    # nccl#1358: nChannels 1, bw 10/10, type SYS/PIX, sameChannels 1
    graph = graph_of(make("2 over PCIe", 1, 2, "2.22"), "ring")
    assert (*_widths(graph), graph.type_intra, graph.same_channels) == (1, 10.0, 10.0, "SYS", True)


def test_a_tree_is_plain_where_no_second_gpu_is_next_to_the_nic(make: Make) -> None:
    # nccl#1379: on 8 GPUs with a NIC each the balanced tree isn't used
    assert graph_of(make("h100", 4, 8), "tree").pattern == "tree"
    assert graph_of(make("h100 with 4 NICs", 4, 8), "tree").pattern == "balanced_tree"
    assert graph_of(make("h100", 4, 1), "tree").pattern == "tree"


def test_nvls_heads_pull_twice_what_others_do(make: Make) -> None:
    # n channels of width b need (n + 1) b <= 370.8: 8 of 40, 4 and 2 of 60
    graphs = [graph_of(make("h100", 1, gpus), "nvls") for gpus in (8, 4, 2)]
    assert [(graph.channels, graph.bw_intra) for graph in graphs] == [(8, 40.0), (4, 60.0), (2, 60.0)]
    assert _widths(graph_of(make("h100", 2, 8), "nvls")) == (8, 40.0, 48.0)
    assert _widths(graph_of(make("h100", 2, 8, "2.18"), "nvls")) == (8, 40.0, 40.0)


def test_no_nvls_without_multicast_or_with_one_gpu_or_if_forbidden(make: Make) -> None:
    for communicator in (make("a100", 1, 8), make("h100", 2, 1), make("h100", 1, 8, nvls_enable=0)):
        assert graph_of(communicator, "nvls").channels == nvls_channels(communicator) == 0


def test_blackwell_has_32_nvls_channels_between_servers_and_24_in_one_since_2_27(make: Make) -> None:
    assert nvls_channels(make("b200", 2, 8, "2.26")) == nvls_channels(make("b200", 1, 8, "2.26")) == 32
    assert nvls_channels(make("b200", 1, 8, "2.28")) == 24
    assert nvls_channels(make("b200", 2, 8, "2.28")) == 32


def test_nvl72_rings_fill_nvlink_with_16_channels_of_45(make: Make) -> None:
    # 18 x 40.1 = 721.8: eight of 90 inside, doubled; between servers 16 of 45.1, a step made for that
    assert _widths(graph_of(make("nvl72", 1, 72), "ring")) == (16, 45.0, 45.0)
    assert _widths(graph_of(make("nvl72", 2, 72), "ring")) == (16, 45.1, 45.1)


def test_ctas_and_channels_that_are_set_bound_the_count(make: Make) -> None:
    assert ring_channels(make("h100", 2, 8, max_nchannels=4)) == 4
    assert ring_channels(make("h100", 2, 8, min_ctas=32)) == 32
    assert ring_channels(make("h100", 2, 8, max_ctas=2, min_nchannels=8)) == 8
    assert nvls_channels(make("h100", 2, 8, max_ctas=4)) == 4


def test_collnet_adds_half_the_channels_where_the_server_is_wider(make: Make) -> None:
    # DGX A100: chain 30 inside, 24 between
    settings = {"in_network": True, "collnet_enable": 1}
    assert ring_channels(make("a100", 2, 8, **settings)) == 24
    assert ring_channels(make("h100", 2, 8, **settings)) == 16  # 48 and 48
    assert graph_of(make("h100", 2, 8, in_network=True), "collnet_chain").channels == 0


def test_from_2_22_to_2_27_rings_have_at_least_the_channels_of_nvls(make: Make) -> None:
    counts = [launched_channels(make("h100", 2, 2, version)) for version in ("2.21", "2.22", "2.27", "2.28")]
    assert counts == [8, 16, 16, 8]


@pytest.mark.parametrize(("servers", "expected"), [(2, [4, 4, 4, 4]), (10, [2, 2, 2, 1])])
def test_channels_per_peer_on_h100(make: Make, servers: int, expected: list[int]) -> None:
    # the reference's section 1.3: ceil(48 / 14) = 4, halved while channels x ceil(ranks / 8) > p2p channels
    assert [channels_per_peer(make("h100", servers, gpus)) for gpus in (1, 2, 4, 8)] == expected


def test_versions_outside_have_the_nearest_rules(make: Make) -> None:
    for near, outside in (("2.18", "2.10"), ("2.30", "3.1")):
        assert graph_of(make("h100", 10, 8, near), "ring") == graph_of(make("h100", 10, 8, outside), "ring")


def test_gpudirect_reaches_as_far_as_its_level(make: Make) -> None:
    # by default PXB: Slingshot's NICs behind the host bridge need NCCL_NET_GDR_LEVEL=PHB, and PXN stays off
    for settings in ({}, {"net_gdr_level": "PHB"}):
        assert graph_of(make("4 a100", 2, 4, **settings), "ring").type_inter == "PHB"
    assert graph_of(make("h100", 2, 4, net_gdr_level="LOC"), "ring").type_inter == "PHB"
    assert graph_of(make("h100", 2, 4, sockets=True), "ring").type_inter == "PHB"


def test_grace_reaches_its_nic_over_c2c_since_2_27_and_relays_since_2_28(make: Make) -> None:
    types = [graph_of(make("nvl72", 2, 4, version), "tree").type_inter for version in ("2.26", "2.27", "2.28")]
    assert types == ["PHB", "P2C", "P2C"]
    rings = [graph_of(make("nvl72", 2, 4, version), "ring").type_inter for version in ("2.27", "2.28")]
    assert rings == ["P2C", "PXN"]


def test_one_nic_for_all_gpus_gives_channels_in_one_order(make: Make) -> None:
    graph = graph_of(make("2 over PCIe", 4, 2), "ring")
    assert graph.same_channels
    assert set(graph.orders) == {(0, 1)}
    assert graph.nics[0] == (0, 0)
