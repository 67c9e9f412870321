"""Switches that reduce on an analytical network: one for each place of the outer dimensions, the innermost's own."""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.config.core.reduction import Trees
from astra_ns3.errors import wrong


class GridSwitches:
    """The switches of a grid of ``players`` NPUs, each of so many ``of_server``; ``npus``: the NPU of each rank."""

    def __init__(self, players: int, of_server: int, npus: Sequence[int]) -> None:
        self._players = players
        self._of_server = of_server
        self._npus = npus

    def joining(self, ranks: Sequence[int], group: int, *, algorithm: str, pool: int | None = None) -> Trees:
        """Raise InputError: there are no trees here; see :class:`~astra_ns3.config.core.reduction.ReductionTrees`."""
        raise wrong("an analytical network has no trees of switches", algorithm)

    def can_join(self, ranks: Sequence[int]) -> bool:
        """Return False."""
        return False

    def players(self, ranks: Sequence[int], trees: Trees) -> tuple[int, ...]:
        """Return the ranks, which no tree joins."""
        return tuple(ranks)

    def shared(self, ranks: Sequence[int]) -> tuple[int, ...]:
        """Return the player of the switch that some ranks share; none if they share none."""
        servers = {self._npus[rank] // self._of_server for rank in ranks}
        return (self._players + servers.pop(),) if len(servers) == 1 else ()
