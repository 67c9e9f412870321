"""The order in which the NPUs start the chunks of one queue of a dimension: the same on all of them.

One log for all NPUs, whose entries carry their members; an NPU skips what it has no part in. An NPU with a free slot
starts its next entry if it has it waiting, and waits for it if it hasn't. Only at the end of the log it takes the first
of its own line and appends it. Without that, two NPUs with one slot each can start different chunks and wait for each
other for ever (known from ASTRA-sim with few active chunks).

There is one log for all NPUs, though a phase runs in groups. A log for each group would not do. Let chunk c go through
dimension 0, then 1, and chunk d through 1, then 0, on 2x2 NPUs 00, 01, 10, 11 (dimension 1 is the second digit). If the
group {00, 10} starts c and {00, 01} then d, NPU 01 may choose d for {01, 11}, and NPU 10 may choose c for {10, 11}: NPU
11, which has the other one of the two in either queue, waits for ever, and so do all.

That nothing deadlocks is proved in docs/internals.md. It rests on two things besides. A chunk is appended only when
each role in its communicator has issued it (``system/layer.py``), and the programs don't wait for each other in a
circle (``playing/dry_run/deadlock.py``).
"""

from __future__ import annotations

from astra_ns3.system.task import Task


class LaunchOrder:
    """The log of one queue. Each entry is handed to its members when it is appended, so that skipping costs nothing."""

    __slots__ = ("_followers",)

    def __init__(self) -> None:
        self._followers: list[list[Task]] = []

    def follow(self) -> list[Task]:
        """The entries of the next NPU (the first call is NPU 0's), which grow at their end; it may delete its begin."""
        entries: list[Task] = []
        self._followers.append(entries)
        return entries

    def append(self, task: Task) -> None:
        """Decide what every member starts next."""
        communicator = task.collective.request.communicator
        if communicator is None:
            for entries in self._followers:
                entries.append(task)
            return
        for npu in communicator.ranks:
            self._followers[npu].append(task)
