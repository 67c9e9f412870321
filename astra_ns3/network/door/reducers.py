"""The players of the native half behind the last NPU: parts of reducers and of storage hosts.

Each group has a player of its own in every reducer of its trees, and in the storage host that its tree hangs from. A
storage host's first player does all accesses.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from astra_ns3.errors import BackendError
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.reducers import rooms

_ENDS_OF_ACCESS = 2
"""An NPU and a storage host; a group with a reducer has more members."""
_NPU = re.compile(r"NPU (\d+)")
Numbers = npt.NDArray[np.int64]


class ReducerPlayers:
    """Gives groups their players. Behind the last NPU, outside numbers are those of reducers and then of storage hosts,
    inside numbers those of their players."""

    def __init__(self, graph: Graph) -> None:
        self._npus = len(graph.npu_host)
        self._switches = graph.reducers
        self._room = rooms(graph)
        self._first = [0, *accumulate(self._room)]
        self._taken = [*[0] * len(graph.reducers), *[1] * len(graph.storage)]
        self._of_channels: dict[tuple[int, ...], dict[int, int]] = {}
        names = np.repeat(np.arange(len(self._room)), self._room)
        numbers = [np.arange(self._npus), self._npus + names]
        self._named: Numbers = np.concatenate(numbers).astype(np.int64)

    def players(self, members: Sequence[int], *, shared: bool = False) -> Sequence[int]:
        """Return the players of a new group; raises BackendError if a reducer has no more.

        ``shared``: channels among the same members have one player in a reducer, for each has connections of its own.
        """
        if not self._room or max(members, default=0) < self._npus:
            return members
        if shared:
            known = self._of_channels.setdefault(tuple(sorted(members)), {})
            for member in members:
                if member >= self._npus and member not in known:
                    known[member] = self._player(member - self._npus)
            return [known.get(member, member) for member in members]
        if len(members) == _ENDS_OF_ACCESS:
            return [members[0], self._npus + self._first[members[1] - self._npus]]
        return [member if member < self._npus else self._player(member - self._npus) for member in members]

    def _player(self, helper: int) -> int:
        if self._taken[helper] == self._room[helper]:
            what = f"switch {self._switches[helper]}" if helper < len(self._switches) else self._words_of(helper)
            room = self._room[helper] - (helper >= len(self._switches))
            raise BackendError(
                f"{what} has room for {room} of the groups of a run, and this run has more; raise 'groups' of the "
                "switches' 'reduction'"
            )
        self._taken[helper] += 1
        return self._npus + self._first[helper] + self._taken[helper] - 1

    def name(self, player: int) -> int:
        """Return the outside number of one player."""
        return int(self._named[player])

    def in_words(self, text: str) -> str:
        """Return a message of the native half with switches where it names parts of them."""
        return _NPU.sub(lambda found: self._words(int(found[1])), text) if self._room else text

    def _words(self, player: int) -> str:
        return f"NPU {player}" if player < self._npus else self._words_of(self.name(player) - self._npus)

    def _words_of(self, helper: int) -> str:
        reducers = len(self._switches)
        return (
            f"storage host {helper - reducers}"
            if helper >= reducers
            else f"the reducer of switch {self._switches[helper]}"
        )

    def named(self, players: Numbers) -> Numbers:
        """Return the outside numbers of players; what is below 0 stays."""
        return np.where(players < 0, players, self._named[players]) if self._room else players
