"""Random storage hosts, and models that store there."""

from __future__ import annotations

from typing import Any

import yaml

from astra_ns3.topology.graph import Graph
from soak import models
from soak.draw import Draw
from soak.topologies import RATES

Drawn = dict[str, Any]


def draw_storage(draw: Draw, topology: Drawn, graph: Graph) -> None:
    """Have a topology storage hosts."""
    outside = any(level >= 1 for level in graph.switch_levels or (1,) * graph.switches)
    topology["storage"] = {
        "per": draw.pick("node", "rack", "fabric") if outside else "node",
        "count": draw.randint(1, 3),
        "link": {"rate": draw.pick(*RATES), "delay": draw.pick("0ns", "100ns", "1us")},
    }


def draw_beyond(draw: Draw, text: str) -> str:
    """Have a model store on storage hosts what it may; any other workload as it is."""
    if not text.startswith(models.WORD):
        return text
    model: Drawn = yaml.safe_load(text)
    parallel: Drawn = model["parallel"]
    if parallel.get("servers"):
        return text
    parts = ["optimizer"]
    if parallel.get("schedule") != "zero-bubble":
        parts += ["activations", *(["weights"] if not parallel.get("zero") else [])]
    model["offload"] = draw.some(0.5, **{part: {"prefetch": draw.randrange(3)} for part in parts})
    model |= draw.some(0.7, checkpoint={"every": draw.randint(1, 2), "mode": draw.pick("synchronous", "behind")})
    return yaml.safe_dump(model, sort_keys=False)
