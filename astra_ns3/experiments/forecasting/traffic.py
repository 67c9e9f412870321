"""The traffic of each transport of a network in a run: packets, pairs of NPUs, and over how many links."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from astra_ns3.collectives.schedule import Schedule
from astra_ns3.experiments.forecasting.expected import ExpectedPlay
from astra_ns3.experiments.inputs import Inputs
from astra_ns3.frozen import dataclass, field
from astra_ns3.network.plan import NetworkPlan
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.paths import path
from astra_ns3.transport.transport import Transport

MOST_PATHS = 256
"""The mean length of a path is taken from so many pairs, spread over all."""
# Multiples of it, less their whole parts, lie evenly without a period that pairs could share.
_GOLDEN_RATIO = 0.6180339887498949
_PAIRS_AT_ONCE = 1 << 20
# So many times as many places as pairs make a table of them slower than to sort the pairs.
_SPARSE = 16
# Between two hosts on one switch.
_DIRECT_LINKS = 2

_Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Served:
    """A transport, and the dimensions whose messages it carries: the highest in which sender and receiver differ."""

    transport: Transport
    dimensions: frozenset[int]

    def packets(self, bytes: _Numbers) -> _Numbers:
        """Packets of messages of these sizes, shape ``(messages,)``; parts are equal to one byte and never empty."""
        payload = self.transport.payload_bytes
        if self.transport.message_parts == 1:
            return -(-bytes // payload)
        parts = np.minimum(bytes, self.transport.message_parts)
        shorter, longer = bytes // parts, bytes % parts
        return longer * -(-(shorter + 1) // payload) + (parts - longer) * -(-shorter // payload)


@dataclass
class Carried:
    """The traffic of one transport in all passes; inside a host, that is nothing."""

    by: Served
    packets: int = 0
    """When every message begins a new one."""
    full_packets: float = 0.0
    """When messages share packets: the bytes over those of a packet."""
    messages: int = 0
    largest_packets: int = 0
    """The traffic of one phase of a chunk in all groups."""
    pairs: _Numbers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Sender x NPUs + receiver of each pair that it joins, ascending; those of a channel once more, each with NPUs
    squared x the channel besides: channels have connections of their own."""
    inside: int = 0
    """How many of these pairs talk inside a server, by one queue pair."""
    links: float = _DIRECT_LINKS
    """The links of a path, on average over the pairs."""

    @property
    def opened(self) -> int:
        """Return how many connections or queue pairs the run opens, if all pairs send as many messages."""
        return self.messages if self.by.transport.pair_of_message else self.lasting

    @property
    def lasting(self) -> int:
        """Return how many connections or queue pairs are kept; one that a message had serves the next."""
        transport = self.by.transport
        each = -(-self.messages * transport.message_parts // max(len(self.pairs), 1))
        return (len(self.pairs) - self.inside) * min(transport.queue_pairs, each) + self.inside


def carried(inputs: Inputs, passes: int) -> list[Carried]:
    """The traffic of each transport; none without packets."""
    plan = inputs.packets
    if plan is None:
        return []
    sums = [Carried(each) for each in _served(plan)]
    for play in inputs.expected(passes).plays:
        for each in sums:
            _carry(inputs, play, each)
    for each, (_, pairs) in zip(sums, joined_pairs(inputs, passes), strict=True):
        each.pairs = pairs
        each.inside = _inside_servers(pairs, plan.graph, each.by.transport.server_npus)
        each.links = _mean_links(plan, pairs)
    return sums


def _inside_servers(pairs: _Numbers, graph: Graph, server_npus: int) -> int:
    """Return how many pairs, as in ``Carried.pairs``, are two NPUs of a server, or have a reducer or a storage host."""
    if not server_npus:
        return 0
    players, npus = len(graph.player_host), len(graph.npu_host)
    sender, receiver = np.divmod(pairs % players**2, players)
    together = sender // server_npus == receiver // server_npus
    return int(np.count_nonzero(together | (np.maximum(sender, receiver) >= npus)))


def joined_pairs(inputs: Inputs, passes: int) -> list[tuple[Transport, _Numbers]]:
    """Each transport with the pairs that it joins, as in ``Carried.pairs``; none without packets."""
    plan = inputs.packets
    if plan is None:
        return []
    npus = len(inputs.graph.player_host)
    found: list[tuple[Served, dict[int, list[_Numbers]]]] = [(served, {}) for served in _served(plan)]
    known: set[tuple[int, int, int]] = set()
    for play in inputs.expected(passes).plays:
        channel = play.connections if play.channel is None else play.channel.costs.channel
        key = id(play.schedule), id(play.groups), channel
        if key in known or not play.schedule.messages:
            continue
        known.add(key)
        for chunk in _in_groups(inputs, play, _between(play.schedule)):
            for served, pairs in found:
                own = chunk.own(served.dimensions)
                pairs.setdefault(channel, []).append((chunk.sender * npus + chunk.receiver)[own])
    return [(served.transport, _of_channels(pairs, npus)) for served, pairs in found]


def _of_channels(pairs: Mapping[int, list[_Numbers]], npus: int) -> _Numbers:
    """Each pair of each channel once, as in ``Carried.pairs``."""
    each = [
        channel * npus * npus + _distinct(np.concatenate(places), npus) for channel, places in sorted(pairs.items())
    ]
    return np.concatenate([np.zeros(0, dtype=np.int64), *each])


def _carry(inputs: Inputs, play: ExpectedPlay, sums: Carried) -> None:
    """Add what a transport carries of a schedule that all its groups play."""
    schedule = play.schedule
    if not schedule.messages:
        return
    between, of_pair = _sums_of_pairs(play, schedule, sums.by, near=True)
    far = of_pair if play.channel is None else _sums_of_pairs(play, schedule, sums.by, near=False)[1]
    totals = np.zeros(len(of_pair))
    for chunk in _in_groups(inputs, play, between):
        own = chunk.own(sums.by.dimensions)
        near = own & chunk.near
        totals += [float((near * each[chunk.chosen]).sum()) for each in of_pair]
        totals += [float(((own & ~near) * each[chunk.chosen]).sum()) for each in far]
    sums.packets += play.count * round(totals[0])
    sums.full_packets += play.count * totals[1]
    sums.messages += play.count * round(totals[2])
    sums.largest_packets = max(sums.largest_packets, round(totals[0]))


def _sums_of_pairs(
    play: ExpectedPlay, schedule: Schedule, served: Served, *, near: bool
) -> tuple[_Numbers, list[npt.NDArray[np.int64]]]:
    """Who sends to whom, as in :func:`_between`; packets, bytes over those of a packet, and messages of each pair.

    ``near``: where a channel plays, whether sender and receiver are taken to share a server.
    """
    if schedule.rotation is not None:
        # Rank by rank, in whose order the pairs are: laid out, all rows may be more than memory holds.
        found = [_sums_of_pairs(play, schedule.sent_by(rank), served, near=near) for rank in range(schedule.ranks)]
        sums = zip(*(of_pair for _, of_pair in found), strict=True)
        return np.concatenate([between for between, _ in found]), [np.concatenate(each) for each in sums]
    sizes = schedule.message_bytes(play.bytes)
    if play.channel is not None:
        sizes = play.channel.costs.wire_bytes(sizes, schedule.block_count, near)
    between, place = np.unique(_places(schedule), return_inverse=True)
    counted = served.packets(sizes), sizes / served.transport.payload_bytes, np.ones_like(sizes)
    return between, [np.bincount(place, weights=each) for each in counted]


def _between(schedule: Schedule) -> _Numbers:
    """Sender x ranks + receiver of all who send to one another, ascending, each once."""
    if schedule.rotation is not None:
        return schedule.rotation.pairs()
    return _distinct(_places(schedule), schedule.ranks)


def _places(schedule: Schedule) -> _Numbers:
    """Sender x ranks + receiver of each message."""
    places: _Numbers = schedule.sender.astype(np.int64)
    places *= schedule.ranks
    places += schedule.receiver
    return places


def _distinct(places: _Numbers, ranks: int) -> _Numbers:
    """Places below ``ranks`` squared, ascending, each once; a table is faster than to sort unless it is far larger."""
    if ranks * ranks > _SPARSE * len(places):
        return np.unique(places)
    seen = np.zeros(ranks * ranks, dtype=np.bool_)
    seen[places] = True
    return np.flatnonzero(seen)


@dataclass(frozen=True)
class _Chunk:
    """Some of a schedule's pairs of ranks, in all groups that play it: NPUs, shape ``(groups, pairs)``."""

    chosen: slice
    sender: _Numbers
    receiver: _Numbers
    apart: npt.NDArray[np.bool_]
    """Whether they are on different hosts."""
    highest: _Numbers
    near: npt.NDArray[np.bool_]
    """Whether they share a server of a channel; all do where no channel plays."""

    def own(self, dimensions: frozenset[int]) -> npt.NDArray[np.bool_]:
        """Which of them the transport of ``dimensions`` joins."""
        own: npt.NDArray[np.bool_] = self.apart & np.isin(self.highest, list(dimensions))
        return own


def _in_groups(inputs: Inputs, play: ExpectedPlay, between: _Numbers) -> Iterator[_Chunk]:
    groups = np.array(play.groups, dtype=np.int64)
    hosts = np.array(inputs.graph.player_host, dtype=np.int64)
    ranks = play.schedule.ranks
    step = max(_PAIRS_AT_ONCE // len(groups), 1)
    for begin in range(0, len(between), step):
        chosen = slice(begin, begin + step)
        sender, receiver = groups[:, between[chosen] // ranks], groups[:, between[chosen] % ranks]
        highest = highest_dimension(sender, receiver, inputs.network.dimensions)
        near = np.ones(sender.shape, dtype=np.bool_)
        if play.channel is not None:
            servers = play.channel.servers
            near = servers[:, between[chosen] // ranks] == servers[:, between[chosen] % ranks]
        yield _Chunk(chosen, sender, receiver, hosts[sender] != hosts[receiver], highest, near)


def highest_dimension(sender: _Numbers, receiver: _Numbers, dimensions: Sequence[int]) -> _Numbers:
    """For each pair, the last dimension in which its places differ; 0 for an NPU and itself."""
    highest = np.zeros_like(sender)
    for dimension, size in enumerate(dimensions):
        highest[sender % size != receiver % size] = dimension
        sender, receiver = sender // size, receiver // size
    return highest


def _mean_links(plan: NetworkPlan, pairs: _Numbers) -> float:
    """Over ``pairs``, or over some spread evenly among them; with a single switch no path is looked for."""
    graph = plan.graph
    if graph.switches <= 1 or not len(pairs):
        return _DIRECT_LINKS
    if len(pairs) > MOST_PATHS:
        places = np.arange(MOST_PATHS) * _GOLDEN_RATIO % 1.0 * len(pairs)
        pairs = pairs[places.astype(np.int64)]
    hosts = graph.player_host
    ends = [divmod(pair % len(hosts) ** 2, len(hosts)) for pair in pairs.tolist()]
    lengths = [len(path(graph, plan.tables, hosts[sender], hosts[receiver])) for sender, receiver in ends]
    return sum(lengths) / len(lengths)


def _served(plan: NetworkPlan) -> list[Served]:
    """Every transport with the dimensions that it serves."""
    network = plan.config
    each = network.transports or (network.transport,) * len(network.dimensions)
    return [
        Served(
            plan.transports[kind], frozenset(number for number, transport in enumerate(each) if transport.kind == kind)
        )
        for kind in dict.fromkeys(transport.kind for transport in each)
    ]
