"""Bounds on choices: the least time of an iteration, and the least memory, without programs or a network being built.

No run is faster. A stage can't begin before the first micro-batch has come through the stages before it. It does all
its work one pass after the other. Then the stages before it have a backward pass to do. A pass takes what is computed
and what the exchanges take that it waits for (:mod:`astra_ns3.planning.least_times`). Then come the last gradients, the
update, and weights that others updated. Nothing is sent faster than the lines of an NPU allow. Memory is that of
weights, gradients and states (``workload/memory/states.py``) and of the activations that a schedule keeps; what is
gathered, and what fills a bucket, isn't counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import accumulate, pairwise
from operator import attrgetter

from astra_ns3.config.training_plan import Block, Degrees, Operation, TrainingPlan
from astra_ns3.experiments.inputs import Inputs
from astra_ns3.frozen import dataclass
from astra_ns3.planning.degrees import Cell, Choice, Space, cut_into
from astra_ns3.planning.endings import EACH_MICRO_BATCH, Ending, Endings
from astra_ns3.planning.least_times import LeastTimes
from astra_ns3.planning.orders import OrderFacts, Passes, order_facts
from astra_ns3.planning.passes import BlockTimes, PassTimes, added
from astra_ns3.planning.playable import Playable
from astra_ns3.workload.computing.clock import Clock
from astra_ns3.workload.memory.states import ModelStates
from astra_ns3.workload.models.parts import Parts
from astra_ns3.workload.models.planning import boundary_bytes, layers_of_parts
from astra_ns3.workload.training.schedules import WorkKind

_GATHERED = 3
"""The stage of ZeRO from which on weights are gathered for each use."""


@dataclass(frozen=True)
class Bound:
    """No run of the choice takes less time, and none of its NPUs less memory.

    ``cpu_seconds``: what playing it takes about. ``next_ps``: many iterations take no less each; the first may take
    longer, as nothing hides the weights that it gathers at its end.
    """

    choice: Choice
    time_ps: int
    memory_bytes: int
    cpu_seconds: float = 0.0
    next_ps: int = 0


@dataclass(frozen=True)
class _ScaledClock:
    """Tells so much of what ``clock`` says, as slow and fast NPUs need."""

    clock: Clock
    factor: Fraction

    def time_ps(self, operation: Operation) -> int:
        return int(self.factor * self.clock.time_ps(operation))

    def memory_bound(self, operation: Operation) -> bool:
        return self.clock.memory_bound(operation)


class Bounds:
    """Bounds on all choices of a space, on the network and system of ``inputs``."""

    def __init__(self, space: Space, plan: TrainingPlan, inputs: Inputs) -> None:
        """``plan``: of any of the choices."""
        self._playable = Playable(space, inputs.platform.dimensions)
        slowdown, npus = inputs.slowdown, len(inputs.tenancy.npus)
        factor = Fraction(1) if slowdown is None else min(slowdown.least_factors(npus))
        clock = _ScaledClock(self._playable.clock, factor)
        self.least = LeastTimes(inputs)
        self.passes = PassTimes(self.least, clock)
        self.endings = Endings(plan, self.least, clock, inputs.platform.dimensions)
        self.source = space.workload.source
        self._endings: dict[tuple[Degrees, int, tuple[range, ...]], Ending] = {}
        self.states_bytes = cache(self._states_bytes)

    def all(self) -> Iterator[Bound]:
        """Yield a bound on every choice that can be played; raises InputError for what the system can't do."""
        for cell, parts in self._playable.cells():
            yield from self._of_cell(cell, parts)

    @property
    def left_out(self) -> Mapping[str, int]:
        """Return how many choices can't be played, by what is said of them, the most first; when all are bounded."""
        return self._playable.left_out

    @property
    def own_why(self) -> str:
        """Return why the plan of the model's file can't be played; empty: it can, or isn't among the choices."""
        return self._playable.own_why

    def _of_cell(self, cell: Cell, parts: Parts) -> Iterator[Bound]:
        """Yield a bound on each choice of a cell."""
        work = _CellWork(self, cell, parts)
        orders: dict[tuple[str, int], _Order] = {}
        for choice in self._playable.choices(cell):
            key = choice.schedule, choice.virtual_stages
            if key not in orders:
                orders[key] = _Order(work, *key)
            order = orders[key]
            zero = choice.zero
            time_ps, next_ps = order.times_ps(zero)
            yield Bound(choice, time_ps, order.memory_bytes(zero), order.cpu_seconds(zero), next_ps)

    def ending(self, degrees: Degrees, zero: int, spans: tuple[range, ...], blocks: Sequence[Block]) -> Ending:
        """Return the ending of a stage with these blocks of the model; parameters hang on degrees alone."""
        key = degrees, zero, spans
        if key not in self._endings:
            parts = [blocks[span.start : span.stop] for span in spans]
            self._endings[key] = self.endings.of(degrees, zero, parts)
        return self._endings[key]

    def _states_bytes(self, degrees: Degrees, zero: int, parameters: tuple[int, int, int]) -> int:
        """Return the weights, gradients and states of so many dense, expert and table parameters on an NPU."""
        whole = Block("", (), (), (), (), *parameters)
        return ModelStates(self.endings.plan(degrees, zero)).kept([whole]).total_bytes


