"""What follows the last pass of a stage in an iteration: gradients, the update, weights that others updated."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.training_plan import Block, Degrees, Exchange, Group, TrainingPlan
from astra_ns3.frozen import replace
from astra_ns3.planning.least_times import LeastTimes
from astra_ns3.planning.passes import Lines, added
from astra_ns3.playing.training.places import Places
from astra_ns3.playing.training.sharding import Bucket, Shards
from astra_ns3.playing.training.step_maker import StepMaker
from astra_ns3.workload.computing.clock import Clock


class Ending(NamedTuple):
    """The end of a stage's iteration. ``last_ps``: the gradients that can't go before the last pass is done.

    ``gradients_ps``: lines of all gradients that go together; ``after_ps``: what comes when all of them are there;
    ``weights_ps``: lines of weights that are gathered for each use. ``gradients_cpu_ns`` and ``weights_cpu_ns``: what
    playing these takes about, for each NPU.
    """

    last_ps: int
    gradients_ps: Lines
    after_ps: int
    weights_ps: Lines
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
        shards = self.shards(degrees, zero)
        lines = weights = (0,) * len(self._dimensions)
        after: list[Exchange] = []
        last_ps = cpu_ns = weights_cpu_ns = 0
        for number, blocks in enumerate(parts):
            for bucket in shards.buckets(blocks):
                assert bucket.reduce is not None
                least = self._least.exchange(bucket.reduce, degrees)
                lines, cpu_ns = added(lines, least.lines_ps), cpu_ns + least.cpu_ns
                if self._is_last(number, bucket):
                    last_ps = max(last_ps, least.time_ps)
                after += [] if bucket.gather is None else [bucket.gather]
            for block in blocks:
                for gather in shards.gathers(block):
                    least = self._least.exchange(gather, degrees)
                    weights, weights_cpu_ns = added(weights, least.lines_ps), weights_cpu_ns + least.cpu_ns
        update = shards.update([block for blocks in parts for block in blocks])
        update_ps = self._clock.time_ps(update) if update.bytes else 0
        after_ps = update_ps + self._together_ps(after, degrees)
        return Ending(last_ps, lines, after_ps, weights, cpu_ns, weights_cpu_ns)

    def summed_ps(self, degrees: Degrees, zero: int, parameters: int) -> int:
        """Return what tensor groups take to add up gradients of so many parameters."""
        bytes = self.shards(degrees, zero).summed_bytes(parameters)
        if degrees.tensor == 1 or not bytes:
            return 0
        return self._least.exchange(Exchange(CollectiveKind.ALL_REDUCE, Group.TENSOR, bytes), degrees).time_ps

    def _is_last(self, part: int, bucket: Bucket) -> bool:
        """Whether the gradients of a bucket can only go when the stage's last pass is done."""
        return not self._plan.sharding.overlap or (part == 0 and bucket.block == 0)

    def _together_ps(self, exchanges: Sequence[Exchange], degrees: Degrees) -> int:
        """Return what exchanges that begin together take."""
        found = [self._least.exchange(each, degrees) for each in exchanges]
        lines: Lines = (0,) * len(self._dimensions)
        for each in found:
            lines = added(lines, each.lines_ps)
        return max(*lines, *(each.time_ps for each in found), 0)

    def _shards(self, degrees: Degrees, zero: int) -> Shards:
        plan = self.plan(degrees, zero)
        places = Places(degrees, self._dimensions, plan.source)
        return Shards(plan, StepMaker(places, 0, self._clock, plan.source))

    def plan(self, degrees: Degrees, zero: int) -> TrainingPlan:
        """Return a plan that has no blocks, for what depends on degrees and on ZeRO's stage alone."""
        sharding = replace(self._plan.sharding, stage=zero)
        return replace(self._plan, degrees=degrees, chunks=((),) * degrees.pipeline, sharding=sharding)
