"""Messages from one NPU to another: the two ends find each other by tag, and the network plays one row between them.

They take no slot of a dimension and stand in no queue. An eager message leaves when it is sent, and what comes before
it is received is kept; its sender is done when the transport has it. With rendezvous the receiver invites it: an
invitation of :data:`INVITATION_BYTES` goes first, when both ends are posted and not before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import replace

from astra_ns3.collectives.lookup import lookup
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.errors import ProgramMismatch, wrong
from astra_ns3.network.api import NetworkBackend
from astra_ns3.network.instance import pack_instance, unpack_instance
from astra_ns3.system.history import MESSAGE_ALGORITHM, History
from astra_ns3.system.journal import NO_DIMENSION, Journal
from astra_ns3.system.launches import ScheduleNumbers
from astra_ns3.system.request import Handle, MessageRequest

INVITATION_BYTES = 64

_DATA, _INVITATION = 0, 1


class Message:
    """``sent``, ``received``: handles of the ends that are posted; ``ends``: how many aren't done; ``arrived``: whether
    it has."""

    __slots__ = ("arrived", "ends", "number", "received", "request", "sent")

    def __init__(self, number: int, request: MessageRequest) -> None:
        self.number = number
        self.request = request
        self.sent: Handle | None = None
        self.received: Handle | None = None
        self.ends = 2
        self.arrived = False


class PairedMessages:
    """All messages of a run. ``finished(handle, time_ps)`` is called when one end is done. ``journal``: where what the
    ends do is written down. ``launch``: as :meth:`NetworkBackend.launch`. ``invites``: with rendezvous a message waits
    for both ends."""

    invites = True

    def __init__(
        self,
        network: NetworkBackend,
        schedules: ScheduleNumbers,
        history: History,
        finished: Callable[[Handle, int], None],
        journal: Journal | None = None,
        *,
        launch: Callable[[int, int, int, int, int], None],
    ) -> None:
        self._network = network
        self._journal = journal
        self._schedules = schedules
        self._history = history
        self._finished = finished
        self._launch_now = launch
        self._schedule: int | None = None
        self._groups: dict[tuple[int, int], int] = {}
        self._half_posted: dict[Hashable, deque[Message]] = {}
        self._live: dict[int, Message] = {}

    def lacks_its_other_end(self, handle: Handle) -> bool:
        """Whether the NPU at the other end of a message has not posted its end."""
        message = self._live.get(handle.collective)
        return message is not None and (message.sent is None or message.received is None)

    def _half(self, key: Hashable, *, posted_by_sender: bool) -> Message | None:
        """Return the first message that lacks this end, which it has from now on; None if there is none."""
        waiting = self._half_posted.get(key)
        if not waiting or (waiting[0].sent is None) != posted_by_sender:
            return None
        message = waiting.popleft()
        if not waiting:
            del self._half_posted[key]
        if posted_by_sender or (message.request.rendezvous and self.invites):
            self._history.leaves(message.number, self._network.now_ps())
        return message

    def _new(self, key: Hashable, request: MessageRequest) -> Message:
        """Return a message of which one end is posted."""
        message = Message(self._history.next_number, request)
        self._history.begin_message(message.number, request, self._network.now_ps())
        self._live[message.number] = message
        self._half_posted.setdefault(key, deque()).append(message)
        return message

    def _group(self, ends: tuple[int, int]) -> int:
        """Return the network's number for two NPUs that are a group for the first time."""
        return self._network.register_group(ends)

    def _play(self, npu: int, instance: int, ends: tuple[int, int], size: int) -> None:
        """Start what ``npu`` does of an instance."""
        if ends not in self._groups:
            self._groups[ends] = self._group(ends)
        if self._schedule is None:
            self._schedule = self._schedules.number(message_schedule())
        if self._journal is not None:
            now_ps = self._network.now_ps()
            self._journal.queued(npu, instance, now_ps)
            self._journal.started(npu, instance, now_ps)
        self._launch_now(npu, self._schedule, self._groups[ends], instance, size)


class Messages(PairedMessages):
    """Messages whose two ends are done each in its own time."""

    def send(self, request: MessageRequest) -> Handle:
        """The source posts its end. Raises ProgramMismatch if the other end is another message."""
        message = self._match(request, posted_by_sender=True)
        message.sent = Handle(request.source, message.number, request, self._network.now_ps(), done=False)
        self._launch(message, request.source, _INVITATION if request.rendezvous else _DATA)
        return message.sent

    def receive(self, request: MessageRequest) -> Handle:
        """The destination posts its end. Raises ProgramMismatch."""
        message = self._match(request, posted_by_sender=False)
        message.received = Handle(request.destination, message.number, request, self._network.now_ps(), done=False)
        self._launch(message, request.destination, _INVITATION if request.rendezvous else _DATA)
        return message.received

    def phase_done(self, npu: int, instance: int, time_ps: int) -> None:
        """From the network: ``npu`` has done its part of an invitation or of a message."""
        number, _, phase = unpack_instance(instance)
        message = self._live[number]
        if self._journal is not None:
            self._journal.finished(npu, instance, NO_DIMENSION, time_ps)
        if phase == _INVITATION and message.request.rendezvous:
            self._launch(message, npu, _DATA)
            return
        handle = message.sent if npu == message.request.source else message.received
        assert handle is not None
        message.ends -= 1
        if not message.ends:
            del self._live[number]
            self._history.end(number, time_ps)
        self._finished(handle, time_ps)

    def running(self, npu: int) -> list[int]:
        """Instances of what ``npu`` has posted and not done."""
        return [
            pack_instance(message.number, 0, phase)
            for message in self._live.values()
            for handle in (message.sent, message.received)
            if handle is not None and handle.npu == npu and not handle.done
            for phase in ((_INVITATION, _DATA) if message.request.rendezvous else (_DATA,))
        ]

    def _match(self, request: MessageRequest, *, posted_by_sender: bool) -> Message:
        """The message that one end belongs to: the first that lacks this end, or a new one."""
        key = request.source, request.destination, request.tag
        message = self._half(key, posted_by_sender=posted_by_sender)
        if message is None:
            self._check(request)
            return self._new(key, request)
        if replace(message.request, label=request.label) != request:
            raise ProgramMismatch(
                f"NPU {request.source} and NPU {request.destination} don't agree on the message tagged "
                f"{request.tag!r}: {in_words(message.request)} and {in_words(request)}"
            )
        return message

    def _check(self, request: MessageRequest) -> None:
        if request.source == request.destination:
            raise wrong(f"NPU {request.source} sends a message tagged {request.tag!r} to itself")
        if request.bytes < 1:
            raise wrong(f"the message tagged {request.tag!r} has {request.bytes} bytes, expected at least 1")

    def _launch(self, message: Message, npu: int, phase: int) -> None:
        """Start what ``npu`` does of an invitation, which goes from the destination, or of the message itself."""
        request = message.request
        ends, size = (request.source, request.destination), request.bytes
        if phase == _INVITATION:
            ends, size = ends[::-1], INVITATION_BYTES
        self._play(npu, pack_instance(message.number, 0, phase), ends, size)


def message_schedule() -> Schedule:
    """One message from the first NPU of two to the second."""
    return lookup(CollectiveKind.POINT_TO_POINT, MESSAGE_ALGORITHM, 2)


def in_words(request: MessageRequest) -> str:
    """A message for a person to read."""
    how = "by rendezvous" if request.rendezvous else "eager"
    return f"{request.bytes} bytes {how}"
