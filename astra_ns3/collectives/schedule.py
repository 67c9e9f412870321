"""A collective algorithm as data: one row per message.

A schedule says who sends what to whom and after which receptions, for ranks 0 to ``ranks - 1``; it knows no
clock and no network. Rules that the proof (:mod:`astra_ns3.collectives.proof`) and every backend share:

* A row may be sent once its sender has handled ``wait_count`` received messages of step ``wait_step``
  (``wait_step`` -1: at the start of the phase). Rows that become ready together leave in row order.
* A rank handles received messages step by step: all of one step in parallel, and those of a later step only when
  all its receptions of the earlier steps are handled. A message that arrives early waits.
* A rank is done when it has sent all its rows and handled all its receptions.
* A schedule may have several ``lanes``; step s belongs to lane ``s % lanes``. The rules above then hold in each lane by
  itself. A rank handles what it receives in a lane step by step. A row belongs to the lane of the step it waits for
  (the first, if it waits for none).

Data: a phase works on ``bytes`` per rank. The whole is ``bytes * expansion``, cut in ``blocks`` parts; block b begins
at byte ``floor(b * whole / blocks)``. Expansion is 1 where the ranks share one range of data (all-reduce,
reduce-scatter, direct all-to-all), and the number of ranks where each brings its own (all-gather, and the ring
all-to-all, whose messages carry blocks of other ranks on their way). A message carries blocks ``first_block`` to
``first_block + block_count - 1``, and never fewer than one byte. A signal carries no block: one byte.

Where a message carries blocks that are no range (Bruck), or a sum that isn't all its sender holds (user-defined
schedules), ``content`` says what it carries. Then ``first_block`` and ``block_count`` give the size only.

Where ranks bring parts of different sizes for each other (an uneven all-to-all), ``parts`` says of how many blocks. A
rank's own data then begin at block 0 and may end before the last.

Where all ranks do the same, each turned round, the schedule keeps the rows of rank 0 only
(:mod:`astra_ns3.collectives.rotation`), and lays its columns out for who asks for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from astra_ns3.collectives.rotation import Column, Rotation
from astra_ns3.errors import AstraNs3Error
from astra_ns3.frozen import dataclass, field, replace

Tell = Callable[[str], None]
"""Is told what goes on with a file: ``proving my.csv, order 2 of 5``."""
Int32Column = npt.NDArray[np.int32]
_Numbers = npt.NDArray[np.int32] | npt.NDArray[np.int64]
COLUMNS = ("sender", "receiver", "step", "first_block", "block_count", "reduces", "wait_step", "wait_count")
"""The columns of a schedule, in the order in which backends take them."""


def silent(_what: str) -> None:
    """Nobody wants to know."""


class ScheduleError(AstraNs3Error):
    """A schedule that doesn't do what its collective promises; the message names the row or the rank."""


@dataclass(frozen=True, eq=False)
class Content:
    """The blocks that each message carries, for the proof; backends don't need them.

    Row r carries the blocks ``blocks[offsets[r]:offsets[r + 1]]``; ``offsets`` has shape ``(messages + 1,)``. In an
    all-to-all block numbers count through all ranks' data, in rank order. ``contributors[i]``, where given, are the
    ranks (bit per rank) whose parts are summed in ``blocks[i]``; without, it is all that the sender holds.
    ``weighs``: whether a row has as many blocks as these; not where what several ranks want travels once.
    """

    offsets: npt.NDArray[np.int64]
    blocks: Int32Column
    contributors: tuple[int, ...] | None = None
    weighs: bool = True


