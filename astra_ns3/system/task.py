"""One phase of one chunk, as it waits and runs on every NPU, and the collective that it belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.system.communicator import PerNpu, per_npu
from astra_ns3.system.launches import Launch
from astra_ns3.system.request import CollectiveRequest, Handle


@dataclass(frozen=True, eq=False, slots=True)
class Task:
    """A phase of a chunk, as queues hold it and policies see it; the same object on all NPUs.

    ``instance``: its number for the network. ``queue``: number of its queue among all. ``priority``: the
    higher goes first. ``kind``: the collective that the phase runs. ``bytes``: data of a rank before or after the
    phase, the larger. ``phase``: its place among the chunk's phases, of which ``phases_left`` follow, and first of
    these ``following``.
    """

    instance: int
    queue: int
    priority: int
    kind: CollectiveKind
    bytes: int
    phase: int
    phases_left: int
    launch: Launch
    following: Task | None
    collective: Collective


class Collective:
    """A collective that has been issued, shared by its members.

    ``algorithm``: that of each phase; ``group_ranks``: how many NPUs exchange data with each other; ``groups``: who
    does, none if all members do.
    ``first_tasks``: the first phase of each chunk; none if there is nothing to do. ``left[npu]``: chunks that a member
    has still to finish; ``handles[npu]``: None until it has issued it. ``absent_roles``: those that have not issued it
    on any NPU, which holds it ``held`` on those that have, the last at a ``place`` of a ``moment``. ``stands_for``:
    this is what one member plays instead of that collective.
    """

    __slots__ = (
        "absent_roles",
        "algorithm",
        "first_tasks",
        "group_ranks",
        "groups",
        "handles",
        "held",
        "index",
        "left",
        "members",
        "members_left",
        "moment",
        "place",
        "request",
        "stands_for",
    )

    def __init__(
        self,
        index: int,
        request: CollectiveRequest,
        algorithm: str,
        group_ranks: int,
        groups: Sequence[Sequence[int]] = (),
    ) -> None:
        self.index = index
        self.request = request
        self.algorithm = algorithm
        self.group_ranks = group_ranks
        self.groups = groups
        self.first_tasks: list[Task] = []
        self.left: PerNpu[int] = []
        self.handles: PerNpu[Handle | None] = []
        self.absent_roles: set[int] = set()
        self.held: list[int] = []
        self.moment = self.place = 0
        self.members = self.members_left = 0
        self.stands_for: Collective | None = None

    def start(self, first_tasks: list[Task], npus: int, roles: frozenset[int]) -> None:
        """The part of the work that members have to do; ``npus``: all there are; ``roles``: the members', if there are
        several."""
        communicator = self.request.communicator
        self.members = self.members_left = npus if communicator is None else len(communicator)
        self.absent_roles = set(roles)
        self.first_tasks = first_tasks
        if first_tasks:
            self.left = per_npu(communicator, npus, len(first_tasks))
            self.handles = per_npu(communicator, npus, None)

    def hold(self, moment: int, place: int) -> None:
        """It is held on one more."""
        self.place = max(self.place, place) if moment == self.moment else place
        self.moment = moment

    def groups_ps(self) -> tuple[int, int] | None:
        """Mean, rounded up, and longest duration of its groups, from first issue to last end; None of one group."""
        if not self.groups:
            return None
        times_ps = []
        for group in self.groups:
            handles = [handle for npu in group if (handle := self.handles[npu]) is not None]
            times_ps.append(max(each.end_ps for each in handles) - min(each.issue_ps for each in handles))
        return -(-sum(times_ps) // len(times_ps)), max(times_ps)

    def tasks(self) -> list[Task]:
        """Every phase of every chunk."""
        found = []
        for first in self.first_tasks:
            task: Task | None = first
            while task is not None:
                found.append(task)
                task = task.following
        return found
