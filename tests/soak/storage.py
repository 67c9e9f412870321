"""Random storage hosts and remote memories, and models that store there."""

from __future__ import annotations

from typing import Any

import yaml

from astra_ns3.errors import InputError
from astra_ns3.topology.graph import Graph
from astra_ns3.workload.models.workload import ModelWorkload
from soak import models
from soak.draw import Draw
from soak.jobs import read_text
from soak.topologies import RATES

Drawn = dict[str, Any]


def draw_storage(draw: Draw, topology: Drawn, graph: Graph) -> None:
    """Have a topology storage hosts."""
    outside = any(graph.is_outside(node) for node in range(graph.nodes))
    topology["storage"] = {
        "per": draw.pick("node", "rack", "fabric") if outside else "node",
        "count": draw.randint(1, 3),
        "link": {"rate": draw.pick(*RATES), "delay": draw.pick("0ns", "100ns", "1us")},
    }


def draw_beyond(draw: Draw, text: str, system: Drawn, npus: int, *, reduces: bool) -> str:
    """Have a model store on storage hosts, or in remote memory, what it may; any other workload as it is.

    ``system`` gets the remote memory; ``reduces``: whether switches do.
    """
    if not text.startswith(models.WORD):
        return text
    model: Drawn = yaml.safe_load(text)
    parallel: Drawn = model["parallel"]
    if parallel.get("servers"):
        return text
    parts = ["optimizer"]
    if parallel.get("schedule") != "zero-bubble":
        parts += ["activations", "weights"]
    model["offload"] = draw.some(0.5, **{part: {"prefetch": draw.randrange(3)} for part in parts})
    for part in model["offload"].values():
        part |= draw.some(0.2, to="remote")
    if any("to" in part for part in model["offload"].values()):
        kind = draw.pick("PER_NPU_MEMORY_EXPANSION", "PER_NODE_MEMORY_EXPANSION", "MEMORY_POOL")
        system["remote-memory"] = {
            "memory-type": kind,
            "remote-mem-latency": draw.pick(0, 200, 5000),
            "remote-mem-bw": draw.pick(1, 40, 1000),
            "num-npus-per-node": draw.randint(1, 4),
        }
    every = draw.pick(1, 2, f"{draw.randint(1, 500)}us")
    model |= draw.some(0.7, checkpoint={"every": every, "mode": draw.pick("synchronous", "behind")})
    found = yaml.safe_dump(model, sort_keys=False)
    if not (reduces and draw.chance(0.7)):
        return found
    rest = {part: keys for part, keys in model["offload"].items() if part == "activations"}
    pooled: Drawn = {**model, "offload": {"optimizer": {"reduce": "in-network"}, **rest}}
    pooled["parallel"] = {key: value for key, value in parallel.items() if key != "zero"}
    return _if_it_fits(yaml.safe_dump(pooled, sort_keys=False), npus) or found


def _if_it_fits(text: str, npus: int) -> str | None:
    """Return the text of a model, unless some weights have one copy."""
    workload = read_text(text)
    assert isinstance(workload, ModelWorkload)
    try:
        workload.plan(npus)
    except InputError as error:
        if "nobody else's" not in str(error):
            raise
        return None
    return text
