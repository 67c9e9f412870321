"""Random models by their numbers: small transformers, cut in every way that fits the dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import yaml

from soak.draw import Draw

Drawn = dict[str, Any]
WORD = "kind:"
"""What a model's text begins with."""


def model_text(draw: Draw, dimensions: Sequence[int]) -> str:
    """A transformer in YAML, whose groups are whole dimensions, since not every algorithm can do a part of one."""
    strides = [prod(dimensions[:place]) for place in range(len(dimensions) + 1)]
    stage = draw.pick(*strides)
    tensor, inside = sorted(draw.pick(*(stride for stride in strides if stride <= stage)) for _ in range(2))
    shares = [stride // tensor for stride in strides if tensor <= stride <= stage]
    pipeline = strides[-1] // stage
    parallel = _parallel(draw, tensor, inside // tensor, pipeline, stage // tensor)
    model: Drawn = {
        "layers": pipeline * parallel["virtual_stages"] * draw.randint(1, 2),
        "hidden": 16 * tensor * (inside // tensor),
        "heads": tensor * (inside // tensor) * draw.pick(1, 2),
        "vocabulary": 64 * tensor,
        **draw.some(0.4, gated=True, tied_embeddings=True, biases=True, dropout=True, fused_attention=False),
    }
    if draw.chance(0.4):
        parallel["expert"] = draw.pick(*shares)
        model["experts"] = _experts(draw, parallel["expert"], 16 * tensor)
    if draw.chance(0.1):
        parallel = {"servers": 1, "asynchronous": draw.chance(0.5)}
        model["experts"] = None
    training = {
        "sequence": 16 * tensor * (inside // tensor),
        "micro_batches": pipeline * draw.randint(1, 2),
        "recompute": draw.pick("none", "selective", "full"),
    }
    file = {
        "kind": "transformer",
        "name": "soak",
        "model": {key: each for key, each in model.items() if each is not None},
    }
    return yaml.safe_dump({**file, "training": training, "parallel": parallel}, sort_keys=False)


def _parallel(draw: Draw, tensor: int, context: int, pipeline: int, copies: int) -> Drawn:
    """``copies``: NPUs with the same weights."""
    schedules = ("1f1b", "gpipe", "zero-bubble", "interleaved") if pipeline > 1 else ("1f1b", "gpipe", "zero-bubble")
    schedule = draw.pick(*schedules)
    found: Drawn = {
        "tensor": tensor,
        "context": context,
        "pipeline": pipeline,
        "schedule": schedule,
        "virtual_stages": 2 if schedule == "interleaved" else 1,
        "zero": draw.randrange(4),
    }
    if tensor > 1:
        found |= draw.some(0.5, sequence=True)
        found |= {} if schedule == "zero-bubble" else draw.some(0.5, overlap_tensor=True)
    if context > 1:
        found["context_by"] = draw.pick("ring", "all-gather", "all-to-all")
    if copies > 1:
        found |= draw.some(0.3, bucket=draw.pick("1KB", "64KB"), overlap=False)
    if found["zero"] == 3:
        found |= draw.some(0.3, prefetch=draw.randrange(3), keep_gathered=True)
    return found


def _experts(draw: Draw, places: int, width: int) -> Drawn:
    count = places * draw.randint(1, 3) + (places == 1)
    found: Drawn = {"count": count, "active": draw.randint(1, min(2, count)), "feed_forward": width}
    if draw.chance(0.4):
        found |= {"routing": "zipf", "skew": draw.pick(0.5, 1.2), "seed": draw.randint(1, 9)}
    return found
