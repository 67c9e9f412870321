"""The books of a simulation: what every port, switch and NPU has counted and holds, read through a hook's context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from astra_ns3.topology.graph import Graph
from astra_ns3.topology.ports import port_name

PRIORITIES = 8


@dataclass(frozen=True)
class PortBook:
    """One direction of a link: counters of its port, what waits there and what travels. Frames, unless said otherwise.

    ``sent`` to ``pause_frames`` are counted, the others are found. ``cut``: sent and lost to a link that was down,
    ``down``: not sent for that reason. ``peer``: the node at the far end, ``link``: the
    number of the link, ``paused``: a bit for each priority that is stopped, ``pauses``: how often one was.
    ``credit_bytes``: those of a lane that has all credit, 0 if it doesn't send by credit; ``lanes_short``: lanes that
    lack some.
    """

    name: str
    node: int
    peer: int
    link: int
    rate_bps: int
    sent: int
    sent_bytes: int
    arrived: int
    lost: int
    dropped: int
    pause_frames: int
    waiting: int
    waiting_bytes: int
    waiting_pauses: int
    on_wire: int
    wire_pauses: int
    paused: int
    pauses: int
    cut: int = 0
    down: int = 0
    credit_bytes: int = 0
    lanes_short: int = 0

    @property
    def pauses_sent(self) -> int:
        """Pause frames that have gone on the line."""
        return self.pause_frames - self.waiting_pauses

    @property
    def pauses_arrived(self) -> int:
        """Pause frames that have reached the far end; none is ever lost."""
        return self.pauses_sent - self.wire_pauses


@dataclass(frozen=True)
class SwitchBook:
    """A switch's shared buffer, and frames that found no route."""

    node: int
    capacity_bytes: int
    used_bytes: int
    at_rest: bool
    unrouted: int


@dataclass(frozen=True)
class NpuBook:
    """Messages of an NPU."""

    sent_bytes: int
    sent_messages: int
    received_bytes: int
    received_messages: int


@dataclass(frozen=True)
class Books:
    """All of a simulation at one instant.

    ``frames``, ``telemetry`` and ``trails``: taken from their pools and not given back. ``roce_frames``: those of
    queue pairs. ``busy_queue_pairs``: those with a message that isn't both delivered and acknowledged.
    """

    time_ps: int
    hosts: int
    ports: tuple[PortBook, ...]
    switches: tuple[SwitchBook, ...]
    npus: tuple[NpuBook, ...]
    frames: int
    telemetry: int
    trails: int
    roce_frames: int
    busy_queue_pairs: int


def read_books(context: Any) -> Books:
    """The books as of now; everything that is due is played first."""
    graph: Graph = context.graph
    ports = native_ports(context)
    # Playing what is due may have other ports send pauses in this instant: once more, and nothing moves any longer.
    for _ in range(2):
        for _, _, port in ports:
            port.GetCounters()
    pool, session = context.ns.FabricFramePool, context._session.GetStatistics()
    return Books(
        time_ps=context.now_ps(),
        hosts=graph.hosts,
        ports=tuple(_port_book(graph, node, number, port) for node, number, port in ports),
        switches=tuple(_switch_book(graph, number, switch) for number, switch in enumerate(context.switches)),
        npus=tuple(_npu_book(application) for application in context.applications),
        frames=int(pool.CountFrames()),
        telemetry=int(pool.CountTelemetry()),
        trails=int(pool.CountTrails()),
        roce_frames=int(session.framesUnderWay),
        busy_queue_pairs=int(session.busyPairs),
    )


def native_ports(context: Any) -> Sequence[tuple[int, int, Any]]:
    """Every port as (node, its number there, ``ns3::FabricPort``), hosts first."""
    owners = [*context.devices, *context.switches]
    return [(node, port, owner.GetPort(port)) for node, owner in enumerate(owners) for port in range(owner.GetNPorts())]


def _port_book(graph: Graph, node: int, number: int, port: Any) -> PortBook:
    counters, contents = port.GetCounters(), port.CountContents()
    account = port.GetCredits()
    full = int(account.GetLink().laneBytes) if account else 0
    return PortBook(
        name=port_name(graph.hosts, node, number),
        node=node,
        peer=graph.ports[node][number].peer,
        link=graph.ports[node][number].link,
        rate_bps=int(port.GetRateBps()),
        sent=int(counters.sentFrames),
        sent_bytes=int(counters.sentBytes),
        arrived=int(port.GetArrivedFrames()),
        lost=int(counters.lostFrames),
        cut=int(counters.cutFrames) + int(counters.silentFrames),
        down=int(counters.downFrames),
        dropped=int(counters.droppedFrames),
        pause_frames=int(counters.pauseFrames),
        waiting=int(contents.waitingFrames),
        waiting_bytes=int(contents.waitingBytes),
        waiting_pauses=int(contents.waitingPauses),
        on_wire=int(contents.wireFrames),
        wire_pauses=int(contents.wirePauses),
        paused=int(port.GetPaused()),
        pauses=int(counters.pauses),
        credit_bytes=full,
        lanes_short=sum(int(account.GetBytes(lane)) < full for lane in range(PRIORITIES)) if account else 0,
    )


def _switch_book(graph: Graph, number: int, switch: Any) -> SwitchBook:
    buffer = switch.GetBuffer()
    return SwitchBook(
        node=graph.hosts + number,
        capacity_bytes=graph.switch_buffer_bytes[number],
        used_bytes=int(buffer.GetUsedBytes()),
        at_rest=bool(buffer.IsAtRest()),
        unrouted=int(switch.GetUnroutedFrames()),
    )


def _npu_book(application: Any) -> NpuBook:
    return NpuBook(
        sent_bytes=int(application.GetSentBytes()),
        sent_messages=int(application.GetSentMessages()),
        received_bytes=int(application.GetReceivedBytes()),
        received_messages=int(application.GetReceivedMessages()),
    )
