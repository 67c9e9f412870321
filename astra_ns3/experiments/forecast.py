"""What a run will send, known before it runs: collectives, messages, packets; and a guess of its time and memory.

The guesses are rough: the constants below were measured on one core of one machine, and congestion, retransmissions
and small messages that share a packet move them. They tell a minute from a night.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from astra_ns3.config.network import NetworkConfig
from astra_ns3.experiments.inputs import Inputs
from astra_ns3.experiments.planned import PlannedPlay
from astra_ns3.experiments.shape import network_shape, transport_shapes
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

_Numbers = npt.NDArray[np.int64]


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
    """Of TCP."""
    queue_pairs: int
    """Of RoCE, one for each pair of NPUs in each direction."""
    wall_seconds: float
    memory_bytes: int


@dataclass(frozen=True)
class _Packets:
    """How a transport cuts messages, and what its parts cost; ``window_bytes`` 0: as much as there is.

    ``dimensions``: those whose messages it carries, by the highest dimension in which sender and receiver differ.
    """

    kind: str
    dimensions: frozenset[int]
    payload_bytes: int
    window_bytes: int
    seconds: float
    bytes_per_connection: int
    bytes_in_flight: int


@dataclass
class _Carried:
    """What one transport carries."""

    packets: int = 0
    largest_packets: int = 0
    """Of one phase of a chunk in all groups."""
    pairs: set[int] = field(default_factory=set)
    """Sender x NPUs + receiver: a connection each."""


def forecast(inputs: Inputs, passes: int) -> Forecast:
    """How large the run of ``inputs`` will be; raises InputError for a collective that the system can't do."""
    transports = _transports(inputs)
    carried = [_Carried() for _ in transports]
    planned = inputs.planned(passes)
    launches = messages = size = 0
    for play in planned.plays:
        groups = len(play.groups)
        sizes = play.schedule.message_bytes(play.bytes)
        messages += play.count * play.schedule.messages * groups
        size += play.count * int(sizes.sum()) * groups
        launches += play.count * play.schedule.ranks * groups
        for transport, sums in zip(transports, carried, strict=True):
            _carry(inputs, play, sizes, transport, sums)
    wall_seconds = START_UP_SECONDS + launches * SECONDS_PER_LAUNCH
    if transports:
        wall_seconds += sum(t.seconds * sums.packets for t, sums in zip(transports, carried, strict=True))
    else:
        wall_seconds += messages * SECONDS_PER_MESSAGE
    return Forecast(
        collectives=planned.collectives,
        launches=launches,
        messages=messages,
        bytes=size,
        packets=sum(sums.packets for sums in carried),
        connections=_pairs(transports, carried, "tcp"),
        queue_pairs=_pairs(transports, carried, "roce"),
        wall_seconds=wall_seconds,
        memory_bytes=_memory(inputs, transports, carried),
    )


def _pairs(transports: Sequence[_Packets], carried: Sequence[_Carried], kind: str) -> int:
    """Pairs of sender and receiver that transports of a kind join."""
    return sum(len(sums.pairs) for transport, sums in zip(transports, carried, strict=True) if transport.kind == kind)


def _carry(inputs: Inputs, play: PlannedPlay, sizes: _Numbers, transport: _Packets, sums: _Carried) -> None:
    """Add what a transport carries of a schedule that all its groups play."""
    hosts = np.array(inputs.graph.rank_host, dtype=np.int64)
    packets = 0
    for group in play.groups:
        npus = np.array(group, dtype=np.int64)
        sender, receiver = npus[play.schedule.sender], npus[play.schedule.receiver]
        highest = _highest_dimension(sender, receiver, inputs.network.dimensions)
        own = (hosts[sender] != hosts[receiver]) & np.isin(highest, list(transport.dimensions))
        packets += int((-(-sizes[own] // transport.payload_bytes)).sum())
        sums.pairs.update((sender[own] * len(hosts) + receiver[own]).tolist())
    sums.packets += play.count * packets
    sums.largest_packets = max(sums.largest_packets, packets)


def _highest_dimension(sender: _Numbers, receiver: _Numbers, dimensions: Sequence[int]) -> _Numbers:
    """Of each pair, the last dimension in which its places differ; 0 for an NPU and itself."""
    highest = np.zeros(len(sender), dtype=np.int64)
    for dimension, size in enumerate(dimensions):
        highest[sender % size != receiver % size] = dimension
        sender, receiver = sender // size, receiver // size
    return highest


def _transports(inputs: Inputs) -> list[_Packets]:
    """The part of each transport in the guess; none for a network without packets."""
    network = inputs.network
    if not isinstance(network, NetworkConfig):
        return []
    each = network.transports or (network.transport,) * len(network.dimensions)
    found = []
    for kind in dict.fromkeys(transport.kind for transport in each):
        carried = frozenset(dimension for dimension, transport in enumerate(each) if transport.kind == kind)
        found.append(_tcp(network, carried) if kind == "tcp" else _roce(inputs, network, carried))
    return found


def _roce(inputs: Inputs, network: NetworkConfig, dimensions: frozenset[int]) -> _Packets:
    assert network.roce is not None
    roce = roce_parameters(network.roce)
    shape = transport_shapes(network, inputs.graph).get("roce") or network_shape(inputs.graph)
    return _Packets(
        "roce",
        dimensions,
        roce.payload_bytes,
        window_bytes(roce, shape),
        SECONDS_PER_ROCE_PACKET,
        BYTES_PER_QUEUE_PAIR,
        BYTES_PER_FRAME_IN_FLIGHT,
    )


def _tcp(network: NetworkConfig, dimensions: frozenset[int]) -> _Packets:
    assert network.tcp is not None
    return _Packets(
        "tcp",
        dimensions,
        tcp_parameters(network.tcp).segment_bytes,
        network.tcp.window_bytes,
        SECONDS_PER_PACKET,
        BYTES_PER_CONNECTION,
        BYTES_PER_PACKET_IN_FLIGHT,
    )


def _memory(inputs: Inputs, transports: Sequence[_Packets], carried: Sequence[_Carried]) -> int:
    """The program, hosts, sockets, and packets in flight: a window per connection or all active chunks, the smaller."""
    if not transports:
        return IDLE_BYTES
    memory = IDLE_BYTES + inputs.graph.hosts * BYTES_PER_HOST
    for transport, sums in zip(transports, carried, strict=True):
        in_flight = sums.largest_packets * inputs.system.active_chunks_per_dimension
        if transport.window_bytes:
            in_flight = min(in_flight, len(sums.pairs) * -(-transport.window_bytes // transport.payload_bytes))
        memory += len(sums.pairs) * transport.bytes_per_connection + in_flight * transport.bytes_in_flight
    return memory
