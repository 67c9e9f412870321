"""The order in which the NPUs start the chunks of one dimension: the same on all of them.

An NPU with a free slot starts the next entry of the log if it has it waiting, waits for it if it hasn't, and only at
the end of the log chooses by priority among its own and appends its choice. Without that, two NPUs with one slot each
can start different chunks and wait for each other for ever (known from ASTRA-sim with few active chunks).

Why nothing deadlocks: suppose all is stuck, and take the earliest entry e, over all dimensions, that some NPU hasn't
finished. All entries appended before e are finished on all NPUs, so every NPU is at e, with a free slot or with e
running; some NPU a appended e, so it had it waiting. If every NPU has e running, its schedule (proved free of
deadlock) goes on. So some NPU b hasn't e waiting, for one of two reasons. (1) b hasn't finished the chunk's previous
phase; but a had, so that phase was appended before e, hence is finished on b. (2) b hasn't issued e's collective: its
program, the same as a's, waits for an earlier collective c; a passed that wait before it appended e, so all
of c was appended before e, hence is finished on b. Both contradict what was supposed.
"""

from __future__ import annotations


class LaunchOrder:
    """The log of one dimension; entries are instance numbers."""

    __slots__ = ("_log",)

    def __init__(self) -> None:
        self._log: list[int] = []

    def at(self, position: int) -> int | None:
        """The entry at ``position``; None at the end of the log."""
        return self._log[position] if position < len(self._log) else None

    def append(self, instance: int) -> None:
        """Decide what every NPU starts next."""
        self._log.append(instance)
