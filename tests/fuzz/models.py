"""Model files with keys of other values, kinds and names, and command lines that read them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from fuzz.mutate import mutated

FOLDER = Path(__file__).resolve().parents[2] / "inputs" / "workload" / "models"
MODELS = {path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.yaml"))}
BESIDE = {path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.csv"))}
"""Tables that they name."""
NAME = "model.yaml"
_SMALLER: dict[str, Any] = {
    "layers": 3,
    "hidden": 64,
    "heads": 4,
    "kv_heads": 2,
    "vocabulary": 100,
    "feed_forward": 128,
    "units": 32,
    "tables": 5,
    "rows": 100,
    "sequence": 64,
    "micro_batches": 2,
}
_DEGREES = ("tensor", "context", "data", "pipeline", "expert", "virtual_stages", "zero", "servers")
_VALUES: tuple[Any, ...] = (
    *(0, 1, 2, 3, 4, 7, 64, -1, 10**6, 2**31, 10**20, 0.5, 1e-9, 1e300, float("nan"), float("inf"), True, False, None),
    *("", "x", "3", "25MB", "80GB", "1TB", "0B", "-5MB", "H100", "TPUv4", "on", "auto", "evenly", "\u20ac", "a" * 300),
    *([], [1], [1, 2], [3, 0, -1], ["x"], [[1], [2]], {}, {"a": 1}, {"kind": "table", "file": "none.csv"}),
    *({"kind": "systolic", "rows": 8, "columns": 8, "frequency": "1GHz", "method": "closed_form", "device": "H100"},),
    *({"device": "V100"}, {"efficiency": 0}, {"kind": "given"}, {"count": 4, "active": 2, "feed_forward": 64}),
)
_SWITCH = True, False
_NUMBERS = 0, 1, 2, 3, 4, 5, 8, 100
_KEYS: dict[str, dict[str, tuple[Any, ...]]] = {
    "model": {
        "layers": (1, 2, 5),
        "hidden": (16, 63),
        "norm": ("rms", "layer"),
        "positions": ("rotary", "none", 7, 1000),
        "placement": ("table", "row", "column"),
        "interaction": ("concatenation", "dot"),
        "predicted_percent": (0, 15, 100, 101),
        "latent": ({"query_rank": 8, "key_value_rank": 8, "plain_size": 8, "rotary_size": 4, "value_size": 8},),
        "experts": tuple(
            {"count": 4, "active": 2, "feed_forward": 32, **more}
            for more in (
                {},
                {"shared": 1, "first_dense": 1, "every": 2},
                {"routing": "zipf", "skew": 1.2, "capacity": 1.25},
                {"routing": "zipf", "node_limit": 1, "npus_per_node": 2, "seed": 7},
                {"routing": "none.csv"},
                {"dispatch": {"form": "normal", "values": "fp8", "overhead": "1us"}, "npus_per_node": 2},
                {"dispatch": {"form": "low-latency", "pieces": 3}},
            )
        ),
        **dict.fromkeys(("gated", "biases", "dropout", "fused_attention", "skip_masked", "tied_embeddings"), _SWITCH),
    },
    "training": {
        "recompute": ("none", "selective", "full"),
        "datatype": ("float32", "tfloat32", "bfloat16", "float16", "float8"),
        "gradients": ("float32", "bfloat16"),
        "optimizer": ("adam", "momentum", "sgd"),
        "global_batch": (1, 4, 7),
        "micro_batch": (1, 3),
        "micro_batches": (1, 2, 3, 4),
        "sequence": (1, 7, 64),
    },
    "parallel": {
        **dict.fromkeys(_DEGREES, (0, 1, 2, 3, 4)),
        "schedule": ("gpipe", "1f1b", "interleaved", "zero-bubble", "mine"),
        "context_by": ("ring", "all-gather", "all-to-all"),
        "layers_per_part": ([1, 2], [2, 1], [2, 2, 2]),
        "bucket": ("1KB", "25MB"),
        "prefetch": (0, 1, 100),
        **dict.fromkeys(("sequence", "overlap", "overlap_tensor", "gather_inputs_again", "keep_gathered"), _SWITCH),
        "asynchronous": _SWITCH,
    },
}
"""Keys that some kinds have, with values that are right in some files."""


def odd_model(draw: random.Random, *, whole: bool) -> str:
    """One of the files, most often smaller and cut otherwise, then with keys that are wrong, or only other ones.

    ``whole``: at its full size, too, of which traces take a while to write.
    """
    text = draw.choice(list(MODELS.values()))
    if whole and draw.random() < 0.15:
        return mutated(draw, text)
    data = yaml.safe_load(text)
    if not whole or draw.random() < 0.9:
        _make_smaller(draw, data)
    for _ in range(draw.choice((0, 1, 1, 2, 3))):
        _change(draw, data)
    found = yaml.safe_dump(data, sort_keys=False, allow_unicode=True)
    return mutated(draw, found) if draw.random() < 0.15 else found


def model_words(draw: random.Random) -> list[str]:
    """A command line with the model."""
    kind = draw.choice(("validate", "validate", "run", "run", "show", "generate", "convert"))
    dimensions = draw.choice(([], ["--dimensions", draw.choice(("4", "2x2", "8", "2x3", "1", "4x4"))]))
    if kind == "show":
        return ["show", "workload", NAME, *dimensions, *draw.choice(([], ["--json"]))]
    if kind == "convert":
        return ["convert", NAME, "out", *dimensions, *draw.choice(([], ["--to", "chakra-json"], ["--to", "astra-sim"]))]
    if kind == "generate":
        words = ["generate", "workload", NAME, "-o", "out", *dimensions]
        words += ["--format", draw.choice(("chakra", "chakra-json", "text", "yaml"))]
        return [*words, *draw.choice(([], ["--set", f"{draw.choice(_PLACES)}={draw.choice(_VALUES)}"]))]
    network = draw.choice(("analytical.yml", "analytical.yml", "single.yaml", "roce.yaml", "rails.yaml"))
    words = [kind, "-w", NAME, "-s", draw.choice(("rings.yaml", "system.txt")), "-n", network]
    words += ["--comm-scale", draw.choice(("1e-3", "1e-6"))] if kind == "run" else []
    if network == "analytical.yml" or draw.random() < 0.5:
        words += ["--backend", draw.choice(("analytical", "analytical-queues"))]
    return [*words, *(["-o", "out", "--limit-wall-time", "3s"] if kind == "run" else [])]


def _make_smaller(draw: random.Random, data: dict[str, Any]) -> None:
    """Sizes that are there, and degrees of 1 or 2."""
    for group in list(_groups(data)):
        for key in group.keys() & _SMALLER.keys():
            group[key] = _SMALLER[key] if isinstance(group[key], int) and group[key] is not True else group[key]
    parallel = data.setdefault("parallel", {})
    for degree in _DEGREES[:5]:
        if degree in parallel or draw.random() < 0.1:
            parallel[degree] = draw.choice((1, 2))


def _change(draw: random.Random, data: dict[Any, Any]) -> None:
    """A key gets another value, is left out, or one more comes."""
    group = draw.choice(list(_groups(data)))
    way = draw.random()
    if way < 0.6:
        name = draw.choice(("model", "training", "parallel", "parallel"))
        of_name = data.get(name)
        if isinstance(of_name, dict):
            key = draw.choice(list(_KEYS[name]))
            of_name[key] = draw.choice(_KEYS[name][key])
    elif way < 0.65:
        group[draw.choice(("no_such_key", "Layers", 3, "tensr"))] = draw.choice(_VALUES)
    elif way < 0.7 and group:
        del group[draw.choice(list(group))]
    elif group:
        key = draw.choice(list(group))
        is_number = isinstance(group[key], int) and not isinstance(group[key], bool)
        group[key] = draw.choice(_NUMBERS if is_number and draw.random() < 0.6 else _VALUES)


def _groups(data: Any) -> Iterator[dict[Any, Any]]:
    """The document and all groups in it."""
    if isinstance(data, dict):
        yield data
        for value in data.values():
            yield from _groups(value)


_PLACES = ("model.layers", "training.micro_batches", "parallel.tensor", "parallel.pipeline", "compute", "nothing.there")
