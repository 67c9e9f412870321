"""A model file as a workload: its plan on any number of NPUs.

The planner of a model is imported when a model is planned, so that other workloads start without it.
"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

from astra_ns3.config.core.scales import check_scales
from astra_ns3.frozen import dataclass, replace

if TYPE_CHECKING:
    from astra_ns3.config.model.file import ModelFile
    from astra_ns3.config.training_plan import TrainingPlan
    from astra_ns3.workload.computing.clock import Clock
    from astra_ns3.workload.models.parts import Totals


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
    def least_npus(self) -> int:
        """Number of NPUs of the smallest network that it fits on; raises InputError for a file that can't tell."""
        from astra_ns3.workload.models.recommendation.tables import least_data

        parallel = self.file.parallel
        if parallel.data != "auto":
            return parallel.copy_npus * parallel.data + parallel.servers
        sharing = parallel.expert // math.gcd(parallel.expert, parallel.context)
        return parallel.copy_npus * max(sharing, least_data(self.file)) + parallel.servers

    def plan(self, npus: int) -> TrainingPlan:
        """The training plan on ``npus`` NPUs; raises InputError, which names the file, if it can't be."""
        from astra_ns3.workload.models.planning import plan_of

        return plan_of(self.file, npus, self.source, self.comm_scale)

    def clock(self) -> Clock:
        """The clock of operations; raises InputError if the file names a device or table that can't tell."""
        from astra_ns3.workload.computing.clocks import clock_of

        return clock_of(self.file.compute, self.file.training.datatype, self.compute_scale, self.source)

    @property
    def loop(self) -> str:
        """Return the kind of model, with the order of its pipeline if it has one."""
        parallel = self.file.parallel
        return f"{self.file.kind} {parallel.schedule}" if parallel.pipeline > 1 else self.file.kind

    def totals(self) -> Totals:
        """The whole model's parameters and operations."""
        from astra_ns3.workload.models.model_kinds import MODEL_KINDS

        return MODEL_KINDS[self.file.kind].totals(self.file)

    def warnings(self, npus: int) -> tuple[str, ...]:
        """Warnings about how the model is cut, and which times are guessed."""
        from astra_ns3.workload.models.planning import warnings_of

        return warnings_of(self.file, self.plan(npus), npus)

    def scaled(self, comm_scale: float = 1.0, compute_scale: float = 1.0) -> ModelWorkload:
        """Sizes of what is exchanged times the one, times of computations times the other."""
        check_scales(comm_scale, compute_scale)
        return replace(self, comm_scale=self.comm_scale * comm_scale, compute_scale=self.compute_scale * compute_scale)

    def document(self) -> dict[str, Any]:  # the file's own keys, and numbers and words
        """The file as plain data, where it came from, and the model's totals."""
        totals = self.totals()
        return {
            "source": self.source,
            "loop": self.loop,
            **self.file.document(),
            "parameters": totals.parameters,
            "active_parameters": totals.active_parameters,
            "flops_per_sample": totals.training_flops,
            "comm_scale": self.comm_scale,
            "compute_scale": self.compute_scale,
        }


def read_model(path: str | os.PathLike[str]) -> ModelWorkload:
    """Read a model file; raises InputError with file, line and key."""
    from astra_ns3.config.model.file import read_model_file
    from astra_ns3.workload.training.schedules import SCHEDULES

    return ModelWorkload(read_model_file(path, SCHEDULES), os.fspath(path))
