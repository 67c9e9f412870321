"""Training loops with numbers made at random, as the files of ASTRA-sim 1.0 and as its oracle takes them."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path

from oracles.astra_sim import A2A, AG, AR, NONE, RS, Dimension, Layer, Outcome, Part, Play, System, Tie, Workload

from support.measured import Files, network_keys

LOOPS = (
    "DATA",
    "MODEL",
    "HYBRID_DATA_MODEL",
    "HYBRID_MODEL_DATA",
    "HYBRID_CUSTOMIZED",
    "HYBRID_DLRM",
    "HYBRID_TRANSFORMER",
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD",
    "DISTRIBUTED_INFERENCE",
)
LAYER_LOOPS = ("DATA", "MODEL", "HYBRID_DATA_MODEL", "HYBRID_MODEL_DATA")
MOST_DRAWS = 100
LARGE_SHARE = 0.3
"""Of runs whose messages are so large that reducing them takes time; these have rings only."""


@dataclass(frozen=True)
class LoopRun:
    """A run, and what comes out of it by the rules."""

    system: System
    workload: Workload
    passes: int
    outcome: Outcome

    def write(self, folder: Path) -> Files:
        """Its files."""
        files = Files(*(folder / name for name in ("workload.txt", "system.txt", "network.json")))
        files.workload.write_text(_workload_text(self), encoding="utf-8")
        files.system.write_text(_system_text(self.system), encoding="utf-8")
        files.network.write_text(json.dumps(network_keys(_network_words(self.system))), encoding="utf-8")
        return files


def loop_run(loop: str, seed: int) -> LoopRun:
    """A run of a loop without ties, the first that is drawn."""
    draw = random.Random(f"{loop} {seed}")
    for _ in range(MOST_DRAWS):
        large = draw.random() < LARGE_SHARE
        system, workload, passes = _system(draw, large), _workload(draw, loop, large), draw.randint(1, 3)
        try:
            return LoopRun(system, workload, passes, Play(system, workload, passes).run())
        except Tie:
            continue
    raise AssertionError(f"{MOST_DRAWS} cases of {loop} have ties")


def _system(draw: random.Random, large: bool) -> System:
    sizes = draw.choice([(4, 2), (2, 3, 2), (3, 4), (4, 2, 3)])
    dimensions = tuple(
        Dimension(
            topology := draw.choice(["Ring", "Switch"]),
            npus,
            draw.choice([2, 3, 4]),
            draw.choice([12.5, 25, 50]),
            draw.randint(1, 900),
            draw.randint(0, 50) if topology == "Switch" else 0,
            "ring" if large or topology == "Ring" else draw.choice(["ring", "direct"]),
        )
        for npus in sizes
    )
    policy = draw.choice(["LIFO", "FIFO"])
    return System(dimensions, draw.randint(2, 6), draw.randint(1, 3), draw.randint(1, 40), policy, draw.random() < 0.3)


def _workload(draw: random.Random, loop: str, large: bool) -> Workload:
    count = draw.randint(3, 6)
    bottom = draw.randint(1, count - 2)
    layers = [_layer(draw, loop, number, large) for number in range(count)]
    again = loop == "HYBRID_TRANSFORMER_FWD_IN_BCKWD"
    return Workload(
        loop,
        tuple(layers),
        bottom=bottom,
        model=draw.randint(0, 1),
        checkpoints=(0, bottom) if again else (),
        initiates=(count - 1, bottom) if again else (),
    )


def _layer(draw: random.Random, loop: str, number: int, large: bool) -> Layer:
    def part(kinds: tuple[str, ...]) -> Part:
        kind = draw.choice(kinds)
        bytes = draw.randint(20_000, 1_000_000) * (20 if large else 1)
        return Part(draw.randint(1, 40_000), kind, bytes if kind != NONE else 0)

    any_kind = (AR, RS, AG, A2A, NONE)
    exchange = any_kind if loop not in ("DATA", "HYBRID_DLRM") else (NONE,)
    if loop == "HYBRID_DLRM" and number == 0:
        exchange = (A2A,)
    policy = draw.choice(LAYER_LOOPS) if loop == "HYBRID_CUSTOMIZED" else ""
    return Layer(part(exchange), part(exchange), part(any_kind), draw.randint(0, 300), policy)


def _workload_text(run: LoopRun) -> str:
    workload = run.workload
    words = [workload.loop]
    if workload.loop == "HYBRID_DLRM":
        words.append(str(workload.bottom))
    if workload.loop.startswith("HYBRID_TRANSFORMER"):
        npus = 1
        for dimension in run.system.dimensions[: workload.model]:
            npus *= dimension.npus
        words += ["model_parallel_NPU_group:", str(npus)]
    for name, numbers in (("checkpoints", workload.checkpoints), ("checkpoint_initiates", workload.initiates)):
        if numbers:
            words += [f"{name}:", str(len(numbers)), *map(str, numbers)]
    lines = [" ".join(words), str(len(workload.layers))]
    for number, layer in enumerate(workload.layers):
        parts = (layer.part(name) for name in "fiw")
        columns = " ".join(f"{part.compute_ns} {part.kind} {part.bytes}" for part in parts)
        lines.append(f"layer{number} -1 {columns} {layer.update_ns} {layer.policy}".rstrip())
    return "\n".join(lines) + "\n"


def _system_text(system: System) -> str:
    algorithms = "_".join(dimension.algorithm for dimension in system.dimensions)
    kinds = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")
    keys = {
        "scheduling-policy": system.policy,
        "endpoint-delay": system.endpoint_ns,
        "active-chunks-per-dimension": system.active,
        "preferred-dataset-splits": system.splits,
        **{f"{kind}-implementation": algorithms for kind in kinds},
        "collective-optimization": "baseline" if system.baseline else "localBWAware",
    }
    return "".join(f"{key}: {value}\n" for key, value in keys.items())


def _network_words(system: System) -> dict[str, str]:
    """A row of network columns, an entry for each dimension."""
    columns = {
        "topology": "topology",
        "npus": "npus",
        "links": "links",
        "bandwidth_gib": "gib",
        "latency_ns": "latency_ns",
        "router_latency_ns": "router_ns",
    }
    return {
        name: " ".join(str(getattr(dimension, attribute)) for dimension in system.dimensions)
        for name, attribute in columns.items()
    }
