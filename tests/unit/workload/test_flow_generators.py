"""Lists of flows made by chance: as much load as was asked for, sizes as their distribution has them, alike by seed."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from astra_ns3.config.flow_list import FlowList
from astra_ns3.errors import InputError
from astra_ns3.units import PS_PER_MS, PS_PER_US
from astra_ns3.workload.generators.flow_sizes import DISTRIBUTIONS, FlowSizes, flow_sizes, one_size, read_sizes
from astra_ns3.workload.generators.flows import incast, on_off, permutation, poisson

RATE_BPS = 100_000_000_000
THREE_SIGMA = 3.0
SHARE_DEVIATES = 0.1
"""Five deviations of the load of 64 NPUs in 20 ms with flows of web-search, from twenty seeds."""


def rows(flows: FlowList) -> list[tuple[int, ...]]:
    columns = (flows.sources, flows.destinations, flows.sizes_bytes, flows.starts_ps)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_poisson_flows_make_the_load_asked_for() -> None:
    size, load, duration_ps = 10_000, 0.4, 2 * PS_PER_MS
    flows = poisson(32, one_size(size), load=load, rate_bps=RATE_BPS, duration_ps=duration_ps)
    # 32 hosts x 0.4 x 100 Gb/s x 2 ms / 80,000 bits: a Poisson number, whose deviation is its root.
    expected = 32 * 0.4 * 100e9 * 2e-3 / (8 * size)
    assert abs(len(flows) - expected) < THREE_SIGMA * expected**0.5
    assert flows.starts_ps.max() < duration_ps
    assert (np.diff(flows.starts_ps) >= 0).all()


def test_gaps_of_poisson_flows_are_exponential() -> None:
    flows = poisson(2, one_size(1_000), load=0.5, rate_bps=RATE_BPS, duration_ps=PS_PER_MS)
    gaps = np.diff(flows.starts_ps[flows.sources == 0]).astype(float)
    # The deviation of an exponential number is its mean, and 1/e of them are above it.
    assert gaps.std() / gaps.mean() == pytest.approx(1, abs=0.05)
    assert (gaps > gaps.mean()).mean() == pytest.approx(np.exp(-1), abs=0.02)


def test_destinations_are_all_others_alike() -> None:
    flows = poisson(8, one_size(1_000), load=0.5, rate_bps=RATE_BPS, duration_ps=PS_PER_MS)
    assert (flows.sources != flows.destinations).all()
    pairs = np.bincount(flows.sources * 8 + flows.destinations, minlength=64).reshape(8, 8)
    others = pairs[~np.eye(8, dtype=bool)]
    assert others.min() > 0.8 * others.mean()
    assert others.max() < 1.2 * others.mean()


def test_the_same_seed_makes_the_same_flows_and_another_others() -> None:
    def made(seed: int) -> list[tuple[int, ...]]:
        sizes = DISTRIBUTIONS["hadoop"]
        return rows(poisson(4, sizes, load=0.5, rate_bps=RATE_BPS, duration_ps=PS_PER_MS, seed=seed))

    assert made(7) == made(7) != made(8)


def test_incast_bursts_have_one_receiver_and_senders_that_differ() -> None:
    flows = incast(16, one_size(500), senders=9, bursts=4, interval_ps=PS_PER_US)
    assert len(flows) == 36
    for burst in range(4):
        some = slice(9 * burst, 9 * burst + 9)
        assert set(flows.starts_ps[some].tolist()) == {burst * PS_PER_US}
        (receiver,) = set(flows.destinations[some].tolist())
        assert len(set(flows.sources[some].tolist()) - {receiver}) == 9


def test_in_a_permutation_everybody_sends_once_and_receives_once() -> None:
    flows = permutation(9, one_size(500), rounds=3, interval_ps=5)
    for number in range(3):
        some = slice(9 * number, 9 * number + 9)
        assert flows.sources[some].tolist() == list(range(9))
        assert sorted(flows.destinations[some].tolist()) == list(range(9))
        assert set(flows.starts_ps[some].tolist()) == {5 * number}


def test_on_off_flows_follow_one_another_at_the_rate_while_on() -> None:
    size, on_ps, off_ps = 1_000, 10 * PS_PER_US, 30 * PS_PER_US
    flows = on_off(16, one_size(size), rate_bps=RATE_BPS, on_ps=on_ps, off_ps=off_ps, duration_ps=4 * PS_PER_MS)
    gaps = np.concatenate([np.diff(flows.starts_ps[flows.sources == npu]) for npu in range(16)])
    at_rate_ps = 8 * size * 10  # 10 ps a bit
    assert gaps.min() >= at_rate_ps - 1
    assert np.median(gaps) <= at_rate_ps + 1
    # On for a quarter of the time; 16 NPUs x 100 periods, whose shares deviate by about 1 in 40 together.
    assert len(flows) * at_rate_ps / (16 * 4 * PS_PER_MS) == pytest.approx(0.25, rel=0.1)


@pytest.mark.parametrize("sizes", ["1MB", "web-search"])
@pytest.mark.parametrize(("on_us", "off_us"), [(10, 30), (50, 150), (50, 50)])
def test_on_off_flows_make_their_load_however_long_a_flow_takes(sizes: str, on_us: int, off_us: int) -> None:
    """The rate times the share of time that an NPU is on, though a flow takes 80 us, or up to 2.4 ms of web-search."""
    on_ps, off_ps, npus, duration_ps = on_us * PS_PER_US, off_us * PS_PER_US, 64, 20 * PS_PER_MS
    flows = on_off(npus, flow_sizes(sizes), rate_bps=RATE_BPS, on_ps=on_ps, off_ps=off_ps, duration_ps=duration_ps)
    share = float(flows.sizes_bytes.sum()) * 8 * 10 / (npus * duration_ps)  # 10 ps a bit
    assert share == pytest.approx(on_us / (on_us + off_us), rel=SHARE_DEVIATES)


@pytest.mark.parametrize("name", [*sorted(DISTRIBUTIONS), "1MB"])
def test_the_rest_of_a_flow_under_way_is_a_renewal_processs_residual(name: str) -> None:
    """Its mean is the second moment of sizes over twice their mean (Feller, volume 2, XI.4), here of sizes drawn."""
    sizes = flow_sizes(name)
    shares = (np.arange(20_000) + 0.5) / 20_000
    drawn = sizes.sizes_of((np.arange(1_000_000) + 0.5) / 1_000_000).astype(float)
    rests = [sizes.rest_of(share) for share in shares.tolist()]
    assert np.mean(rests) == pytest.approx((drawn**2).mean() / (2 * drawn.mean()), rel=1e-3)
    assert rests == sorted(rests)
    assert 0 <= sizes.rest_of(0.0) <= sizes.rest_of(1 - 2**-53) <= sizes.sizes_bytes[-1]


# By hand: the middle of each two neighbouring points times the share between them, summed.
@pytest.mark.parametrize(("name", "mean"), [("web-search", 1_711_250.0), ("hadoop", 120_420.75), ("storage", 40_869.8)])
def test_means_of_published_distributions(name: str, mean: float) -> None:
    assert DISTRIBUTIONS[name].mean_bytes == pytest.approx(mean)


@pytest.mark.parametrize("name", sorted(DISTRIBUTIONS))
def test_sizes_are_distributed_as_their_points_say(name: str) -> None:
    sizes = DISTRIBUTIONS[name]
    shares = (np.arange(100_000) + 0.5) / 100_000
    drawn = np.sort(sizes.sizes_of(shares))
    for size, percent in zip(sizes.sizes_bytes[1:], sizes.percents[1:], strict=True):
        assert (drawn <= size).mean() == pytest.approx(percent / 100, abs=2e-3)
    assert drawn.mean() == pytest.approx(sizes.mean_bytes, rel=1e-3)
    assert sizes.source


def test_a_distribution_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "sizes.txt").write_text("# size, percent\n0 0\n100 50\n300 100\n", encoding="utf-8")
    sizes = read_sizes(tmp_path / "sizes.txt")
    assert sizes.mean_bytes == 0.5 * 50 + 0.5 * 200
    assert flow_sizes(str(tmp_path / "sizes.txt")).percents == (0, 50, 100)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0 0\n100 50\n", "from 0 to 50"),
        ("100 50\n0 100\n", "ascend"),
        ("5\n", ":1: expected two numbers"),
        ("9 100\n", "1 p"),
    ],
)
def test_a_bad_distribution_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "sizes.txt").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        read_sizes(tmp_path / "sizes.txt")


def test_words_for_sizes() -> None:
    assert flow_sizes("100KB").mean_bytes == 100_000
    with pytest.raises(InputError, match="did you mean 'web-search'"):
        flow_sizes("websearch")
    with pytest.raises(InputError, match="at least one byte"):
        flow_sizes("0B")
    with pytest.raises(InputError, match="at least two"):
        FlowSizes("a", (1.0,), (100.0,))


def test_what_makes_no_sense_is_refused() -> None:
    size = one_size(1_000)
    for load in (0, 2.1, 50, math.inf, math.nan):
        with pytest.raises(InputError, match=f"load is {load:g}, expected a share of the rate, above 0 and at most 2"):
            poisson(2, size, load=load, rate_bps=RATE_BPS, duration_ps=PS_PER_MS)
    with pytest.raises(InputError, match=r"about 1\.25e\+13 flows"):
        poisson(1_000, size, load=1, rate_bps=RATE_BPS, duration_ps=10**15)
    with pytest.raises(InputError, match="no flow starts"):
        poisson(2, size, load=1e-9, rate_bps=RATE_BPS, duration_ps=PS_PER_US)
    with pytest.raises(InputError, match="no flow starts"):
        poisson(2, size, load=1e-310, rate_bps=1, duration_ps=1)
    with pytest.raises(InputError, match="rate is 0 b/s, expected more than 0"):
        poisson(2, size, load=1, rate_bps=0, duration_ps=PS_PER_US)
    with pytest.raises(InputError, match="rate is 0 b/s"):
        on_off(2, size, rate_bps=0, on_ps=1, off_ps=1, duration_ps=PS_PER_US)
    with pytest.raises(InputError, match="senders is 4, expected 1 to 3"):
        incast(4, size, senders=4)
    with pytest.raises(InputError, match="npus is 1"):
        permutation(1, size)
