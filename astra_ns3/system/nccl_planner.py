"""Plans a collective as NCCL plays it: its choice by size, and a phase for each channel.

The channels of a collective start together, each in a queue of its own, so that a communicator's collectives follow
each other in each channel. What NCCL decides is in :mod:`astra_ns3.nccl`; what a channel plays is a schedule of
:mod:`astra_ns3.collectives`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property

from astra_ns3.collectives.channel_exchange import ExchangeCut, channel_exchange
from astra_ns3.collectives.channel_ring import ChannelCut, channel_ring
from astra_ns3.collectives.channel_tree import channel_tree
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.nccl import NcclConfig
from astra_ns3.errors import refuse
from astra_ns3.frozen import dataclass, replace
from astra_ns3.nccl.communicator import Communicator
from astra_ns3.nccl.copying import Work, work_of
from astra_ns3.nccl.graphs import nvls_tree_parents, ring_orders, tree_parents
from astra_ns3.nccl.point_to_point import PointToPoint, p2p_of
from astra_ns3.nccl.tuning import Choice, choose
from astra_ns3.network.channel import ChannelCosts
from astra_ns3.system.channels import Channel
from astra_ns3.system.groups import Grid
from astra_ns3.system.phases import Phase
from astra_ns3.units import PS_PER_US

_MOST_LOOPS, _MOST_CHUNKS, _MOST_SLICES = 8, 128, 64
"""Chunks of a channel are larger than NCCL's where there would be more of them: of rings, trees and send/recv."""
_PER_MILLE = 1_000
_BYTES_PER_US = 1_000  # of a GB/s
_OF_RINGS = {CollectiveKind.ALL_REDUCE, CollectiveKind.REDUCE_SCATTER, CollectiveKind.ALL_GATHER}
_ROOTED = {CollectiveKind.BROADCAST, CollectiveKind.REDUCE}


@dataclass(frozen=True)
class Part:
    """What one channel, or several that do the same, plays: ``order`` of a ring, or a tree's ``parents``."""

    number: int
    channels: int
    bytes: int
    order: tuple[int, ...]
    parents: tuple[int, ...] = ()


class NcclPlanner:
    """Plans the collectives of groups that lie alike on their servers. Raises InputError for what NCCL refuses."""

    def __init__(self, config: NcclConfig, grid: Grid) -> None:
        self._config = config
        self._grid = grid
        self._known: dict[tuple[CollectiveKind, int, tuple[int, ...]], list[tuple[Phase]]] = {}

    def chunks(self, kind: CollectiveKind, bytes: int, dimensions: tuple[int, ...]) -> list[tuple[Phase]]:
        """A phase for each channel; none without data or partners."""
        key = kind, bytes, dimensions
        if key not in self._known:
            group = self._grid.cosets(dimensions)[0] if dimensions else [0]
            plan = _GroupPlan(self._config, group, dimensions)
            self._known[key] = [(phase,) for phase in plan.phases(kind, bytes)] if len(group) > 1 and bytes else []
        return self._known[key]


