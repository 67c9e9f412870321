"""A model file as a workload: its plan on any number of NPUs."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from typing import Any

from astra_ns3.config.core.reading import read_text
from astra_ns3.config.core.scales import check_scales
from astra_ns3.config.core.yaml_document import parse_yaml
from astra_ns3.config.model.file import ModelFile, read_model_file
from astra_ns3.config.training_plan import Elements, Sharding, TrainingPlan
from astra_ns3.errors import InputError, refuse, wrong
from astra_ns3.workload.computing.clock import Clock, named
from astra_ns3.workload.computing.clocks import clock_of, guesses
from astra_ns3.workload.models.cutting import boundary_bytes, cut, uneven_rest
from astra_ns3.workload.models.degrees import degrees_of, micro_batches_of
from astra_ns3.workload.models.keys_without_effect import keys_without_effect
from astra_ns3.workload.models.model_kinds import parts_of, totals_of
from astra_ns3.workload.models.parts import Totals
from astra_ns3.workload.training.scaling import scaled_plan
from astra_ns3.workload.training.schedules import SCHEDULES, Position, WorkKind, order_of


@dataclass(frozen=True)
class ModelWorkload:
    """A model, how it is trained and cut; ``source`` says where it came from."""

    file: ModelFile
    source: str = "model"
    comm_scale: float = 1.0
    compute_scale: float = 1.0

    @property
    def name(self) -> str:
        """The model's."""
        return self.file.name

    @property
    def layer_count(self) -> int:
        """Of the model, without its embedding and its head."""
        return self.totals().layers

    @property
    def least_npus(self) -> int:
        """Those of the smallest network that it fits on."""
        parallel = self.file.parallel
        if parallel.data != "auto":
            return parallel.copy_npus * parallel.data + parallel.servers
        return parallel.copy_npus * (parallel.expert // math.gcd(parallel.expert, parallel.context)) + parallel.servers

    def plan(self, npus: int) -> TrainingPlan:
        """What the NPUs of each stage do on ``npus`` NPUs; raises InputError, which names the file, if it can't be."""
        with named(self.source):
            return scaled_plan(self._plan(npus), self.comm_scale)

    def _plan(self, npus: int) -> TrainingPlan:
        """Unscaled."""
        file, parallel, training = self.file, self.file.parallel, self.file.training
        degrees = degrees_of(parallel, npus, self.source)
        parts = parts_of(file, degrees)
        plan = TrainingPlan(
            name=file.name,
            source=self.source,
            degrees=degrees,
            chunks=cut(parts, parallel, self.source),
            micro_batches=micro_batches_of(training, degrees.data, self.source),
            schedule=parallel.schedule,
            boundary_bytes=boundary_bytes(parts, parallel, self.source),
            sharding=Sharding(
                parallel.zero, parallel.bucket_bytes, parallel.overlap, parallel.prefetch, parallel.keep_gathered
            ),
            elements=Elements(training.value_bytes, training.gradient_bytes, training.optimizer_bytes),
            tied_parameters=parts.tied_parameters,
            memory_bytes=file.memory_bytes or file.compute.memory_bytes,
            servers=parallel.servers,
            asynchronous=parallel.asynchronous,
        )
        self._check_schedule(plan)
        if parallel.overlap_tensor:
            _check_weights_follow(plan)
        return plan

    def _check_schedule(self, plan: TrainingPlan) -> None:
        """Raise InputError, with file, line and key, if the schedule asks for other numbers of parts or batches."""
        first = Position(0, plan.degrees.pipeline, plan.virtual_stages, plan.micro_batches)
        try:
            order_of(plan.schedule, first)
        except InputError as error:
            path = ("parallel", "virtual_stages" if plan.schedule in SCHEDULES else "schedule")
            if plan.schedule == "interleaved" and plan.virtual_stages > 1:
                path = ("training", "micro_batches" if self.file.training.global_batch is None else "global_batch")
            raise wrong(f"key '{'.'.join(path)}': {error}", _place(self.source, path)) from error

    def clock(self) -> Clock:
        """How long operations take; raises InputError if the file names a device or table that can't tell."""
        return clock_of(self.file.compute, self.file.training.datatype, self.compute_scale, self.source)

    def totals(self) -> Totals:
        """The whole model's parameters and operations."""
        return totals_of(self.file)

    def warnings(self, npus: int) -> tuple[str, ...]:
        """What a user should know about how the model is cut, and which times are guessed."""
        with named(self.source):
            degrees = degrees_of(self.file.parallel, npus, self.source)
            layers = len(parts_of(self.file, degrees).body)
        idle = keys_without_effect(self.file, degrees)
        without_effect = (f"{self.source}: without effect: {', '.join(idle)}",) if idle else ()
        guessed = guesses(self.file.compute, self.plan(npus).operations(), self.source)
        return (*uneven_rest(layers, self.file.parallel, self.source), *guessed, *without_effect)

    def scaled(self, comm_scale: float = 1.0, compute_scale: float = 1.0) -> ModelWorkload:
        """Sizes of what is exchanged times the one, times of computations times the other."""
        check_scales(comm_scale, compute_scale)
        return replace(self, comm_scale=self.comm_scale * comm_scale, compute_scale=self.compute_scale * compute_scale)

    def document(self) -> dict[str, Any]:
        """The file as plain data, where it came from, and the model's totals."""
        totals = self.totals()
        return {
            "source": self.source,
            "loop": f"{self.file.kind} {self.file.parallel.schedule}",
            **self.file.document(),
            "parameters": totals.parameters,
            "active_parameters": totals.active_parameters,
            "flops_per_sample": totals.training_flops,
            "comm_scale": self.comm_scale,
            "compute_scale": self.compute_scale,
        }


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


def read_model(path: str | os.PathLike[str]) -> ModelWorkload:
    """Read a model file; raises InputError with file, line and key."""
    return ModelWorkload(read_model_file(path, SCHEDULES), os.fspath(path))
