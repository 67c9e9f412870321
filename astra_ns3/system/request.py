"""Requests of the workload to the system, and the handles that it gets in return."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from astra_ns3.collectives.uneven import Parts
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.relay import Relay
from astra_ns3.frozen import dataclass
from astra_ns3.network.records import Label
from astra_ns3.system.communicator import Communicator


@dataclass(frozen=True)
class CollectiveRequest:
    """A collective on ``bytes`` per NPU over all NPUs, or over those that differ in ``dimensions`` (numbers) only.

    ``label``: what the loop calls it; an index into the workload's layers stands for the layer's name. ``policy`` is
    one of :data:`astra_ns3.system.policies.POLICIES`, a priority (the higher goes first), or None for the system file's
    policy. ``communicator``: who takes part (None: all NPUs); over ``dimensions``, each member in its own group of
    them. The k-th request of a communicator is the same on all members, but for its label; with a ``key``, the k-th of
    that key. ``counts``: of an all-to-all that isn't even, the bytes that each place of its group has for each, a row
    per sender; ``bytes`` is then what the one has, its own share included, who has most. ``relay``: where counts go by
    way of a place of each node. ``pool``: of an all-reduce by way of the group's storage host, how many units of the
    data go there and how many come back; the larger number makes ``bytes``. ``group``: what waiting for it is told
    under, see :func:`group_words`. A program that yields a request issues it.
    """

    kind: CollectiveKind
    bytes: int
    label: Label
    policy: str | int | None = None
    dimensions: tuple[int, ...] | None = None
    communicator: Communicator | None = None
    key: Hashable = None
    counts: Parts | None = None
    relay: Relay | None = None
    pool: tuple[int, int] | None = None
    group: str = ""


@dataclass(frozen=True)
class MessageRequest:
    """One end of a tensor's way from NPU ``source`` to NPU ``destination``.

    The k-th sent with a ``tag`` between the two is the k-th received with it. With ``rendezvous`` it leaves when the
    receiver has posted its end and its invitation has arrived; without (eager), as soon as it is posted. ``group``: as
    of a :class:`CollectiveRequest`.
    """

    source: int
    destination: int
    bytes: int
    tag: Hashable
    label: Label
    rendezvous: bool = False
    group: str = ""


class Handle:
    """One NPU's part of a collective, or of a message. ``collective`` is its number, -1 if there is nothing to do.

    ``done`` is set by whoever issued it, when the collective counts as done (the update time comes after its end).
    ``joint``: those it was issued together with, if any. ``end_ps``: when the NPU had done all of its part of a
    collective (-1: not yet).
    """

    __slots__ = ("collective", "done", "end_ps", "issue_ps", "joint", "npu", "request")

    def __init__(
        self, npu: int, collective: int, request: CollectiveRequest | MessageRequest, issue_ps: int, *, done: bool
    ) -> None:
        self.npu = npu
        self.collective = collective
        self.request = request
        self.issue_ps = issue_ps
        self.done = done
        self.end_ps = -1
        self.joint: Joint | None = None


class Joint:
    """The handles of several NPUs for what they do in step, one each; ``left`` of them aren't done. ``number``: of
    what their program posts, from 0 on."""

    __slots__ = ("handles", "left", "number")

    def __init__(self, handles: list[Handle], number: int) -> None:
        self.handles = handles
        self.number = number
        self.left = 0
        for handle in handles:
            handle.joint = self
            self.left += not handle.done

    def split(self, group_of: Mapping[int, int], groups: int) -> list[Joint]:
        """Return a joint for each of so many groups; ``group_of``: of each NPU."""
        handles: list[list[Handle]] = [[] for _ in range(groups)]
        for handle in self.handles:
            handles[group_of[handle.npu]].append(handle)
        return [Joint(each, self.number) for each in handles]


def group_words(request: CollectiveRequest | MessageRequest) -> str:
    """Among whom something is exchanged, such as "tensor".

    Where nobody said so: a communicator's name, or over which dimensions of all NPUs it goes; of a message what takes
    the place of a layer's name, or its tag, if it is a word.
    """
    if request.group:
        return request.group
    if isinstance(request, MessageRequest):
        names = (name for name in (request.label.layer, request.tag) if isinstance(name, str) and name)
        return next(names, "messages")
    if request.communicator is not None:
        return request.communicator.name or "a communicator"
    if request.dimensions is None:
        return "all NPUs"
    return f"NPUs along dimension {', '.join(map(str, request.dimensions))}"
