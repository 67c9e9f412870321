"""Plans a collective as NCCL plays it: its choice by size, and a phase for each channel.

The channels of a collective start together, each in a queue of its own, so that a communicator's collectives follow
each other in each channel. NCCL's decisions are in :mod:`astra_ns3.nccl`; what a channel plays is a schedule of
:mod:`astra_ns3.collectives`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from math import ceil

from astra_ns3.collectives.channel_ring import ChannelCut, channel_ring
from astra_ns3.collectives.channel_tree import channel_tree
from astra_ns3.collectives.in_network import channel_of_head
from astra_ns3.collectives.parallel_trees import TreesCut, parallel_trees
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.config.core.collective_kind import ROOTED, CollectiveKind
from astra_ns3.config.core.reduction import ReductionTrees
from astra_ns3.config.nccl import NcclConfig
from astra_ns3.frozen import replace
from astra_ns3.nccl.choices import allowed_pairs
from astra_ns3.nccl.chunks import chunk_steps, pat_trees
from astra_ns3.nccl.communicator import Communicator
from astra_ns3.nccl.constants import SLOTS
from astra_ns3.nccl.copying import (
    BYTES_PER_US,
    Stars,
    Work,
    work_of,
    work_of_pat,
    work_of_stars,
)
from astra_ns3.nccl.links import likeness
from astra_ns3.nccl.orders import (
    collnet_chains,
    collnet_heads,
    nvls_heads,
    nvls_tree_parents,
    railed_tree_parents,
    spread_orders,
)
from astra_ns3.nccl.server import beginning_with
from astra_ns3.nccl.tuning import Choice, choose
from astra_ns3.system.channels import Channel
from astra_ns3.system.chunking import chunk_sizes
from astra_ns3.system.groups import Grid
from astra_ns3.system.nccl.exchanges import Exchanges
from astra_ns3.system.nccl.parts import Part, costs_of, named
from astra_ns3.system.nccl.switches import Joined, NcclSwitches
from astra_ns3.system.phases import Phase

_MOST_LOOPS, _MOST_LOOPS_OF_EACH, _MOST_CHUNKS = 16, 64, 128
"""Chunks of a channel are larger than NCCL's where there would be more of them: of rings (merged, and each by itself)
and of trees."""
_MANY_CHUNKS, _TOGETHER = 64, 4
"""A tree of many chunks has one signal for several chunks: half as many messages, and times within 1%."""
_MOST_FILLING = 0.05
"""Filling a chain of LL or LL128 takes at most this share of the time, unless that needs too many pieces."""
_PIECES, _LEAST_PIECE = 64, 16 << 10
"""A head's part goes through a switch in so many pieces at least: a switch stores what it passes on, NVSwitches don't.
Pieces have so many bytes at least."""
_BOTH_WAYS = {CollectiveKind.ALL_REDUCE, CollectiveKind.BARRIER}
_OF_STARS: Mapping[CollectiveKind, CollectiveKind] = {
    CollectiveKind.ALL_GATHER: CollectiveKind.BROADCAST,
    CollectiveKind.REDUCE_SCATTER: CollectiveKind.REDUCE,
}
_STARS = ("NVLS", "NVLSTree")
_COLLNET = ("CollNetDirect", "CollNetChain")


class NcclPlanner:
    """Plans the collectives of groups that lie alike on their servers. Raises InputError for what NCCL refuses."""

    def __init__(self, config: NcclConfig, grid: Grid, trees: ReductionTrees | None = None) -> None:
        self._config = config
        self._grid = grid
        self._trees = trees
        self._known: dict[tuple[CollectiveKind, int, tuple[int, ...]], list[tuple[Phase]]] = {}
        self._unlike: set[int] = set()

    def chunks(self, kind: CollectiveKind, bytes: int, dimensions: tuple[int, ...]) -> list[tuple[Phase]]:
        """A phase for each channel; none without data or partners."""
        key = kind, bytes, dimensions
        if key not in self._known:
            groups = self._grid.cosets(dimensions) if dimensions else [[0]]
            plan, group = _GroupPlan(self._config, groups, dimensions, self._trees), groups[0]
            size = max(bytes, kind is CollectiveKind.BARRIER)
            if not plan.is_followed:
                self._unlike.add(len(group))
            self._known[key] = [(phase,) for phase in plan.phases(kind, size)] if len(group) > 1 and size else []
        return self._known[key]

    @property
    def unlike_groups(self) -> frozenset[int]:
        """The sizes of groups planned so far as if they had the first GPUs of each server, though they haven't."""
        return frozenset(self._unlike)

    def name(self, kind: CollectiveKind, bytes: int, dimensions: tuple[int, ...]) -> str:
        """The name of what :meth:`chunks` plays of so many bytes, without the schedules. Raises InputError."""
        return self._plan(dimensions).name(kind, max(bytes, kind is CollectiveKind.BARRIER))

    def allowed(self, kind: CollectiveKind, dimensions: tuple[int, ...]) -> tuple[tuple[str, str], ...]:
        """Algorithms and protocols that NCCL's tuner may choose. Raises InputError."""
        return self._plan(dimensions).allowed(kind)

    def communicator(self, dimensions: tuple[int, ...]) -> Communicator:
        """The first group over some dimensions, as NCCL's decisions see it."""
        return self._plan(dimensions).communicator

    def shift(self, bytes: int, dimensions: tuple[int, ...]) -> list[Phase]:
        """A message from each NPU to the next one, as nccl-tests' sendrecv."""
        return list(self._plan(dimensions).exchanges.shifts(bytes))

    def _plan(self, dimensions: tuple[int, ...]) -> _GroupPlan:
        return _GroupPlan(self._config, self._grid.cosets(dimensions), dimensions, self._trees)


