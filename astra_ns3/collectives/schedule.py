"""A collective algorithm as data: one row per message.

A schedule says who sends what to whom and after which receptions, for ranks 0 to ``ranks - 1``; it knows no
clock and no network. Rules that the proof (:mod:`astra_ns3.collectives.proof`) and every backend share:

* A row may be sent once its sender has handled ``wait_count`` received messages of step ``wait_step``
  (``wait_step`` -1: at the start of the phase). Rows that become ready together leave in row order.
* A rank handles received messages step by step: all of one step in parallel, and those of a later step only when
  all its receptions of the earlier steps are handled. A message that arrives early waits.
* A rank is done when it has sent all its rows and handled all its receptions.

Data: a phase works on ``bytes`` per rank. The whole is ``bytes * expansion``, cut in ``blocks`` parts; block b begins
at byte ``floor(b * whole / blocks)``. Expansion is 1 where the ranks share one range of data (all-reduce,
reduce-scatter, direct all-to-all), and the number of ranks where each brings its own (all-gather, and the ring
all-to-all, whose messages carry blocks of other ranks on their way). A message carries blocks ``first_block`` to
``first_block + block_count - 1``, and never fewer than one byte. A barrier's messages carry no block: one byte.

Where a message carries blocks that are no range (Bruck), or a sum that isn't all its sender holds (user-defined
schedules), ``content`` says what it carries; then ``first_block`` and ``block_count`` give the size only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from astra_ns3.errors import AstraNs3Error

Int32Column = npt.NDArray[np.int32]


class ScheduleError(AstraNs3Error):
    """A schedule that doesn't do what its collective promises; the message names the row or the rank."""


@dataclass(frozen=True, eq=False)
class Content:
    """What each message carries, for the proof; backends don't need it.

    Row r carries the blocks ``blocks[offsets[r]:offsets[r + 1]]``; ``offsets`` has shape ``(messages + 1,)``. In an
    all-to-all block numbers count through all ranks' data, in rank order. ``contributors[i]``, where given, are the
    ranks (bit per rank) whose parts are summed in ``blocks[i]``; without, it is all that the sender holds.
    """

    offsets: npt.NDArray[np.int64]
    blocks: Int32Column
    contributors: tuple[int, ...] | None = None


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

    @property
    def messages(self) -> int:
        """How many messages all ranks send together."""
        return len(self.sender)

    def message_bytes(self, bytes: int) -> npt.NDArray[np.int64]:
        """Size of each message when every rank brings ``bytes``; shape ``(messages,)``."""
        whole = bytes * self.expansion
        bounds = np.array([block * whole // self.blocks for block in range(self.blocks + 1)], dtype=np.int64)
        sizes: npt.NDArray[np.int64] = bounds[self.first_block + self.block_count] - bounds[self.first_block]
        return sizes.clip(min=1)
