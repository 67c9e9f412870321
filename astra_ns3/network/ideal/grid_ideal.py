"""The time of a message alone on an analytical network: by its formula, or along its links, store and forward.

The rules are those of the native half (``ns3-scratch/analytical``); sums are of floating-point nanoseconds
and are rounded where they are there.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from astra_ns3.config.network.analytical_network import AnalyticalDimension
from astra_ns3.frozen import dataclass
from astra_ns3.network.npu_grid import NpuGrid
from astra_ns3.units import LARGEST_INTEGER, PS_PER_NS

Numbers = npt.NDArray[np.int64]
# 106 days, the last double below 2^63 and the longest that the native half waits; it refuses a longer message.
_LAST_PS = float(2**63 - 1024)
_Nanoseconds = npt.NDArray[np.floating]


@dataclass(frozen=True)
class GridIdeal:
    """Times of messages between NPUs of a grid.

    ``queues``: links serve one message at a time, each of which a message crosses whole; the others hold without:
    see :class:`~astra_ns3.network.analytical.backend.AnalyticalModel`. ``rendezvous_bytes``: of the invitation.
    """

    grid: NpuGrid
    queues: bool = False
    highest_dimension_only: bool = False
    lowest_dimension_only: bool = False
    truncate: bool = False
    rendezvous_bytes: int = 0

    def __call__(self, sources: npt.NDArray[np.int32], destinations: npt.NDArray[np.int32], sizes: Numbers) -> Numbers:
        """Picoseconds of each message, all columns of shape ``(messages,)``."""
        a, b = sources.astype(np.int64), destinations.astype(np.int64)
        if self.queues:
            return self._queued_ps(a, b, sizes)
        times = _rounded_ps(self._ns(a, b, sizes))
        if self.rendezvous_bytes:
            times = later(times, _rounded_ps(self._ns(b, a, np.full_like(sizes, self.rendezvous_bytes))))
        return times

    def _queued_ps(self, sources: Numbers, destinations: Numbers, sizes: Numbers) -> Numbers:
        """Return the times from link to link, each link's rounded by itself as the native half does."""
        total = np.zeros(len(sizes), dtype=np.int64)
        for number, kind in enumerate(self.grid.network.grid):
            a, b = sources % kind.npus, destinations % kind.npus
            busy = sizes / kind.bytes_per_ns
            if kind.topology == "switch":
                line = self._latency_ns(number, a, b, np.full(len(sizes), 2.0 * kind.link_latency_ns)) / 2
                down = line + kind.nic_latency_ns
                took = later(self._link_ps(busy, down + kind.router_latency_ns), self._link_ps(busy, down))
            else:
                latency = np.full(len(sizes), kind.link_latency_ns + 2 * kind.nic_latency_ns)
                hops, link = _hops(kind, a, b), self._link_ps(busy, latency)
                took = np.where(link > LARGEST_INTEGER // np.maximum(hops, 1), LARGEST_INTEGER, hops * link)
            total = later(total, np.where(a != b, took, 0))
            sources, destinations = sources // kind.npus, destinations // kind.npus
        return total

    def _link_ps(self, busy: _Nanoseconds, latency: _Nanoseconds) -> Numbers:
        """Return what one link takes: its rate's time and its latency, which are rounded apart unless truncated."""
        if self.truncate:
            return _rounded_ps(np.trunc(busy + latency))
        return later(_rounded_ps(busy), _rounded_ps(latency))

    def _ns(self, sources: Numbers, destinations: Numbers, sizes: Numbers) -> _Nanoseconds:
        total = np.zeros(len(sizes), dtype=np.float64)
        charged = np.zeros(len(sizes), dtype=np.bool_)
        for number, dimension in enumerate(self.grid.network.grid):
            a, b = sources % dimension.npus, destinations % dimension.npus
            took = self._dimension_ns(number, dimension, a, b, sizes)
            differs = a != b
            if self.lowest_dimension_only:
                differs &= ~charged
            charged |= differs
            total = np.where(differs, took, total) if self.highest_dimension_only else total + differs * took
            sources, destinations = sources // dimension.npus, destinations // dimension.npus
        return total

    def _dimension_ns(
        self, number: int, kind: AnalyticalDimension, a: Numbers, b: Numbers, sizes: Numbers
    ) -> _Nanoseconds:
        data = sizes / kind.bytes_per_ns
        hops, switch = _hops(kind, a, b), kind.topology == "switch"
        latency = self._latency_ns(number, a, b, hops * kind.link_latency_ns)
        router = kind.router_latency_ns if switch else 0.0
        network: _Nanoseconds = np.zeros(len(sizes), dtype=np.float64)
        for addend in (latency, data, 2 * kind.nic_latency_ns, router):
            exact = network + addend
            network = np.trunc(exact) if self.truncate else exact
        memory = (kind.memory_latency_ns + sizes / kind.memory_bytes_per_ns) * kind.memory_scale
        return np.maximum(network, memory)

    def _latency_ns(self, number: int, a: Numbers, b: Numbers, of_links: _Nanoseconds) -> _Nanoseconds:
        """Latency of the links between two places; in a fabric of switches that of the pair's own path."""
        delays = self.grid.delays
        if number != self.grid.fabric or delays is None:
            return of_links
        found: _Nanoseconds = delays.delays_ps[delays.class_of[a], delays.class_of[b]] / PS_PER_NS
        return found


def later(times: Numbers, more: Numbers | int) -> Numbers:
    """Return the sums of picoseconds from 0 on; the largest integer for those that 64 bits don't hold."""
    added = np.asarray(more, dtype=np.int64)
    sums: Numbers = np.minimum(times, np.int64(LARGEST_INTEGER) - added) + added
    return sums


def _rounded_ps(times_ns: _Nanoseconds) -> Numbers:
    """Return whole picoseconds, of two as near the larger one; the longest for what takes longer."""
    times_ps = np.minimum(times_ns * PS_PER_NS, _LAST_PS)
    half = times_ps - np.trunc(times_ps) == 0.5
    return np.where(half, np.ceil(times_ps), np.rint(times_ps)).astype(np.int64)


def _hops(kind: AnalyticalDimension, a: Numbers, b: Numbers) -> Numbers:
    """Links from one place of a dimension to another."""
    if kind.topology == "switch":
        return np.full_like(a, 2)
    apart = np.abs(a - b)
    return np.minimum(apart, kind.npus - apart) if kind.topology == "ring" else np.ones_like(a)
