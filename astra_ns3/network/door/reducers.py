"""The players of the native half behind the last NPU: parts of reducers, and storage hosts.

Each group has a player of its own in every reducer of its trees. A storage host is one player for all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from astra_ns3.errors import BackendError
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.reducers import reducer_groups

_NPU = re.compile(r"NPU (\d+)")
Numbers = npt.NDArray[np.int64]


class ReducerPlayers:
    """Gives groups their players. Behind the last NPU, outside numbers are those of reducers, inside of players.

    Storage hosts are the last, outside as inside.
    """

    def __init__(self, graph: Graph) -> None:
        self._npus = len(graph.npu_host)
        self._switches = graph.reducers
        self._room = reducer_groups(graph)
        self._first = [0, *accumulate(self._room)]
        self._taken = [0] * len(self._room)
        self._of_channels: dict[tuple[int, ...], dict[int, int]] = {}
        names = np.repeat(np.arange(len(self._room)), self._room)
        stores = len(self._room) + np.arange(len(graph.storage))
        self._beyond = len(self._room) + len(graph.storage)
        numbers = [np.arange(self._npus), self._npus + names, self._npus + stores]
        self._named: Numbers = np.concatenate(numbers).astype(np.int64)

    def players(self, members: Sequence[int], *, shared: bool = False) -> Sequence[int]:
        """Return the players of a new group; raises BackendError if a reducer has no more.

        ``shared``: channels among the same members have one player in a reducer, for each has connections of its own.
        """
        if not self._beyond or max(members, default=0) < self._npus:
            return members
        if shared:
            known = self._of_channels.setdefault(tuple(sorted(members)), {})
            for member in members:
                if member >= self._npus and member not in known:
                    known[member] = self._player(member - self._npus)
            return [known.get(member, member) for member in members]
        return [member if member < self._npus else self._player(member - self._npus) for member in members]

    def _player(self, reducer: int) -> int:
        if reducer >= len(self._room):  # a storage host
            return self._npus + self._first[-1] + reducer - len(self._room)
        if self._taken[reducer] == self._room[reducer]:
            raise BackendError(
                f"switch {self._switches[reducer]} has room for {self._room[reducer]} of the groups of a run, and this "
                "run has more; raise 'groups' of its 'reduction'"
            )
        self._taken[reducer] += 1
        return self._npus + self._first[reducer] + self._taken[reducer] - 1

    def name(self, player: int) -> int:
        """Return the outside number of one player."""
        return int(self._named[player])

    def in_words(self, text: str) -> str:
        """Return a message of the native half with switches where it names parts of them."""
        return _NPU.sub(lambda found: self._words(int(found[1])), text) if self._beyond else text

    def _words(self, player: int) -> str:
        if player < self._npus:
            return f"NPU {player}"
        number = self.name(player) - self._npus
        if number >= len(self._room):
            return f"storage host {number - len(self._room)}"
        return f"the reducer of switch {self._switches[number]}"

    def named(self, players: Numbers) -> Numbers:
        """Return the outside numbers of players; what is below 0 stays."""
        return np.where(players < 0, players, self._named[players]) if self._beyond else players
