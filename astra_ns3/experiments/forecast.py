"""What a run will send, known before it runs: collectives, messages, packets; and a guess of its time and memory.

The guesses are rough: the constants below were measured on one core of one machine, and congestion, retransmissions
and small messages that share a packet move them. They tell a minute from a night.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from astra_ns3.config.network import NetworkConfig
from astra_ns3.config.roce import RoceTransport
from astra_ns3.experiments.inputs import Inputs
from astra_ns3.experiments.planned import PlannedPlay
from astra_ns3.experiments.shape import network_shape
from astra_ns3.transport.roce import roce_parameters, window_bytes
from astra_ns3.transport.tcp import tcp_parameters

START_UP_SECONDS = 1.5
"""Loading ns-3 and building the network."""
SECONDS_PER_PACKET = 10e-6
"""A data packet over two hops through ns-3's TCP, its share of acknowledgements included."""
SECONDS_PER_ROCE_PACKET = 1e-6
"""A data packet over two hops from queue pair to queue pair, its acknowledgement included."""
SECONDS_PER_MESSAGE = 1e-6
"""A message of the analytical network."""
SECONDS_PER_LAUNCH = 15e-6
"""Python's part when one NPU starts and ends a phase of a chunk."""
IDLE_BYTES = 250_000_000
"""Python, cppyy and ns-3 loaded, nothing built."""
BYTES_PER_HOST = 10_000
BYTES_PER_CONNECTION = 17_000
"""Two idle sockets of 8.4 KB."""
BYTES_PER_QUEUE_PAIR = 1_000
BYTES_PER_PACKET_IN_FLIGHT = 1_000
"""ns-3 packets hold no payload here: headers, tags and the sender's list of segments."""
BYTES_PER_FRAME_IN_FLIGHT = 200
"""A RoCE packet: a frame of the fabric, no ns-3 packet."""

_Hosts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Forecast:
    """Over all NPUs and passes.

    ``launches``: how often an NPU starts a phase of a chunk. ``packets``: those with data that enter the network, when
    every message begins a new one; acknowledgements are not counted.
    """

    collectives: int
    launches: int
    messages: int
    bytes: int
    packets: int
    connections: int
    wall_seconds: float
    memory_bytes: int


@dataclass(frozen=True)
class _Packets:
    """How a transport cuts messages, and what its parts cost; ``window_bytes`` 0: as much as there is."""

    payload_bytes: int
    window_bytes: int
    seconds: float
    bytes_per_connection: int
    bytes_in_flight: int


@dataclass(frozen=True)
class _Volume:
    messages: int
    bytes: int
    packets: int


def forecast(inputs: Inputs, passes: int) -> Forecast:
    """How large the run of ``inputs`` will be; raises InputError for a collective that the system can't do."""
    transport = _packets(inputs)
    segment_bytes = transport.payload_bytes if transport else None
    hosts = np.array(inputs.graph.rank_host, dtype=np.int64)
    planned = inputs.planned(passes)
    launches = messages = size = packets = largest = 0
    pairs: set[tuple[int, int]] = set()
    for play in planned.plays:
        volume = _volume(play, hosts, segment_bytes)
        messages += play.count * volume.messages
        size += play.count * volume.bytes
        packets += play.count * volume.packets
        largest = max(largest, volume.packets)
        launches += play.count * play.schedule.ranks * len(play.groups)
        pairs |= _pairs(play, hosts) if segment_bytes else set()
    wall_seconds = START_UP_SECONDS + launches * SECONDS_PER_LAUNCH
    wall_seconds += packets * transport.seconds if transport else messages * SECONDS_PER_MESSAGE
    memory_bytes = _memory(inputs, transport, len(pairs), largest) if transport else IDLE_BYTES
    return Forecast(planned.collectives, launches, messages, size, packets, len(pairs), wall_seconds, memory_bytes)


def _volume(play: PlannedPlay, hosts: _Hosts, segment_bytes: int | None) -> _Volume:
    """What all groups send when each plays once; without a segment size nothing is cut in packets."""
    schedule, groups = play.schedule, len(play.groups)
    sizes = schedule.message_bytes(play.bytes)
    packets = 0
    for group in play.groups if segment_bytes else ():
        where = hosts[list(group)]
        on_network = where[schedule.sender] != where[schedule.receiver]
        packets += int((-(-sizes[on_network] // segment_bytes)).sum())
    return _Volume(schedule.messages * groups, int(sizes.sum()) * groups, packets)


def _pairs(play: PlannedPlay, hosts: _Hosts) -> set[tuple[int, int]]:
    """Ordered pairs of NPUs on different hosts that exchange something: a connection each."""
    pairs: set[tuple[int, int]] = set()
    for group in play.groups:
        npus = np.array(group, dtype=np.int64)
        sender, receiver = npus[play.schedule.sender], npus[play.schedule.receiver]
        on_network = hosts[sender] != hosts[receiver]
        pairs |= set(zip(sender[on_network].tolist(), receiver[on_network].tolist(), strict=True))
    return pairs


def _packets(inputs: Inputs) -> _Packets | None:
    """The transport's part of the guess; None for a network without packets."""
    network = inputs.network
    if not isinstance(network, NetworkConfig):
        return None
    transport = network.transport
    if isinstance(transport, RoceTransport):
        roce = roce_parameters(transport)
        window = window_bytes(roce, network_shape(inputs.graph))
        return _Packets(
            roce.payload_bytes, window, SECONDS_PER_ROCE_PACKET, BYTES_PER_QUEUE_PAIR, BYTES_PER_FRAME_IN_FLIGHT
        )
    return _Packets(
        tcp_parameters(transport).segment_bytes,
        transport.window_bytes,
        SECONDS_PER_PACKET,
        BYTES_PER_CONNECTION,
        BYTES_PER_PACKET_IN_FLIGHT,
    )


def _memory(inputs: Inputs, transport: _Packets, connections: int, packets_per_chunk: int) -> int:
    """The program, hosts, sockets, and packets in flight: a window per connection or all active chunks, the smaller."""
    in_flight = packets_per_chunk * inputs.system.active_chunks_per_dimension
    if transport.window_bytes:
        in_flight = min(in_flight, connections * -(-transport.window_bytes // transport.payload_bytes))
    return (
        IDLE_BYTES
        + inputs.graph.hosts * BYTES_PER_HOST
        + connections * transport.bytes_per_connection
        + in_flight * transport.bytes_in_flight
    )
