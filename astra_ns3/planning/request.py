"""The request for a plan: which model on which network, and how far to go; and the study that plays its choices."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path

from astra_ns3.config.core.document import Document
from astra_ns3.config.core.model import validated
from astra_ns3.config.core.plain import Json, JsonObject
from astra_ns3.config.network.analytical_network import AnalyticalNetwork
from astra_ns3.config.network.file import AnyNetwork, read_network_file
from astra_ns3.errors import refuse
from astra_ns3.experiments.request import RunRequest
from astra_ns3.frozen import dataclass, field
from astra_ns3.planning.degrees import Choice
from astra_ns3.planning.usual_system import usual_system
from astra_ns3.studies.expansion import Expansion, expand
from astra_ns3.studies.file import Study, StudyConfig
from astra_ns3.workload.models.workload import ModelWorkload

Given = str | os.PathLike[str]
USUAL_CPU_SECONDS = 480.0
"""CPU time that playing may take."""
_RESULTS = Path("results")
_PART, _AXIS = "plans", "plan"
_BASE = "as the file has it"
_SCALES = ("scale", "comm_scale", "compute_scale")


@dataclass(frozen=True)
class PlanRequest:
    """A plan that is asked for.

    ``system`` None: rings in each dimension, all-to-alls directly, one chunk, dimensions by what each carries.
    ``changes``: options of a run and keys of its files, as a study's base has them. ``samples``: of an iteration, None:
    as the model's file has them. ``held``: keys of the model's file that aren't chosen, and their values.
    ``cpu_seconds``: of all choices that are played, None: no limit. ``jobs``: at once, None: one for each core.
    """

    model: Given
    network: Given
    system: Given | None = None
    output: Given | None = None
    changes: Mapping[str, Json] = field(default_factory=dict)
    samples: int | None = None
    held: Mapping[str, Json] = field(default_factory=dict)
    cpu_seconds: float | None = USUAL_CPU_SECONDS
    jobs: int | None = None

    @cached_property
    def folder(self) -> Path:
        """Return where results go; ``results/plan-MODEL-NETWORK`` unless one is named."""
        if self.output is not None:
            return Path(self.output)
        return _RESULTS / f"plan-{Path(self.model).stem}-{Path(self.network).stem}"

    @cached_property
    def base(self) -> RunRequest:
        """Return the run of the model as its file has it; it may not fit. Raises InputError for what isn't a model."""
        (point,) = self._expand({_BASE: {}}).points
        request = point.request
        refuse(
            not isinstance(request.workload, ModelWorkload),
            "no model file; expected one: other workloads have no degrees to plan",
            os.fspath(self.model),
        )
        for name in _SCALES:
            found = getattr(request, name)
            refuse(found != 1, f"{name} is {found:g}, expected 1: bounds are those of the model as it is")
        return request

    @property
    def workload(self) -> ModelWorkload:
        """Return the model."""
        workload = self.base.workload
        assert isinstance(workload, ModelWorkload)
        return workload

    @property
    def npus(self) -> int:
        """Return the number of NPUs."""
        network = self.base.network
        assert not isinstance(network, (str, os.PathLike))
        return network.npus

    def expansion(self, choices: Iterable[Choice]) -> Expansion:
        """Return a study that plays some choices."""
        keys = {each.name: {f"workload.{key}": value for key, value in each.keys.items()} for each in choices}
        return self._expand(keys)

    def _expand(self, plans: Mapping[str, JsonObject]) -> Expansion:
        data: dict[str, Json] = {
            "title": f"Plans of {Path(self.model).stem} on {Path(self.network).stem}",
            "base": {**self._files(), **self._of_samples(), **self.changes},
            "parts": {_PART: {"axes": {_AXIS: dict(plans)}}},
        }
        document = Document("plan", data)
        return expand(Study(validated(StudyConfig, document), document, Path.cwd()))

    def _files(self) -> dict[str, Json]:
        network = os.fspath(self.network)
        system: Json = usual_system(len(self._network.dimensions)) if self.system is None else os.fspath(self.system)
        return {"workload": os.fspath(self.model), "system": system, "network": network, "backend": self._backend}

    def _of_samples(self) -> dict[str, Json]:
        if self.samples is None:
            return {}
        return {"workload.training.micro_batches": None, "workload.training.global_batch": self.samples}

    @cached_property
    def _network(self) -> AnyNetwork:
        return read_network_file(self.network).network

    @cached_property
    def _backend(self) -> str:
        return "analytical-queues" if isinstance(self._network, AnalyticalNetwork) else "flow"
