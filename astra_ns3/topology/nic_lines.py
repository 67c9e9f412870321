"""The NICs of a server: what its NPUs have of their lines, each its share, or one queue for all that share a NIC."""

from __future__ import annotations

from math import ceil, gcd, inf
from typing import NamedTuple


class NicPort(NamedTuple):
    """NPUs, one after the other, that share ``lines`` of a rate: a message takes the line that is free first."""

    npus: int
    lines: int
    line_bps: float


class NicLines(NamedTuple):
    """The NICs of a server; rates are those of the server, or NPU, that has least.

    ``outwards_bps``: of all NICs together. ``own_bps``: of an NPU's own line to them. ``groups``: NICs are in so many
    equal groups, each of which equally many NPUs reach, one after the other, and no others.
    """

    npus: int
    nics: int
    outwards_bps: float
    own_bps: float = inf
    groups: int = 1

    @property
    def even_nics(self) -> int:
        """The most NICs, real or parts of these, that equally many NPUs share."""
        return gcd(self.npus, self.nics)

    @property
    def share_bps(self) -> float:
        """An NPU's share, or its own line if that is slower."""
        return min(self.outwards_bps / self.npus, self.own_bps)

    @property
    def nic_bps(self) -> float:
        """The rate of a message over a NIC while the others are idle."""
        return min(self.outwards_bps / min(self.nics, self.npus), self.own_bps)

    @property
    def alone_bps(self) -> float:
        """The rate of all messages of an NPU together over all NICs that it reaches, while the others are idle."""
        return min(self.outwards_bps / self.groups, self.own_bps)

    @property
    def port(self) -> NicPort | None:
        """The port that NPUs share; None: each has its own.

        All lines together are as fast as the NICs, and none is faster than an NPU's own line.
        """
        npus, group_bps = self.npus // self.groups, self.outwards_bps / self.groups
        lines = max(ceil(self.nics / self.groups), ceil(group_bps / self.own_bps))
        return NicPort(npus, lines, group_bps / lines) if lines < npus else None
