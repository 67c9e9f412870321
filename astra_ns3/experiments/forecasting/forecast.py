"""Forecast of what a run will send, before it runs: collectives, messages, packets; and a guess of its time and memory.

The guesses are sums of what the parts cost on one machine (``costs.py``); congestion and retransmissions move them.
Model limits: every message goes over the mean number of links of its transport's pairs.
"""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.config.transports.base import Joined
from astra_ns3.experiments.forecasting.capacity import run_need
from astra_ns3.experiments.forecasting.costs import (
    IDLE_BYTES,
    PROGRAM_SECONDS,
    SECONDS_OF_CHANNELS,
    SECONDS_PER_CHANNEL_MESSAGE,
    SECONDS_PER_COLLECTIVE,
    SECONDS_PER_HOST,
    SECONDS_PER_ROW,
    WARM_SECONDS,
)
from astra_ns3.experiments.forecasting.expected import ExpectedRun
from astra_ns3.experiments.forecasting.traffic import Carried, carried
from astra_ns3.experiments.forecasting.unsure import SURE, Unsure
from astra_ns3.experiments.inputs import Inputs, Parts
from astra_ns3.frozen import dataclass
from astra_ns3.network.backends import BY_FORMULA, BackendCosts, abilities_of
from astra_ns3.network.run_document import ForecastDocument
from astra_ns3.topology.graph import Graph
from astra_ns3.transport.transport import TransportCosts
from astra_ns3.units import PS_PER_SECOND


@dataclass(frozen=True)
class Forecast:
    """Totals of a run to come, over all NPUs, passes and tenants.

    ``collectives``: with messages from one NPU to another, as run.json counts them. ``launches``: how often an NPU
    starts a phase of a chunk. ``packets``: those with data that enter the network, when every message begins a new
    one; acknowledgements are not counted.
    """

    collectives: int
    launches: int
    messages: int
    bytes: int
    packets: int | None
    """None: messages travel by formula."""
    connections: int | None
    """TCP's; None without packets."""
    queue_pairs: int | None
    """RoCE's, counted as run.json counts them; None without packets.

    Each pair of NPUs has one in each direction, and for each channel, if all pairs send as many messages; with
    ``queue_pairs: per-message`` each message has one.
    """
    wall_seconds: float
    """On one core that has nothing else to do: CPU time of the whole program."""
    memory_bytes: int
    """The highest resident memory."""
    not_counted: tuple[str, ...] = ()
    """Parts of the run that aren't counted, in words."""
    may_not_come: tuple[str, ...] = ()
    """Parts that are counted and may not come, in words."""

    @property
    def warm_seconds(self) -> float:
        """The time in a process that has played before, as the worker of a study has."""
        return self.wall_seconds - PROGRAM_SECONDS + WARM_SECONDS

    def document(self) -> ForecastDocument:
        """As plain data; numbers of packets only where there are packets."""
        found: ForecastDocument = {
            "collectives": self.collectives,
            "launches": self.launches,
            "messages": self.messages,
            "bytes": self.bytes,
        }
        if self.packets is not None:
            found["packets"] = self.packets
            found["connections"], found["queue_pairs"] = self.connections or 0, self.queue_pairs or 0
        found |= {"wall_seconds": self.wall_seconds, "memory_bytes": self.memory_bytes}
        if self.not_counted:
            found["not_counted"] = self.not_counted
        if self.may_not_come:
            found["may_not_come"] = self.may_not_come
        return found


