"""Plans a communicator's collectives one after the other: their chunks, each chunk's route, the queue of each phase.

It remembers things from one to the next, in program order and so the same on all members: whose turn it is
among the queues of a dimension and between the two trees, and what the policy that orders dimensions remembers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from astra_ns3.collectives.in_network import ONE_TREE
from astra_ns3.collectives.uneven import Parts
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.compatibility import Compatibility
from astra_ns3.config.core.relay import Relay
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import refuse
from astra_ns3.network.instance import MOST_CHUNKS
from astra_ns3.system.chunking import chunk_sizes, chunks_of_one_size
from astra_ns3.system.communicator import Communicator
from astra_ns3.system.groups import Grid
from astra_ns3.system.inter_dimension import route_policy
from astra_ns3.system.launches import turns
from astra_ns3.system.nccl.planner import NcclPlanner
from astra_ns3.system.phases import Phase, PhasePlanner
from astra_ns3.system.request import CollectiveRequest
from astra_ns3.system.route import ChunkToRoute
from astra_ns3.system.uneven import uneven_phases

Chunk = tuple[Phase, ...]


def system_and_grid_of(
    config: SystemConfig, world: Grid, communicator: Communicator | None, rules: Compatibility
) -> tuple[SystemConfig, Grid]:
    """The system and the grid for a communicator's collectives; one with a grid of its own keeps it."""
    if communicator is None or communicator.sizes is not None:
        return config, world.of(communicator)
    if rules.groups_as_one_ring and len(communicator) < world.npus:
        return config.for_one_ring(), world.ring_of(communicator)
    return config, world.of(communicator)