class _GroupPlan:
    """Plans for the groups over the same dimensions; the first stands for all if they lie alike on servers."""

    def __init__(
        self,
        config: NcclConfig,
        groups: Sequence[Sequence[int]],
        dimensions: tuple[int, ...],
        trees: ReductionTrees | None = None,
    ) -> None:
        self._config = config
        self._dimensions = dimensions
        self._groups = groups
        group = self._group = groups[0]
        servers = [config.servers[npu] for npu in group]
        of_server = Counter(servers)
        lying = {pattern([config.servers[npu] for npu in each]) for each in groups}
        # Places in the group, server after server, as NCCL numbers the ranks of a communicator that it plans.
        first = {server: number for number, server in enumerate(dict.fromkeys(servers))}
        self._places = sorted(range(len(group)), key=lambda place: (first[servers[place]], place))
        self._is_even = len(set(of_server.values())) == 1 and len(lying) == 1
        environment, gpus = config.variables, max(of_server.values())
        self.is_followed = True
        self._switches = NcclSwitches(trees if self._is_even else None, groups, self._places, gpus)
        self._communicator = Communicator(
            config.built,
            servers=len(of_server),
            gpus_per_server=gpus,
            version=config.parsed_version,
            # Servers with unlike numbers of members: NCCL's search isn't followed there.
            environment=environment if self._is_even else replace(environment, algo="Ring"),
            sockets=config.has_sockets,
            in_network=bool(environment.collnet_enable) and self._switches.join_servers,
            nvls=bool(self._switches.in_servers),
        )
        if self._is_even:
            self._seat()

    def _seat(self) -> None:
        """Plan for the GPUs that the group has in each server, which NCCL numbers as if there were no others.

        *Limit*: where these differ between servers or groups, in the NICs next to them or in their NVLinks, or where
        no NIC is next to them, all are planned as if they had the first GPUs of each server.
        """
        built, whole = self._config.built, self._communicator
        seats = dict.fromkeys(gpus for group in self._groups for gpus in self._seats(group))
        each = [replace(whole, server=beginning_with(built, gpus)) for gpus in seats]
        found = {likeness(communicator) for communicator in each}
        has_nic = all(links.nics for links in found) or whole.servers == 1
        if len(found) == 1 and has_nic:
            self._communicator = each[0]
        else:
            self.is_followed = found == {likeness(whole)}

    def _seats(self, group: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """Yield the GPUs that a group has in each server, in the order of its ranks."""
        gpus, of_server = (
            [self._config.gpus[group[place]] for place in self._places],
            self._communicator.gpus_per_server,
        )
        yield from (tuple(gpus[first : first + of_server]) for first in range(0, len(gpus), of_server))

    @cached_property
    def exchanges(self) -> Exchanges:
        """The messages between members."""
        return Exchanges(self._config, self._communicator, self._places, self._dimensions, is_even=self._is_even)

    @property
    def communicator(self) -> Communicator:
        """The group as NCCL's decisions see it."""
        return self._communicator

    def phases(self, kind: CollectiveKind, bytes: int) -> list[Phase]:
        """The phases of all channels."""
        if kind is CollectiveKind.ALL_TO_ALL:
            return list(self.exchanges.all_to_all(bytes))
        choice = self.choice(kind, bytes)
        return [self._phase(kind, part, choice) for part in self._merged(list(self._parts(kind, bytes, choice)))]

    def name(self, kind: CollectiveKind, bytes: int) -> str:
        """Return what is played."""
        if kind is CollectiveKind.ALL_TO_ALL:
            return self.exchanges.name(bytes)
        choice = self.choice(kind, bytes)
        return named(choice.algorithm, choice.protocol, choice.channels)

    def allowed(self, kind: CollectiveKind) -> tuple[tuple[str, str], ...]:
        """Return all that NCCL's tuner may choose."""
        return allowed_pairs(self._communicator, kind)

    def choice(self, kind: CollectiveKind, bytes: int) -> Choice:
        """Return NCCL's choice; a barrier is an all-reduce."""
        played = CollectiveKind.ALL_REDUCE if kind is CollectiveKind.BARRIER else kind
        whole = bytes * len(self._group) if kind is CollectiveKind.ALL_GATHER else bytes
        return choose(self._communicator, played, whole)

    @cached_property
    def _rings(self) -> tuple[tuple[int, ...], ...]:
        """The order of places in each channel's ring."""
        if not self._is_even:
            return (tuple(self._places),)
        return tuple(tuple(self._places[rank] for rank in order) for order in spread_orders(self._communicator))

    def _parts(self, kind: CollectiveKind, bytes: int, choice: Choice) -> Iterator[Part]:
        """Return the part of each channel, with its share of the bytes."""
        if choice.algorithm in _STARS or choice.algorithm == "CollNetDirect":
            yield from self._stars(bytes, choice) if kind in _BOTH_WAYS else self._stars_of_ranks(kind, bytes, choice)
            return
        if choice.algorithm == "CollNetChain":
            yield from self._chains(bytes, choice)
            return
        trees = railed_tree_parents(self._communicator) if choice.algorithm == "Tree" else ()
        chain = tuple(range(-1, len(self._group) - 1))
        for number, share in enumerate(chunk_sizes(bytes, choice.channels)):
            ring = self._rings[number % len(self._rings)]
            if trees:
                yield Part(number, 1, share, tuple(self._places), trees[number % len(trees)])
            elif kind in ROOTED:
                yield Part(number, 1, share, _from_root(ring), chain)
            else:
                yield Part(number, 1, share, ring)

    def _stars_of_ranks(self, kind: CollectiveKind, bytes: int, choice: Choice) -> Iterator[Part]:
        """The parts of an all-gather or a reduce-scatter: a star around each rank, for its own part.

        On several servers all GPUs are heads, and the part of a rank is that of its number in each server.
        """
        ranks, gpus = len(self._group), self._communicator.gpus_per_server
        shares = [bytes] * ranks if kind is CollectiveKind.ALL_GATHER else chunk_sizes(bytes, ranks)
        if self._communicator.servers > 1:
            for rank, share in enumerate(shares):
                gpu = rank % gpus
                order = list(self._places)
                order[0], order[rank] = order[rank], order[0]
                yield Part(rank, choice.channels, share, tuple(order), self._star(gpu, self._apart), gpu, gpu, rank)
            return
        around = (-1, *[0] * (ranks - 1))
        for rank, share in enumerate(shares):
            yield Part(rank, choice.channels, share, (*self._places[rank:], *self._places[:rank]), around, rank)

    def _stars(self, bytes: int, choice: Choice) -> Iterator[Part]:
        """The parts of NVLS and of CollNetDirect: each head has a star in its server, and a tree over servers.

        NVLSTree has a tree for each kind of channel, the others have switches between servers. Channels that do the
        same are one part, for their kernels share the switches' work.
        """
        heads = collnet_heads(self._communicator) if choice.algorithm in _COLLNET else nvls_heads(self._communicator)
        trees = Counter({self._apart: choice.channels})
        if choice.algorithm == "NVLSTree":
            trees = Counter(nvls_tree_parents(self._communicator)[: choice.channels])
        stars = [(head, tree, count) for tree, count in trees.items() for head in heads]
        shares = chunk_sizes(bytes, len(stars))
        for number, (share, (head, tree, count)) in enumerate(zip(shares, stars, strict=False)):
            yield Part(number, count, share, tuple(self._places), self._star(head, tree), heads.index(head), head)

    def _chains(self, bytes: int, choice: Choice) -> Iterator[Part]:
        """The parts of CollNetChain: in each channel a chain through each server, that begins at its head."""
        gpus, chains = self._communicator.gpus_per_server, collnet_chains(self._communicator)
        for number, share in enumerate(chunk_sizes(bytes, choice.channels)):
            order = chains[number % len(chains)]
            above = dict(zip(order, (-1, *order), strict=False))
            up = [(rank // gpus * gpus, above[rank % gpus]) for rank in range(len(self._group))]
            parents = tuple(first + gpu if gpu >= 0 else -1 for first, gpu in up)
            yield Part(number, 1, share, tuple(self._places), parents, order[0], order[0])

    @property
    def _apart(self) -> tuple[int, ...]:
        """The parent of each server where servers have no tree of their own."""
        return (-1,) * self._communicator.servers

    def _star(self, head: int, servers: tuple[int, ...]) -> tuple[int, ...]:
        """The parents of a star around one GPU of each server; ``servers``: the parent of each server."""
        gpus = self._communicator.gpus_per_server
        found = []
        for rank in range(len(self._group)):
            server, gpu = divmod(rank, gpus)
            above = servers[server] if len(servers) > 1 else -1
            found.append(server * gpus + head if gpu != head else above * gpus + head if above >= 0 else -1)
        return tuple(found)

    def _merged(self, parts: list[Part]) -> list[Part]:
        """The same with channels that do the same as one, if they are to be."""
        if not self._config.merges:
            return parts
        found: dict[tuple[tuple[int, ...], tuple[int, ...], int | None], Part] = {}
        for part in parts:
            alike = found.get((part.order, part.parents, part.root))
            found[part.order, part.parents, part.root] = (
                part
                if alike is None
                else replace(alike, channels=alike.channels + part.channels, bytes=alike.bytes + part.bytes)
            )
        return list(found.values())

    def _phase(self, kind: CollectiveKind, part: Part, choice: Choice) -> Phase:
        ranks, work = len(self._group), self._work(kind, part, choice)
        name = named(choice.algorithm, choice.protocol, choice.channels)
        joined = Joined(())
        if kind in ROOTED:
            schedule = self._chain(kind, part, choice, work)
        elif part.parents:
            kind = _OF_STARS.get(kind, kind)  # a star gathers or scatters the part of its root
            joined = self._joined(part, choice)
            schedule = self._tree(kind, joined, part, choice)
        elif choice.algorithm == "PAT":
            schedule = self._pat(kind, part, choice)
        else:
            schedule = self._ring(kind, part, choice)
            work = self._with_ends(kind, part, choice, work)
        left = part.bytes
        if kind is CollectiveKind.REDUCE_SCATTER:
            left = -(-part.bytes // ranks)
        elif kind is CollectiveKind.ALL_GATHER:
            left = part.bytes * ranks
        costs = costs_of(self._config, part, work, choice.protocol)
        channel = Channel(part.order, costs, part.channels, joined.reducers, joined.beside)
        return Phase(self._dimensions, kind, name, part.bytes, left, schedule, channel, queue=part.number)

    def _joined(self, part: Part, choice: Choice) -> Joined:
        """The tree of a part, with the switches that it goes over."""
        switches = self._switches
        if choice.algorithm in _STARS:
            return switches.over_both(part.parents, part.gpu, part.head)
        return switches.over_servers(part.parents, part.gpu) if choice.algorithm in _COLLNET else Joined(part.parents)

    def _chain(self, kind: CollectiveKind, part: Part, choice: Choice, work: Work) -> Schedule:
        """The schedule of a broadcast or a reduce along a ring.

        Slots hold as much, and a signal tells of as much, in pieces as in chunks.
        """
        chunks = self._chunks(part, choice)
        pieces = chunks if choice.protocol == "Simple" else max(chunks, self._pieces_of_chain(part, work))
        together = max(self._together(pieces), pieces // chunks)
        return channel_tree(kind, part.parents, pieces, choice.slots * pieces // chunks, together, confirms=True)

    def _pieces_of_chain(self, part: Part, work: Work) -> int:
        """In how many pieces a chain passes on all of a part with LL or LL128.

        NCCL's kernels receive, copy and send a chunk line by line, so that its head leaves a hop at once: filling the
        chain takes latencies only. Here each hop but the first one adds the copying of a piece. Pieces are so many that
        this takes at most a share of the latencies and the copying, but no more than a tree has chunks.
        """
        ranks, servers = len(self._group), self._communicator.servers
        latency_us = work.start_us + (ranks - servers) * work.near_us + (servers - 1) * work.far_us
        copying_us = part.bytes / part.channels / work.near_gbytes_per_s / BYTES_PER_US
        needed = ceil((ranks - 2) * copying_us / (_MOST_FILLING * (latency_us + copying_us)))
        return min(needed, _MOST_CHUNKS)

    def _tree(self, kind: CollectiveKind, joined: Joined, part: Part, choice: Choice) -> Schedule:
        """The schedule of a part over a tree, whose switches are its last players."""
        ranks, chunks = len(self._group), self._chunks(part, choice)
        if choice.algorithm == "NVLS" and self._communicator.servers == 1:
            pieces = self._pieces(part, choice)
            return channel_of_head(kind, ranks, part.parents.index(-1), chunks * pieces, choice.slots * pieces)
        found = joined if part.root is None else joined.hung_from(part.root)
        room = choice.slots if found.buffer_bytes is None else found.buffer_bytes // choice.chunk_bytes
        slots = max(min(choice.slots, room), 1)
        together = min(self._together(chunks), slots)
        schedule = channel_tree(kind, found.parents, chunks, slots, together)
        return replace(schedule, helpers=len(found.parents) - ranks)

    def _pieces(self, part: Part, choice: Choice) -> int:
        """In how many pieces a chunk of a head goes through the switch of the only server; 1 elsewhere."""
        if self._communicator.servers > 1:
            return 1
        chunks = self._chunks(part, choice)
        return max(min(_PIECES // chunks, part.bytes // (_LEAST_PIECE * chunks)), 1)

    @staticmethod
    def _together(chunks: int) -> int:
        return _TOGETHER if chunks >= _MANY_CHUNKS else 1

    def _with_ends(self, kind: CollectiveKind, part: Part, choice: Choice, work: Work) -> Work:
        """Add what a ring copies besides: its first slice before that is sent, its last one once that has come."""
        slices = max(choice.chunk_bytes // choice.slice_bytes, 1)
        of_channel = min(self._of_rank(kind, part) / part.channels / slices, choice.slice_bytes)
        copying_us = 2 * of_channel / work.near_gbytes_per_s / BYTES_PER_US
        return replace(work, start_us=work.start_us + copying_us)

    def _of_rank(self, kind: CollectiveKind, part: Part) -> int:
        """The bytes of a rank's part in a ring."""
        return part.bytes if kind is CollectiveKind.ALL_GATHER else -(-part.bytes // len(self._group))

    def _ring(self, kind: CollectiveKind, part: Part, choice: Choice) -> Schedule:
        ranks = len(self._group)
        of_rank = self._of_rank(kind, part)
        chunk = choice.chunk_bytes * part.channels
        merges = self._config.merges
        loops = min(max(-(-of_rank // chunk), 1), _MOST_LOOPS if merges else _MOST_LOOPS_OF_EACH)
        slices = max(choice.chunk_bytes // choice.slice_bytes, 1)
        slots = SLOTS // chunk_steps(kind, choice.algorithm, choice.protocol)[1]
        return channel_ring(kind, ranks, ChannelCut(loops, slices, slots))

    def _pat(self, kind: CollectiveKind, part: Part, choice: Choice) -> Schedule:
        of_rank = max(self._of_rank(kind, part), 1)
        chunk = choice.chunk_bytes * part.channels
        trees, together = pat_trees(len(self._group), chunk, of_rank)
        most = _MOST_LOOPS if self._config.merges else _MOST_LOOPS_OF_EACH
        return parallel_trees(kind, len(self._group), TreesCut(min(-(-of_rank // chunk), most), trees, together))

    @staticmethod
    def _chunks(part: Part, choice: Choice) -> int:
        return min(max(-(-part.bytes // (choice.chunk_bytes * part.channels)), 1), _MOST_CHUNKS)

    def _work(self, kind: CollectiveKind, part: Part, choice: Choice) -> Work:
        who, built = self._communicator, self._config.built
        if choice.algorithm == "PAT":
            of_channel = -(-self._of_rank(kind, part) // part.channels)
            return work_of_pat(built, max(min(choice.chunk_bytes, of_channel), 1))
        if choice.algorithm not in _STARS:
            kernel = "Tree" if choice.algorithm in _COLLNET else choice.algorithm  # both add up and pass on
            return work_of(built, kernel, choice.protocol, who.gpus_per_server)
        chunk = max(min(choice.chunk_bytes, -(-part.bytes // part.channels)), 1)
        ways = 2 if kind in _BOTH_WAYS else 1
        stars = Stars(len(nvls_heads(who)), chunk, ways, self._pieces(part, choice))
        return work_of_stars(built, choice.channels, who.servers, stars)


def pattern(servers: Sequence[int]) -> tuple[int, ...]:
    """Which members share a server, by numbers that begin at 0."""
    numbers = {server: number for number, server in enumerate(dict.fromkeys(servers))}
    return tuple(numbers[server] for server in servers)


def _from_root(order: tuple[int, ...]) -> tuple[int, ...]:
    """A ring's order that begins with place 0, the root of a broadcast or a reduce."""
    begin = order.index(0)
    return order[begin:] + order[:begin]
