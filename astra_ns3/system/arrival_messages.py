"""Messages as ASTRA-sim 2 has them: they cost network time alone, and end at their arrival for both ends.

Two ends belong together by source, destination, tag and size, in order. The receiver's end may be posted before or
after the arrival; the sender is done then in any case.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from astra_ns3.errors import wrong
from astra_ns3.network.api import NetworkBackend
from astra_ns3.network.instance import pack_instance, unpack_instance
from astra_ns3.system.groups import register_group
from astra_ns3.system.heard_in_order import heard_in_order
from astra_ns3.system.history import History
from astra_ns3.system.journal import NO_DIMENSION, Journal
from astra_ns3.system.launches import ScheduleNumbers
from astra_ns3.system.messages import Message, PairedMessages
from astra_ns3.system.request import Handle, MessageRequest


class ArrivalMessages(PairedMessages):
    """Messages that cost network time alone.

    ``late_receives_end_last``: a receive whose message is there already ends in this instant, but behind all that goes
    on. The other arguments are those of :class:`~astra_ns3.system.messages.PairedMessages`.
    """

    invites = False

    def __init__(
        self,
        network: NetworkBackend,
        schedules: ScheduleNumbers,
        history: History,
        finished: Callable[[Handle, int], None],
        journal: Journal | None = None,
        *,
        launch: Callable[[int, int, int, int, int], None],
        late_receives_end_last: bool = False,
    ) -> None:
        super().__init__(network, schedules, history, finished, journal, launch=launch)
        self._late_last = late_receives_end_last

    def send(self, request: MessageRequest) -> Handle:
        """The source posts its end, and the message leaves. Raises InputError."""
        message = self._match(request, posted_by_sender=True)
        message.sent = Handle(request.source, message.number, request, self._network.now_ps(), done=False)
        for npu in (request.source, request.destination):
            self._launch(message, npu)
        return message.sent

    def receive(self, request: MessageRequest) -> Handle:
        """The destination posts its end; it is done in this instant if the message is there. Raises InputError."""
        message = self._match(request, posted_by_sender=False)
        now_ps = self._network.now_ps()
        late = message.arrived and self._late_last
        done = message.arrived and not late
        message.received = Handle(request.destination, message.number, request, now_ps, done=done)
        if late:
            heard_in_order(self._network, request.destination, 0, partial(self._received_late, message))
        elif message.arrived:
            self._end(message, now_ps)
        return message.received

    def phase_done(self, npu: int, instance: int, time_ps: int) -> None:
        """From the network: ``npu`` has done its part of a message."""
        message = self._live[unpack_instance(instance)[0]]
        if self._journal is not None:
            self._journal.finished(npu, instance, NO_DIMENSION, time_ps)
        if npu == message.request.source:
            return
        message.arrived = True
        sent, received = message.sent, message.received
        assert sent is not None
        if received is not None:
            self._end(message, time_ps)
        self._finished(sent, time_ps)
        if received is not None:
            self._finished(received, time_ps)

    def running(self, npu: int) -> list[int]:
        """Instances of what ``npu`` has posted and not done."""
        return [
            pack_instance(message.number, 0, 0)
            for message in self._live.values()
            for handle in (message.sent, message.received)
            if handle is not None and handle.npu == npu and not message.arrived
        ]

    def _match(self, request: MessageRequest, *, posted_by_sender: bool) -> Message:
        """The message that one end belongs to: the first that lacks this end, or a new one."""
        if request.source == request.destination:
            raise wrong(f"NPU {request.source} sends a message tagged {request.tag!r} to itself")
        key = request.source, request.destination, request.tag, request.bytes
        return self._half(key, posted_by_sender=posted_by_sender) or self._new(key, request)

    def _received_late(self, message: Message, time_ps: int) -> None:
        assert message.received is not None
        self._end(message, time_ps)
        self._finished(message.received, time_ps)

    def _end(self, message: Message, time_ps: int) -> None:
        del self._live[message.number]
        self._history.end(message.number, time_ps)

    def _group(self, ends: tuple[int, int]) -> int:
        return register_group(self._network, ends, 0)

    def _launch(self, message: Message, npu: int) -> None:
        request = message.request
        self._play(npu, pack_instance(message.number, 0, 0), (request.source, request.destination), request.bytes)
