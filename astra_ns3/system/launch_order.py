"""The order in which the NPUs start the chunks of one queue of a dimension: the same on all of them.

One log for all NPUs, whose entries carry their members; an NPU skips what it has no part in. An NPU with a free slot
starts its next entry if it has it waiting, and waits for it if it hasn't. Only at the end of the log it takes the first
of its own line and appends it. Without that, two NPUs with one slot each can start different chunks and wait for each
other for ever (known from ASTRA-sim with few active chunks).

There is one log for all NPUs, though a phase runs in groups. A log for each group would not do. Let chunk c go through
dimension 0, then 1, and chunk d through 1, then 0, on 2x2 NPUs 00, 01, 10, 11 (dimension 1 is the second digit). If the
group {00, 10} starts c and {00, 01} then d, NPU 01 may choose d for {01, 11}, and NPU 10 may choose c for {10, 11}: NPU
11, which has the other one of the two in either queue, waits for ever, and so do all.

That nothing deadlocks is proved here. Two conditions make that enough for fixed programs, whose order of operations
doesn't depend on time.

(A) The programs end by themselves. ``playing/dry_run/deadlock.py`` plays them before the run, one per role, with
everything instantaneous. An operation comes after the one before it in its program. A wait for a collective comes
after its issues in all roles. A wait for a message comes after the other end was posted. ``WaitAny`` counts as
waiting for all. The play ends if and only if "after" has no cycle. Collectives issued in contradicting orders are
refused, too, as MPI and NCCL forbid them.

(B) A collective enters the queues when each of its roles has issued it on at least one NPU (``SystemLayer._hold``).

Suppose that everything is stuck: no event is left, and some NPU isn't done.

Every entry of every log is finished. Otherwise take the earliest unfinished entry e and the time T when NPU a
appended it. All earlier entries are finished, so every member of e has a free slot for e, or runs it. Say that a role
has passed an operation if one of its NPUs had gone beyond it by T. Then every NPU of the role has gone beyond it now.
If not, take the first passed operation that some NPU b hasn't gone beyond. It is a wait that was over on another NPU
by T. A collective's entries were appended before T, so they are finished on b. A message's other end was posted in
that role by T, so it is posted for b, and messages need no slot. Either way b's wait is over: a contradiction. By
(B), each role had issued e's collective by T, so every member has issued it. NPU a had finished the earlier phases of
e's chunk, so all members have. Every member therefore runs e. The schedule of e is proved free of deadlock, so an
event is left: a contradiction.

So nobody waits. Take the first wait, in the order "after", where some NPU stands. If it waits for a collective, every
NPU has gone beyond its issue. The collective is in all queues, slots are free and logs are done, so an event is left.
If it waits for a message, both ends are posted and the message is on its way. Both contradict the assumption.

ASTRA-sim's barrier changes nothing: there NPU a finished a phase only when all members had.

Reactive programs choose by time what they issue, so nothing is proved beforehand. Every NPU counts as a role of its
own, and members match collectives by a key. Only the programs' own waits can stall. Then ``check_finished`` raises
``SimulationStalled``, and ``playing/player/program_stall.py`` shows the circle.
"""

from __future__ import annotations

from astra_ns3.system.task import Task


class LaunchOrder:
    """The log of one queue. Each entry is handed to its members when it is appended, so that skipping costs nothing."""

    __slots__ = ("_followers",)

    def __init__(self) -> None:
        self._followers: dict[int, list[Task]] = {}

    def follow(self, npu: int) -> list[Task]:
        """The entries of an NPU, which grow at their end; it may delete its begin."""
        entries: list[Task] = []
        self._followers[npu] = entries
        return entries

    def append(self, task: Task) -> None:
        """Decide what every member starts next."""
        communicator = task.collective.request.communicator
        if communicator is None:
            for entries in self._followers.values():
                entries.append(task)
            return
        for npu in communicator.ranks:
            self._followers[npu].append(task)
