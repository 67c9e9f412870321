"""Themis: the order of dimensions that evens out their load, found chunk by chunk when a collective is issued.

Source: Rashidi et al., "Themis: a network bandwidth-aware collective scheduling policy for distributed training of DL
models" (ISCA 2022), as ASTRA-sim 1.0 does it. A dimension's load is the data that a rank sends there, over the
dimension's bandwidth; it is cleared when a collective is issued at a new time. Where the loads hardly differ the plain
order is taken: dimensions ascending, for an all-gather descending.
"""

from __future__ import annotations

from dataclasses import dataclass

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.errors import refuse
from astra_ns3.system.groups import Grid
from astra_ns3.system.route import ChunkToRoute, Route

MIB = 1 << 20
#: A difference of loads worth less than this part of a chunk is none.
SMALLEST_PART = 16


@dataclass
class _Load:
    """``sent``: MiB on dimension 0 that take as long as what is sent so far on ``dimension``."""

    dimension: int
    sent: float = 0.0


class OfflineGreedy:
    """``flexible``: a chunk is as large as evens out the loads. ``gathers_upwards``: see the option of that name."""

    def __init__(self, grid: Grid, *, flexible: bool, gathers_upwards: bool) -> None:
        refuse(
            grid.bandwidths is None and len(grid.wide) > 1,
            "themis needs the bandwidth of each dimension, and this network doesn't tell it",
        )
        speeds = grid.bandwidths or (1.0,) * len(grid.sizes)
        self._sizes = grid.sizes
        self._speeds = [speed / speeds[0] for speed in speeds]
        self._flexible = flexible
        self._gathers_upwards = gathers_upwards
        self._time_ps = 0
        # Equal loads keep the order of the chunk before.
        self._loads = [_Load(dimension) for dimension in range(len(grid.sizes))]

    def __call__(self, chunk: ChunkToRoute) -> Route:
        """The route of the next chunk; ``chunk.kind`` is no all-to-all."""
        if chunk.time_ps != self._time_ps:
            self._time_ps = chunk.time_ps
            self._loads = [_Load(dimension) for dimension in range(len(self._sizes))]
        gathers = chunk.kind is CollectiveKind.ALL_GATHER
        self._loads.sort(key=lambda load: load.sent)
        if gathers:
            self._loads.reverse()
        bytes = self._levelling_bytes(chunk, gathers)
        if bytes < (chunk.usual_bytes if self._flexible else chunk.usual_bytes // SMALLEST_PART):
            return self._plain(chunk, gathers)
        if not self._flexible:
            bytes = chunk.usual_bytes
        route = [load for load in self._loads if load.dimension in chunk.dimensions]
        self._book([(load, load.dimension) for load in route], bytes, gathers)
        size = min(bytes, chunk.bytes_left) if self._flexible else chunk.bytes
        return Route(tuple(load.dimension for load in route), size, mirrored=True)

    def _levelling_bytes(self, chunk: ChunkToRoute, gathers: bool) -> int:
        """A chunk so large that it brings the least loaded dimension level with the most loaded one."""
        route = [load for load in self._loads if load.dimension in chunk.dimensions]
        least, most = (route[-1], route[0]) if gathers else (route[0], self._loads[-1])
        spread = abs(most.sent - least.sent)
        share = self._share(least.dimension, gathers)
        bytes = int(spread * self._speeds[least.dimension] / share * MIB)
        if gathers:  # it has grown on the dimensions before
            for load in reversed(route[:-1]):
                bytes //= self._sizes[load.dimension]
        return bytes

    def _plain(self, chunk: ChunkToRoute, gathers: bool) -> Route:
        """The plain order, and the loads in the order of their dimensions."""
        self._loads.sort(key=lambda load: load.dimension)
        order = list(chunk.dimensions)
        if gathers:
            self._loads.reverse()
            if not self._gathers_upwards:
                order.reverse()
        # Counting upwards, dimension d of an all-gather is booked on the load that stands in its place.
        booked = [
            (self._loads[dimension] if self._gathers_upwards else self._of(dimension), dimension) for dimension in order
        ]
        self._book(booked, chunk.bytes if self._flexible else chunk.usual_bytes, gathers)
        return Route(tuple(order), chunk.bytes, mirrored=True)

    def _book(self, route: list[tuple[_Load, int]], bytes: int, gathers: bool) -> None:
        for load, dimension in route:
            load.sent += bytes / MIB * self._share(dimension, gathers) / self._speeds[dimension]
            bytes = bytes * self._sizes[dimension] if gathers else bytes // self._sizes[dimension]

    def _share(self, dimension: int, gathers: bool) -> float:
        """The bytes that a rank sends on a dimension, as a part of what it brings there."""
        size = self._sizes[dimension]
        return float(size - 1) if gathers else (size - 1) / size

    def _of(self, dimension: int) -> _Load:
        return next(load for load in self._loads if load.dimension == dimension)
