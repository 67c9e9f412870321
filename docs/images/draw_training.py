"""Draws docs/images/training-*.png: what NPUs do when a model is trained, in each order and each way to share weights.

usage: .venv/bin/python docs/images/draw_training.py
Plays a small transformer on the analytical network. Needs the extra "plots"; takes half a minute.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from PIL import Image

import astra_ns3
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.report.plots.style import BLUE, GREEN, ORANGE, PURPLE, SKY
from astra_ns3.system.file import parse_system

HERE = Path(__file__).resolve().parent
DOTS_PER_INCH = 130
COLOURS = 64
MS = 10**9
WAITS = "#D9D9D9"
PARTS = {
    "forward": BLUE,
    "recompute": SKY,
    "input gradient": GREEN,
    "weight gradient": ORANGE,
    "update": PURPLE,
}
MODEL = {"layers": 16, "hidden": 2048, "heads": 16, "vocabulary": 1024}
TRAINING = {"sequence": 2048, "micro_batch": 1, "recompute": "none"}
KINDS = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")
SYSTEM = {
    "scheduling-policy": "FIFO",
    "endpoint-delay": 10,
    "active-chunks-per-dimension": 1,
    "preferred-dataset-splits": 1,
    **{f"{kind}-implementation": "direct" if kind == "all-to-all" else "ring" for kind in KINDS},
}
Setting = tuple[str, Mapping[str, Any], Mapping[str, Any]]
"""A title, and keys of ``parallel`` and ``training``."""
PIPELINES: Sequence[Setting] = [
    ("GPipe", {"schedule": "gpipe"}, {}),
    ("1F1B", {"schedule": "1f1b"}, {}),
    ("interleaved, 2 parts on each stage", {"schedule": "interleaved", "virtual_stages": 2}, {}),
    ("zero bubble (ZB-H1)", {"schedule": "zero-bubble"}, {}),
    ("1F1B, everything computed again", {"schedule": "1f1b"}, {"recompute": "full"}),
]
SHARDED: Sequence[Setting] = [
    ("all-reduce at the end", {"overlap": False}, {}),
    ("all-reduce as gradients come", {}, {}),
    ("ZeRO 1: weights gathered for the next iteration", {"zero": 1}, {}),
    ("ZeRO 2: each micro-batch's gradients", {"zero": 2}, {}),
    ("ZeRO 3: weights gathered before each use", {"zero": 3}, {}),
    ("ZeRO 3 without prefetch", {"zero": 3, "prefetch": 0}, {}),
]
SERVED: Sequence[Setting] = [
    ("synchronous", {"servers": 1}, {}),
    ("asynchronous", {"servers": 1, "asynchronous": True}, {}),
]


def play(setting: Setting, folder: Path, npus: int, rate: str, passes: int = 1) -> pd.DataFrame:
    """What each NPU did."""
    title, parallel, training = setting
    model = folder / "model.yaml"
    document = {"kind": "transformer", "name": title, "model": MODEL, "compute": "A100-80GB"}
    model.write_text(yaml.safe_dump({**document, "training": {**TRAINING, **training}, "parallel": dict(parallel)}))
    link = {"rate": rate, "delay": "500ns"}
    topology = {"kind": "single-switch", "npus": npus, "link": link, "switch": {"buffer": "1GB"}}
    astra_ns3.run(
        workload=model,
        system=parse_system(dict(SYSTEM)),
        network=parse_network({"topology": topology, "transport": {"kind": "tcp"}}),
        backend="analytical",
        passes=passes,
        record=["timeline"],
        output=folder / "run",
    )
    return pd.read_parquet(folder / "run" / "operations.parquet")


def draw_strips(axes: Axes, rows: pd.DataFrame, names: Sequence[str]) -> None:
    """A strip for each NPU: what it computes, by colour, and when it waits."""
    for npu in range(len(names)):
        own = rows[rows.npu == npu]
        for part, colour in PARTS.items():
            bars(axes, own[(own.kind == "compute") & (own.part == part)], npu, colour)
        bars(axes, own[own.kind == "wait"], npu, WAITS)
    axes.set_yticks([number + 0.4 for number in range(len(names))], names)
    axes.set_ylim(len(names), -0.1)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)


def bars(axes: Axes, rows: pd.DataFrame, place: int, colour: str) -> None:
    """One colour of a strip."""
    spans = zip(rows.start_ps / MS, (rows.end_ps - rows.start_ps) / MS, strict=True)
    axes.broken_barh(list(spans), (place, 0.8), color=colour, linewidth=0)


def draw(name: str, settings: Sequence[Setting], names: Sequence[str], rate: str, passes: int = 1) -> None:
    """A picture with a panel for each setting, on one scale of time."""
    figure = Figure(figsize=(8, 0.5 + len(settings) * (0.42 + 0.17 * len(names))), layout="constrained")
    panels = figure.subplots(len(settings), 1, sharex=True)
    for axes, setting in zip(panels, settings, strict=True):
        with tempfile.TemporaryDirectory() as folder:
            draw_strips(axes, play(setting, Path(folder), len(names), rate, passes), names)
        axes.set_title(setting[0], fontsize=9, loc="left")
        axes.tick_params(labelsize=7)
    panels[-1].set_xlabel("time (ms)", fontsize=8)
    swatches = [Patch(color=colour, label=part) for part, colour in (*PARTS.items(), ("waiting", WAITS))]
    figure.legend(handles=swatches, loc="outside lower center", ncols=6, fontsize=8, frameon=False)
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=DOTS_PER_INCH)
    with Image.open(drawn) as image:
        image.convert("RGB").quantize(COLOURS).save(HERE / f"training-{name}.png", optimize=True)


def main() -> None:
    """Draw all of them."""
    staged = [(title, {"pipeline": 4, **keys}, {"micro_batches": 8, **more}) for title, keys, more in PIPELINES]
    draw("pipelines", staged, [f"stage {stage}" for stage in range(4)], "3200Gbps")
    sharded = [(title, parallel, {"micro_batches": 2, **training}) for title, parallel, training in SHARDED]
    draw("sharding", sharded, [f"NPU {npu}" for npu in range(2)], "400Gbps", passes=2)
    served = [(title, parallel, {"micro_batches": 2, **training}) for title, parallel, training in SERVED]
    draw("servers", served, [*(f"worker {npu}" for npu in range(3)), "server"], "800Gbps", passes=2)


if __name__ == "__main__":
    main()
