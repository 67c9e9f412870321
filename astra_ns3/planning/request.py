"""The request for a plan: which model on which network, and how far to go; and the study that plays its choices."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path

from astra_ns3.config.core.document import Document, KeyPath
from astra_ns3.config.core.model import validated
from astra_ns3.config.core.plain import Json, JsonObject
from astra_ns3.config.formats.kinds import MODEL, told_apart
from astra_ns3.config.network.analytical_network import AnalyticalNetwork
from astra_ns3.config.network.file import AnyNetwork, read_network_file
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import InputError, refuse, wrong
from astra_ns3.experiments.request import RunRequest
from astra_ns3.frozen import dataclass, field
from astra_ns3.planning.degrees import Choice
from astra_ns3.planning.iterations import ITERATIONS
from astra_ns3.planning.usual_limits import USUAL_CPU_SECONDS, USUAL_PACKET_SECONDS
from astra_ns3.planning.usual_system import usual_system
from astra_ns3.studies.expansion import Expansion, expand
from astra_ns3.studies.file import Study, StudyConfig
from astra_ns3.studies.keys import check_changes
from astra_ns3.workload.models.workload import ModelWorkload

Given = str | os.PathLike[str]
FLOWS, PACKETS = "flow", "ns3"
AXIS, BACKEND = "plan", "backend"
"""The axes of the study that plays plans."""
_RESULTS = Path("results")
PASSES_AXIS = "passes"
PART, NEXT_PART, PACKETS_PART = "plans", "iterations", "packets"
"""The parts of the study that plays plans: as flows, some for two iterations, the best on packets beside flows."""
_STUDY = "plan"
_NAMED_LINE = re.compile(rf"\b{_STUDY}(?::(\d+))?: (?:(key ')base\.)?")
_BASE = "as the file has it"
_ENDINGS = (".yaml", ".yml", ".json")
_NO_MODEL = (
    "is no model file, and other workloads have no degrees to plan; expected a file as in inputs/workload/models, "
    "or as 'astra-ns3 generate workload config.json -o model.yaml' makes it"
)
_SCALES = ("scale", "comm_scale", "compute_scale")


@dataclass(frozen=True)
class PlanRequest:
    """A plan that is asked for.

    ``system`` None: rings in each dimension, all-to-alls directly, one chunk, dimensions by what each carries.
    ``changes``: options of a run and keys of its files, as a study's base has them. ``samples``: of an iteration, None:
    as the model's file has them. ``held``: keys of the model's file that aren't chosen, and their values.
    ``cpu_seconds``: of all choices that are played, None: no limit. ``jobs``: at once, None: one for each core.
    ``packets``: how many of the best are played on packets as well, None: 3, of varied plans 0. ``packet_seconds``: CPU
    time that such a run may be forecast to take, None: no limit. ``places``: of keys of ``changes`` and ``held``.
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
    packets: int | None = None
    packet_seconds: float | None = USUAL_PACKET_SECONDS
    places: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def folder(self) -> Path:
        """Return where results go; ``results/plan-MODEL-NETWORK`` unless one is named."""
        if self.output is not None:
            return Path(self.output)
        return _RESULTS / f"plan-{Path(self.model).stem}-{Path(self.network).stem}"

    @property
    def files(self) -> tuple[Given | None, ...]:
        """Return the user's files; None: the usual system."""
        return self.model, self.network, self.system

    @cached_property
    def base(self) -> RunRequest:
        """Return the run of the model as its file has it; it may not fit. Raises InputError for what isn't a model."""
        check_changes(self.changes, {PASSES_AXIS: "a plan is of one iteration; the best are played for two as well"})
        refuse(Path(self.model).is_file() and Path(self.model).suffix.lower() not in _ENDINGS, _NO_MODEL, self.model)
        with told_apart(self.model, MODEL):
            (point,) = self._expand({_BASE: {}}).points
        request = point.request
        refuse(not isinstance(request.workload, ModelWorkload), _NO_MODEL, self.model)
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
    def system_config(self) -> SystemConfig | None:
        """Return the system if no file has it as it is played: the usual one, or one with changes."""
        system = self.base.system
        return system if isinstance(system, SystemConfig) else None

    @property
    def npus(self) -> int:
        """Return the number of NPUs."""
        network = self.base.network
        assert not isinstance(network, (str, os.PathLike))
        return network.npus

    @property
    def dimensions(self) -> tuple[int, ...]:
        """Return the sizes of the network's dimensions."""
        network = self.base.network
        assert not isinstance(network, (str, os.PathLike))
        return network.dimensions

    @property
    def has_packets(self) -> bool:
        """Return whether the network can be played on packets."""
        return not isinstance(self._network, AnalyticalNetwork)

    def expansion(
        self,
        choices: Iterable[Choice],
        on_packets: Mapping[Choice, Mapping[str, Json]] | None = None,
        longer: Iterable[Choice] = (),
    ) -> Expansion:
        """Return a study of some choices, of some changed further, on packets and as flows, and of two iterations."""
        sized = {each.name: {**_of_model(each.keys), **more} for each, more in (on_packets or {}).items()}
        two = {each.name: _of_model(each.keys) for each in longer}
        return self._expand({each.name: _of_model(each.keys) for each in choices}, sized, two)

    def _expand(
        self,
        plans: Mapping[str, JsonObject],
        sized: Mapping[str, JsonObject] | None = None,
        longer: Mapping[str, JsonObject] | None = None,
    ) -> Expansion:
        parts: dict[str, Json] = {PART: {"axes": {AXIS: dict(plans)}}} if plans else {}
        if longer:
            parts[NEXT_PART] = {"title": "Iterations", "axes": {AXIS: dict(longer), PASSES_AXIS: list(ITERATIONS)}}
        if sized:
            axes: dict[str, Json] = {AXIS: dict(sized), BACKEND: [FLOWS, PACKETS]}
            parts[PACKETS_PART] = {"title": "The best, whole or smaller, on packets and as flows", "axes": axes}
        data: dict[str, Json] = {
            "title": f"Plans of {Path(self.model).stem} on {Path(self.network).stem}",
            "base": {**self._files(), **self._of_samples(), **self.changes},
            "parts": parts,
        }
        lines: dict[KeyPath, int] = {("base", key): line for line, key in enumerate(self.changes, start=1)}
        document = Document(_STUDY, data, lines)
        try:
            return expand(Study(validated(StudyConfig, document), document, Path.cwd()))
        except InputError as error:
            raise wrong(_NAMED_LINE.sub(self._place, str(error))) from error

    def _place(self, found: re.Match[str]) -> str:
        """Return where the change stands that a line of the study is."""
        place = self.places.get(list(self.changes)[int(found[1]) - 1], "changes") if found[1] else ""
        return f"{place}: {found[2] or ''}" if place else found[2] or ""

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
        return FLOWS if self.has_packets else "analytical-queues"


def _of_model(keys: Mapping[str, Json]) -> dict[str, Json]:
    """Return keys of the model as a study names them."""
    return {f"workload.{key}": value for key, value in keys.items()}
