"""Costs of a channel: figures worked by hand from NCCL's constants and the fitted rates."""

from __future__ import annotations

import pytest

from astra_ns3.nccl.copying import Messages, Stars, work_of_messages, work_of_pat, work_of_stars
from astra_ns3.nccl.servers import server_named

H100 = server_named("hgx-h100")


def test_nvls_scatters_reduces_and_gathers_each_chunk_with_a_step() -> None:
    """16 channels, 8 heads, chunks of 64 KiB: 8 MiB at 293 GB/s and a step of 4 us are 32.6 us a stage."""
    work = work_of_stars(H100, 16, servers=1, stars=Stars(8, 64 << 10))
    stage_us = 4 + 8 * 2**20 / 293e3
    assert 16 * 8 * work.near_gbytes_per_s == pytest.approx(8 * 2**20 / stage_us / 1e3)
    assert 2 * work.near_us == pytest.approx(stage_us)  # the reduction, half on the way up and half down
    assert work.start_us + 3 * 4 == 25  # NCCL's latency of NVLS
    assert work.near_wire == 1


def test_nvls_one_way_has_the_whole_reduction_on_it() -> None:
    both, up = (work_of_stars(H100, 16, servers=1, stars=Stars(8, 64 << 10, ways)) for ways in (2, 1))
    assert up.near_us == pytest.approx(2 * both.near_us)
    assert up.near_gbytes_per_s == both.near_gbytes_per_s


def test_steps_weigh_more_the_smaller_the_chunks() -> None:
    """479 GB/s of bus bandwidth with chunks of 128 KiB, 401 with 32 KiB, 242 with 8 KiB."""
    rates = [
        16 * 8 * work_of_stars(H100, 16, servers=1, stars=Stars(8, kib << 10)).near_gbytes_per_s for kib in (128, 32, 8)
    ]
    assert [round(rate * 1.75) for rate in rates] == [479, 401, 242]


def test_few_channels_of_nvls_copy_no_more_than_a_channel_can() -> None:
    """16 channels share 293 GB/s; 8 copy 20 each, of 8 heads."""
    many, few = (work_of_stars(H100, count, servers=1, stars=Stars(8, 64 << 10)) for count in (16, 8))
    assert [65_536 / work.near_gbytes_per_s / 1e3 for work in (many, few)] == pytest.approx(
        [4 + 8 * 65_536 * 16 / 293e3, 4 + 8 * 65_536 / 20e3]
    )


def test_a_head_s_kernel_between_servers_moves_its_own_chunk() -> None:
    """64 KiB at 20 GB/s and a step: 7.3 us; scatter and gather share the kernel with one chunk more, 17 of 18."""
    work = work_of_stars(H100, 16, servers=2, stars=Stars(8, 64 << 10))
    head_us = 4 + 65_536 / 20e3
    assert 65_536 / work.far_gbytes_per_s / 1e3 == pytest.approx(head_us)
    assert 2 * work.near_us == pytest.approx(head_us)
    assert 65_536 / work.near_gbytes_per_s / 1e3 == pytest.approx(4 + 8 * 2**20 / (293e3 * 17 / 18))
    assert work.far_us == 14 - 1.5


@pytest.mark.parametrize(
    ("gpus", "channels", "one_way", "measured"),
    [(1, 2, False, 24.9), (8, 1, True, 15.2)],
    ids=["10 x 1, two channels a peer", "10 x 8, one"],
)
def test_a_step_and_20_gbytes_per_s_give_the_send_recv_of_10_servers(
    gpus: int, channels: int, one_way: bool, measured: float
) -> None:
    """128 KiB in 4 us and 6.55 are 12.42 GB/s; the second, where a kernel only sends or receives, was fitted."""
    work = work_of_messages(H100, "Simple", gpus, 10, Messages(128 << 10, one_way=one_way))
    assert channels * work.far_gbytes_per_s == pytest.approx(measured, rel=0.005)


def test_messages_inside_a_server_have_no_step_of_their_own() -> None:
    work = work_of_messages(H100, "Simple", 8, 1, Messages(512 << 10))
    assert work.near_gbytes_per_s == work.far_gbytes_per_s == 20


def test_messages_share_a_kernel_but_not_its_steps() -> None:
    work = work_of_messages(H100, "Simple", 8, 2, Messages(128 << 10, kernels=0.25))
    assert work.near_gbytes_per_s == 5
    assert (128 << 10) / work.far_gbytes_per_s / 1e3 == pytest.approx(4 + (128 << 10) / 5e3)


def test_pat_takes_nccl_s_latency_of_a_rank_for_each_piece() -> None:
    """2.8 us, and copying at two thirds of 20 GB/s, for half of the pieces are copied twice; hops of 14.0/3.5 us."""
    small, large = work_of_pat(H100, 1), work_of_pat(H100, 512 << 10)
    assert 1 / small.far_gbytes_per_s / 1e3 == pytest.approx(2.8, rel=1e-3)
    assert (512 << 10) / large.far_gbytes_per_s / 1e3 == pytest.approx(2.8 + 1.5 * (512 << 10) / 20e3)
    assert (small.start_us, small.far_us + 1.5) == (8.0, 4.0)