class CollectivePlanner:
    """Plans for a system on a grid of NPUs; ``npus``: all there are (None: those of the grid).

    Raises InputError for a policy that isn't known.
    """

    def __init__(self, config: SystemConfig, grid: Grid, compatibility: Compatibility, npus: int | None = None) -> None:
        self._config = config
        self._npus = grid.npus if npus is None else npus
        self._of_one_size = compatibility.chunks_of_one_size
        self._plays_empty = compatibility.empty_collectives_are_played
        self._grid = grid
        self._planner = PhasePlanner(config, grid, compatibility)
        self._truncates = compatibility.truncate_chunks
        self._route = route_policy(config.inter_dimension_scheduling, grid, compatibility)
        self._next_queue = [0] * len(grid.sizes)
        self._tree_turns: Counter[tuple[CollectiveKind, int]] = Counter()
        table = config.nccl if config.plays_nccl else None
        self._nccl = None if table is None else NcclPlanner(table, grid, config.reduction_trees)
        self._phases = cache(self._planner.phases)
        self._turns = cache(turns)
        self._in_turn = cache(_in_turn)
        # Large tables take long to hash: found by their id, and kept, since a dead one's may be used again.
        self._uneven_phases: dict[
            tuple[int, int, int, tuple[int, ...]], tuple[Parts | None, Relay | None, list[Phase]]
        ] = {}

    def chunks(self, request: CollectiveRequest, time_ps: int) -> Sequence[Chunk]:
        """For each chunk its phases, in order; empty without data or partners. Raises InputError."""
        self._grid.check_dimensions(request.dimensions)
        if request.counts is not None:
            return self._uneven(request)
        if request.pool is not None:
            return self._pooled(request, request.pool)
        if self._nccl is not None:
            return self._nccl.chunks(request.kind, request.bytes, self._planner.wide_dimensions(request.dimensions))
        flat = self._planner.flat_dimensions(request.kind, request.dimensions)
        dimensions = self._planner.wide_dimensions(request.dimensions) if flat is None else flat
        if not dimensions:
            return []
        sizes = self._sizes(request)
        _check_chunks(request, len(sizes))
        if flat is not None:
            return [self._assign(request.kind, self._planner.flat(request.kind, size, flat)) for size in sizes]
        chunks: list[Chunk] = []
        left = sum(sizes)
        while left:
            size = min(sizes[len(chunks)] if len(chunks) < len(sizes) else sizes[0], left)
            route = self._route(ChunkToRoute(request.kind, dimensions, size, sizes[0], left, time_ps))
            chunks.append(self._assign(request.kind, self._phases(request.kind, route.bytes, route)))
            left -= route.bytes
        return chunks

    @property
    def unlike_groups(self) -> frozenset[int]:
        """The sizes of groups that NCCL's plans don't fit exactly."""
        return frozenset() if self._nccl is None else self._nccl.unlike_groups

    def _pooled(self, request: CollectiveRequest, pool: tuple[int, int]) -> list[Chunk]:
        """Return the chunks of an all-reduce by way of storage hosts: one tree each, over all dimensions at once.

        Each has whole units, where the data are a multiple of them.
        """
        dimensions, most = self._planner.wide_dimensions(request.dimensions), max(pool)
        unit = most if request.bytes % most == 0 else 1
        sizes = chunk_sizes(request.bytes // unit, self._config.preferred_dataset_splits)
        _check_chunks(request, len(sizes))
        phases = (Phase(dimensions, request.kind, ONE_TREE, unit * size, unit * size, pool=pool) for size in sizes)
        return [self._assign(request.kind, (phase,)) for phase in phases]

    def _uneven(self, request: CollectiveRequest) -> list[Chunk]:
        """The chunks of an all-to-all with counts, which are the same each time that these are issued.

        NCCL's is one kernel: one chunk that waits in the first channel's queue, which each kernel of its group takes.
        """
        dimensions = self._planner.wide_dimensions(request.dimensions)
        if not dimensions:
            return []
        key = id(request.counts), id(request.relay), request.bytes, dimensions
        if key not in self._uneven_phases:
            phases = uneven_phases(
                request,
                dimensions,
                self._grid.ranks_in(dimensions),
                self._planner.algorithms(request.kind),
                1 if self._nccl is not None else self._config.preferred_dataset_splits,
            )
            self._uneven_phases[key] = request.counts, request.relay, phases
        _, _, found = self._uneven_phases[key]
        _check_chunks(request, len(found))
        if self._nccl is not None:
            return [(phase,) for phase in found]
        return [self._assign(request.kind, (phase,)) for phase in found]

    def _sizes(self, request: CollectiveRequest) -> list[int]:
        """Return the size of each chunk, in order."""
        splits = self._config.preferred_dataset_splits
        if not self._of_one_size or not (request.bytes or self._plays_empty):
            return chunk_sizes(request.bytes, splits, truncate=self._truncates)
        return chunks_of_one_size(request.kind, request.bytes, splits, self._npus)

    def _assign(self, kind: CollectiveKind, phases: tuple[Phase, ...]) -> Chunk:
        """Give each phase the next queue of its dimension, and a tree if it runs on one."""
        return tuple(self._take_turns(kind, phase) for phase in phases)

    def _take_turns(self, kind: CollectiveKind, phase: Phase) -> Phase:
        dimension = phase.dimensions[0]
        queues = self._config.num_queues_per_dimension
        queue = self._next_queue[dimension]
        self._next_queue[dimension] = (queue + 1) % queues
        turn, among = 0, self._turns(phase)
        if among > 1:
            turn = self._tree_turns[kind, dimension] % among
            self._tree_turns[kind, dimension] += 1
        if not queue and not turn:
            return phase
        return self._in_turn(phase, queue, turn, anticlockwise=queues > 1 and queue >= queues // 2)


def _in_turn(phase: Phase, queue: int, turn: int, *, anticlockwise: bool) -> Phase:
    return replace(phase, queue=queue, turn=turn, anticlockwise=anticlockwise)


def _check_chunks(request: CollectiveRequest, chunks: int) -> None:
    refuse(chunks > MOST_CHUNKS, f"{request.bytes} bytes make {chunks} chunks, more than {MOST_CHUNKS}")
