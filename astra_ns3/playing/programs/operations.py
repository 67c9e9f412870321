"""The operations that a training loop yields: compute, issue a collective, send, receive, wait, next step."""

from __future__ import annotations

from collections.abc import Generator, Hashable
from typing import NamedTuple

from astra_ns3.frozen import dataclass
from astra_ns3.network.records import Label
from astra_ns3.system.communicator import Communicator
from astra_ns3.system.request import CollectiveRequest, Handle, MessageRequest

UNNAMED = Label()
STORAGE, REMOTE_MEMORY = "storage", "remote memory"
"""The names under which waiting for accesses is told."""
CHECKPOINT = "checkpoint"
"""The name of a checkpoint in the place of a layer."""
LOAD, STORE = "load", "store"
"""The parts of a layer's work that are accesses."""


@dataclass(frozen=True)
class Compute:
    """Compute for ``time_ps``.

    ``times_ps``: where it isn't the same on all NPUs of the role, of each in its place; ``time_ps`` is
    no less than any. ``memory_ps``: what of ``time_ps`` memory limits rather than processors (0: nothing, or nobody
    knows); of ``times_ps`` it is the same share.
    """

    label: Label
    time_ps: int
    times_ps: tuple[int, ...] | None = None
    memory_ps: int = 0


@dataclass(frozen=True)
class Send:
    """Send a tensor and go on; what comes back is the handle of this end.

    ``to``: as many NPUs as the role has; the NPU in a place of the role sends to the one in the same place there. The
    k-th message with a ``tag`` from one NPU to another is the k-th that the other one receives with it. Eager: it
    leaves at once, and this end is done when the transport has it. With ``rendezvous`` it leaves when the receiver,
    which must say so, too, has posted its end and its invitation has come. ``group``: see
    :class:`~astra_ns3.system.request.MessageRequest`.
    """

    to: Communicator
    bytes: int
    tag: Hashable
    label: Label = UNNAMED
    rendezvous: bool = False
    group: str = ""


@dataclass(frozen=True)
class Receive:
    """Be ready for a tensor and go on; what comes back is the handle of this end, done when all of it has come.

    ``source``: as many NPUs as the role has, each the sender for the NPU in the same place of the role. The rest as in
    :class:`Send`.
    """

    source: Communicator
    bytes: int
    tag: Hashable
    label: Label = UNNAMED
    rendezvous: bool = False
    group: str = ""


@dataclass(frozen=True)
class Access:
    """Store to memory beyond the device, or load from there, and go on; the handle is done when all of it is there.

    ``remote``: in the system's remote memory; else in the NPU's storage host.
    """

    bytes: int
    label: Label
    remote: bool = False

    def request(self, npu: int) -> MessageRequest:
        """Return what the handle of an NPU has."""
        group = REMOTE_MEMORY if self.remote else STORAGE
        return MessageRequest(npu, npu, self.bytes, group, self.label, group=group)


@dataclass(frozen=True)
class Store(Access):
    """See :class:`Access`. ``interval_ps``: of a checkpoint that is due so long after the one before it began.

    The NPU that comes to it first decides for all: if it isn't due, it is done at once. With ``behind`` it isn't due,
    either, until all have stored the one before it.
    """

    interval_ps: int = 0
    behind: bool = False


@dataclass(frozen=True)
class Load(Access):
    """See :class:`Access`."""


class Wait(NamedTuple):
    """Go on when the handle counts as done. ``tail``: after the last pass, see ``LayerTimes.tail_ps``."""

    handle: Handle
    tail: bool = False

    @property
    def handles(self) -> tuple[Handle, ...]:
        """All that is waited for."""
        return (self.handle,)

    @property
    def over(self) -> bool:
        """Whether there is nothing left to wait for."""
        return self.handle.done


@dataclass(frozen=True)
class WaitAny:
    """Go on when one of ``handles``, at least one, counts as done; the time is booked on the first.

    What a fixed program does next must not depend on which it was.
    """

    handles: tuple[Handle, ...]
    tail: bool = False

    @property
    def handle(self) -> Handle:
        """The handle that the time is booked on."""
        return self.handles[0]

    @property
    def over(self) -> bool:
        """Whether there is nothing left to wait for."""
        return any(handle.done for handle in self.handles)


@dataclass(frozen=True)
class Move:
    """Go on to the next pass of a layer; takes no time but ``Compatibility.step_tick_ns``."""


Posting = CollectiveRequest | Send | Receive | Store | Load
"""A collective to issue, an end of a message, or an access; the program goes on, and the ``yield`` gives a handle."""
Waiting = Wait | WaitAny
"""Each has ``handles``, the ``handle`` its time is booked on, ``over`` and ``tail``."""
Blocking = Compute | Waiting | Move
Operation = Posting | Blocking
Program = Generator[Operation, "Handle | None", None]
