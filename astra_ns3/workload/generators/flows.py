"""Lists of flows by chance: Poisson arrivals at a load, incast bursts, permutations, on and off. The same for a seed.

Only uniform numbers of the generator are used, and everything else is made of them here, so that a seed gives the same
flows with every version of numpy.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from astra_ns3.config.flow_list import FlowList, Numbers
from astra_ns3.errors import in_range, refuse
from astra_ns3.units import LARGEST_INTEGER, PS_PER_SECOND
from astra_ns3.workload.generators.flow_sizes import FlowSizes

MOST_FLOWS = 100_000_000
MOST_LOAD = 2.0
"""Twice what a link carries; more is a per cent that was meant as a share."""
_BITS = 8


def poisson(npus: int, sizes: FlowSizes, *, load: float, rate_bps: int, duration_ps: int, seed: int = 1) -> FlowList:
    """Every NPU starts flows to others, any of them alike, at times that know nothing of one another.

    ``load``: the share of ``rate_bps``, the rate of an NPU's link, that its flows' bytes take on average, headers not
    counted; ``duration_ps``: in which flows start. Raises InputError.
    """
    _check(npus, 2, duration_ps)
    refuse(
        not 0 < load <= MOST_LOAD,  # nan is refused, too
        f"load is {load:g}, expected a share of the rate, above 0 and at most {MOST_LOAD:g}, as 0.5",
    )
    _check_rate(rate_bps)
    per_second = load * rate_bps / _BITS / sizes.mean_bytes
    expected = npus * per_second * duration_ps / PS_PER_SECOND
    _check_count(expected)
    chance = _chance(seed)
    gaps_ps = PS_PER_SECOND / per_second
    starts, sources = [], []
    for npu in range(npus):
        own = _arrivals(chance, gaps_ps, duration_ps)
        starts.append(own)
        sources.append(np.full(len(own), npu, dtype=np.int64))
    return _sorted(chance, npus, np.concatenate(sources), np.concatenate(starts), sizes, "poisson")


def incast(
    npus: int, sizes: FlowSizes, *, senders: int, bursts: int = 1, interval_ps: int = 0, seed: int = 1
) -> FlowList:
    """In each burst so many ``senders`` begin at once to send to one receiver; all are drawn anew, each sender once.

    Burst k is at k times ``interval_ps``. Raises InputError.
    """
    _check(npus, 2, interval_ps)
    refuse(not 1 <= senders < npus, f"senders is {senders}, expected 1 to {npus - 1} of {npus} NPUs")
    in_range("bursts", bursts, 1)
    _check_count(bursts * senders)
    chance = _chance(seed)
    drawn = np.argsort(chance.random((bursts, npus)), axis=1, kind="stable")[:, : senders + 1]
    starts = np.repeat(np.arange(bursts, dtype=np.int64) * interval_ps, senders)
    receivers = np.repeat(drawn[:, 0], senders)
    shares = chance.random(bursts * senders)
    return _list(drawn[:, 1:].reshape(-1), receivers, sizes.sizes_of(shares), starts, npus, "incast")


def permutation(npus: int, sizes: FlowSizes, *, rounds: int = 1, interval_ps: int = 0, seed: int = 1) -> FlowList:
    """In each round every NPU sends one flow and gets one, nobody from itself; round k is at k times ``interval_ps``.

    Raises InputError.
    """
    _check(npus, 2, interval_ps)
    in_range("rounds", rounds, 1)
    _check_count(rounds * npus)
    chance = _chance(seed)
    receivers = np.concatenate([_in_one_circle(chance, npus) for _ in range(rounds)])
    starts = np.repeat(np.arange(rounds, dtype=np.int64) * interval_ps, npus)
    senders = np.tile(np.arange(npus), rounds)
    return _list(senders, receivers, sizes.sizes_of(chance.random(rounds * npus)), starts, npus, "permutation")


def on_off(
    npus: int, sizes: FlowSizes, *, rate_bps: int, on_ps: int, off_ps: int, duration_ps: int, seed: int = 1
) -> FlowList:
    """Every NPU is on and off by turns, for random times of the means ``on_ps`` and ``off_ps``.

    While it is on it sends flows to one NPU, drawn anew each time: one behind the other, as ``rate_bps`` takes their
    bytes, until the time is over. Raises InputError.
    """
    _check(npus, 2, duration_ps)
    _check_rate(rate_bps)
    for name, value in (("on", on_ps), ("off", off_ps)):
        refuse(value < 1, f"{name} is {value} ps, expected a time above 0")
    share_on = on_ps / (on_ps + off_ps)
    _check_count(npus * share_on * rate_bps / _BITS / sizes.mean_bytes * duration_ps / PS_PER_SECOND)
    chance = _chance(seed)
    rows: list[tuple[int, int, int, int]] = []
    ps_per_byte = _BITS * PS_PER_SECOND / rate_bps
    for npu in range(npus):
        now = (float(chance.random() < share_on) and 0.0) or _exponential(chance, off_ps)
        while now < duration_ps:
            end = min(now + _exponential(chance, on_ps), duration_ps)
            receiver = (npu + 1 + int(chance.random() * (npus - 1))) % npus
            while now < end:
                size = int(sizes.sizes_of(np.array([chance.random()]))[0])
                rows.append((npu, receiver, size, int(now)))
                now += size * ps_per_byte
            now = max(now, end) + _exponential(chance, off_ps)
    refuse(not rows, "no NPU was on in that time; use a longer duration, or another seed")
    columns = np.array(sorted(rows, key=lambda row: (row[3], row[0])), dtype=np.int64)
    return _list(columns[:, 0], columns[:, 1], columns[:, 2], columns[:, 3], npus, "on-off")


def offered_load(flows: FlowList, npus: int, rate_bps: int) -> float:
    """The share of all NPUs' rates that the flows' bytes take between the first start and the last."""
    span_ps = int(flows.starts_ps.max()) - int(flows.starts_ps.min())
    if span_ps <= 0:
        return math.inf
    return float(flows.sizes_bytes.sum()) * _BITS / (npus * rate_bps) * PS_PER_SECOND / span_ps


def _chance(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def _exponential(chance: np.random.Generator, mean: float) -> float:
    return -math.log1p(-chance.random()) * mean


def _arrivals(chance: np.random.Generator, gap_ps: float, duration_ps: int) -> Numbers:
    """Times of a Poisson process of this mean gap, until the end."""
    found: list[npt.NDArray[np.float64]] = []
    last, at_once = 0.0, int(duration_ps / gap_ps * 1.1) + 16
    while last < duration_ps:
        gaps = -np.log1p(-chance.random(at_once)) * gap_ps
        times = last + np.cumsum(gaps)
        found.append(times)
        last = float(times[-1])
    times = np.concatenate(found)
    return times[times < duration_ps].astype(np.int64)


def _sorted(
    chance: np.random.Generator, npus: int, sources: Numbers, starts: Numbers, sizes: FlowSizes, name: str
) -> FlowList:
    """Flows to others, any alike, in the order of their starts."""
    refuse(not len(sources), "no flow starts in that time; use a longer duration, a higher load or smaller flows")
    order = np.argsort(starts, kind="stable")
    sources, starts = sources[order], starts[order]
    others = (chance.random(len(sources)) * (npus - 1)).astype(np.int64)
    destinations = (sources + 1 + others) % npus
    return _list(sources, destinations, sizes.sizes_of(chance.random(len(sources))), starts, npus, name)


def _in_one_circle(chance: np.random.Generator, npus: int) -> Numbers:
    """For each NPU another, all different (Sattolo's shuffle: all are in one circle)."""
    found = np.arange(npus)
    shares = chance.random(npus)
    for index in range(npus - 1, 0, -1):
        other = int(shares[index] * index)
        found[[index, other]] = found[[other, index]]
    return found


def _list(sources: Numbers, destinations: Numbers, sizes: Numbers, starts: Numbers, npus: int, name: str) -> FlowList:
    first, second = (column.astype(np.int32) for column in (sources, destinations))
    return FlowList(first, second, sizes, starts, npus=npus, source=name, format=f"generated: {name}")


def _check(npus: int, least: int, time_ps: int) -> None:
    refuse(not least <= npus < 2**31, f"npus is {npus}, expected at least {least}")
    refuse(not 0 <= time_ps <= LARGEST_INTEGER, f"a time is {time_ps} ps, expected 0 to {LARGEST_INTEGER}")


def _check_rate(rate_bps: int) -> None:
    refuse(rate_bps < 1, f"rate is {rate_bps} b/s, expected more than 0")


def _check_count(expected: float) -> None:
    refuse(
        expected > MOST_FLOWS,
        f"that makes about {expected:.3g} flows, expected at most {MOST_FLOWS}; use a shorter time",
    )
