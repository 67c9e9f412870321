"""A model on so many NPUs before anything runs: what is computed and exchanged in an iteration."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from math import prod

from astra_ns3.collectives.relayed import handed_over
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.training_plan import Exchange, Group, Item, Operation, Ring, TrainingPlan, Uneven
from astra_ns3.frozen import dataclass, replace
from astra_ns3.playing.dry_run.counting import counted_accesses, counted_messages, counted_requests
from astra_ns3.playing.training.making import training_programs
from astra_ns3.playing.training.training_programs import TrainingPrograms
from astra_ns3.system.request import CollectiveRequest
from astra_ns3.workload.computing.clock import Clock
from astra_ns3.workload.models.parts import Totals
from astra_ns3.workload.models.workload import ModelWorkload


@dataclass(frozen=True)
class Traffic:
    """A kind of collective in one kind of group, in an iteration, on an NPU of the stage that has most of it.

    ``bytes``: as :class:`~astra_ns3.system.request.CollectiveRequest` counts them, all together. ``sent_bytes``: what
    the NPU sends for them at least (:func:`sent_bytes`).
    """

    collective: str
    group: str
    members: int
    count: int
    bytes: int
    sent_bytes: int


@dataclass(frozen=True)
class MessageTotals:
    """Messages from stage to stage, around rings and to servers, in an iteration; of an NPU: of the one with most."""

    messages: int
    bytes: int
    messages_of_an_npu: int
    bytes_of_an_npu: int


@dataclass(frozen=True)
class Beyond:
    """Bytes that an NPU stores beyond its device and loads from there in an iteration: the NPU with most of both.

    ``checkpoint_bytes``: of a checkpoint of all NPUs, which an iteration has besides (0: there is none).
    """

    stored_bytes: int
    loaded_bytes: int
    checkpoint_bytes: int


def sent_bytes(request: CollectiveRequest, members: int) -> int:
    """Least bytes that an NPU of a group sends for a collective in which all send as much, as around a ring.

    All-reduce 2 (n - 1) / n of what it brings, reduce-scatter and all-to-all (n - 1) / n, all-gather n - 1 times that
    (Chan et al., "Collective communication: theory, practice, and experience", 2007); of counts, what the NPU sends to
    others that sends most.
    """
    if request.counts is not None and request.relay is not None:
        return int(handed_over(request.counts, request.relay)[0].max())
    if request.counts is not None:
        return max(sum(row) - row[place] for place, row in enumerate(request.counts))
    if request.pool is not None:
        return request.bytes * request.pool[0] // max(request.pool)
    factors = {CollectiveKind.ALL_REDUCE: 2, CollectiveKind.ALL_GATHER: members}
    return request.bytes * factors.get(request.kind, 1) * (members - 1) // members


@dataclass(frozen=True)
class StageWork:
    """A stage in an iteration: blocks, an NPU's parameters, what it computes (the update left out) and operations."""

    blocks: int
    parameters: int
    compute_ps: int
    flops: int
    again_flops: int
    """The part of ``flops`` that is computed once more to save memory."""


@dataclass(frozen=True)
class ModelSummary:
    """A model on so many NPUs."""

    workload: ModelWorkload
    plan: TrainingPlan
    totals: Totals
    stages: tuple[StageWork, ...]
    traffic: tuple[Traffic, ...]
    messages: MessageTotals
    beyond: Beyond


def summary_of(workload: ModelWorkload, dimensions: Sequence[int]) -> ModelSummary:
    """On a network of so many NPUs along each dimension; raises InputError if the degrees don't fit."""
    plan, clock = workload.plan(prod(dimensions)), workload.clock()
    programs = training_programs(plan, clock, 1, dimensions)
    return ModelSummary(
        workload,
        plan,
        workload.totals(),
        tuple(_stage(plan, number, clock) for number in range(plan.degrees.pipeline)),
        _traffic(programs),
        _messages(programs),
        _beyond(programs),
    )


def _beyond(programs: TrainingPrograms) -> Beyond:
    rest = replace(programs, plan=replace(programs.plan, checkpoint=None))
    moved: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for each in counted_accesses(rest):
        for npu in each.npus:
            moved[npu][each.loads] += each.times * each.bytes
    stored, loaded = max(moved.values(), key=sum, default=[0, 0])
    kept = 0
    if programs.plan.checkpoint is not None:
        kept = programs.plan.degrees.stage_npus * sum(script.checkpoint_bytes for script in programs.scripts)
    return Beyond(stored, loaded, kept)


def _messages(programs: TrainingPrograms) -> MessageTotals:
    counts: Counter[int] = Counter()
    sizes: Counter[int] = Counter()
    for each in counted_messages(programs):
        for source, _ in each.pairs:
            counts[source] += each.times
            sizes[source] += each.times * each.bytes
    most, largest = max(counts.values(), default=0), max(sizes.values(), default=0)
    return MessageTotals(counts.total(), sizes.total(), most, largest)


def _stage(plan: TrainingPlan, number: int, clock: Clock) -> StageWork:
    blocks = [block for chunk in plan.stage(number) for block in chunk]
    compute_ps = flops = again = 0
    for block in blocks:
        for items in (block.forward, block.again, block.input_gradient, block.weight_gradient):
            for operation, times in _operations(items, plan):
                compute_ps += times * clock.time_ps(operation)
                flops += times * operation.flops
        again += sum(times * operation.flops for operation, times in _operations(block.again, plan))
    batches = plan.micro_batches
    parameters = sum(each.parameters + each.expert_parameters + each.table_parameters for each in blocks)
    return StageWork(len(blocks), parameters, batches * compute_ps, batches * flops, batches * again)


def _operations(items: tuple[Item, ...], plan: TrainingPlan) -> list[tuple[Operation, int]]:
    """The operations of an NPU, and how often each is done; where places differ, those with most."""
    found = []
    for item in items:
        if isinstance(item, Operation):
            found.append((item, 1))
        elif isinstance(item, Uneven):
            found.append((max(item.operations, key=lambda each: (each.flops, each.bytes)), 1))
        elif isinstance(item, Ring):
            found.append((item.operation, plan.degrees.size(item.group)))
        else:
            assert isinstance(item, Exchange)
    return found


def _traffic(programs: TrainingPrograms) -> tuple[Traffic, ...]:
    """The traffic of the stage that has most bytes, for each kind of exchange and of group."""
    by_stage: dict[tuple[str, str, int], dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0, 0]))
    sizes = {group.value: programs.plan.degrees.size(group) for group in Group}
    for request, times in counted_requests(programs):
        assert request.communicator is not None
        group, _, stage = request.communicator.name.partition(" of stage ")
        members = sizes.get(group, 2)
        key = request.kind.name.lower().replace("_", "-"), group, members
        share = by_stage[key][stage]
        share[0] += times
        share[1] += times * request.bytes
        share[2] += times * sent_bytes(request, members)
    most = {key: max(stages.values(), key=lambda share: share[1]) for key, stages in by_stage.items()}
    return tuple(Traffic(*key, *share) for key, share in sorted(most.items()))
