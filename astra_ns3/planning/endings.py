"""The end of an iteration, after the last pass of a stage: gradients, the update, weights that others updated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.training_plan import Block, Degrees, Exchange, Group, TrainingPlan
from astra_ns3.frozen import replace
from astra_ns3.planning.least_times import Least, LeastTimes
from astra_ns3.planning.passes import Lines, added
from astra_ns3.playing.training.places import Places
from astra_ns3.playing.training.sharding import Bucket, Shards
from astra_ns3.playing.training.step_maker import StepMaker
from astra_ns3.workload.computing.clock import Clock

EACH_MICRO_BATCH = 2
"""The stage of ZeRO from which on gradients go after each micro-batch."""


class Sent(NamedTuple):
    """Exchanges that go together: how long lines, and dimensions of the grids of their groups, are occupied, in ps."""

    lines_ps: Lines
    queues_ps: Mapping[tuple[Group, int], int]

    @classmethod
    def of(cls, exchanges: Iterable[tuple[Exchange, Least]], dimensions: int) -> Sent:
        """Return what some exchanges come to."""
        lines: Lines = (0,) * dimensions
        queues: Counter[tuple[Group, int]] = Counter()
        for exchange, least in exchanges:
            lines = added(lines, least.lines_ps)
            queues.update({(exchange.group, number): time_ps for number, time_ps in enumerate(least.queues_ps)})
        return cls(lines, queues)

    @property
    def time_ps(self) -> int:
        """Return the least time for all of them."""
        return max(*self.lines_ps, *self.queues_ps.values(), 0)


class Ending(NamedTuple):
    """The end of a stage's iteration. ``last_ps``: the gradients that can't go before the last pass is done.

    ``gradients``: all gradients that go together; ``update_ps``: computing when all of them are there; ``gathers``: the
    updated weights that others have, and ``gather_ps`` how long they take at least; ``weights``: those that are
    gathered for each use. ``gradients_cpu_ns`` and ``weights_cpu_ns``: what playing these takes about, for each NPU.
    """

    last_ps: int
    gradients: Sent
    update_ps: int
    gathers: Sent
    gather_ps: int
    weights: Sent
    gradients_cpu_ns: int
    weights_cpu_ns: int


class Endings:
    """Endings of stages; ``plan``: what all choices have in common."""

    def __init__(self, plan: TrainingPlan, least: LeastTimes, clock: Clock, dimensions: Sequence[int]) -> None:
        self._plan = plan
        self._least = least
        self._clock = clock
        self._dimensions = tuple(dimensions)
        self.shards = cache(self._shards)

    def of(self, degrees: Degrees, zero: int, parts: Sequence[Sequence[Block]]) -> Ending:
        """Return the ending of a stage that has ``parts`` of the model; sums over tensor groups aren't in it."""
        shards, least = self.shards(degrees, zero), self._least.exchange
        gradients: list[tuple[Exchange, Least]] = []
        weights: list[tuple[Exchange, Least]] = []
        after: list[tuple[Exchange, Least]] = []
        last_ps = 0
        for number, blocks in enumerate(parts):
            for bucket in shards.buckets(blocks):
                assert bucket.reduce is not None
                gradients.append((bucket.reduce, least(bucket.reduce, degrees)))
                if self._is_last(zero, number, bucket):
                    last_ps = max(last_ps, gradients[-1][1].time_ps)
                after += [] if bucket.gather is None else [(bucket.gather, least(bucket.gather, degrees))]
            stays = not number and parts[-1][-1].tied_parameters > 0  # a table that isn't gathered for each use
            gathers = (gather for block in blocks[stays:] for gather in shards.gathers(block))
            weights += [(gather, least(gather, degrees)) for gather in gathers]
        update = shards.update([block for blocks in parts for block in blocks])
        update_ps = self._clock.time_ps(update) if update.bytes else 0
        gathered = self._sent(after)
        gather_ps = max(gathered.time_ps, max((each.time_ps for _, each in after), default=0))
        gradients_ns, weights_ns = (sum(each.cpu_ns for _, each in some) for some in (gradients, weights))
        sent = self._sent(gradients), update_ps, gathered, gather_ps, self._sent(weights)
        return Ending(last_ps, *sent, gradients_ns, weights_ns)

    def _sent(self, exchanges: Iterable[tuple[Exchange, Least]]) -> Sent:
        return Sent.of(exchanges, len(self._dimensions))

    def summed_ps(self, degrees: Degrees, zero: int, parameters: int) -> int:
        """Return what tensor groups take to add up gradients of so many parameters."""
        bytes = self.shards(degrees, zero).summed_bytes(parameters)
        if degrees.tensor == 1 or not bytes:
            return 0
        return self._least.exchange(Exchange(CollectiveKind.ALL_REDUCE, Group.TENSOR, bytes), degrees).time_ps

    def _is_last(self, zero: int, part: int, bucket: Bucket) -> bool:
        """Whether the gradients of a bucket can only go when the stage's last pass, through its first part, is done."""
        if self._plan.sharding.overlap:
            return part == 0 and bucket.block == 0
        return part == 0 or zero < EACH_MICRO_BATCH

    def _shards(self, degrees: Degrees, zero: int) -> Shards:
        plan = self.plan(degrees, zero)
        places = Places(degrees, self._dimensions, plan.source)
        return Shards(plan, StepMaker(places, 0, self._clock, plan.source))

    def plan(self, degrees: Degrees, zero: int) -> TrainingPlan:
        """Return a plan that has no blocks, for what depends on degrees and on ZeRO's stage alone."""
        sharding = replace(self._plan.sharding, stage=zero)
        return replace(self._plan, degrees=degrees, chunks=((),) * degrees.pipeline, sharding=sharding)
