"""Lists of flows by chance: Poisson arrivals at a load, incast bursts, permutations, on and off, at a constant rate.

The same for a seed; see :mod:`~astra_ns3.workload.generators.processes`, which makes all but permutations.
"""

from __future__ import annotations

import math

import numpy as np

from astra_ns3.config.flow_list import FlowList, Numbers
from astra_ns3.config.flow_stream import Flows, list_of
from astra_ns3.errors import in_range, refuse
from astra_ns3.units import LARGEST_INTEGER, PS_PER_SECOND
from astra_ns3.workload.generators.flow_sizes import FlowSizes
from astra_ns3.workload.generators.processes import (
    BITS,
    Constant,
    Incast,
    OnOff,
    Poisson,
    Process,
    check_positive,
    until,
)
from astra_ns3.workload.generators.receivers import Receivers

MOST_FLOWS = 100_000_000
MOST_LOAD = 2.0
"""Twice what a link carries; more is a per cent that was meant as a share."""


def poisson(
    npus: int,
    sizes: FlowSizes,
    *,
    load: float,
    rate_bps: int,
    duration_ps: int,
    seed: int = 1,
    rack_npus: int | None = None,
    rack_local: float | None = None,
) -> FlowList:
    """Every NPU starts flows to others at times that know nothing of one another.

    ``load``: the share of ``rate_bps``, the rate of an NPU's link, that its flows' bytes take on average, headers not
    counted; ``duration_ps``: in which flows start. ``rack_local``: the share of flows that stay in a rack, of
    ``rack_npus`` NPUs in order (None: as chance has it). Raises InputError.
    """
    _check(npus, 2, duration_ps)
    refuse(
        not 0 < load <= MOST_LOAD,  # nan is refused, too
        f"load is {load:g}, expected a share of the rate, above 0 and at most {MOST_LOAD:g}, as 0.5",
    )
    _check_rate(rate_bps)
    return made(
        Poisson(npus, sizes, npus * load * rate_bps, _receivers(npus, rack_npus, rack_local)), duration_ps, seed
    )


def incast(
    npus: int, sizes: FlowSizes, *, senders: int, bursts: int = 1, interval_ps: int = 0, seed: int = 1
) -> FlowList:
    """In each burst so many ``senders`` begin at once to send to one receiver; all are drawn anew, each sender once.

    Burst k is at k times ``interval_ps``. Raises InputError.
    """
    _check(npus, 2, interval_ps)
    check_senders(npus, senders)
    in_range("bursts", bursts, 1)
    _check_count(bursts * senders)
    return _list(until(Incast(npus, sizes, senders, interval_ps), seed, flows=bursts * senders), npus, "incast")


def check_senders(npus: int, senders: int) -> None:
    """Raise InputError unless so many of the NPUs can send to another one."""
    refuse(not 1 <= senders < npus, f"senders is {senders}, expected 1 to {npus - 1} of {npus} NPUs")


def permutation(npus: int, sizes: FlowSizes, *, rounds: int = 1, interval_ps: int = 0, seed: int = 1) -> FlowList:
    """In each round every NPU sends one flow and gets one, nobody from itself; round k is at k times ``interval_ps``.

    Raises InputError.
    """
    _check(npus, 2, interval_ps)
    in_range("rounds", rounds, 1)
    _check_count(rounds * npus)
    chance = np.random.Generator(np.random.PCG64(seed))
    receivers = np.concatenate([_in_one_circle(chance, npus) for _ in range(rounds)])
    starts = np.repeat(np.arange(rounds, dtype=np.int64) * interval_ps, npus)
    senders = np.tile(np.arange(npus), rounds)
    flows = Flows(senders, receivers, sizes.sizes_of(chance.random(rounds * npus)), starts)
    return _list(flows, npus, "permutation")


def on_off(
    npus: int, sizes: FlowSizes, *, rate_bps: int, on_ps: int, off_ps: int, duration_ps: int, seed: int = 1
) -> FlowList:
    """Every NPU is on and off by turns, for random times of the means ``on_ps`` and ``off_ps``.

    While it is on it sends flows to one NPU, drawn anew each time: one behind the other, as ``rate_bps`` takes their
    bytes. A flow that takes longer takes the rest of the next times. Raises InputError.
    """
    _check(npus, 2, duration_ps)
    _check_rate(rate_bps)
    for name, value in (("on", on_ps), ("off", off_ps)):
        refuse(value < 1, f"{name} is {value} ps, expected a time above 0")
    return made(OnOff(npus, sizes, rate_bps, on_ps, off_ps, Receivers(npus)), duration_ps, seed)


def constant(npus: int, sizes: FlowSizes, *, rate_bps: int, duration_ps: int, seed: int = 1) -> FlowList:
    """Every NPU sends flow after flow to one other, drawn once, as ``rate_bps`` takes their bytes.

    Raises InputError.
    """
    _check(npus, 2, duration_ps)
    _check_rate(rate_bps)
    return made(Constant(npus, sizes, rate_bps, Receivers(npus)), duration_ps, seed)


def made(process: Process, duration_ps: int, seed: int) -> FlowList:
    """Return the flows of a process that start before ``duration_ps``; raises InputError for none, and for too many."""
    check_positive(**{"load or rate": process.mean_bps})
    _check_count(process.mean_bps / BITS / process.sizes.mean_bytes * duration_ps / PS_PER_SECOND)
    flows = until(process, seed, duration_ps=duration_ps)
    refuse(
        not len(flows.starts_ps), "no flow starts in that time; use a longer duration, a higher load or smaller flows"
    )
    return _list(flows, process.npus, process.kind)


def offered_load(flows: FlowList, npus: int, rate_bps: int) -> float:
    """The share of all NPUs' rates that the flows' bytes take between the first start and the last."""
    span_ps = int(flows.starts_ps.max()) - int(flows.starts_ps.min())
    if span_ps <= 0:
        return math.inf
    return float(flows.sizes_bytes.sum()) * BITS / (npus * rate_bps) * PS_PER_SECOND / span_ps


def _receivers(npus: int, rack_npus: int | None, rack_local: float | None) -> Receivers:
    if rack_npus is None:
        refuse(rack_local is not None, "rack-local needs the size of a rack, expected rack-npus beside it")
        return Receivers(npus)
    in_range("rack-npus", rack_npus, 1)
    return Receivers(npus, [npu // rack_npus for npu in range(npus)], rack_local)


def _in_one_circle(chance: np.random.Generator, npus: int) -> Numbers:
    """For each NPU another, all different (Sattolo's shuffle: all are in one circle)."""
    found = np.arange(npus)
    shares = chance.random(npus)
    for index in range(npus - 1, 0, -1):
        other = int(shares[index] * index)
        found[[index, other]] = found[[other, index]]
    return found


def _list(flows: Flows, npus: int, name: str) -> FlowList:
    return list_of(flows, npus, name, f"generated: {name}")


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
