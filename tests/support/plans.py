"""Small models and networks to plan, and what runs of all their choices take."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from astra_ns3.config.compute_slowdown import ComputeSlowdown
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.config.system import SystemConfig
from astra_ns3.experiments.inputs import Inputs, load_inputs
from astra_ns3.experiments.options import Options
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.run import execute
from astra_ns3.frozen import dataclass
from astra_ns3.planning.bounds import Bound, Bounds
from astra_ns3.planning.degrees import Choice, Space, space_of
from astra_ns3.planning.request import PlanRequest
from astra_ns3.system.file import parse_system
from astra_ns3.workload.models.changes import changed
from astra_ns3.workload.models.workload import ModelWorkload
from support.models import model_of

SWITCH = {"buffer": "32MiB", "pfc": {}}
_COLLECTIVES = ("all-reduce", "reduce-scatter", "all-gather")


def small_llama(model: Mapping[str, Any] | None = None, **keys: Any) -> ModelWorkload:
    """A small transformer that is trained on ``samples`` an iteration."""
    training = {"sequence": 256, "global_batch": keys.pop("samples", 8)}
    shape = {"layers": 4, "hidden": 256, "heads": 4, "vocabulary": 1000, **(model or {})}
    return model_of(
        {"kind": "transformer", "name": "small", "model": shape, "training": training, "compute": "H100", **keys}
    )


def rings(dimensions: int = 1, **keys: Any) -> SystemConfig:
    """A system of rings."""
    names = {f"{kind}-implementation": ["ring"] * dimensions for kind in _COLLECTIVES}
    usual = {"scheduling-policy": "LIFO", "preferred-dataset-splits": 1}
    return parse_system({**usual, **names, "all-to-all-implementation": ["direct"] * dimensions, **keys})


def one_switch(npus: int, rate: str = "400Gbps") -> NetworkConfig:
    """NPUs on a switch."""
    link = {"rate": rate, "delay": "500ns"}
    topology = {"kind": "single-switch", "npus": npus, "link": link, "switch": SWITCH}
    return parse_network({"topology": topology, "transport": {"kind": "roce", "payload": 4096}})


def servers(nodes: int, npus: int, planes: int = 1, nics: int | None = None) -> NetworkConfig:
    """Servers of NPUs on a switch."""
    inside = {"planes": planes, "link": {"rate": "900Gbps", "delay": "25ns"}, "switch": SWITCH}
    outside = {"kind": "single-switch", "link": {"rate": "100Gbps", "delay": "500ns"}, "switch": SWITCH}
    topology = {"kind": "hierarchical", "nodes": nodes, "npus_per_node": npus, "scale_up": inside, "scale_out": outside}
    shared = {} if nics is None else {"nics_per_node": nics}
    return parse_network({"topology": {**topology, **shared}, "transport": {"kind": "roce", "payload": 4096}})


def copies_alone(folder: Path, rate: str = "100Gbps") -> PlanRequest:
    """Four copies of a model on a switch, which ZeRO's stages and recomputing tell apart; its files are written."""
    shape = {"layers": 4, "hidden": 1024, "heads": 8, "vocabulary": 8000}
    training = {"sequence": 1024, "global_batch": 16}
    model = {"kind": "transformer", "name": "small", "model": shape, "training": training, "compute": "H100"}
    held = {"parallel.tensor": 1, "parallel.context": 1, "parallel.pipeline": 1, "training.micro_batch": 4}
    for name, data in (("model", model), ("network", one_switch(4, rate).document())):
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(data), encoding="utf-8")
    files = (folder / "model.yaml", folder / "network.yaml")
    return PlanRequest(*files, output=folder / "out", held=held, packets=0, jobs=1, cpu_seconds=None)


