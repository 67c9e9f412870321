"""The least time of a collective and of a message between stages on a network, whoever else uses its lines.

A collective of a group isn't over, for the last of its members, before

* the longest chain of messages of its schedule that begins at the member that issued it last, each message taking as
  long as the fastest of its kind takes alone (``network/ideal/``);
* its members have sent all they have to over the lines of each dimension. In one dimension, the member that sends
  least counts. Over several dimensions the mean of all counts, and with a flat ring what enters the outermost one.

So times add up along a stage: the last NPU of a stage to begin an exchange ends it no earlier than this later, or
another of its group does. They add up as well in a dimension that plays one chunk at a time, whoever waits for them.
Model limits: of a collective library's channels only the lines are counted, and nothing of what switches reduce.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from math import inf, prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from astra_ns3.collectives.lookup import is_in_network
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.collectives.volume import sent_shares
from astra_ns3.config.core.algorithm_names import parse_name
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.topology.nodes import Hierarchical
from astra_ns3.config.training_plan import Degrees, Exchange, Group
from astra_ns3.experiments.inputs import Inputs
from astra_ns3.frozen import dataclass
from astra_ns3.network.backends import Ideal, abilities_of
from astra_ns3.network.floor.host_lines import widest_rates
from astra_ns3.network.records import Label
from astra_ns3.planning.chains import least_chain
from astra_ns3.system.collective_planner import CollectivePlanner, system_and_grid_of
from astra_ns3.system.communicator import Communicator
from astra_ns3.system.groups import Grid
from astra_ns3.system.launches import schedule_of
from astra_ns3.system.phases import Phase
from astra_ns3.system.request import CollectiveRequest
from astra_ns3.topology.graph import SCALE_OUT
from astra_ns3.units import PS_PER_NS
from astra_ns3.workload.grids.grid_cut import GridCut
from astra_ns3.workload.grids.training_grid import TrainingGrid

Numbers = npt.NDArray[np.int64]
# Sizes by which pairs of NPUs are compared: by latency, and by rate.
_SMALL, _LARGE = 1, 1 << 40
_NS = 10**9
_RINGS = ("ring", "ringAnticlockwise")


class Least(NamedTuple):
    """The least time of an exchange, and of its bytes on the lines of each dimension of the network; in ps.

    ``lines_ps``: where NPUs of a server share NICs, of the bytes of all those of its stage.
    ``queues_ps``: for how long it occupies each dimension of its group's grid, where a dimension plays one chunk at a
    time (else 0). ``cpu_ns``: CPU time that playing it takes about, for each NPU.
    """

    time_ps: int
    lines_ps: tuple[int, ...]
    queues_ps: tuple[int, ...]
    cpu_ns: int


@dataclass(frozen=True, eq=False)
class _Way:
    """Groups of NPUs whose ranks differ by multiples of ``begin``, below ``end``: their planner, and what it plays on.

    ``network``: of each dimension of the planner's grid, the network's.
    """

    begin: int
    end: int
    grid: Grid
    dimensions: tuple[int, ...]
    planner: CollectivePlanner
    communicator: Communicator
    network: tuple[int, ...]


class LeastTimes:
    """Least times on the network and system of ``inputs``; each worked out once."""

    def __init__(self, inputs: Inputs) -> None:
        self._platform = inputs.platform
        self._source = inputs.job.source
        self.npus = len(inputs.tenancy.npus)
        self._places = np.array(inputs.tenancy.npus, dtype=np.int32)
        self._alone = _alone(inputs)
        self._costs = abilities_of(inputs.backend).costs
        rules = inputs.compatibility
        # Another simulator's rules may charge groups another delay.
        self._delay_ps = inputs.plan.endpoint.delay_ps if rules.group_endpoint_delay_ns is None else 0
        self._rates = widest_rates(inputs.plan, self._platform.dimensions)
        self._shared_rate = rate_of_shared_nics(inputs)
        self.dimensions = len(self._platform.dimensions)
        system = self._platform.system
        self._one_by_one = system.active_chunks_per_dimension == system.num_queues_per_dimension == 1
        self._way = cache(self._way_of)
        self._chain = cache(least_chain)
        self._fastest = cache(self._fastest_pairs)
        self.message_ps = cache(self._message_ps)
        self._even = cache(self._least)

    def exchange(self, exchange: Exchange, degrees: Degrees) -> Least:
        """Return the least time of an exchange in its group; raises InputError for what the system can't do."""
        begin, end = degrees.strides(exchange.group)
        if exchange.counts is not None or exchange.relay is not None:
            return self._of_chunks(self._way(begin, end), exchange)
        return self._even(exchange.kind, begin, end, exchange.bytes)

    def _message_ps(self, stride: int, size_bytes: int) -> int:
        """Return the least time of a message between NPUs whose numbers differ by ``stride``."""
        senders = np.arange(self.npus - stride)
        pairs = self._distinct(senders, senders + stride)
        return self._pair_ps(pairs, size_bytes) + 2 * self._delay_ps

    def _least(self, kind: CollectiveKind, begin: int, end: int, size_bytes: int) -> Least:
        return self._of_chunks(self._way(begin, end), Exchange(kind, Group.GRADIENT, size_bytes))

    def _of_chunks(self, way: _Way, exchange: Exchange) -> Least:
        request = CollectiveRequest(
            exchange.kind,
            exchange.bytes,
            Label(0, 0, ""),
            dimensions=way.dimensions,
            communicator=way.communicator,
            counts=exchange.counts,
            relay=exchange.relay,
        )
        chunks = way.planner.chunks(request, time_ps=0)
        chains: Counter[int] = Counter()
        lines, entering, shared = ([0.0] * self.dimensions for _ in range(3))
        longest_ps, cpu_seconds = 0, 0.0
        for chunk, times in Counter(map(tuple, chunks)).items():
            chain_ps = 0
            for phase in chunk:
                if is_in_network(phase.algorithm):
                    continue
                schedule = schedule_of(phase, way.grid.ranks_in(phase.dimensions))
                phase_ps = self._phase_ps(way, phase, schedule)
                chain_ps += phase_ps
                cpu_seconds += times * self._cpu_seconds(schedule.messages / schedule.ranks)
                chains[phase.dimensions[0]] += times * phase_ps
                for dimension, share in _shares(way, phase, schedule):
                    lines[dimension] += times * share * phase.bytes / self._rates[dimension]
                    shared[dimension] += times * share * phase.bytes / self._rate_with_others(dimension)
                outermost, share = _entering(way, phase, schedule)
                entering[outermost] += times * share * phase.bytes / self._rates[outermost]
            longest_ps = max(longest_ps, chain_ps)
        lines_ps, rings_ps, shared_ps = (
            tuple(int(ns * PS_PER_NS * (1 - 1e-9)) for ns in each) for each in (lines, entering, shared)
        )
        queues_ps = tuple(chains[number] if self._one_by_one else 0 for number in range(len(way.grid.sizes)))
        return Least(max(longest_ps, *queues_ps, *lines_ps, *rings_ps), shared_ps, queues_ps, int(cpu_seconds * _NS))

    def _rate_with_others(self, dimension: int) -> float:
        """Return what an NPU reaches of a dimension's lines if all of its server send as much over NICs they share.

        In bytes per nanosecond. NPUs of a server need not send at once, so this holds for all exchanges of a stage
        together, and for none by itself.
        """
        return min(self._rates[dimension], self._shared_rate) if dimension else self._rates[dimension]

    @property
    def message_cpu_ns(self) -> int:
        """Return the CPU time that a message between stages takes about, for each NPU that sends it."""
        return int(2 * self._cpu_seconds(0.5) * _NS)

    def _cpu_seconds(self, messages: float) -> float:
        """Return what a launch with so many messages takes."""
        return self._costs.seconds_per_launch + messages * self._costs.seconds_per_message

    def _phase_ps(self, way: _Way, phase: Phase, schedule: Schedule) -> int:
        """Return the time of the chain of a phase; 0 where a library's channels play it."""
        if phase.channel is not None or not schedule.messages:
            return 0
        size = int(schedule.kept["block_count"].min()) * phase.bytes * schedule.expansion // schedule.blocks
        pairs = self._fastest(way.begin, way.end, phase.dimensions, schedule)
        each_ps = self._pair_ps(pairs, max(1, size)) + self._delay_ps
        return self._chain(schedule) * each_ps + self._delay_ps

    def _pair_ps(self, pairs: tuple[tuple[int, int], ...], size_bytes: int) -> int:
        """Return the time of a message alone between the pair where it takes least."""
        senders, receivers = np.array(pairs, dtype=np.int32).T
        return int(self._alone(senders, receivers, np.full(len(pairs), size_bytes)).min())

    def _fastest_pairs(
        self, begin: int, end: int, dimensions: tuple[int, ...], schedule: Schedule
    ) -> tuple[tuple[int, int], ...]:
        """Return pairs that send each other something in a phase, one of each kind that may be the fastest."""
        way = self._way(begin, end)
        groups = np.array(way.grid.cosets(dimensions), dtype=np.int64)
        ranks = schedule.ranks
        pairs = np.unique(schedule.sender.astype(np.int64) * ranks + schedule.receiver)
        stages = np.arange(0, self.npus, way.end)[:, None, None]
        senders, receivers = (stages + groups[:, ends] for ends in (pairs // ranks, pairs % ranks))
        return self._distinct(senders.ravel(), receivers.ravel())

    def _distinct(self, senders: Numbers, receivers: Numbers) -> tuple[tuple[int, int], ...]:
        """Return one pair of each kind, by what a small and a large message takes, that no other kind beats in both."""
        ends = self._places[senders], self._places[receivers]
        small, large = (self._alone(*ends, np.full(len(senders), size)) for size in (_SMALL, _LARGE))
        order = np.lexsort((large, small))
        best = np.minimum.accumulate(large[order])
        kept = order[np.append(True, large[order][1:] < best[:-1])]
        return tuple(zip(ends[0][kept].tolist(), ends[1][kept].tolist(), strict=True))

    def _way_of(self, begin: int, end: int) -> _Way:
        platform = self._platform
        degrees = Degrees(tensor=begin, data=end // begin, pipeline=self.npus // end)
        training = TrainingGrid(degrees, platform.dimensions, self._source)
        cut = GridCut(training.sizes, training.parts)
        bandwidths = platform.bandwidths
        world = Grid(cut.dimensions, None if bandwidths is None else cut.of_each(bandwidths))
        own = training.of(Group.GRADIENT)
        communicator = Communicator(range(end), "", own.sizes)
        system, grid = system_and_grid_of(cut.system(platform.system), world, communicator, platform.compatibility)
        planner = CollectivePlanner(system, grid, platform.compatibility, world.npus)
        network = tuple(number for number, parts in enumerate(cut.parts) for _ in range(parts))
        return _Way(begin, end, grid, own.dimensions, planner, communicator, network)


def _shares(way: _Way, phase: Phase, schedule: Schedule) -> Iterable[tuple[int, float]]:
    """Return what NPUs send at least along dimensions of the network, as multiples of what each brings.

    In one dimension that is what each sends. Over several it is the mean: nobody knows which NPU sends what where.
    """
    if len(phase.dimensions) == 1:
        return [(way.network[phase.dimensions[0]], _least_share(schedule))]
    sizes = tuple(way.grid.sizes[number] for number in phase.dimensions)
    order = tuple(range(schedule.ranks)) if phase.channel is None else phase.channel.order
    found: dict[int, float] = {}
    for number, share in zip(phase.dimensions, _mean_shares(schedule, sizes, order), strict=True):
        found[way.network[number]] = found.get(way.network[number], 0.0) + share
    return found.items()


def _entering(way: _Way, phase: Phase, schedule: Schedule) -> tuple[int, float]:
    """Return what one NPU of a flat ring sends along the outermost dimension: all that it sends, which goes somewhere
    into that dimension and out of it."""
    outermost = max(way.network[number] for number in phase.dimensions)
    is_ring = phase.channel is None and parse_name(phase.algorithm).base in _RINGS
    return outermost, _least_share(schedule) if is_ring else 0.0


@cache
def _mean_shares(schedule: Schedule, sizes: tuple[int, ...], order: tuple[int, ...]) -> tuple[float, ...]:
    """Return what the ranks of a grid of ``sizes`` send on average along each dimension, the last in which two differ.

    ``order``: their places in the grid. Messages from and to switches count nowhere.
    """
    ranks, places = prod(sizes), np.array(order, dtype=np.int64)
    between = (schedule.sender < ranks) & (schedule.receiver < ranks)
    sender, receiver = places[schedule.sender[between]], places[schedule.receiver[between]]
    last = np.zeros(len(sender), dtype=np.int64)
    for dimension, size in enumerate(sizes):
        last[sender % size != receiver % size] = dimension
        sender, receiver = sender // size, receiver // size
    sums = np.bincount(last, schedule.block_count[between], minlength=len(sizes))
    scale = schedule.expansion / schedule.blocks / ranks
    return tuple(float(blocks) * scale for blocks in sums)


@cache
def _least_share(schedule: Schedule) -> float:
    """Return what the rank that sends least sends, as a multiple of what each brings."""
    least, _ = sent_shares(schedule)
    return float(least)


def _alone(inputs: Inputs) -> Ideal:
    """Return what messages take alone on the backend; nothing where nobody knows."""
    ideal = abilities_of(inputs.backend).ideal(inputs.plan, inputs.compatibility)
    return ideal or (lambda senders, receivers, sizes: np.zeros(len(sizes), dtype=np.int64))


def rate_of_shared_nics(inputs: Inputs) -> float:
    """Return an NPU's share of the NICs of its server, in bytes per nanosecond; without limit where none is shared."""
    packets = inputs.plan.of_packets
    topology = None if packets is None else packets.config.topology
    if packets is None or not isinstance(topology, Hierarchical) or not topology.shared:
        return inf
    if topology.npus_per_node != inputs.platform.dimensions[0]:
        return inf
    graph = packets.graph
    links = (link for link in graph.links if link.kind == SCALE_OUT)
    rate_bps = sum(link.rate_bps for link in links for end in (link.a, link.b) if not graph.is_outside(end))
    return rate_bps / (8 * _NS * topology.npu_count())