class _GroupPlan:
    """Plans for one group, which stands for all over the same dimensions."""

    def __init__(self, config: NcclConfig, group: Sequence[int], dimensions: tuple[int, ...]) -> None:
        self._config = config
        self._dimensions = dimensions
        self._group = group
        servers = [config.servers[npu] for npu in group]
        of_server = Counter(servers)
        # Places in the group, server after server, as NCCL numbers the ranks of a communicator that it plans.
        first = {server: number for number, server in enumerate(dict.fromkeys(servers))}
        self._places = sorted(range(len(group)), key=lambda place: (first[servers[place]], place))
        self._is_even = len(set(of_server.values())) == 1
        self._communicator = Communicator(
            config.built,
            servers=len(of_server),
            gpus_per_server=max(of_server.values()),
            version=config.rules,
            environment=config.variables,
        )

    def phases(self, kind: CollectiveKind, bytes: int) -> list[Phase]:
        """The phases of all channels."""
        if kind is CollectiveKind.ALL_TO_ALL:
            return list(self._exchanges(bytes))
        played = CollectiveKind.ALL_REDUCE if kind is CollectiveKind.BARRIER else kind
        ranks = len(self._group)
        choice = choose(self._communicator, played, bytes * ranks if kind is CollectiveKind.ALL_GATHER else bytes)
        work = self._work(choice.algorithm, choice.protocol, choice.channels)
        return [self._phase(kind, part, choice, work) for part in self._merged(list(self._parts(kind, bytes, choice)))]

    @cached_property
    def _rings(self) -> tuple[tuple[int, ...], ...]:
        """The order of places in each channel's ring."""
        if not self._is_even:
            return (tuple(self._places),)
        return tuple(tuple(self._places[rank] for rank in order) for order in ring_orders(self._communicator))

    def _parts(self, kind: CollectiveKind, bytes: int, choice: Choice) -> Iterator[Part]:
        """What each channel plays, with its share of the bytes."""
        stars = choice.algorithm in ("NVLS", "NVLSTree")
        if kind in _OF_RINGS and not stars and (choice.algorithm != "Tree" or not self._is_even):
            for number, share in enumerate(_shares(bytes, choice.channels)):
                yield Part(number, 1, share, self._rings[number % len(self._rings)])
            return
        if kind in _ROOTED:
            chain = tuple(range(-1, len(self._group) - 1))
            for number, share in enumerate(_shares(bytes, choice.channels)):
                yield Part(number, 1, share, _from_root(self._rings[number % len(self._rings)]), chain)
            return
        trees = nvls_tree_parents(self._communicator) if stars else tree_parents(self._communicator)
        count = len(trees) if stars else choice.channels
        for number, share in enumerate(_shares(bytes, count)):
            yield Part(number, choice.channels if stars else 1, share, tuple(self._places), trees[number % len(trees)])

    def _merged(self, parts: list[Part]) -> list[Part]:
        """The same with channels that do the same as one, if they are to be."""
        if not self._config.merges:
            return parts
        found: dict[tuple[tuple[int, ...], tuple[int, ...]], Part] = {}
        for part in parts:
            alike = found.get((part.order, part.parents))
            found[part.order, part.parents] = (
                part
                if alike is None
                else replace(alike, channels=alike.channels + part.channels, bytes=alike.bytes + part.bytes)
            )
        return list(found.values())

    def _phase(self, kind: CollectiveKind, part: Part, choice: Choice, work: Work) -> Phase:
        ranks = len(self._group)
        schedule = self._tree(kind, part, choice) if part.parents else self._ring(kind, part, choice)
        left = part.bytes
        if kind is CollectiveKind.REDUCE_SCATTER:
            left = -(-part.bytes // ranks)
        elif kind is CollectiveKind.ALL_GATHER:
            left = part.bytes * ranks
        name = f"nccl-{choice.algorithm}-{choice.protocol}"
        channel = Channel(part.order, self._costs(part, work))
        return Phase(self._dimensions, kind, name, part.bytes, left, schedule, channel, queue=part.number)

    def _ring(self, kind: CollectiveKind, part: Part, choice: Choice) -> Schedule:
        ranks = len(self._group)
        of_rank = part.bytes if kind is CollectiveKind.ALL_GATHER else -(-part.bytes // ranks)
        chunk = choice.chunk_bytes * part.channels
        loops = min(max(-(-of_rank // chunk), 1), _MOST_LOOPS)
        slices = max(choice.chunk_bytes // choice.slice_bytes, 1) if of_rank >= chunk else 1
        return channel_ring(kind, ranks, ChannelCut(loops, slices))

    def _tree(self, kind: CollectiveKind, part: Part, choice: Choice) -> Schedule:
        chunks = min(max(-(-part.bytes // (choice.chunk_bytes * part.channels)), 1), _MOST_CHUNKS)
        return channel_tree(kind, part.parents, chunks, choice.slots)

    def _exchanges(self, bytes: int) -> Iterator[Phase]:
        """The phases of an all-to-all: sends and receptions of all pairs."""
        ranks = len(self._group)
        of_peer = -(-bytes // ranks)
        p2p = p2p_of(self._communicator, of_peer)
        work = self._work("SendRecv", p2p.protocol, p2p.channels)
        for number, share in enumerate(_shares(bytes, p2p.per_peer)):
            part = Part(number, 1, share, tuple(self._places))
            schedule = channel_exchange(ranks, self._exchange_cut(p2p, share))
            channel = Channel(part.order, self._costs(part, work))
            name = f"nccl-SendRecv-{p2p.protocol}"
            yield Phase(
                self._dimensions, CollectiveKind.ALL_TO_ALL, name, share, share, schedule, channel, queue=number
            )

    def _exchange_cut(self, p2p: PointToPoint, bytes: int) -> ExchangeCut:
        of_peer = -(-bytes // len(self._group))
        return ExchangeCut(p2p.at_once, min(max(-(-of_peer // p2p.chunk_bytes), 1), _MOST_SLICES), p2p.slots)

    def _work(self, algorithm: str, protocol: str, channels: int) -> Work:
        return work_of(self._config.built, algorithm, protocol, channels, self._communicator.gpus_per_server)

    def _costs(self, part: Part, work: Work) -> ChannelCosts:
        return ChannelCosts(
            servers=(),
            start_ps=round((work.start_us + self._config.host_overhead_us) * PS_PER_US),
            near_ps=round(work.near_us * PS_PER_US),
            far_ps=round(work.far_us * PS_PER_US),
            copy_bytes_per_us=round(work.copy_gbytes_per_s * _BYTES_PER_US * part.channels),
            near_wire_per_mille=round(work.near_wire * _PER_MILLE),
            far_wire_per_mille=round(work.far_wire / self._config.nic_efficiency * _PER_MILLE),
            channel=part.number,
        )


def check_places(servers: Sequence[int], gpus: int, name: str) -> None:
    """Raise InputError if a server has more NPUs of the network than GPUs."""
    most = max(Counter(servers).values(), default=0)
    refuse(most > gpus, f"server '{name}' has {gpus} GPUs, the network {most} NPUs a server; expected no more")


def _shares(bytes: int, channels: int) -> list[int]:
    """The bytes of each channel, none of them empty."""
    count = min(channels, bytes)
    bounds = [channel * bytes // count for channel in range(count + 1)]
    return [end - begin for begin, end in zip(bounds, bounds[1:], strict=False)]


def _from_root(order: tuple[int, ...]) -> tuple[int, ...]:
    """A ring's order that begins with place 0, the root of a broadcast or a reduce."""
    begin = order.index(0)
    return order[begin:] + order[:begin]
