"""What NCCL chooses, against its formulas worked by hand and against what was measured and reported."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.errors import InputError
from astra_ns3.nccl.communicator import Communicator
from astra_ns3.nccl.constants import ALGORITHMS, PROTOCOLS, speed_steps, tables
from astra_ns3.nccl.tuning import Candidate, believed_us, candidates, choose

Make = Callable[..., Communicator]
ALL_REDUCE, ALL_GATHER = CollectiveKind.ALL_REDUCE, CollectiveKind.ALL_GATHER
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def _candidate(
    communicator: Communicator, kind: CollectiveKind, bytes: int, algorithm: str, protocol: str
) -> Candidate:
    found = [
        one for one in candidates(communicator, kind, bytes) if (one.algorithm, one.protocol) == (algorithm, protocol)
    ]
    assert len(found) == 1
    return found[0]


def _names(communicator: Communicator, kind: CollectiveKind = ALL_REDUCE, bytes: int = MIB) -> set[str]:
    return {one.algorithm for one in candidates(communicator, kind, bytes)}


@pytest.mark.parametrize("version", ["2.21", "2.26", "2.29", "2.30"])
def test_one_h100_server_uses_ring_ll_up_to_1_mib_and_nvls_from_2_mib(make: Make, version: str) -> None:
    # as nccl-tests#309 reports
    communicator = make("h100", 1, 8, version)
    for size in (8, 64 * KIB, MIB):
        choice = choose(communicator, ALL_REDUCE, size)
        assert (choice.algorithm, choice.protocol) == ("Ring", "LL")
    for size in (2 * MIB, 64 * MIB, 8 * GIB):
        choice = choose(communicator, ALL_REDUCE, size)
        assert (choice.algorithm, choice.protocol, choice.channels) == ("NVLS", "Simple", 16)


def test_10_h100_servers_leave_nvls_tree_for_rings_between_1_and_4_gib(make: Make) -> None:
    # measured with 2.29.2 (the reference, 1.2): 344.9 GB/s at 1 GiB, in place 364 at 2 GiB, 313.9 at 4 GiB
    communicator = make("h100", 10, 8)
    assert [choose(communicator, ALL_REDUCE, size * GIB).algorithm for size in (1, 2, 4, 8)] == [
        "NVLSTree",
        "NVLSTree",
        "Ring",
        "Ring",
    ]


def test_latencies_and_widths_of_10_h100_servers_by_hand(make: Make) -> None:
    communicator = make("h100", 10, 8)
    ring = _candidate(communicator, ALL_REDUCE, GIB, "Ring", "Simple")
    # 158 steps, 18 of them between servers; 1.4 for many bytes
    assert ring.latency_us == pytest.approx(1.4 * (8.4 + 140 * 3.4 + 18 * 14))
    assert ring.bandwidth == pytest.approx(8 * 48 * 80 / 158)
    tree = _candidate(communicator, ALL_REDUCE, GIB, "NVLSTree", "Simple")
    assert tree.latency_us == pytest.approx(25 + 2 * 3 * 20.9)
    assert tree.bandwidth == pytest.approx(8 * 45.5 * 80 / 158)
    small = _candidate(communicator, ALL_REDUCE, 8, "Tree", "LL")
    assert small.latency_us == pytest.approx(6.8 + 2 * (7 * 0.6 + 3 * 5))
    # a plain tree has .85; .92 x 8 x 48 is above 8 x 36; LL gets 1/3.8 of it, below 20.4
    assert _candidate(communicator, ALL_REDUCE, GIB, "Tree", "Simple").bandwidth == pytest.approx(8 * 36 * 0.85 / 2)
    assert small.bandwidth == pytest.approx(20.4 * 0.85 / 2)


def test_nvls_of_one_server_by_hand_before_and_since_2_28(make: Make) -> None:
    new, old = (_candidate(make("h100", 1, 8, v), ALL_REDUCE, GIB, "NVLS", "Simple") for v in ("2.28", "2.27"))
    assert new.bandwidth == pytest.approx(8 * (40 * 0.85 * 7 / 8 * 2) * 8 / 14)
    assert old.bandwidth == pytest.approx(8 * 40 * 5 / 6)
    assert (new.latency_us, old.latency_us) == (25, 25)


def test_nvls_tree_of_2_18_by_hand(make: Make) -> None:
    one = _candidate(make("h100", 4, 8, "2.18"), ALL_REDUCE, GIB, "NVLSTree", "Simple")
    assert one.latency_us == pytest.approx(23 + 2 * 3 * 19)
    assert one.bandwidth == pytest.approx(8 * 40 * 0.7 * 4 / 6)


def test_a_trees_width_falls_in_the_middle(make: Make) -> None:
    communicator = make("a100", 2, 8)
    large = _candidate(communicator, ALL_REDUCE, GIB, "Tree", "Simple").bandwidth
    # two servers: the width inside, 8 x 23.6 below .92 x 8 x 30; factor of 64 KiB (2^10 x 64): .6
    assert large == pytest.approx(8 * 23.6 / 2)
    assert _candidate(communicator, ALL_REDUCE, 64 * KIB, "Tree", "Simple").bandwidth == pytest.approx(large * 0.6)


def test_amd_hosts_pay_2_us_a_step_and_have_ampere_s_row_of_ll(make: Make) -> None:
    one = _candidate(make("a100", 2, 8), ALL_REDUCE, 8, "Ring", "LL")
    assert one.latency_us == pytest.approx(6.6 + 28 * 2 + 2 * 2.7)
    assert one.bandwidth == pytest.approx(22.5 * 16 / 30)


def test_pat_is_for_one_gpu_a_server_since_2_23(make: Make) -> None:
    one = _candidate(make("h100", 10, 1), ALL_GATHER, MIB, "PAT", "Simple")
    assert one.latency_us == pytest.approx(8 + 3 * 14 / 3.5 + 10 * 2.8)
    assert one.bandwidth == pytest.approx(2 * 24 * 0.75)
    for other in (make("h100", 10, 1, "2.22"), make("h100", 10, 2), make("h100", 10, 1, pat_enable=0)):
        assert "PAT" not in _names(other, ALL_GATHER)
    assert "PAT" not in _names(make("h100", 10, 1))


def test_one_gpu_a_server_waits_for_the_network_as_trees_do(make: Make) -> None:
    new, old = (_candidate(make("h100", 4, 1, v), ALL_REDUCE, 8, "Ring", "LL") for v in ("2.23", "2.22"))
    assert new.latency_us == pytest.approx(6.6 + 6 * 5)
    assert old.latency_us == pytest.approx(6.6 - 2 * 1 + 8 * 2.7)  # as if 8 of 6 steps went between servers


def test_collectives_from_one_rank_are_rings(make: Make) -> None:
    for kind in (CollectiveKind.BROADCAST, CollectiveKind.REDUCE):
        communicator = make("h100", 1, 8)
        assert _names(communicator, kind) == {"Ring"}
        assert choose(communicator, kind, GIB).slice_bytes == choose(communicator, kind, GIB).chunk_bytes == 512 * KIB
        # all channels alike: one step
        assert _candidate(communicator, kind, 8, "Ring", "LL").latency_us == pytest.approx(6.6 + 0.6)
        several = _candidate(make("h100", 2, 8), kind, 8, "Ring", "LL")
        assert several.latency_us == pytest.approx(6.6 + 16 * 2.7)


def test_collnet_needs_switches_that_reduce_and_to_be_asked_for(make: Make) -> None:
    able = make("h100", 4, 8, in_network=True, collnet_enable=1)
    assert {"CollNetDirect", "CollNetChain", "NVLS"} <= _names(able)
    for other in (make("h100", 4, 8, in_network=True), make("h100", 4, 8, collnet_enable=1)):
        assert _names(other) == {"Tree", "Ring", "NVLSTree"}
    # 8 heads of 8 GPUs: factor 1; 31 + 2 (3.7 + 7 x .4)
    direct = _candidate(able, ALL_REDUCE, GIB, "CollNetDirect", "Simple")
    assert direct.latency_us == pytest.approx(31 + 2 * (3.7 + 7 * 0.4))
    assert direct.bandwidth == pytest.approx(8 * 48 * 0.85 / 2)


def test_ll128_only_where_links_keep_lines_whole(make: Make) -> None:
    def protocols(communicator: Communicator) -> set[str]:
        return {one.protocol for one in candidates(communicator, ALL_REDUCE, MIB) if one.algorithm == "Ring"}

    assert protocols(make("a100", 2, 8)) == set(PROTOCOLS)
    assert protocols(make("4 a100", 2, 4)) == {"LL", "Simple"}  # NICs beyond the host bridge
    assert protocols(make("4 a100", 2, 4, proto="LL128")) == {"LL128"}
    assert protocols(make("b200", 2, 8, "2.24")) == {"LL", "Simple"}
    assert protocols(make("b200", 2, 8, "2.25")) == set(PROTOCOLS)


@pytest.mark.parametrize(
    ("algo", "proto", "expected"),
    [
        ("Ring", None, {"Ring"}),
        ("ring,TREE", None, {"Ring", "Tree"}),
        ("^NVLSTree,Tree", None, {"Ring"}),
        ("allreduce:tree", None, {"Tree"}),
        ("ring;allreduce:^ring", None, {"Tree", "NVLSTree"}),
        ("broadcast:ring", "Simple", {"Tree", "Ring", "NVLSTree"}),
        (None, "allreduce:LL", {"Tree", "Ring"}),
    ],
)
def test_lists_in_the_environment_filter(make: Make, algo: str | None, proto: str | None, expected: set[str]) -> None:
    assert _names(make("h100", 4, 8, algo=algo, proto=proto)) == expected


def test_a_list_for_one_collective_leaves_the_others(make: Make) -> None:
    assert _names(make("h100", 4, 8, algo="allreduce:tree"), ALL_GATHER) == {"Ring"}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"algo": "NVLS"}, "NCCL: NCCL_ALGO=NVLS leave no algorithm for AllReduce on these servers"),
        ({"algo": "NVLSTree", "proto": "LL"}, "NCCL_ALGO=NVLSTree and NCCL_PROTO=LL"),
    ],
)
def test_lists_that_leave_nothing_are_refused(make: Make, settings: dict[str, str], words: str) -> None:
    with pytest.raises(InputError) as refused:
        candidates(make("a100", 4, 8, **settings), ALL_REDUCE, MIB)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_before_2_24_ring_stands_in(make: Make) -> None:
    assert _names(make("a100", 4, 8, "2.21", algo="NVLS")) == {"Ring"}
    assert _names(make("a100", 4, 8, "2.21", algo="CollNetDirect")) == {"Ring", "Tree"}


@pytest.mark.parametrize(("version", "expected"), [("2.18", {"Ring"}), ("2.19", {"NVLS"})])
def test_from_2_19_on_a_list_may_take_ring_from_an_all_gather(make: Make, version: str, expected: set[str]) -> None:
    """2.18's tuning.cc never disables ring but for all-reduces, and has no NVLS for others; 2.19's has neither rule."""
    assert _names(make("h100", 1, 8, version, algo="NVLS"), ALL_GATHER) == expected


def test_an_all_to_all_is_not_tuned(make: Make) -> None:
    with pytest.raises(InputError, match="makes of messages"):
        candidates(make("h100", 1, 8), CollectiveKind.ALL_TO_ALL, MIB)


def test_few_bytes_drop_channels_then_threads(make: Make) -> None:
    # Ring LL of 8 ranks: 512 threads x 8 bytes x 8 ranks = 32 KiB a channel (until 2.21 no cells)
    communicator = make("h100", 1, 8, "2.21")
    found = [choose(communicator, ALL_REDUCE, size * KIB) for size in (4, 16, 32, 64, 256, 1024)]
    assert [one.channels for one in found] == [1, 1, 1, 2, 8, 24]
    assert [one.threads for one in found] == [96, 256, 512, 512, 512, 512]


def test_the_bytes_that_a_channel_wants_count_all_ranks_of_all_servers(make: Make) -> None:
    # Ring LL of 16 ranks: 512 threads x 8 bytes x 16 ranks = 64 KiB a channel
    communicator = make("h100", 2, 8, "2.21", algo="Ring", proto="LL")
    found = [choose(communicator, ALL_REDUCE, size * KIB).channels for size in (64, 128, 256)]
    assert found == [1, 2, 4]


def test_cells_of_least_traffic_spread_few_bytes_since_2_22(make: Make) -> None:
    # 64 KiB, LL: cells of 32 KiB / (2 x 4) = 4 KiB; two channels would have 64 KiB of traffic each, or two cells
    assert choose(make("h100", 1, 8, "2.29"), ALL_REDUCE, 64 * KIB).channels == 8
    # Simple: cells of 16 KiB; with 16 KiB of least traffic 8 KiB
    settings = {"algo": "Ring", "proto": "Simple"}
    assert choose(make("h100", 1, 8, "2.29", **settings), ALL_REDUCE, 32 * KIB).channels == 1
    assert choose(make("h100", 1, 8, "2.29", **settings), ALL_REDUCE, 64 * KIB).channels == 2
    assert choose(make("h100", 1, 8, "2.29", **settings), ALL_REDUCE, GIB).channels == 24


def test_cells_of_ll_count_four_times_since_2_26(make: Make) -> None:
    # 64 KiB, two channels of 64 KiB of traffic each. Cells of 16 KiB / 2: 4 a channel, so 2 channels; of a quarter of
    # that, each counting 8: again 4 a channel, so 8 channels.
    settings = {"algo": "Ring", "proto": "LL"}
    found = [choose(make("h100", 1, 8, version, **settings), ALL_REDUCE, 64 * KIB) for version in ("2.25", "2.26")]
    assert [(one.channels, one.part_bytes) for one in found] == [(2, 32 * KIB), (8, 8 * KIB)]


def test_chunks_of_rings(make: Make) -> None:
    def sizes(**settings: object) -> tuple[int, int]:
        choice = choose(make("h100", 2, 8, algo="Ring", **settings), ALL_REDUCE, GIB)
        return choice.chunk_bytes, choice.slice_bytes

    assert sizes(proto="Simple") == (2 * MIB, MIB)
    assert sizes(proto="Simple", buffsize=8 * MIB) == (4 * MIB, 2 * MIB)
    assert sizes(proto="LL") == (32 * KIB, 32 * KIB)
    assert sizes(proto="LL128") == (576_000, 576_000)  # 15/16 of 120 x 640 x 8 bytes


def test_chunks_of_nvls_shrink_with_the_part_of_a_head(make: Make) -> None:
    # 16 channels, 8 heads: 128 KiB from 64 chunks a head on, 64 from 8, 32 from 2, else 16
    communicator = make("h100", 1, 8, algo="NVLS")
    sizes = [choose(communicator, ALL_REDUCE, size * MIB).chunk_bytes // KIB for size in (4, 8, 64, 1024)]
    assert sizes == [16, 32, 64, 128]


def test_chunks_of_nvls_trees_of_4_servers_are_64_kib_at_most(make: Make) -> None:
    two, four = (choose(make("h100", n, 8, algo="NVLSTree"), ALL_REDUCE, 8 * GIB) for n in (2, 4))
    assert (two.chunk_bytes, four.chunk_bytes) == (128 * KIB, 64 * KIB)


def test_sizes_of_all_gather_are_those_of_all_ranks_together(make: Make) -> None:
    one = _candidate(make("h100", 2, 8), ALL_GATHER, GIB, "Ring", "Simple")
    assert one.bandwidth == pytest.approx(8 * 48 * 16 / 15)
    assert one.believed_us == pytest.approx(one.latency_us + GIB / (1000 * one.bandwidth))


def test_the_choice_is_the_fastest_candidate(make: Make) -> None:
    for servers, gpus in ((1, 2), (2, 1), (3, 5), (10, 8)):
        communicator = make("h100", servers, gpus)
        for size in (0, 1, 1000, 123_457, 10_000_001, GIB):
            choice = choose(communicator, ALL_REDUCE, size)
            assert choice.believed_us == min(one.believed_us for one in choice.candidates)
            assert choice.believed_us == believed_us(communicator, ALL_REDUCE, size)
            assert 1 <= choice.channels <= 64
            assert 96 <= choice.threads <= 640
            assert 0 < choice.slice_bytes <= choice.chunk_bytes
            assert choice.slots == 8


def test_one_rank_copies(make: Make) -> None:
    choice = choose(make("h100", 1, 1), ALL_REDUCE, MIB)
    assert (choice.algorithm, choice.protocol, choice.believed_us) == ("Ring", "Simple", 0)


@pytest.mark.parametrize(
    "version", ["2.10", "2.18", "2.19", "2.20", "2.22", "2.23", "2.25", "2.27", "2.28", "2.30", "4.0"]
)
@pytest.mark.parametrize("name", ["h100", "a100", "4 a100", "b200", "dgx-1v"])
def test_every_version_chooses_on_every_server(make: Make, name: str, version: str) -> None:
    for servers in (1, 2, 5):
        for kind in (ALL_REDUCE, ALL_GATHER, CollectiveKind.REDUCE_SCATTER, CollectiveKind.BROADCAST):
            choice = choose(make(name, servers, 4, version), kind, 10 * MIB)
            assert choice.algorithm in ALGORITHMS
            assert choice.believed_us > 0


def test_tables_change_with_versions() -> None:
    # read in the tags' tuning.cc
    assert [tables((2, v)).network["Tree"][2] for v in (18, 19, 22, 23, 30)] == [14, 28, 28, 14, 14]
    assert [tables((2, v)).nvlink["NVLS"][2] for v in (18, 19, 20, 21)] == [0, 23, 23, 25]
    assert [tables((2, v)).ll[2][0] for v in (20, 21)] == [87.7, 141]
    assert [tables((2, v)).ring_ll128[3][0] for v in (24, 25, 28, 29)] == [36.7, 73.4, 73.4, 40]
    assert tables((2, 27)).nvls_tree is None
    assert [len(tables((2, v)).correction["LL"]) for v in (28, 29)] == [23, 24]


def test_steps_of_width_change_with_versions() -> None:
    assert [50.0 in speed_steps(90, False, (2, v)) for v in (18, 19)] == [False, True]
    assert [22.0 in speed_steps(90, True, (2, v)) for v in (18, 19)] == [False, True]
    assert [speed_steps(100, True, (2, v))[0] for v in (24, 25, 27, 28)] == [48, 48, 47.9, 96]
    assert all(list(steps) == sorted(steps, reverse=True) for steps in (speed_steps(80, True, (2, 18)),))


def test_a_choice_takes_less_than_a_millisecond_once_the_graphs_are_known(make: Make) -> None:
    communicator = make("h100", 10, 8)
    choose(communicator, ALL_REDUCE, MIB)
    begun = time.perf_counter()
    for size in range(100):
        choose(communicator, ALL_REDUCE, size * MIB)
    assert (time.perf_counter() - begun) / 100 < 5e-3  # a busy machine may take five times as long


def test_parts_of_channels_make_up_the_call(make: Make) -> None:
    rings = {"algo": "Ring", "proto": "Simple"}
    assert choose(make("h100", 2, 8, **rings), ALL_REDUCE, GIB).part_bytes == GIB // 16
    for protocol in PROTOCOLS:
        for size in (1, 1000, 77_777, 5 * MIB, GIB):
            for kind in (ALL_REDUCE, ALL_GATHER, CollectiveKind.BROADCAST):
                choice = choose(make("h100", 3, 8, algo="Ring", proto=protocol), kind, size)
                assert choice.part_bytes <= size <= choice.part_bytes * choice.channels


def test_the_change_to_rings_on_10_servers_is_where_both_times_meet(make: Make) -> None:
    # 1.4 x 736.4 us + b / 194.4 = 150.4 us + b / 184.3 (GB/s): 3.1 GB
    meets = (1.4 * 736.4 - 150.4) * 1000 / (158 / 80 / 364 - 158 / 80 / 384)
    communicator = make("h100", 10, 8)
    assert choose(communicator, ALL_REDUCE, int(meets * 0.999)).algorithm == "NVLSTree"
    assert choose(communicator, ALL_REDUCE, int(meets * 1.001)).algorithm == "Ring"
    assert meets == pytest.approx(3.1e9, rel=0.01)
