"""Processes that make flows for as long as anybody asks: Poisson, incast bursts, on and off, at a constant rate.

A process gives its flows in blocks, in the order of their starts. The first flows of a seed are the same however many
are asked for. Only uniform numbers of the generator are used, and everything else is made of them here, so that a seed
gives the same flows with every version of numpy.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from itertools import islice
from typing import Protocol

import numpy as np

from astra_ns3.config.flow_list import Numbers
from astra_ns3.config.flow_stream import FlowProcess, Flows
from astra_ns3.errors import refuse
from astra_ns3.frozen import dataclass
from astra_ns3.units import PS_PER_SECOND
from astra_ns3.workload.generators.flow_sizes import FlowSizes
from astra_ns3.workload.generators.receivers import Receivers

BITS = 8
_AT_ONCE = 1 << 13
_FEW_AT_ONCE = 256
_MOST_TURNS = 100
"""On-times that a flow's sending is drawn over; further ones take their means, lest tiny ones take for ever."""
_DRAWS = 5
"""Uniform numbers of a Poisson flow: its gap, sender, receiver's rack, receiver, size."""


class Process(FlowProcess, Protocol):
    """A process of flows whose sizes have a distribution."""

    @property
    def sizes(self) -> FlowSizes:
        """The distribution of the sizes."""


@dataclass(frozen=True)
class Poisson:
    """``npus`` NPUs start flows at times that know nothing of one another, each with ``mean_bps / npus`` on average."""

    npus: int
    sizes: FlowSizes
    mean_bps: float
    receivers: Receivers
    kind: str = "poisson"

    def blocks(self, seed: int) -> Iterator[Flows]:
        """Yield flows in blocks."""
        chance, last_ps = _chance(seed), 0.0
        gap_ps = PS_PER_SECOND * BITS * self.sizes.mean_bytes / self.mean_bps
        while True:
            gaps, senders, locals_drawn, others, sizes = chance.random((_AT_ONCE, _DRAWS)).T
            times = last_ps + np.cumsum(-np.log1p(-gaps) * gap_ps)
            last_ps = float(times[-1])
            sources = (senders * self.npus).astype(np.int64)
            destinations = self.receivers.of(sources, locals_drawn, others)
            yield Flows(sources, destinations, self.sizes.sizes_of(sizes), _whole(times))


