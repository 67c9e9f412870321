"""Draws docs/images/training-*.png: what NPUs do when a model is trained, in each order, each way to share weights and
each way to split layers.

usage: .venv/bin/python docs/images/draw_training.py
Plays small models on the analytical network. Needs the extra "plots"; takes a minute.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from training_strips import Panel, draw, play, single_switch

Keys = Mapping[str, Any]
MODEL = {"layers": 16, "hidden": 2048, "heads": 16, "vocabulary": 1024}
FEW = {**MODEL, "layers": 3}
EXPERTS = {"count": 8, "active": 2, "feed_forward": 8192}
SKEWED = {**EXPERTS, "routing": "zipf", "skew": 1}
TABLES = {
    "tables": 8,
    "rows": 100_000,
    "embedding": 256,
    "pooling": 40,
    "dense_features": 512,
    "bottom": [1024, 1024, 256],
    "top": [2048, 2048, 2048, 1],
}
PIPELINES: list[tuple[str, Keys, Keys]] = [
    ("GPipe", {"schedule": "gpipe"}, {}),
    ("1F1B", {"schedule": "1f1b"}, {}),
    ("interleaved, 2 parts on each stage", {"schedule": "interleaved", "virtual_stages": 2}, {}),
    ("zero bubble (ZB-H1)", {"schedule": "zero-bubble"}, {}),
    ("1F1B, everything computed again", {"schedule": "1f1b"}, {"recompute": "full"}),
]
SHARED: list[tuple[str, Keys]] = [
    ("all-reduce at the end", {"overlap": False}),
    ("all-reduce as gradients come", {}),
    ("ZeRO 1: weights gathered for the next iteration", {"zero": 1}),
    ("ZeRO 2: each micro-batch's gradients", {"zero": 2}),
    ("ZeRO 3: weights gathered before each use", {"zero": 3}),
    ("ZeRO 3 without prefetch", {"zero": 3, "prefetch": 0}),
]
SERVED: list[tuple[str, Keys]] = [
    ("synchronous", {"servers": 1}),
    ("asynchronous", {"servers": 1, "asynchronous": True}),
]
SPLIT: list[tuple[str, Keys]] = [
    ("tensor", {"tensor": 2}),
    ("tensor, sums overlapped with gradients of weights", {"tensor": 2, "overlap_tensor": True}),
    ("tensor and sequence", {"tensor": 2, "sequence": True}),
    ("context, ring attention", {"context": 2}),
    ("context, keys and values gathered", {"context": 2, "context_by": "all-gather"}),
    ("context, heads exchanged", {"context": 2, "context_by": "all-to-all"}),
]
ROUTED: list[tuple[str, Keys]] = [("experts chosen alike", EXPERTS), ("some experts more popular", SKEWED)]
PLACED = ("table", "row", "column")


def transformer(title: str, parallel: Keys, training: Keys, model: Keys, npus: int, rate: str, passes: int) -> Panel:
    """A panel of a transformer."""
    keys = {"sequence": 2048, "micro_batch": 1, "recompute": "none", **training}
    document = {"kind": "transformer", "model": dict(model), "training": keys, "parallel": dict(parallel)}
    return title, partial(_play, document, npus, rate, passes)


def recommendation(placement: str, npus: int, rate: str, passes: int) -> Panel:
    """A panel of a DLRM."""
    training = {"micro_batch": 4096, "datatype": "float16"}
    document = {"kind": "dlrm", "model": {**TABLES, "placement": placement}, "training": training}
    return f"each NPU has {placement}s", partial(_play, document, npus, rate, passes)


def _play(document: Keys, npus: int, rate: str, passes: int, folder: Path) -> pd.DataFrame:
    file = folder / "model.yaml"
    file.write_text(yaml.safe_dump({**document, "name": "model", "compute": "A100-80GB"}), encoding="utf-8")
    return play(file, single_switch(npus, rate), passes)


def main() -> None:
    """Draw all of them."""
    stages = [f"stage {stage}" for stage in range(4)]
    pair = ["NPU 0", "NPU 1"]
    four = [f"NPU {npu}" for npu in range(4)]
    two = {"micro_batches": 2}
    draw(
        "training-pipelines",
        [
            transformer(title, {"pipeline": 4, **keys}, {"micro_batches": 8, **more}, MODEL, 4, "3200Gbps", 1)
            for title, keys, more in PIPELINES
        ],
        stages,
    )
    draw("training-sharding", [transformer(title, keys, two, MODEL, 2, "400Gbps", 2) for title, keys in SHARED], pair)
    draw(
        "training-servers",
        [transformer(title, keys, two, MODEL, 4, "800Gbps", 2) for title, keys in SERVED],
        [*(f"worker {npu}" for npu in range(3)), "server"],
    )
    parts = ("forward", "input gradient", "weight gradient", "update")
    draw("training-split", [transformer(title, keys, {}, FEW, 2, "400Gbps", 1) for title, keys in SPLIT], pair, parts)
    draw(
        "training-experts",
        [transformer(title, {"expert": 4}, {}, {**FEW, "experts": keys}, 4, "400Gbps", 1) for title, keys in ROUTED],
        four,
        parts,
    )
    draw("training-dlrm", [recommendation(placement, 4, "400Gbps", 2) for placement in PLACED], four, parts)


if __name__ == "__main__":
    main()