@dataclass(frozen=True)
class _Parts:
    """The parts of the model, in its order, as columns of what the blocks of each come to together.

    ``spans``: the blocks of each among all; ``hop_ps``: of a message from part to part; ``times_ps``: of a pass of each
    kind; ``lines_ps``: of each dimension; ``again_bytes``: what the last block of each computes again.
    """

    spans: list[range]
    hop_ps: int
    times_ps: Mapping[WorkKind, list[int]]
    lines_ps: list[list[int]]
    kept_bytes: list[int]
    again_bytes: list[int]
    summed: list[int]


class _CellWork:
    """The blocks of a cell, and sums over them."""

    def __init__(self, bounds: Bounds, cell: Cell, parts: Parts) -> None:
        self.bounds, self.cell = bounds, cell
        self._ends = len(parts.first), len(parts.last)
        self.blocks = parts.blocks
        self._whole = parts
        times = self._times()
        self._sums = {
            WorkKind.FORWARD: _sums(each.forward_ps for each in times),
            WorkKind.BACKWARD: _sums(each.backward_ps for each in times),
            WorkKind.INPUT: _sums(each.input_ps for each in times),
            WorkKind.WEIGHT: _sums(each.weight_ps for each in times),
        }
        self._lines = [_sums(column) for column in zip(*(each.lines_ps for each in times), strict=True)]
        self.cpu_ns = sum(each.cpu_ns for each in times)
        self._kept = _sums(map(attrgetter("activation_bytes"), self.blocks))
        self._summed = _sums(map(attrgetter("summed_parameters"), self.blocks))
        names = ("parameters", "expert_parameters", "table_parameters")
        self.parameters = [_sums(map(attrgetter(name), self.blocks)) for name in names]

    def _times(self) -> list[BlockTimes]:
        """Return the times of every block; layers that are alike share their passes."""
        known: dict[tuple[int, ...], BlockTimes] = {}
        found = []
        for block in self.blocks:
            key = tuple(map(id, block.passes))
            if key not in known:
                known[key] = self.bounds.passes.of_block(block, self.cell.degrees)
            found.append(known[key])
        return found

    def parts(self, virtual: int) -> _Parts:
        """Return the parts of the model with so many on each stage."""
        degrees, source = self.cell.degrees, self.bounds.source
        parallel = cut_into(self.cell.shape.file.parallel, degrees.pipeline, virtual)
        layers = layers_of_parts(len(self._whole.body), parallel, source)
        size = boundary_bytes(self._whole, parallel, source) if degrees.pipeline > 1 else 0
        first, last = self._ends
        ends = [0, *(first + end for end in accumulate(layers))]
        ends[-1] += last
        spans = [range(begin, end) for begin, end in pairwise(ends)]
        return _Parts(
            spans,
            self.bounds.least.message_ps(degrees.stage_npus, size) if size else 0,
            {kind: between(sums, spans) for kind, sums in self._sums.items()},
            [between(sums, spans) for sums in self._lines],
            between(self._kept, spans),
            [self.blocks[span.stop - 1].again_bytes if span else 0 for span in spans],
            between(self._summed, spans),
        )