@dataclass(frozen=True)
class Incast:
    """Bursts, ``interval_ps`` apart, in which ``senders`` begin at once to send to one; all are drawn anew."""

    npus: int
    sizes: FlowSizes
    senders: int
    interval_ps: int
    kind: str = "incast"

    @property
    def mean_bps(self) -> float:
        """Bits of all NPUs' flows in a second."""
        return self.senders * self.sizes.mean_bytes * BITS * PS_PER_SECOND / self.interval_ps

    def blocks(self, seed: int) -> Iterator[Flows]:
        """Yield flows in blocks."""
        chance, first = _chance(seed), 0
        bursts = max(1, _AT_ONCE // (self.npus + self.senders))
        while True:
            shares = chance.random((bursts, self.npus + self.senders))
            drawn = np.argsort(shares[:, : self.npus], axis=1, kind="stable")[:, : self.senders + 1]
            starts = np.repeat((first + np.arange(bursts, dtype=np.int64)) * self.interval_ps, self.senders)
            receivers = np.repeat(drawn[:, 0], self.senders)
            sizes = self.sizes.sizes_of(shares[:, self.npus :].reshape(-1))
            yield Flows(drawn[:, 1:].reshape(-1), receivers, sizes, starts)
            first += bursts


@dataclass(frozen=True)
class OnOff:
    """Every NPU is on and off by turns, for random times of the means ``on_ps`` and ``off_ps``.

    On, it sends flow after flow to one other, drawn anew each time, as ``rate_bps`` takes their bytes. A flow that
    takes longer than its on-time takes the rest of the next ones, as packets of ns-3's OnOffApplication do.
    """

    npus: int
    sizes: FlowSizes
    rate_bps: float
    on_ps: int
    off_ps: int
    receivers: Receivers
    kind: str = "on-off"

    @property
    def mean_bps(self) -> float:
        """Bits of all NPUs' flows in a second."""
        return self.npus * self.rate_bps * self.on_ps / (self.on_ps + self.off_ps)

    def blocks(self, seed: int) -> Iterator[Flows]:
        """Yield flows in blocks."""
        return _merged(self._of(_Sender(npu, seed, self.sizes, self.receivers)) for npu in range(self.npus))

    def _of(self, sender: _Sender) -> Iterator[tuple[int, int, int, int]]:
        ps_per_byte = BITS * PS_PER_SECOND / self.rate_bps
        is_on = sender.draw() < self.on_ps / (self.on_ps + self.off_ps)
        now = 0.0 if is_on else sender.exponential(self.off_ps)
        left_ps, receiver = sender.exponential(self.on_ps), sender.receiver()
        next_ps = sender.rest() * ps_per_byte
        while True:
            turned = next_ps >= left_ps
            turns = max(0, int(next_ps / self.on_ps) - _MOST_TURNS)
            next_ps -= turns * self.on_ps
            now += turns * (self.on_ps + self.off_ps)
            while next_ps >= left_ps:
                next_ps -= left_ps
                now += left_ps + sender.exponential(self.off_ps)
                left_ps = sender.exponential(self.on_ps)
            now += next_ps
            left_ps -= next_ps
            receiver, size = sender.receiver() if turned else receiver, sender.size()
            yield int(now), sender.npu, receiver, size
            next_ps = size * ps_per_byte


@dataclass(frozen=True)
class Constant:
    """Every NPU sends flow after flow to one other, drawn once, as ``rate_bps`` takes their bytes.

    It begins amid a flow, as if it had always sent.
    """

    npus: int
    sizes: FlowSizes
    rate_bps: float
    receivers: Receivers
    kind: str = "constant"

    @property
    def mean_bps(self) -> float:
        """Bits of all NPUs' flows in a second."""
        return self.npus * self.rate_bps

    def blocks(self, seed: int) -> Iterator[Flows]:
        """Yield flows in blocks."""
        return _merged(self._of(_Sender(npu, seed, self.sizes, self.receivers)) for npu in range(self.npus))

    def _of(self, sender: _Sender) -> Iterator[tuple[int, int, int, int]]:
        ps_per_byte = BITS * PS_PER_SECOND / self.rate_bps
        receiver, now = sender.receiver(), sender.rest() * ps_per_byte
        while True:
            size = sender.size()
            yield int(now), sender.npu, receiver, size
            now += size * ps_per_byte


class _Sender:
    """The chance of one NPU: uniform numbers for times and receivers, and sizes, from two generators of its own."""

    def __init__(self, npu: int, seed: int, sizes: FlowSizes, receivers: Receivers) -> None:
        self.npu = npu
        self._chance, self._of_sizes = (np.random.Generator(np.random.PCG64([seed, npu, part])) for part in range(2))
        self._receivers, self._distribution = receivers, sizes
        self._draws: Iterator[float] = self._uniform()
        self._sizes: Iterator[int] = self._sized(sizes)

    def draw(self) -> float:
        """Return a uniform number."""
        return next(self._draws)

    def size(self) -> int:
        """Return the size of a flow."""
        return next(self._sizes)

    def rest(self) -> float:
        """Return the bytes that are left of a flow at a random time."""
        return self._distribution.rest_of(self.draw())

    def exponential(self, mean: float) -> float:
        """Return an exponential number."""
        return -math.log1p(-self.draw()) * mean

    def receiver(self) -> int:
        """Return another NPU."""
        drawn = (np.array([self.draw()]) for _ in range(2))
        return int(self._receivers.of(np.array([self.npu]), *drawn)[0])

    def _uniform(self) -> Iterator[float]:
        while True:
            yield from self._chance.random(_FEW_AT_ONCE).tolist()

    def _sized(self, sizes: FlowSizes) -> Iterator[int]:
        while True:
            yield from sizes.sizes_of(self._of_sizes.random(_FEW_AT_ONCE)).tolist()


def until(process: Process, seed: int, *, duration_ps: int | None = None, flows: int | None = None) -> Flows:
    """Return the flows of a process that start before ``duration_ps``, or the first so many; one of the two ends it."""
    parts: list[Flows] = []
    for block in process.blocks(seed):
        kept = len(block.starts_ps) if duration_ps is None else int(np.searchsorted(block.starts_ps, duration_ps))
        if flows is not None:
            kept = min(kept, flows - sum(len(part.starts_ps) for part in parts))
        parts.append(Flows(*(column[:kept] for column in block)))
        if kept < len(block.starts_ps):
            break
    return Flows(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def check_positive(**values: float) -> None:
    """Raise InputError unless these are above 0."""
    for name, value in values.items():
        refuse(not value > 0, f"{name} is {value:g}, expected more than 0")


def _merged(senders: Iterator[Iterator[tuple[int, int, int, int]]]) -> Iterator[Flows]:
    """Yield blocks of what all NPUs send, by time."""
    merged = heapq.merge(*senders)
    while True:
        starts, sources, destinations, sizes = np.array(list(islice(merged, _AT_ONCE)), dtype=np.int64).T
        yield Flows(sources, destinations, sizes, starts)


def _chance(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def _whole(times: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Numbers:
    return np.minimum(times, 2.0**62).astype(np.int64)
