"""Collectives that members play instead of the one that their number is, as ASTRA-sim 2 lets them.

There a member's k-th collective of a group sends and receives messages under the group's k-th number, and nobody
compares what the members play. Where all messages are of the same sizes, a reduce-scatter on one NPU and an all-gather
on another come to their end together; where they aren't, that program hangs.
"""

from __future__ import annotations

from collections.abc import Iterable

from astra_ns3.system.issuing import CollectiveMaker
from astra_ns3.system.request import CollectiveRequest
from astra_ns3.system.task import Collective, Task


class MismatchedCollectives:
    """The mismatched collectives of all NPUs; ``maker`` makes them."""

    def __init__(self, maker: CollectiveMaker) -> None:
        self._maker = maker
        self._of: dict[tuple[int, int], Collective] = {}  # by NPU and the collective's number
        self._tasks: dict[tuple[int, int], Task] = {}  # by NPU and instance

    def tolerates(self, npu: int, request: CollectiveRequest, now_ps: int, collective: Collective) -> bool:
        """Whether an NPU may play what it asks for as its part of a collective; it does from now on."""
        made = self._maker.make(collective.index, request, now_ps)
        members = range(collective.members) if request.communicator is None else request.communicator.ranks
        mine, theirs = made.tasks(), collective.tasks()
        alike = len(mine) == len(theirs) and all(
            _fit(one, other, members) for one, other in zip(mine, theirs, strict=True)
        )
        if not mine or not alike:
            return False
        made.stands_for = collective
        self._of[npu, collective.index] = made
        self._tasks.update(((npu, task.instance), task) for task in mine)
        return True

    def of(self, npu: int, collective: Collective) -> Collective | None:
        """The collective that an NPU plays instead; None: the collective itself."""
        return self._of.get((npu, collective.index)) if self._of else None

    def task(self, npu: int, instance: int) -> Task | None:
        """The phase of what an NPU plays instead; None: that of the collective itself."""
        return self._tasks.get((npu, instance)) if self._tasks else None

    def forget(self, collective: Collective) -> None:
        """A collective is over for all."""
        for npu in [npu for npu, number in self._of if number == collective.index]:
            for task in self._of.pop((npu, collective.index)).tasks():
                del self._tasks[npu, task.instance]


def _fit(one: Task, other: Task, members: Iterable[int]) -> bool:
    """Whether members that play one phase can be met by members that play the other."""
    same_place = one.instance == other.instance and one.queue == other.queue
    return same_place and one.launch.sends_alike(other.launch, members)