class _Order:
    """A cell with a schedule and virtual stages; ZeRO's stage is still open."""

    def __init__(self, work: _CellWork, schedule: str, virtual: int) -> None:
        stages, batches = work.cell.degrees.pipeline, work.cell.micro_batches
        parts = work.parts(virtual)
        hop_ps = parts.hop_ps
        facts = [order_facts(schedule, stages, virtual, batches, stage) for stage in sorted({0, stages - 1})]
        forward, back = parts.times_ps[WorkKind.FORWARD], parts.times_ps[WorkKind.BACKWARD]
        each = [ahead + behind for ahead, behind in zip(forward, back, strict=True)]
        if facts[0].splits:
            back, weight = parts.times_ps[WorkKind.INPUT], parts.times_ps[WorkKind.WEIGHT]
            each = [sum(passes) for passes in zip(forward, back, weight, strict=True)]
        fill = list(accumulate((time_ps + hop_ps for time_ps in forward[: stages - 1]), initial=0))
        drain = list(accumulate((time_ps + hop_ps for time_ps in back[: stages - 1]), initial=0))
        busy = [batches * sum(each[stage::stages]) for stage in range(stages)]
        ways = [sum(way) for way in zip(fill, busy, drain, strict=True)]
        busiest = ways.index(max(ways))
        if busiest not in (0, stages - 1):
            facts.insert(1, order_facts(schedule, stages, virtual, batches, busiest))
        asked = sorted({0, busiest, stages - 1})
        self._stages = [
            _Stage(work, parts, own, slice(stage, None, stages), fill[stage], busy[stage])
            for stage, own in zip(asked, facts, strict=True)
        ]
        # When the first stage has done its last pass: all others wait for nothing behind their last one for it.
        self._work, self._hops = work, 2 * stages * virtual if stages > 1 else 0
        self._first_ps = max(
            each.passed_ps - each.behind_ps + drain[stage] for stage, each in zip(asked, self._stages, strict=True)
        )

    def times_ps(self, zero: int) -> tuple[int, int]:
        """Return the least time of an iteration with a stage of ZeRO, and of each of many."""
        first, *others = self._stages
        ends = [first.ends_ps(zero, max(first.passed_ps, self._first_ps))]
        ends += [each.ends_ps(zero, each.passed_ps) for each in others]
        return max(end for end, _ in ends), max(each for _, each in ends)

    def cpu_seconds(self, zero: int) -> float:
        """Return about what playing an iteration takes: each NPU of a stage plays what one of them does."""
        work, degrees = self._work, self._work.cell.degrees
        passes_ns = work.cpu_ns + self._hops * work.bounds.least.message_cpu_ns
        ends_ns = max(each.end_cpu_ns(zero) for each in self._stages) * degrees.pipeline
        return degrees.stage_npus * (work.cell.micro_batches * passes_ns + ends_ns) / 1e9

    def memory_bytes(self, zero: int) -> int:
        """Return the least memory of the fullest of some stages, the first and the last among them."""
        return max(each.memory_bytes(zero) for each in self._stages)


