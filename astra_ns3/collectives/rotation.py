"""Rows of a schedule in which all ranks do the same, each turned round by its number: rank 0's rows stand for all.

Row p of rank 0 goes to rank d and carries the blocks from b on. Then row p of rank r goes to rank ``(d + r) mod n`` and
carries as many from b turned by r on. A block's number has ``digits`` digits to the base n, of which the last counts
``blocks / n^digits`` blocks; to turn it by r is to add r to each digit modulo n. One digit: the block belongs to a
rank. Two: it goes from one rank to another. None: all ranks send the same. Rows are numbered rank after rank.

Ranks may stand in groups of ``inner``. Then a rank turned by r is moved on by r's group among the groups, and by r's
place within its group. So servers and the GPUs of each are turned by themselves. By default one group has all ranks.

A ring all-reduce of 8,192 ranks has 134 million rows; of these, 16,382 tell all.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from astra_ns3.frozen import dataclass

Column = npt.NDArray[np.int32 | np.bool_]
"""Numbers of a schedule's rows, or whether each is reduced."""
_Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Rotation:
    """``first``: the columns of rank 0, each of shape ``(rows,)``, by their names in a Schedule."""

    ranks: int
    blocks: int
    digits: int
    first: Mapping[str, Column]
    groups_of: int = 0
    """Ranks of a group; 0: all."""

    @property
    def inner(self) -> int:
        """Ranks of a group."""
        return self.groups_of or self.ranks

    def turned(self, ranks: npt.ArrayLike, turns: npt.ArrayLike) -> _Numbers:
        """Return ranks, each turned by another one."""
        (group, place), (groups, places) = np.divmod(ranks, self.inner), np.divmod(turns, self.inner)
        found: _Numbers = (group + groups) % (self.ranks // self.inner) * self.inner + (place + places) % self.inner
        return found

    def turns_to(self, ranks: npt.ArrayLike, turned: npt.ArrayLike) -> _Numbers:
        """Return by what ranks are turned to become others."""
        group, place = np.divmod(np.asarray(ranks, dtype=np.int64), self.inner)
        return self.turned(turned, -group % (self.ranks // self.inner) * self.inner + -place % self.inner)

    @property
    def rows(self) -> int:
        """Number of rows of each rank."""
        return len(self.first["sender"])

    def column(self, name: str) -> Column:
        """A column of all ranks, shape ``(ranks * rows,)``."""
        turned = self._turned(name, slice(None), np.arange(self.ranks)[:, None])
        return np.ascontiguousarray(np.broadcast_to(turned, (self.ranks, self.rows))).reshape(-1)

    def sent_by(self, rank: int) -> dict[str, Column]:
        """The columns of the rows that a rank sends."""
        return self._columns(np.arange(self.rows), np.full(self.rows, rank))

    def received_by(self, rank: int) -> dict[str, Column]:
        """The columns of the rows that a rank receives, in the order of their numbers."""
        senders = self.turns_to(self.first["receiver"], rank)
        order = np.argsort(senders, kind="stable")
        return self._columns(order, senders[order])

    def pairs(self) -> _Numbers:
        """Sender times ranks plus receiver of all who send to one another, ascending, each once."""
        away = np.array(sorted(set(self.first["receiver"].tolist())), dtype=np.int64)  # as in topology/distances.py
        senders = np.arange(self.ranks)[:, None]
        return np.sort(senders * self.ranks + self.turned(away, senders), axis=1).reshape(-1)

    def block_ranges(self) -> tuple[_Numbers, _Numbers, _Numbers]:
        """Every range of blocks that a message of any rank carries: its first block, its blocks, and how often it goes.

        A range may be given several times. Rows that are turns of one another carry the same ranges, over all ranks.
        """
        starts, counts = self.first["first_block"].astype(np.int64), self.first["block_count"].astype(np.int64)
        last_digit = starts // self._width % self.ranks
        alike = np.stack((self._turned_blocks(starts, self.turns_to(last_digit, 0)), counts))
        (starts, counts), times = np.unique(alike, axis=1, return_counts=True)
        begins = self._turned_blocks(starts[:, None], np.arange(self.ranks))
        shape = len(starts), self.ranks
        begins, counts, times = (np.broadcast_to(each, shape) for each in (begins, counts[:, None], times[:, None]))
        return begins.reshape(-1), counts.reshape(-1), times.reshape(-1)

    def _columns(self, places: _Numbers, turns: _Numbers) -> dict[str, Column]:
        """Some of rank 0's rows, each turned by a number of its own."""
        return {
            name: np.ascontiguousarray(np.broadcast_to(self._turned(name, places, turns), places.shape))
            for name in self.first
        }

    def _turned(self, name: str, places: _Numbers | slice, turns: _Numbers) -> Column:
        """Cells of a column, turned; of no more dimensions than they need."""
        values = self.first[name][places]
        if name in ("sender", "receiver"):
            return self.turned(values, turns).astype(values.dtype)
        if name == "first_block":
            return self._turned_blocks(values, turns).astype(values.dtype)
        return values

    def _turned_blocks(self, blocks: Column | _Numbers, turns: _Numbers) -> _Numbers:
        number, turned = np.divmod(blocks, self._width)
        scale = self._width
        for _ in range(self.digits):
            number, digit = np.divmod(number, self.ranks)
            turned = turned + self.turned(digit, turns) * scale
            scale *= self.ranks
        return turned

    @property
    def _width(self) -> int:
        """Blocks that the last digit counts."""
        return int(self.blocks // self.ranks**self.digits)
