"""What a run will send, known before it runs: collectives, messages, packets; and a guess of its time and memory.

The guesses are rough: the constants below were measured on one core of one machine, and congestion, retransmissions
and small messages that share a packet move them. They tell a minute from a night.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from astra_ns3.collectives.schedule import Schedule
from astra_ns3.experiments.inputs import Inputs
from astra_ns3.experiments.planned import planned_collectives, planned_phases
from astra_ns3.transport.tcp import tcp_parameters

START_UP_SECONDS = 1.5
"""Loading ns-3 and building the network."""
SECONDS_PER_PACKET = 10e-6
"""A data packet over two hops through ns-3's TCP, its share of acknowledgements included."""
SECONDS_PER_LAUNCH = 15e-6
"""Python's part when one NPU starts and ends a phase of a chunk."""
IDLE_BYTES = 250_000_000
"""Python, cppyy and ns-3 loaded, nothing built."""
BYTES_PER_HOST = 10_000
BYTES_PER_CONNECTION = 17_000
"""Two idle sockets of 8.4 KB."""
BYTES_PER_PACKET_IN_FLIGHT = 1_000
"""ns-3 packets hold no payload here: headers, tags and the sender's list of segments."""

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
class _Volume:
    messages: int
    bytes: int
    packets: int


def forecast(inputs: Inputs, passes: int) -> Forecast:
    """How large the run of ``inputs`` will be; raises InputError for a collective that the system can't do."""
    segment_bytes = tcp_parameters(inputs.network.transport).segment_bytes
    hosts = np.array(inputs.graph.rank_host, dtype=np.int64)
    collectives = launches = messages = size = packets = 0
    largest = 0
    pairs: set[tuple[int, int]] = set()
    for (kind, bytes_per_npu), count in planned_collectives(inputs.workload, passes).items():
        collectives += count
        phases = planned_phases(kind, bytes_per_npu, inputs.network.dimensions, inputs.system)
        for (schedule, chunk_bytes), alike in phases.items():
            volume = _volume(schedule, chunk_bytes, hosts, segment_bytes)
            messages += count * alike * volume.messages
            size += count * alike * volume.bytes
            packets += count * alike * volume.packets
            largest = max(largest, volume.packets)
            launches += count * alike * schedule.ranks
            pairs |= _pairs(schedule, hosts)
    wall_seconds = START_UP_SECONDS + packets * SECONDS_PER_PACKET + launches * SECONDS_PER_LAUNCH
    memory_bytes = _memory(inputs, len(pairs), segment_bytes, largest)
    return Forecast(collectives, launches, messages, size, packets, len(pairs), wall_seconds, memory_bytes)


def _volume(schedule: Schedule, chunk_bytes: int, hosts: _Hosts, segment_bytes: int) -> _Volume:
    sizes = schedule.message_bytes(chunk_bytes)
    on_network = hosts[schedule.sender] != hosts[schedule.receiver]
    packets = -(-sizes[on_network] // segment_bytes)
    return _Volume(schedule.messages, int(sizes.sum()), int(packets.sum()))


def _pairs(schedule: Schedule, hosts: _Hosts) -> set[tuple[int, int]]:
    """Ordered pairs of ranks on different hosts that exchange something: a connection each."""
    on_network = hosts[schedule.sender] != hosts[schedule.receiver]
    return set(zip(schedule.sender[on_network].tolist(), schedule.receiver[on_network].tolist(), strict=True))


def _memory(inputs: Inputs, connections: int, segment_bytes: int, packets_per_chunk: int) -> int:
    """The program, hosts, sockets, and packets in flight: a window per connection or all active chunks, the smaller."""
    windows = connections * -(-inputs.network.transport.window_bytes // segment_bytes)
    in_flight = min(windows, packets_per_chunk * inputs.system.active_chunks_per_dimension)
    return (
        IDLE_BYTES
        + inputs.graph.hosts * BYTES_PER_HOST
        + connections * BYTES_PER_CONNECTION
        + in_flight * BYTES_PER_PACKET_IN_FLIGHT
    )
