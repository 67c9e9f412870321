"""A model on so many NPUs before anything runs: what is computed and exchanged in an iteration."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from math import prod

import numpy as np
import numpy.typing as npt

from astra_ns3.collectives.relayed import handed_over
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.training_plan import Exchange, Group, Item, Operation, Ring, TrainingPlan, Uneven
from astra_ns3.frozen import dataclass, replace
from astra_ns3.memory import require_memory
from astra_ns3.playing.dry_run.counting import counted_accesses, counted_messages, counted_requests
from astra_ns3.playing.training.making import training_programs
from astra_ns3.playing.training.training_programs import TrainingPrograms
from astra_ns3.system.request import CollectiveRequest
from astra_ns3.workload.models.parts import Totals
from astra_ns3.workload.models.workload import ModelWorkload

Amounts = npt.NDArray[np.object_]
"""A whole number, of any size, of each NPU or place; one alone is that of all."""
_Kind = tuple[str, str, int]
"""A kind of collective, a kind of group, and the members of one."""
_BYTES_PER_NPU = 300
"""Measured on a million NPUs."""


@dataclass(frozen=True)
class Traffic:
    """A kind of collective in one kind of group, in an iteration, on the NPU that sends most of it.

    ``bytes``: as :class:`~astra_ns3.system.request.CollectiveRequest` counts them, all together. ``sent_bytes``: what
    the NPU sends for them at least (:func:`least_sent`).
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


def least_sent(request: CollectiveRequest, members: int) -> Amounts:
    """Return the least bytes that each place of a group sends for a collective; one number if all send as much.

    All-reduce 2 (n - 1) / n of what it brings, reduce-scatter and all-to-all (n - 1) / n, all-gather n - 1 times that
    (Chan et al., "Collective communication: theory, practice, and experience", 2007); of counts, what goes to others.
    """
    if request.counts is not None and request.relay is not None:
        return _amounts(handed_over(request.counts, request.relay)[0].tolist())
    if request.counts is not None:
        return _amounts([sum(row) - row[place] for place, row in enumerate(request.counts)])
    if request.pool is not None:
        return _amounts([request.bytes * request.pool[0] // max(request.pool)])
    factors = {CollectiveKind.ALL_REDUCE: 2, CollectiveKind.ALL_GATHER: members}
    return _amounts([request.bytes * factors.get(request.kind, 1) * (members - 1) // members])


@dataclass(frozen=True)
class StageWork:
    """A stage in an iteration: blocks, an NPU's parameters, and what its NPU computes that computes longest.

    The update is left out.
    """

    blocks: int
    parameters: int
    compute_ps: int
    flops: int
    again_flops: int
    """The part of ``flops`` that is computed once more to save memory."""


@dataclass(frozen=True)
class ModelSummary:
    """A model on so many NPUs. ``again_flops``: of all NPUs, computed once more to save memory."""

    workload: ModelWorkload
    plan: TrainingPlan
    totals: Totals
    stages: tuple[StageWork, ...]
    again_flops: int
    traffic: tuple[Traffic, ...]
    messages: MessageTotals
    beyond: Beyond


def summary_of(workload: ModelWorkload, dimensions: Sequence[int]) -> ModelSummary:
    """On a network of so many NPUs along each dimension; raises InputError if the degrees don't fit."""
    plan, clock = workload.plan(prod(dimensions)), workload.clock()
    npus = plan.degrees.npus
    require_memory(f"a model on {npus:,} NPUs", npus * _BYTES_PER_NPU, "use a smaller parallel.data")
    programs = training_programs(plan, clock, 1, dimensions)
    return ModelSummary(
        workload,
        plan,
        workload.totals(),
        tuple(_stage(programs, number) for number in range(plan.degrees.pipeline)),
        sum(map(sum, (_again_flops(programs, number) for number in range(plan.degrees.pipeline)))),
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


def _stage(programs: TrainingPrograms, number: int) -> StageWork:
    plan, clock = programs.plan, programs.clock
    blocks = [block for chunk in plan.stage(number) for block in chunk]
    passes = [(each.forward, each.again, each.input_gradient, each.weight_gradient) for each in blocks]
    items = [item for every in passes for some in every for item in some]
    times_ps = plan.micro_batches * _of_npus(programs, items, clock.time_ps)
    flops = plan.micro_batches * _of_npus(programs, items, lambda operation: operation.flops)
    npu = int(times_ps.argmax())
    parameters = sum(each.parameters + each.expert_parameters + each.table_parameters for each in blocks)
    return StageWork(len(blocks), parameters, times_ps[npu], flops[npu], _again_flops(programs, number)[npu])


def _again_flops(programs: TrainingPrograms, number: int) -> Amounts:
    """Return what each NPU of a stage computes once more in an iteration."""
    items = [item for chunk in programs.plan.stage(number) for block in chunk for item in block.again]
    return _of_npus(programs, items, lambda operation: programs.plan.micro_batches * operation.flops)


def _of_npus(programs: TrainingPrograms, items: Sequence[Item], of: Callable[[Operation], int]) -> Amounts:
    """Return the sum of what each NPU of a stage does, as ``of`` measures an operation."""
    degrees, alike = programs.plan.degrees, 0
    of_places: dict[Group, Amounts] = {}
    for item in items:
        if isinstance(item, Operation):
            alike += of(item)
        elif isinstance(item, Uneven):
            of_places[item.group] = of_places.get(item.group, 0) + _amounts(map(of, item.operations))
        elif isinstance(item, Ring):
            alike += degrees.size(item.group) * of(item.operation)
        else:
            assert isinstance(item, Exchange)
    sums = _amounts([alike] * degrees.stage_npus)
    for group, amounts in of_places.items():
        sums = sums + amounts[list(programs.places.places_in(group))]
    return sums


def _traffic(programs: TrainingPrograms) -> tuple[Traffic, ...]:
    """The traffic of the place that sends most, in any stage, for each kind of exchange and of group."""
    counts: Counter[tuple[_Kind, str]] = Counter()
    brought: dict[tuple[_Kind, str], Amounts] = defaultdict(lambda: _amounts([0]))
    sent: dict[tuple[_Kind, str], Amounts] = defaultdict(lambda: _amounts([0]))
    sizes = {group.value: programs.plan.degrees.size(group) for group in Group}
    for request, times in counted_requests(programs):
        assert request.communicator is not None
        group, _, stage = request.communicator.name.partition(" of stage ")
        members = sizes.get(group, 2)
        key = (request.kind.name.lower().replace("_", "-"), group, members), stage
        counts[key] += times
        brought[key] = brought[key] + times * _brought(request)
        sent[key] = sent[key] + times * least_sent(request, members)
    most: dict[_Kind, tuple[int, int, int]] = {}
    for (kind, stage), amounts in sent.items():
        place = int(amounts.argmax())
        bytes_ = brought[kind, stage]
        found = amounts[place], bytes_[min(place, len(bytes_) - 1)], counts[kind, stage]
        most[kind] = max(most.get(kind, found), found)
    return tuple(
        Traffic(*kind, count, bytes_, sent_bytes) for kind, (sent_bytes, bytes_, count) in sorted(most.items())
    )


def _brought(request: CollectiveRequest) -> Amounts:
    """Return the bytes of each place of a group; one number if all have as many."""
    return _amounts([request.bytes] if request.counts is None else [sum(row) for row in request.counts])


def _amounts(values: Iterable[int]) -> Amounts:
    return np.array(list(values), dtype=np.object_)
