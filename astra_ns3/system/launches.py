"""From a collective to what its chunks hand to the network; each schedule and group is handed over once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from astra_ns3.collectives.registry import lookup, variants
from astra_ns3.collectives.volume import rank_costs
from astra_ns3.config.collective_kind import CollectiveKind
from astra_ns3.config.system import SystemConfig
from astra_ns3.network.api import NetworkBackend
from astra_ns3.system.chunking import chunk_sizes
from astra_ns3.system.planner import Phase, plan
from astra_ns3.units import PS_PER_NS


@dataclass(frozen=True)
class Launch:
    """One phase of one chunk. Of NPU 0, for the records: ``overhead_ps``, the endpoint and reduction delays in it;
    ``steps``, in how many it receives; ``sent_bytes``, what it sends."""

    dimension: int
    schedule: int
    bytes: int
    overhead_ps: int
    steps: int
    sent_bytes: int


class LaunchTable:
    """``dimensions``: NPUs along each dimension, the one in which neighbours' numbers differ by one first."""

    def __init__(self, network: NetworkBackend, config: SystemConfig, dimensions: Sequence[int]) -> None:
        self._network = network
        self._config = config
        self._dimensions = tuple(dimensions)
        self._schedules: dict[tuple[CollectiveKind, str, int, int], int] = {}
        self._groups = [self._register_groups(dimension) for dimension in range(len(self._dimensions))]
        self._chunks = lru_cache(maxsize=256)(self._build)

    def group(self, rank: int, dimension: int) -> int:
        """The group that ``rank`` belongs to in a dimension."""
        return self._groups[dimension][rank]

    def chunks(self, kind: CollectiveKind, bytes: int) -> tuple[tuple[Launch, ...], ...]:
        """For each chunk its phases, in order; empty without data or on one NPU."""
        return self._chunks(kind, bytes)

    def _build(self, kind: CollectiveKind, bytes: int) -> tuple[tuple[Launch, ...], ...]:
        sizes = chunk_sizes(bytes, self._config.preferred_dataset_splits)
        built: dict[tuple[int, tuple[int, ...]], tuple[Launch, ...]] = {}
        chunks = []
        plans = {size: plan(kind, size, self._dimensions, self._config) for size in set(sizes)}
        for chunk, size in enumerate(sizes):
            phases = plans[size]
            if not phases:
                return ()
            turn = tuple(chunk % variants(phase.kind, phase.algorithm) for phase in phases)
            if (size, turn) not in built:
                built[size, turn] = tuple(map(self._launch, phases, turn))
            chunks.append(built[size, turn])
        return tuple(chunks)

    def _launch(self, phase: Phase, variant: int) -> Launch:
        ranks = self._dimensions[phase.dimension]
        schedule = lookup(phase.kind, phase.algorithm, ranks, variant)
        key = (phase.kind, phase.algorithm, ranks, variant)
        if key not in self._schedules:
            self._schedules[key] = self._network.register_schedule(schedule)
        costs = rank_costs(schedule, 0, phase.bytes, self._config.reduction_bytes_per_ns)
        overhead_ns = (costs.receive_steps + 1) * self._config.endpoint_delay_ns + costs.reduction_ns
        return Launch(
            phase.dimension,
            self._schedules[key],
            phase.bytes,
            overhead_ns * PS_PER_NS,
            costs.receive_steps,
            costs.sent_bytes,
        )

    def _register_groups(self, dimension: int) -> list[int]:
        """The group of each rank: the ranks that differ from it in this dimension only."""
        stride = 1
        for size in self._dimensions[:dimension]:
            stride *= size
        size = self._dimensions[dimension]
        groups: dict[int, int] = {}
        of_rank = []
        for rank in range(self._network.ranks):
            first = rank - rank // stride % size * stride
            if first not in groups:
                groups[first] = self._network.register_group([first + place * stride for place in range(size)])
            of_rank.append(groups[first])
        return of_rank
