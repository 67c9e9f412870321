"""Trees of switches that reduce, as collectives see them: who hands what comes to whom, without a network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from astra_ns3.frozen import dataclass

NOBODY, ABSENT = -1, -2
"""Parents of a tree's root, and of a player that is not in the tree."""


@dataclass(frozen=True)
class Trees:
    """The trees that join a group. Players are the members, by rank, and then the reducers of all trees.

    ``reducers``: the number of each reducer among all of the network. ``parents``: for each tree the parent of each
    player, ``NOBODY`` of its root. ``piece_bytes``: what is combined and sent on together; ``buffer_bytes``: room for
    pieces in each reducer.
    """

    reducers: tuple[int, ...]
    parents: tuple[tuple[int, ...], ...]
    piece_bytes: int
    buffer_bytes: int

    @property
    def members(self) -> int:
        """How many players are members."""
        return len(self.parents[0]) - len(self.reducers)


class ReductionTrees(Protocol):
    """The trees of a network, for the ranks of a workload."""

    def joining(self, ranks: Sequence[int], group: int, *, algorithm: str, pool: int | None = None) -> Trees:
        """Return the trees of a group of ranks; ``group``: its number among those that play beside it.

        ``pool``: the number of a storage host, which is one more member, the last (None: there is none). Raises
        InputError if the network has none, or none that fits the algorithm.
        """

    def can_join(self, ranks: Sequence[int]) -> bool:
        """Return whether some reducing switch can be reached from all of some ranks, each on a host of its own."""

    def players(self, ranks: Sequence[int], trees: Trees) -> tuple[int, ...]:
        """Return the number of each player: ranks, perhaps a pool, and behind the network's last NPU its reducers."""

    def shared(self, ranks: Sequence[int]) -> tuple[int, ...]:
        """Return the players of the reducing switches nearest to all of some ranks; none if they share none."""