@dataclass(frozen=True)
class Case:
    """A model to plan on a network."""

    workload: ModelWorkload
    system: SystemConfig
    network: NetworkConfig
    slowdown: ComputeSlowdown | None = None

    @property
    def space(self) -> Space:
        """All choices."""
        return space_of(self.workload, self.network.npus)

    def choices(self, space: Space) -> list[Choice]:
        """Return every choice."""
        layers = space.workload.totals().layers
        cells = (cell for shape in space.shapes for cell in space.cells(shape))
        return [choice for cell in cells for choice in space.choices(cell, layers)]

    def inputs(self, space: Space) -> Inputs:
        """Return the inputs of a run of some choice."""
        first = changed(space.workload, self.choices(space)[0].keys)
        return load_inputs(first, self.system, self.network, Options(backend="flow", compute_slowdown=self.slowdown))

    def bounds(self, space: Space) -> list[Bound]:
        """Return bounds on all choices."""
        inputs = self.inputs(space)
        workload = inputs.workload
        assert isinstance(workload, ModelWorkload)
        return list(Bounds(space, workload.plan(space.npus), inputs).all())

    def times_ps(self, space: Space, choices: Iterable[Choice], passes: int = 1) -> dict[Choice, int]:
        """Return what runs of choices take as flows, in this process; ``passes``: iterations of each."""
        found = {}
        for choice in choices:
            workload = changed(space.workload, choice.keys)
            request = RunRequest(
                workload=workload,
                system=self.system,
                network=self.network,
                backend="flow",
                compute_slowdown=self.slowdown,
                passes=passes,
                isolated=False,
            )
            outcome = execute(request, aloud=False)
            assert outcome.error is None
            found[choice] = outcome.result.finish_ps
        return found


def drawn_case(seed: int, most: int | None = None) -> Case:
    """A case that chance draws; ``most``: choices that it has at most."""
    rng = random.Random(seed)
    while True:
        case = _drawn(rng)
        if most is None or len(case.choices(case.space)) <= most:
            return case


def _drawn(rng: random.Random) -> Case:
    heads = rng.choice([2, 4])
    shape: dict[str, Any] = {
        "layers": rng.choice([1, 2, 3, 4]),
        "hidden": rng.choice([256, 512]),
        "heads": heads,
        "kv_heads": rng.choice([heads, heads // 2]),
        "vocabulary": rng.choice([1000, 8000]),
        "gated": rng.random() < 0.5,
        "tied_embeddings": rng.random() < 0.3,
    }
    if rng.random() < 0.2:
        shape["experts"] = {"count": 4, "active": 2, "feed_forward": 256}
    parallel: dict[str, Any] = {"overlap": rng.random() < 0.8}
    if rng.random() < 0.3:
        parallel["bucket"] = rng.choice(["1MiB", "8MiB"])
    if rng.random() < 0.3:
        parallel["keep_gathered"] = True
    if rng.random() < 0.3:
        parallel["context_by"] = "all-gather"
    workload = small_llama(shape, samples=rng.choice([1, 2, 4]), parallel=parallel)
    two = rng.random() < 0.4
    rate = rng.choice(["50Gbps", "400Gbps"])
    network = servers(2, 2, rng.choice([1, 2])) if two else one_switch(rng.choice([2, 4]), rate)
    return Case(workload, _drawn_system(rng, 1 + two), network)


def _drawn_system(rng: random.Random, dimensions: int) -> SystemConfig:
    algorithm = rng.choice(["ring", "direct", "halvingDoubling", "doubleBinaryTree"])
    halves = "ring" if algorithm == "doubleBinaryTree" else algorithm
    keys: dict[str, Any] = {
        "scheduling-policy": rng.choice(["LIFO", "FIFO"]),
        "preferred-dataset-splits": rng.choice([1, 2, 4]),
        "active-chunks-per-dimension": rng.choice([1, 2]),
        "collective-optimization": rng.choice(["localBWAware", "baseline"]),
        "endpoint-delay": rng.choice([0, 10]),
        "all-reduce-implementation": [algorithm] * dimensions,
        "reduce-scatter-implementation": [halves] * dimensions,
        "all-gather-implementation": [halves] * dimensions,
    }
    return rings(dimensions, **keys)
