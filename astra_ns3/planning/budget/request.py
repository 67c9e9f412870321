"""The request for a budget: which workloads on which network, what it costs, and how far to go."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from math import inf
from pathlib import Path

from astra_ns3.config.core.document import Document
from astra_ns3.config.core.model import validated
from astra_ns3.config.core.plain import Json
from astra_ns3.config.network.file import read_network_file
from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.config.prices import PricesConfig, PricesFile, read_prices
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import refuse, wrong
from astra_ns3.experiments.request import RunRequest
from astra_ns3.frozen import dataclass, field, replace
from astra_ns3.planning.usual_limits import USUAL_BUDGET_SECONDS
from astra_ns3.planning.usual_system import usual_system
from astra_ns3.studies.expansion import Expansion, expand
from astra_ns3.studies.file import Study, StudyConfig
from astra_ns3.studies.keys import check_changes
from astra_ns3.units import counted, format_bytes
from astra_ns3.workload.memory.peaks import memory_of
from astra_ns3.workload.models.workload import ModelWorkload

Given = str | os.PathLike[str]
_RESULTS = Path("results")
_MOST_WEIGHT = 1e9
_PART, _AXIS = "workloads", "workload"
_NOT_OF_A_BUDGET = {
    "backend": "splits are played as flows, expected no other backend",
    "passes": "a split is played for one iteration of each workload; --weights has how many of each count",
}


@dataclass(frozen=True)
class BudgetRequest:
    """A budget that is asked for.

    ``weights``: how many iterations of each workload count together, empty: one of each. ``system`` None: the usual
    one. ``budget``: instead of the prices' own. ``changes``: options of a run and keys of its files, as a study's base
    has them. ``wall_seconds``: of all runs, None: no limit.
    """

    prices: Given
    network: Given
    workloads: Sequence[Given]
    weights: Sequence[float] = ()
    system: Given | None = None
    output: Given | None = None
    budget: float | None = None
    changes: Mapping[str, Json] = field(default_factory=dict)
    wall_seconds: float | None = USUAL_BUDGET_SECONDS

    @cached_property
    def folder(self) -> Path:
        """Return where results go; ``results/budget-PRICES-NETWORK`` unless one is named."""
        if self.output is not None:
            return Path(self.output)
        return _RESULTS / f"budget-{Path(self.prices).stem}-{Path(self.network).stem}"

    @cached_property
    def prices_file(self) -> PricesFile:
        """Return the file of prices."""
        found = read_prices(self.prices)
        if self.budget is None:
            return found
        refuse(not 0 < self.budget < inf, f"budget is {self.budget:g}, expected an amount above 0")
        return replace(found, config=found.config.model_copy(update={"budget": self.budget}))

    @property
    def config(self) -> PricesConfig:
        """Return the prices."""
        return self.prices_file.config

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return a name for each workload: its file's, with a number where two have the same."""
        stems = [Path(each).stem for each in self.workloads]
        return tuple(
            stem if stems.count(stem) == 1 else f"{stem}-{number}" for number, stem in enumerate(stems, start=1)
        )

    @cached_property
    def weight_of_each(self) -> tuple[float, ...]:
        """Return how many iterations of each workload count; raises InputError if there are more or fewer weights."""
        weights = tuple(self.weights) or (1.0,) * len(self.workloads)
        refuse(
            len(weights) != len(self.workloads),
            f"found {counted(len(weights), 'weight')} for {len(self.workloads)} workloads, expected one for each",
        )
        refuse(
            not all(0 < weight <= _MOST_WEIGHT for weight in weights),
            f"weights are {list(weights)}, expected numbers above 0, at most {_MOST_WEIGHT:g}",
        )
        return weights

    @cached_property
    def expansion(self) -> Expansion:
        """Return a point for each workload; raises InputError for what can't be played."""
        refuse(not self.workloads, "no workload is named, expected at least one")
        document = Document("budget", self._study())
        found = expand(Study(validated(StudyConfig, document), document, Path.cwd()))
        for point in found.points:
            _check_fits(point.request, _network_of(point.request).npus)
        return found

    @property
    def runs(self) -> tuple[RunRequest, ...]:
        """Return the run of each workload on the network as its file has it; raises InputError for what can't be."""
        return tuple(point.request for point in self.expansion.points)

    @property
    def network_config(self) -> NetworkConfig:
        """Return the network."""
        return _network_of(self.runs[0])

    @property
    def system_config(self) -> SystemConfig:
        """Return the system as it is played."""
        system = self.runs[0].system
        assert isinstance(system, SystemConfig)
        return system

    def _study(self) -> dict[str, Json]:
        network = read_network_file(self.network).network
        if not isinstance(network, NetworkConfig):
            raise wrong(
                "is an analytical network, on which no flow plays; expected a network file with "
                "'topology: {kind: file, path: ...}', which reads it",
                os.fspath(self.network),
            )
        system: Json = usual_system(len(network.dimensions)) if self.system is None else os.fspath(self.system)
        axis: dict[str, Json] = {
            name: {"workload": os.fspath(path)} for name, path in zip(self.names, self.workloads, strict=True)
        }
        check_changes(self.changes, _NOT_OF_A_BUDGET)
        base: dict[str, Json] = {"system": system, "network": os.fspath(self.network), "backend": "flow"}
        return {
            "title": f"A budget for {Path(self.network).stem}",
            "base": {**base, **self.changes},
            "parts": {_PART: {"axes": {_AXIS: axis}}},
        }


def _network_of(run: RunRequest) -> NetworkConfig:
    assert isinstance(run.network, NetworkConfig)
    return run.network


def _check_fits(run: RunRequest, npus: int) -> None:
    """Raise InputError for a model whose degrees don't cut it over the NPUs, or that needs more memory than one has."""
    workload = run.workload
    if not isinstance(workload, ModelWorkload):
        return
    needed = max(stage.peak.usage.total_bytes for stage in memory_of(workload.plan(npus)))
    capacity = workload.file.memory_bytes or workload.file.compute.memory_bytes
    refuse(
        capacity is not None and needed > capacity,
        f"needs {format_bytes(needed)} on an NPU of {format_bytes(capacity or 0)}, expected degrees that fit: "
        "astra-ns3 plan finds them",
        workload.source,
    )
