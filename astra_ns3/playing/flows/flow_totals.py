"""Totals of a list of flows: completion and slowdown by size."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from astra_ns3.config.flow_list import FlowList, Numbers
from astra_ns3.network.records import FLOW_PERCENTILES, FlowTotals
from astra_ns3.network.run_document import FlowSizesDocument
from astra_ns3.playing.flows.completions import Ideal, not_known

# As a power of ten: flows of up to a kilobyte are one class.
_SMALLEST_CLASS = 3
BINS = 20
"""Bins of about as many flows each, as in figures of congestion controls (HPCC: Li et al., SIGCOMM 2019, Fig. 11)."""
_LEAST_IN_A_BIN = 20


def flow_totals(
    flows: FlowList,
    starts_ps: Numbers,
    ends_ps: Numbers,
    ideal_ps: Numbers,
    goodput: tuple[tuple[int, int, int], ...],
    alone: Ideal = not_known,
) -> FlowTotals:
    """The totals. ``starts_ps``, ``ends_ps``: of each flow, below 0 for not yet; ``ideal_ps``: 0 for not known.

    ``alone``: what others would take.
    """
    started, done = np.flatnonzero(starts_ps >= 0), np.flatnonzero(ends_ps >= 0)
    sizes, times, ideal = flows.sizes_bytes[done], ends_ps[done] - starts_ps[done], ideal_ps[done]
    largest = int(sizes.max()) if len(done) else 0
    return FlowTotals(
        flows=len(flows),
        started=len(started),
        delivered=len(done),
        bytes=int(flows.sizes_bytes.sum()),
        delivered_bytes=int(sizes.sum()),
        first_start_ps=int(starts_ps[started].min()) if len(started) else 0,
        last_end_ps=int(ends_ps[done].max()) if len(done) else 0,
        all=_sizes(0, largest, sizes, times, ideal) if len(done) else None,
        sizes=tuple(_by_size(sizes, times, ideal)),
        bins=tuple(_in_bins(sizes, times, ideal)),
        goodput=goodput,
        overlapping=_overlapping(flows, starts_ps, ends_ps, ideal_ps, alone),
    )


def size_class(size_bytes: int) -> tuple[int, int]:
    """The class of a size, a decade: above the first, up to the second."""
    power = max(_SMALLEST_CLASS, len(str(size_bytes - 1)))
    return (0 if power == _SMALLEST_CLASS else 10 ** (power - 1)), 10**power


def percentile(ordered: npt.NDArray[np.generic], percent: float) -> int | float:
    """The least of ``ordered`` values that so many in a hundred don't exceed."""
    place = max(0, math.ceil(round(len(ordered) * percent / 100, 6)) - 1)
    found: int | float = ordered[place].item()
    return found


def _overlapping(flows: FlowList, starts_ps: Numbers, ends_ps: Numbers, ideal_ps: Numbers, alone: Ideal) -> int:
    """How many may have waited for the one of their pair that started last.

    They started before its last byte had surely left, and didn't take the time that they take alone. None where the
    list itself says which flows share a connection.
    """
    if flows.connections is not None:
        return 0
    started = np.flatnonzero(starts_ps >= 0)
    pairs = flows.sources[started].astype(np.int64) * flows.npus + flows.destinations[started]
    order = np.lexsort((starts_ps[started], pairs))
    in_order, pairs = started[order], pairs[order]
    before, after = in_order[:-1], in_order[1:]
    on_its_way = (ends_ps[before] < 0) | (starts_ps[after] < ends_ps[before])
    as_alone = (ends_ps[after] >= 0) & (ends_ps[after] - starts_ps[after] <= ideal_ps[after])
    some = np.flatnonzero((pairs[1:] == pairs[:-1]) & on_its_way & ~as_alone)
    before, after = before[some], after[some]
    a_byte_ps = alone(flows.sources[before], flows.destinations[before], np.ones(len(some), dtype=np.int64))
    return int(((ends_ps[before] < 0) | (starts_ps[after] < ends_ps[before] - a_byte_ps)).sum())


def _by_size(sizes: Numbers, times: Numbers, ideal: Numbers) -> list[FlowSizesDocument]:
    if not len(sizes):
        return []
    order = np.argsort(sizes, kind="stable")
    ordered = sizes[order]
    found, begin = [], 0
    while begin < len(ordered):
        above, most = size_class(int(ordered[begin]))
        end = int(np.searchsorted(ordered, most, side="right"))
        some = order[begin:end]
        found.append(_sizes(above, most, sizes[some], times[some], ideal[some]))
        begin = end
    return found


def _in_bins(sizes: Numbers, times: Numbers, ideal: Numbers) -> list[FlowSizesDocument]:
    """Return twentieths of the flows by size; flows of one size are in one bin. None if these would be few flows."""
    if len(sizes) < BINS * _LEAST_IN_A_BIN:
        return []
    order = np.argsort(sizes, kind="stable")
    ordered = sizes[order]
    last = np.unique(ordered[np.arange(1, BINS + 1) * len(ordered) // BINS - 1])
    ends = np.searchsorted(ordered, last, side="right")
    begins = np.concatenate([[0], ends[:-1]])
    found = []
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        some = order[begin:end]
        above = int(ordered[begin - 1]) if begin else 0
        found.append(_sizes(above, int(ordered[end - 1]), sizes[some], times[some], ideal[some]))
    return found


def _sizes(above: int, most: int, sizes: Numbers, times: Numbers, ideal: Numbers) -> FlowSizesDocument:
    known = ideal > 0
    slowdowns = np.sort(times[known] / ideal[known])
    ordered = np.sort(times)
    slower = {
        name: float(percentile(slowdowns, percent)) for name, percent in FLOW_PERCENTILES.items() if len(slowdowns)
    }
    return {
        "above_bytes": above,
        "most_bytes": most,
        "flows": len(sizes),
        "bytes": int(sizes.sum()),
        "times_ps": {name: int(percentile(ordered, percent)) for name, percent in FLOW_PERCENTILES.items()},
        "slowdowns": slower or None,
    }