@dataclass(frozen=True, eq=False)
class Schedule:
    """Columns, each of shape ``(messages,)``; see the module's text for their meaning."""

    name: str
    ranks: int
    blocks: int
    sender: Int32Column
    receiver: Int32Column
    step: Int32Column
    first_block: Int32Column
    block_count: Int32Column
    reduces: npt.NDArray[np.bool_]
    wait_step: Int32Column
    wait_count: Int32Column
    expansion: int = 1
    content: Content | None = None
    parts: npt.NDArray[np.int64] | None = None
    """In an uneven all-to-all the blocks that each rank has for each, shape ``(ranks, ranks)``, a row per sender."""
    lanes: int = 1
    helpers: int = 0
    """So many of the last ranks are parts of switches, which bring nothing and keep nothing."""
    rotation: Rotation | None = field(default=None, init=False)
    """The source of the columns, in a schedule of :meth:`rotated`."""

    @classmethod
    def rotated(cls, name: str, rotation: Rotation, expansion: int = 1, lanes: int = 1) -> Schedule:
        """A schedule whose columns are laid out when they are first asked for."""
        schedule = object.__new__(cls)
        known = {"name": name, "ranks": rotation.ranks, "blocks": rotation.blocks, "expansion": expansion, "helpers": 0}
        schedule.__dict__.update(known, content=None, rotation=rotation, lanes=lanes)
        return schedule

    if not TYPE_CHECKING:  # for the checker each column is there

        def __getattr__(self, name: str) -> npt.NDArray[np.int32] | npt.NDArray[np.bool_]:
            """A column that is not laid out yet."""
            rotation = self.__dict__.get("rotation")
            if rotation is None or name not in COLUMNS:
                raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
            column = self.__dict__[name] = rotation.column(name)
            return column

    @property
    def messages(self) -> int:
        """Number of messages that all ranks send together."""
        return len(self.sender) if self.rotation is None else self.ranks * self.rotation.rows

    @property
    def kept(self) -> Mapping[str, Column]:
        """The columns by name; of rank 0's rows where these stand for all."""
        return {name: getattr(self, name) for name in COLUMNS} if self.rotation is None else self.rotation.first

    @property
    def kept_rows(self) -> int:
        """Number of rows it takes to hold the schedule."""
        return self.messages if self.rotation is None else self.rotation.rows

    def sent_by(self, rank: int) -> Schedule:
        """The rows that a rank sends, in their order, without their content."""
        if self.rotation is not None:
            return self._of(self.rotation.sent_by(rank))
        return self._rows(np.flatnonzero(self.sender == rank))

    def received_by(self, rank: int) -> Schedule:
        """The rows that a rank receives, in their order, without their content."""
        if self.rotation is not None:
            return self._of(self.rotation.received_by(rank))
        return self._rows(np.flatnonzero(self.receiver == rank))

    def _rows(self, rows: npt.NDArray[np.int64]) -> Schedule:
        return self._of({name: getattr(self, name)[rows] for name in COLUMNS})

    def _of(self, columns: Mapping[str, Any]) -> Schedule:  # what replace takes by name
        return replace(self, content=None, **columns)

    def reducing(self, rows: npt.NDArray[np.bool_]) -> Schedule:
        """The same messages, of which those of ``rows``, shape ``(messages,)``, are reduced where they arrive."""
        columns: dict[str, Column] = {name: getattr(self, name) for name in COLUMNS}
        return self._of({**columns, "reduces": rows})

    def message_bytes(self, bytes: int) -> npt.NDArray[np.int64]:
        """Size of each message when every rank brings ``bytes``; shape ``(messages,)``."""
        return self._sizes(bytes, self.first_block, self.block_count)

    def all_bytes(self, bytes: int) -> int:
        """Bytes of all messages together when every rank brings ``bytes``."""
        if self.rotation is None:
            return int(self.message_bytes(bytes).sum())
        starts, counts, times = self.rotation.block_ranges()
        return int((self._sizes(bytes, starts, counts) * times).sum())

    def sent_blocks(self) -> tuple[int, int]:
        """The most blocks that a message carries, and how many all messages carry together."""
        counts = self.kept["block_count"]
        repeats = 1 if self.rotation is None else self.ranks
        return int(counts.max(initial=0)), repeats * int(counts.sum(dtype=np.int64))

    def _sizes(self, bytes: int, starts: _Numbers, counts: _Numbers) -> npt.NDArray[np.int64]:
        whole = bytes * self.expansion
        ends = starts.astype(np.int64) + counts
        of_block, rest = divmod(whole, self.blocks)  # so that no product exceeds 64 bits
        begins, ends = (edges * of_block + edges * rest // self.blocks for edges in (starts.astype(np.int64), ends))
        sizes: npt.NDArray[np.int64] = ends - begins
        return sizes.clip(min=1)
