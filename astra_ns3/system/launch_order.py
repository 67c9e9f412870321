"""The order in which the NPUs start the chunks of one queue of a dimension: the same on all of them.

An NPU with a free slot starts the next entry of the log if it has it waiting, waits for it if it hasn't, and only at
the end of the log takes the first of its own line and appends it. Without that, two NPUs with one slot each can start
different chunks and wait for each other for ever (known from ASTRA-sim with few active chunks).

There is one log for all NPUs, though a phase runs in groups. A log for each group would not do: let chunk c go through
dimension 0, then 1, and chunk d through 1, then 0, on 2x2 NPUs 00, 01, 10, 11 (dimension 1 is the second digit). If the
group {00, 10} starts c and {00, 01} then d, NPU 01 may choose d for {01, 11}, and NPU 10 may choose c for {10, 11}: NPU
11, which has the other one of the two in either queue, waits for ever, and so do all.

Why nothing deadlocks: suppose all is stuck, and take the earliest entry e, over all queues, that some NPU hasn't
finished. All entries appended before e are finished on all NPUs, so every NPU is at e, with a free slot or with e
running; some NPU a appended e, so it had it waiting. If every NPU has e running, its schedule (proved free of
deadlock) goes on in every group. So some NPU b hasn't e waiting, for one of two reasons. (1) b hasn't finished the
chunk's previous phase; but a had, so that phase was appended, in whatever queue, before e, hence is finished on b. (2)
b hasn't issued e's collective: its program, the same as a's, waits for an earlier collective c; a passed that wait
before it appended e, so all of c was appended before e, hence is finished on b. Both contradict what was supposed.
With a barrier after each phase the same holds: a passed it, so b had finished that phase, too, and went on with a.
"""

from __future__ import annotations

from astra_ns3.system.task import Task


class LaunchOrder:
    """The log of one queue, which each of ``npus`` NPUs follows from its begin; what all have started is forgotten."""

    __slots__ = ("_end", "_entries", "_left", "_npus")

    def __init__(self, npus: int) -> None:
        self._npus = npus
        self._end = 0
        self._entries: dict[int, Task] = {}
        self._left: dict[int, int] = {}  # how many NPUs have still to start an entry

    def at(self, position: int) -> Task | None:
        """The entry at ``position``; None at the end of the log."""
        return self._entries.get(position)

    def append(self, task: Task) -> None:
        """Decide what every NPU starts next."""
        self._entries[self._end] = task
        self._left[self._end] = self._npus
        self._end += 1

    def started(self, position: int) -> None:
        """One more NPU has started the entry at ``position``."""
        self._left[position] -= 1
        if not self._left[position]:
            del self._left[position], self._entries[position]
