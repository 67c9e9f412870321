"""The plan of a model's training on a number of NPUs, and what to warn of in it."""

from __future__ import annotations

from astra_ns3.config.core.reading import read_text
from astra_ns3.config.core.yaml_document import parse_yaml
from astra_ns3.config.model.file import ModelFile
from astra_ns3.config.training_plan import Elements, Sharding, TrainingPlan
from astra_ns3.errors import InputError, refuse, wrong
from astra_ns3.workload.computing.clock import named
from astra_ns3.workload.computing.clocks import guesses
from astra_ns3.workload.models.cutting import boundary_bytes, cut, uneven_rest
from astra_ns3.workload.models.degrees import degrees_of, micro_batches_of
from astra_ns3.workload.models.keys_without_effect import keys_without_effect
from astra_ns3.workload.models.model_kinds import parts_of
from astra_ns3.workload.training.scaling import scaled_plan
from astra_ns3.workload.training.schedules import SCHEDULES, Position, WorkKind, order_of


def plan_of(file: ModelFile, npus: int, source: str, comm_scale: float) -> TrainingPlan:
    """Return what the NPUs of each stage do; raises InputError, which names ``source``, if it can't be cut so."""
    with named(source):
        return scaled_plan(_unscaled(file, npus, source), comm_scale)


def _unscaled(file: ModelFile, npus: int, source: str) -> TrainingPlan:
    parallel, training = file.parallel, file.training
    degrees = degrees_of(parallel, npus, source)
    parts = parts_of(file, degrees)
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
    )
    _check_schedule(file, plan)
    if parallel.overlap_tensor:
        _check_weights_follow(plan)
    return plan


def _check_schedule(file: ModelFile, plan: TrainingPlan) -> None:
    """Raise InputError, with file, line and key, if the schedule asks for other numbers of parts or batches."""
    first = Position(0, plan.degrees.pipeline, plan.virtual_stages, plan.micro_batches)
    try:
        order_of(plan.schedule, first)
    except InputError as error:
        path = ("parallel", "virtual_stages" if plan.schedule in SCHEDULES else "schedule")
        if plan.schedule == "interleaved" and plan.virtual_stages > 1:
            path = ("training", "micro_batches" if file.training.global_batch is None else "global_batch")
        raise wrong(f"key '{'.'.join(path)}': {error}", _place(plan.source, path)) from error


def _check_weights_follow(plan: TrainingPlan) -> None:
    """Raise InputError if the schedule has gradients of weights apart, so that nothing hides behind them."""
    first = Position(0, plan.degrees.pipeline, plan.virtual_stages, plan.micro_batches)
    refuse(
        any(work.kind is WorkKind.WEIGHT for work in order_of(plan.schedule, first, plan.source)),
        f"parallel.overlap_tensor is on, expected off: schedule {plan.schedule} computes gradients "
        "of weights at other times",
        plan.source,
    )


def _place(source: str, path: tuple[str, ...]) -> str:
    """File and line of a key; the source alone where it is no file that can be read."""
    try:
        return parse_yaml(read_text(source), source).place(path)
    except InputError:
        return source


def warnings_of(file: ModelFile, plan: TrainingPlan, npus: int) -> tuple[str, ...]:
    """Return a line for whatever a user should know of how the model is cut, and for times that are guessed."""
    source = plan.source
    with named(source):
        degrees = degrees_of(file.parallel, npus, source)
        layers = len(parts_of(file, degrees).body)
    idle = keys_without_effect(file, degrees)
    without_effect = (f"{source}: without effect: {', '.join(idle)}",) if idle else ()
    guessed = guesses(file.compute, plan.operations(), source)
    return (*uneven_rest(layers, file.parallel, source), *guessed, *without_effect)
