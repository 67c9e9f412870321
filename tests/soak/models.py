"""Random models by their numbers: small ones of every kind, cut in every way that fits the dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import yaml

from soak.draw import Draw

Drawn = dict[str, Any]
GEMMS_DIVISOR = 128
"""Tensor groups that the table of products, which comes with the program, can be split over divide it."""
WORD = "kind:"
"""What a model's text begins with."""


def model_text(draw: Draw, dimensions: Sequence[int]) -> str:
    """A model in YAML, whose groups are whole dimensions, since not every algorithm can do a part of one."""
    weights = {"transformer": 5, "convolution": 1.5, "recurrent": 1.5, "dlrm": 1.5, "gemms": 1}
    return yaml.safe_dump(MODELS[draw.weighted(weights)](draw, dimensions), sort_keys=False)


def _transformer(draw: Draw, dimensions: Sequence[int]) -> Drawn:
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
        model["experts"] = _experts(draw, parallel["expert"], tensor)
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
    return {**file, "training": training, "parallel": parallel}


def _convolution(draw: Draw, dimensions: Sequence[int]) -> Drawn:
    residual = {"blocks": [1, draw.randint(1, 2)], "width": 16, **draw.some(0.4, bottleneck=False)}
    plain = {"convolutions": [[8, 8], [16] * draw.randint(1, 2)], "dense": [64, 32]}
    shape: Drawn = draw.pick({"residual": residual}, {"plain": plain})
    return _of_layers(draw, dimensions, "convolution", {"image": 32, "classes": 10, **shape}, fewest=5)


def _recurrent(draw: Draw, dimensions: Sequence[int]) -> Drawn:
    lengths = {"source_length": 8, "target_length": draw.pick(6, 8)}
    layers = {"encoder_layers": 2, "bidirectional_layers": draw.pick(1, 2), "decoder_layers": draw.randint(2, 3)}
    model = {"units": 64, "vocabulary": 128, **layers, **lengths}
    return _of_layers(draw, dimensions, "recurrent", model, fewest=4)


def _of_layers(draw: Draw, dimensions: Sequence[int], kind: str, model: Drawn, *, fewest: int) -> Drawn:
    """Copies, in stages where the model has layers enough for them, or with a server."""
    strides = [prod(dimensions[:place]) for place in range(len(dimensions) + 1)]
    stage = draw.pick(*(stride for stride in strides if strides[-1] // stride <= fewest))
    pipeline = strides[-1] // stage
    parallel = _parallel(draw, 1, 1, pipeline, stage)
    if pipeline * parallel["virtual_stages"] > fewest:
        parallel |= {"schedule": "1f1b", "virtual_stages": 1}
    if strides[-1] > 1 and draw.chance(0.1):
        parallel = {"servers": 1, "asynchronous": draw.chance(0.5)}
    return {
        "kind": kind,
        "name": "soak",
        "model": model,
        "training": {"micro_batch": draw.pick(1, 4), "micro_batches": pipeline * draw.randint(1, 2)},
        "parallel": parallel,
    }


def _dlrm(draw: Draw, dimensions: Sequence[int]) -> Drawn:
    """Tables are fewer than NPUs, as many, or more; each NPU can have columns of all."""
    columns = draw.pick(1, 2) * prod(dimensions)
    model = {
        "tables": draw.between(1, 40),
        "rows": 1000,
        "embedding": columns,
        "pooling": draw.pick(1, 8),
        "dense_features": 16,
        "bottom": [64, columns],
        "top": [64, 32, 1],
        "interaction": draw.pick("concatenation", "dot"),
        "placement": draw.pick("table", "row", "column"),
        **draw.some(0.4, sends_indices=True),
    }
    training = {"micro_batch": draw.pick(4, 64), "micro_batches": draw.randint(1, 2)}
    return {"kind": "dlrm", "name": "soak", "model": model, "training": training, "parallel": _sharing(draw)}


def _gemms(draw: Draw, dimensions: Sequence[int]) -> Drawn:
    strides = [prod(dimensions[:place]) for place in range(len(dimensions) + 1)]
    tensor = draw.pick(*(stride for stride in strides if GEMMS_DIVISOR % stride == 0))
    return {
        "kind": "gemms",
        "name": "soak",
        "model": {"table": "mlp-gemms.csv"},
        "training": {"micro_batches": draw.randint(1, 2)},
        "parallel": {"tensor": tensor, **_sharing(draw)},
    }


def _sharing(draw: Draw) -> Drawn:
    """Of gradients and weights among copies."""
    return {"zero": draw.randrange(4), **draw.some(0.3, bucket=draw.pick("1KB", "64KB"), overlap=False)}


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


def _experts(draw: Draw, places: int, tensor: int) -> Drawn:
    count = places * draw.randint(1, 3) + (places == 1)
    found: Drawn = {"count": count, "active": draw.randint(1, min(2, count)), "feed_forward": 16 * tensor}
    if draw.chance(0.4):
        found |= {"routing": "zipf", "skew": draw.pick(0.5, 1.2), "seed": draw.randint(1, 9)}
    if draw.chance(0.4):
        found["dispatch"] = draw.some(0.5, values="fp8", combine_values="bf16", overhead="3us")
        nodes = [node for node in (1, 2, 4) if places % node == 0]
        form = draw.pick("low-latency", "normal", None)
        if form is not None:
            found["dispatch"] |= {"form": form}
        if form == "normal":
            found["npus_per_node"] = tensor * draw.pick(*nodes)
            found["dispatch"] |= {"pieces": draw.randint(1, 5)}
    return found


MODELS: dict[str, Callable[[Draw, Sequence[int]], Drawn]] = {
    "transformer": _transformer,
    "convolution": _convolution,
    "recurrent": _recurrent,
    "dlrm": _dlrm,
    "gemms": _gemms,
}
"""What draws a model of each kind."""