def forecast(parts: Parts, tries: Parts = (), unsure: Unsure = SURE) -> Forecast:
    """Return how large a run will be; raises InputError for a collective that a system can't do.

    ``tries``: those of jobs that begin again, one after the other, so that they need no more memory. ``unsure``: why
    there may be more or less.
    """
    first, _ = parts[0]
    has_packets = first.packets is not None
    everything = [*parts, *tries]
    expected = [inputs.expected(passes) for inputs, passes in everything]
    sums = [carried(inputs, passes) for inputs, passes in everything]
    all_sums = [each for own in sums for each in own]
    seconds = PROGRAM_SECONDS + first.hosts * SECONDS_PER_HOST
    seconds += sum(_tenant_seconds(*part, own) for part, own in zip(everything, sums, strict=True))
    room_bytes = _room_bytes(first.graph) if has_packets else 0
    in_flight = sum(
        _memory(each, inputs.system.active_chunks_per_dimension, room_bytes)
        for (inputs, _), own in zip(parts, sums, strict=False)
        for each in own
    )
    return Forecast(
        collectives=sum(each.collectives + each.alone for each in expected),
        launches=sum(_launches(each) for each in expected),
        messages=sum(each.messages for each in expected),
        bytes=sum(each.bytes for each in expected),
        packets=sum(each.packets for each in all_sums) if has_packets else None,
        connections=_pairs(all_sums, "connections") if has_packets else None,
        queue_pairs=_pairs(all_sums, "queue_pairs") if has_packets else None,
        wall_seconds=float(seconds),
        memory_bytes=IDLE_BYTES + run_need(parts).total + in_flight,
        not_counted=unsure.not_counted,
        may_not_come=unsure.may_not_come,
    )


def _launches(expected: ExpectedRun) -> int:
    """Return how often NPUs start a phase of a chunk."""
    return sum(play.count * play.schedule.ranks * len(play.groups) for play in expected.plays)


def _tenant_seconds(inputs: Inputs, passes: int, sums: Sequence[Carried]) -> float:
    """Return the CPU time of what one tenant plays, of which transports carry ``sums``."""
    expected, costs = inputs.expected(passes), backend_costs(inputs)
    seconds = expected.kept_rows * SECONDS_PER_ROW + _launches(expected) * costs.seconds_per_launch
    seconds += expected.collectives * SECONDS_PER_COLLECTIVE + expected.messages * costs.seconds_per_message
    in_channels = expected.channel_messages
    seconds += in_channels * SECONDS_PER_CHANNEL_MESSAGE + (SECONDS_OF_CHANNELS if in_channels else 0)
    return seconds + sum(_seconds(each, inputs.system.active_chunks_per_dimension) for each in sums)


def backend_costs(inputs: Inputs) -> BackendCosts:
    """Return what launches and messages take on the backend that plays ``inputs``."""
    backend = abilities_of(inputs.backend)
    return BY_FORMULA if backend.packets and inputs.packets is None else backend.costs


def _pairs(sums: Sequence[Carried], joined_by: Joined) -> int:
    """Return how many connections, or queue pairs, the transports open that have such."""
    return sum(each.opened for each in sums if each.by.transport.keys.joined_by == joined_by)


def _shared_packets(costs: TransportCosts, sums: Carried, packets: float, active: int) -> float:
    """How many of ``packets`` are left where messages of chunks that run together share them."""
    least = packets * sums.full_packets / max(sums.packets, 1)
    return least + (packets - least) / min(active, costs.messages_that_share)


def _seconds(sums: Carried, active: int) -> float:
    """CPU time of all that a transport does; the more pairs, the less of them does the processor's cache hold."""
    costs, pairs = sums.by.transport.costs, sums.lasting
    slowness = 1 + costs.slowdown * pairs / (pairs + costs.pairs_in_cache)
    packets = _shared_packets(costs, sums, sums.packets, active)
    each = (costs.seconds_per_packet + costs.seconds_per_link * sums.links) * slowness
    return packets * each + pairs * costs.seconds_per_pair + sums.messages * costs.seconds_per_message


def _room_bytes(graph: Graph) -> int:
    """Return how many bytes the switches and the lines of a network hold at most."""
    on_lines = sum(2 * link.rate_bps * link.delay_ps for link in graph.links) // (8 * PS_PER_SECOND)
    return sum(graph.switch_buffer_bytes) + on_lines


def _memory(sums: Carried, active: int, room_bytes: int) -> int:
    """Connections, and packets in flight: all active chunks, or if less, all windows; without windows, what the
    network holds."""
    transport, pairs = sums.by.transport, sums.lasting
    costs = transport.costs
    in_flight = _shared_packets(costs, sums, sums.largest_packets * active, active)
    window = -(-transport.window_bytes // transport.payload_bytes)
    in_flight = min(in_flight, pairs * window if window else room_bytes // transport.payload_bytes + pairs)
    return pairs * costs.bytes_per_pair + round(in_flight * costs.bytes_in_flight)