class _Stage:
    """A stage of an order. ``own``: its parts of the model; ``fill_ps``: before its first pass, ``busy_ps``: of all."""

    def __init__(
        self, work: _CellWork, parts: _Parts, facts: OrderFacts, own: slice, fill_ps: int, busy_ps: int
    ) -> None:
        self._work, self._bounds, self._degrees = work, work.bounds, work.cell.degrees
        self._own_times = {kind: column[own] for kind, column in parts.times_ps.items()}
        self._spans = tuple(parts.spans[own])
        self._fill_ps, self.passed_ps = fill_ps, fill_ps + busy_ps
        self.behind_ps = self._taking_ps(facts.behind)
        self._last_ps = self._taking_ps(facts.last)
        self._lines_ps = tuple(work.cell.micro_batches * sum(column[own]) for column in parts.lines_ps)
        self._summed = sum(parts.summed[own])
        self._parameters = tuple(sum(between(sums, self._spans)) for sums in work.parameters)
        self._kept_bytes = sum(held * kept for held, kept in zip(facts.held, parts.kept_bytes[own], strict=True))
        self._kept_bytes += 0 if facts.then is None else parts.again_bytes[own][facts.then]

    def _taking_ps(self, passes: Passes) -> int:
        """Return what so many passes of a stage take."""
        return sum(times * self._own_times[kind][chunk] for (kind, chunk), times in passes.items())

    def ends_ps(self, zero: int, passed_ps: int) -> tuple[int, int]:
        """Return the least time at which the stage is done, if its last pass ends at ``passed_ps`` at the earliest.

        And the least time from one of its first passes to that of the next iteration, which begins when the stage has
        updated its own weights. Those of others may come meanwhile, but lines have to carry them.
        """
        ending = self._bounds.ending(self._degrees, zero, self._spans, self._work.blocks)
        each_batch = zero >= EACH_MICRO_BATCH
        times = self._work.cell.micro_batches if each_batch else 1
        if not self._work.cell.shape.file.parallel.overlap:
            # Those of earlier micro-batches may go while it waits for other stages.
            begun_ps = self.passed_ps if each_batch else passed_ps
        elif each_batch:
            begun_ps = self._fill_ps
        else:
            begun_ps = self.passed_ps - self._last_ps
        reduced_ps = max(passed_ps + ending.last_ps, begun_ps + times * ending.gradients.time_ps)
        summed_ps = self._bounds.endings.summed_ps(self._degrees, zero, self._summed)
        updated_ps = reduced_ps + summed_ps + ending.update_ps
        sent_ps = self._sent_ps(zero, ending, times)
        begun_ps = self._fill_ps if zero < _GATHERED else 0
        return max(updated_ps + ending.gather_ps, begun_ps + sent_ps), max(updated_ps - self._fill_ps, sent_ps)

    def end_cpu_ns(self, zero: int) -> int:
        """Return about what playing gradients and weights takes, for one of its NPUs."""
        ending = self._bounds.ending(self._degrees, zero, self._spans, self._work.blocks)
        batches = self._work.cell.micro_batches
        gradients = ending.gradients_cpu_ns * (batches if zero >= EACH_MICRO_BATCH else 1)
        return gradients + 2 * batches * ending.weights_cpu_ns

    def _sent_ps(self, zero: int, ending: Ending, times: int) -> int:
        """Return what the lines of an NPU, and the queues of gradients and weights, need for all that it sends."""
        lines = added(self._lines_ps, ending.gradients.lines_ps, times)
        if zero < _GATHERED:
            return max(added(lines, ending.gathers.lines_ps))
        keeps = self._work.cell.shape.file.parallel.keep_gathered
        uses = 1 if keeps else 2 * self._work.cell.micro_batches
        gradients, weights = ending.gradients.queues_ps, ending.weights.queues_ps
        queues = (times * gradients.get(queue, 0) + uses * each for queue, each in weights.items())
        return max(*added(lines, ending.weights.lines_ps, uses), *queues, 0)

    def memory_bytes(self, zero: int) -> int:
        """Return the least memory of one of its NPUs."""
        return self._bounds.states_bytes(self._degrees, zero, self._parameters) + self._kept_bytes


def _sums(values: Iterable[int]) -> list[int]:
    """Return the sum of the first so many, from 0 on."""
    return list(accumulate(values, initial=0))


def between(sums: Sequence[int], spans: Iterable[range]) -> list[int]:
    """Return the sum over each span."""
    return [sums[span.stop] - sums[span.start] for span in spans]
