"""The plan of a model's training on a number of NPUs, how its blocks are cut in parts, and what to warn of in it."""

from __future__ import annotations

from itertools import accumulate

from astra_ns3.config.core.reading import read_text
from astra_ns3.config.core.yaml_document import parse_yaml
from astra_ns3.config.model.file import ModelFile
from astra_ns3.config.model.offload import Checkpoint, Interval, Offload, Offloaded
from astra_ns3.config.model.parallel import Parallel
from astra_ns3.config.model.training import Training
from astra_ns3.config.training_plan import (
    Beyond,
    Block,
    Checkpointing,
    Degrees,
    Elements,
    Group,
    Offloading,
    Sharding,
    TrainingPlan,
)
from astra_ns3.errors import InputError, located, refuse, wrong
from astra_ns3.units import counted
from astra_ns3.workload.computing.clock import named
from astra_ns3.workload.computing.clocks import guesses
from astra_ns3.workload.models.keys_without_effect import keys_without_effect
from astra_ns3.workload.models.model_kinds import MODEL_KINDS
from astra_ns3.workload.models.parts import Parts
from astra_ns3.workload.training.scaling import scaled_plan
from astra_ns3.workload.training.schedules import SCHEDULES, Position, WorkKind, order_of


def plan_of(file: ModelFile, npus: int, source: str, comm_scale: float) -> TrainingPlan:
    """Return what the NPUs of each stage do; raises InputError, which names ``source``, if it can't be cut so."""
    with named(source):
        return scaled_plan(_unscaled(file, npus, source), comm_scale)


def _unscaled(file: ModelFile, npus: int, source: str) -> TrainingPlan:
    parallel, training = file.parallel, file.training
    degrees = degrees_of(parallel, npus, source)
    parts = MODEL_KINDS[file.kind].parts(file, degrees)
    plan = TrainingPlan(
        name=file.name,
        source=source,
        degrees=degrees,
        chunks=cut(parts, parallel, source),
        micro_batches=micro_batches_of(training, degrees.data, source),
        schedule=parallel.schedule,
        boundary_bytes=boundary_bytes(parts, parallel, source),
        sharding=Sharding(
            parallel.zero, parallel.bucket_bytes, parallel.overlap, parallel.prefetch, parallel.keep_gathered
        ),
        elements=Elements(training.value_bytes, training.gradient_bytes, training.optimizer_bytes),
        tied_parameters=parts.tied_parameters,
        memory_bytes=file.memory_bytes or file.compute.memory_bytes,
        servers=parallel.servers,
        asynchronous=parallel.asynchronous,
        offload=_offloading(file.offload),
        checkpoint=_checkpointing(file.checkpoint),
    )
    _check_schedule(file, plan)
    check_weights_follow(file, plan.schedule, _first_stage(plan), source)
    _check_copies(plan)
    return plan


def _check_copies(plan: TrainingPlan) -> None:
    """Raise InputError if nobody else has some weights whose gradients are to be reduced."""
    blocks = [block for chunk in plan.chunks for block in chunk]
    families = (
        (Group.GRADIENT, any(block.parameters for block in blocks)),
        (Group.EXPERT_GRADIENT, any(block.expert_parameters for block in blocks)),
    )
    alone = [group.value for group, there in families if there and plan.degrees.size(group) == 1]
    refuse(
        plan.offload.pooled and bool(alone),
        f"offload.optimizer.reduce is in-network, expected npus: group '{', '.join(alone)}' has one NPU, whose "
        "gradients nobody else's are added to",
        plan.source,
    )


def _checkpointing(given: Checkpoint | None) -> Checkpointing | None:
    if given is None:
        return None
    behind = given.mode == "behind"
    if isinstance(given.every, Interval):
        return Checkpointing(behind=behind, interval_ps=given.every.time_ps)
    return Checkpointing(given.every, behind)


def _offloading(offload: Offload) -> Offloading:
    def beyond(part: Offloaded | None) -> Beyond | None:
        return None if part is None else Beyond(part.to == "remote", part.prefetch)

    pooled = offload.optimizer is not None and offload.optimizer.reduce == "in-network"
    return Offloading(beyond(offload.optimizer), beyond(offload.weights), beyond(offload.activations), pooled)


def _check_schedule(file: ModelFile, plan: TrainingPlan) -> None:
    """Raise InputError, with file, line and key, if the schedule asks for other numbers of parts or batches."""
    try:
        order_of(plan.schedule, _first_stage(plan))
    except InputError as error:
        path = ("parallel", "virtual_stages" if plan.schedule in SCHEDULES else "schedule")
        if plan.schedule == "interleaved" and plan.virtual_stages > 1:
            path = ("training", "micro_batches" if file.training.global_batch is None else "global_batch")
        raise wrong(f"key '{'.'.join(path)}': {error}", _place(plan.source, path)) from error


def _first_stage(plan: TrainingPlan) -> Position:
    return Position(0, plan.degrees.pipeline, plan.virtual_stages, plan.micro_batches)


def check_weights_follow(file: ModelFile, schedule: str, at: Position, source: str) -> None:
    """Raise InputError for keys that have gradients of weights follow those of inputs, if the schedule parts them."""
    keys = ["parallel.overlap_tensor is on, expected off"] if file.parallel.overlap_tensor else []
    away = (key for key in ("weights", "activations") if getattr(file.offload, key) is not None)
    keys += [f"offload.{key} is given, expected none" for key in away]
    refuse(
        bool(keys) and any(work.kind is WorkKind.WEIGHT for work in order_of(schedule, at, source)),
        f"{next(iter(keys), '')}: schedule {schedule} computes gradients of weights at other times",
        source,
    )


