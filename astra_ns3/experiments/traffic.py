"""What each transport of a network carries in a run: packets, pairs of NPUs, and over how many links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from astra_ns3.config.network import NetworkConfig
from astra_ns3.experiments.inputs import Inputs
from astra_ns3.experiments.planned import PlannedPlay
from astra_ns3.topology.paths import path
from astra_ns3.transport.roce import window_bytes
from astra_ns3.transport.tcp import tcp_parameters

MOST_PATHS = 256
"""Of so many pairs, spread over all, the mean length of a path is taken."""
_GOLDEN_RATIO = 0.6180339887498949
"""Multiples of it, less their whole parts, lie evenly without a period that pairs could share."""
_PAIRS_AT_ONCE = 1 << 20
_DIRECT_LINKS = 2
"""Between two hosts on one switch."""

_Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Cutting:
    """How a transport cuts messages; ``window_bytes`` 0: as much as there is.

    ``dimensions``: those whose messages it carries, by the highest dimension in which sender and receiver differ.
    """

    kind: str
    dimensions: frozenset[int]
    payload_bytes: int
    window_bytes: int


@dataclass
class Carried:
    """What one transport carries in all passes; inside a host, that is nothing."""

    cutting: Cutting
    packets: int = 0
    """When every message begins a new one."""
    full_packets: float = 0.0
    """When messages share packets: the bytes over those of a packet."""
    messages: int = 0
    largest_packets: int = 0
    """Of one phase of a chunk in all groups."""
    pairs: _Numbers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Sender x NPUs + receiver of each pair that it joins, ascending."""
    links: float = _DIRECT_LINKS
    """Of a path, on average over the pairs."""


def carried(inputs: Inputs, passes: int, *, over_paths: bool = True) -> list[Carried]:
    """What each transport carries; none for a network without packets.

    ``over_paths``: whether ``links`` and windows are worked out, for which routes are computed; both take long on a
    large network.
    """
    network = inputs.network
    if not isinstance(network, NetworkConfig):
        return []
    sums = [Carried(cutting) for cutting in _cuttings(inputs, network, over_paths=over_paths)]
    seen: list[set[tuple[int, int]]] = [set() for _ in sums]
    for play in inputs.planned(passes).plays:
        for each, known in zip(sums, seen, strict=True):
            _carry(inputs, play, each, known)
    if over_paths:
        for each in sums:
            each.links = _mean_links(inputs, each.pairs)
    return sums


def _carry(inputs: Inputs, play: PlannedPlay, sums: Carried, known: set[tuple[int, int]]) -> None:
    """Add what a transport carries of a schedule that all its groups play; ``known``: pairs that are in ``sums``."""
    schedule, payload = play.schedule, sums.cutting.payload_bytes
    if not schedule.messages:
        return
    sizes = schedule.message_bytes(play.bytes)
    places = schedule.sender.astype(np.int64) * schedule.ranks + schedule.receiver
    between, place = np.unique(places, return_inverse=True)
    of_pair = [
        np.bincount(place, weights=each) for each in (-(-sizes // payload), sizes / payload, np.ones_like(sizes))
    ]
    groups = np.array(play.groups, dtype=np.int64)
    hosts = np.array(inputs.graph.rank_host, dtype=np.int64)
    found: list[_Numbers] = []
    totals = np.zeros(len(of_pair))
    step = max(_PAIRS_AT_ONCE // len(groups), 1)
    for begin in range(0, len(between), step):
        chosen = slice(begin, begin + step)
        sender, receiver = groups[:, between[chosen] // schedule.ranks], groups[:, between[chosen] % schedule.ranks]
        highest = highest_dimension(sender, receiver, inputs.network.dimensions)
        own = (hosts[sender] != hosts[receiver]) & np.isin(highest, list(sums.cutting.dimensions))
        totals += [float((own * each[chosen]).sum()) for each in of_pair]
        found.append((sender * len(hosts) + receiver)[own])
    sums.packets += play.count * round(totals[0])
    sums.full_packets += play.count * totals[1]
    sums.messages += play.count * round(totals[2])
    sums.largest_packets = max(sums.largest_packets, round(totals[0]))
    key = id(schedule), id(play.groups)
    if key not in known:
        known.add(key)
        sums.pairs = np.unique(np.concatenate([sums.pairs, *found]))


def highest_dimension(sender: _Numbers, receiver: _Numbers, dimensions: Sequence[int]) -> _Numbers:
    """Of each pair, the last dimension in which its places differ; 0 for an NPU and itself."""
    highest = np.zeros_like(sender)
    for dimension, size in enumerate(dimensions):
        highest[sender % size != receiver % size] = dimension
        sender, receiver = sender // size, receiver // size
    return highest


def _mean_links(inputs: Inputs, pairs: _Numbers) -> float:
    """Over ``pairs``, or over some spread evenly among them; with a single switch no path is looked for."""
    graph = inputs.graph
    if graph.switches <= 1 or not len(pairs):
        return _DIRECT_LINKS
    assert inputs.plan is not None
    tables = inputs.plan.tables
    if len(pairs) > MOST_PATHS:
        places = np.arange(MOST_PATHS) * _GOLDEN_RATIO % 1.0 * len(pairs)
        pairs = pairs[places.astype(np.int64)]
    hosts = graph.rank_host
    ends = [divmod(pair, len(hosts)) for pair in pairs.tolist()]
    lengths = [len(path(graph, tables, hosts[sender], hosts[receiver])) for sender, receiver in ends]
    return sum(lengths) / len(lengths)


def _cuttings(inputs: Inputs, network: NetworkConfig, *, over_paths: bool) -> list[Cutting]:
    """Every kind of transport with the dimensions that it serves."""
    each = network.transports or (network.transport,) * len(network.dimensions)
    found = []
    for kind in dict.fromkeys(transport.kind for transport in each):
        dimensions = frozenset(dimension for dimension, transport in enumerate(each) if transport.kind == kind)
        if kind == "tcp":
            assert network.tcp is not None
            payload, window = tcp_parameters(network.tcp).segment_bytes, network.tcp.window_bytes
        else:
            assert network.roce is not None
            payload, window = network.roce.payload_bytes, 0
            if over_paths and inputs.plan is not None and inputs.plan.roce is not None:
                window = window_bytes(inputs.plan.roce, inputs.plan.shape_of("roce"))
        found.append(Cutting(kind, dimensions, payload, window))
    return found