def _place(source: str, path: tuple[str, ...]) -> str:
    """File and line of a key; the source alone where it is no file that can be read."""
    try:
        return parse_yaml(read_text(source), source).where(path)
    except InputError:
        return source


def warnings_of(file: ModelFile, plan: TrainingPlan, npus: int) -> tuple[str, ...]:
    """Return a line for whatever a user should know of how the model is cut, and for times that are guessed."""
    source = plan.source
    with named(source):
        degrees = degrees_of(file.parallel, npus, source)
        layers = len(MODEL_KINDS[file.kind].parts(file, degrees).body)
    idle = keys_without_effect(file, degrees)
    without_effect = (f"{source}: without effect: {', '.join(idle)}",) if idle else ()
    guessed = guesses(file.compute, plan.operations(), source)
    return (*uneven_rest(layers, file.parallel, source), *guessed, *without_effect)


def degrees_of(parallel: Parallel, npus: int, source: str) -> Degrees:
    """The degrees on ``npus`` NPUs; ``data: auto`` takes what the others leave. Raises InputError if they don't fit.

    Parameter servers aren't among them.
    """
    refuse(
        not 0 <= parallel.servers < npus,
        f"parallel.servers is {parallel.servers}, expected fewer than the {npus} NPUs",
        source,
    )
    npus -= parallel.servers
    copy = parallel.copy_npus
    words = f"tensor {parallel.tensor} x context {parallel.context} x pipeline {parallel.pipeline}"
    if parallel.data == "auto":
        refuse(
            bool(npus % copy), f"parallel: {words} are {copy} NPUs, expected a divisor of the {npus} there are", source
        )
        data = npus // copy
    else:
        data = parallel.data
        refuse(
            copy * data != npus,
            f"parallel: {words} x data {data} are {copy * data} NPUs, expected the {npus} there are, or data: auto",
            source,
        )
    with located(f"{source}: parallel"):
        return Degrees(parallel.tensor, parallel.context, data, parallel.pipeline, parallel.expert)


def micro_batches_of(training: Training, data: int, source: str) -> int:
    """Micro-batches of one iteration on each of ``data`` copies of the model."""
    if training.global_batch is None:
        return training.micro_batches or 1
    together = training.micro_batch * data
    refuse(
        bool(training.global_batch % together),
        f"training.global_batch is {training.global_batch}, expected a multiple of micro_batch times the "
        f"copies of the model, {training.micro_batch} x {data}",
        source,
    )
    return training.global_batch // together


def layers_of_parts(layers: int, parallel: Parallel, source: str) -> tuple[int, ...]:
    """How many layers each part has: as the file says, or evenly.

    Where they don't divide, the outer parts, which have the embedding and the head, get one fewer, the last before the
    first. Raises InputError for numbers that don't add up, and for more parts than layers.
    """
    parts = parallel.parts
    given = parallel.layers_per_part
    if given is not None:
        refuse(
            len(given) != parts or sum(given) != layers,
            f"parallel.layers_per_part has {counted(len(given), 'entry', 'entries')} of together {sum(given)} layers, "
            f"expected {parts} (pipeline times virtual_stages) of together {layers}",
            source,
        )
        return given
    refuse(
        layers < parts,
        f"{parts} parts (parallel.pipeline times virtual_stages), expected at most the {layers} layers",
        source,
    )
    fewer = parts - layers % parts if layers % parts else 0
    from_the_ends = sorted(range(parts), key=lambda part: (min(part, parts - 1 - part), -part))
    short = set(from_the_ends[:fewer])
    most = -(-layers // parts)
    return tuple(most - (part in short) for part in range(parts))


def cut(parts: Parts, parallel: Parallel, source: str) -> tuple[tuple[Block, ...], ...]:
    """The parts of the model, in its order."""
    chunks, begin = [], 0
    for layers in layers_of_parts(len(parts.body), parallel, source):
        chunks.append(parts.body[begin : begin + layers])
        begin += layers
    chunks[0] = (*parts.first, *chunks[0])
    chunks[-1] = (*chunks[-1], *parts.last)
    return tuple(chunks)


def boundary_bytes(parts: Parts, parallel: Parallel, source: str) -> int:
    """Bytes that an NPU sends from part to part for a micro-batch: of several sizes the largest."""
    if not parts.output_bytes:
        return parts.boundary_bytes
    ends = accumulate(layers_of_parts(len(parts.body), parallel, source))
    return max((parts.output_bytes[end - 1] for end in ends if 0 < end < len(parts.body)), default=0)


def uneven_rest(layers: int, parallel: Parallel, source: str) -> tuple[str, ...]:
    """A warning, where layers don't divide by parts and the file doesn't say how many each gets."""
    if parallel.layers_per_part is not None or layers % parallel.parts == 0:
        return ()
    counts = layers_of_parts(layers, parallel, source)
    short = counts.count(min(counts))
    return (
        f"{source}: {layers} layers in {len(counts)} parts: {short} get {min(counts)}, the others {max(counts)}; "
        "parallel.layers_per_part says otherwise",
    )
