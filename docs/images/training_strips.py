"""Strips of what each NPU does over time, as docs/images/draw_training.py and draw_loops.py draw them."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from PIL import Image

import astra_ns3
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.report.figures.style import BLUE, GREEN, ORANGE, PURPLE, SKY
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
KINDS = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")
Panel = tuple[str, Callable[[Path], pd.DataFrame]]
"""A title, and what plays in a folder and gives what each NPU did."""


def play(workload: Path, topology: dict[str, Any], passes: int) -> pd.DataFrame:
    """What each NPU did, on the analytical network; results go beside the workload."""
    dimensions = 2 if topology["kind"] == "hierarchical" else 1
    system = {
        "scheduling-policy": "FIFO",
        "endpoint-delay": 10,
        "active-chunks-per-dimension": 1,
        "preferred-dataset-splits": 16,
    }
    for kind in KINDS:
        system[f"{kind}-implementation"] = "_".join(["direct" if kind == "all-to-all" else "ring"] * dimensions)
    astra_ns3.run(
        workload=workload,
        system=parse_system(system),
        network=parse_network({"topology": topology, "transport": {"kind": "tcp"}}),
        backend="analytical",
        passes=passes,
        record=["timeline"],
        output=workload.parent / "run",
    )
    return pd.read_parquet(workload.parent / "run" / "operations.parquet")


def single_switch(npus: int, rate: str) -> dict[str, Any]:
    """A network file's ``topology``."""
    return {
        "kind": "single-switch",
        "npus": npus,
        "link": {"rate": rate, "delay": "500ns"},
        "switch": {"buffer": "1GB"},
    }


def draw(name: str, panels: Sequence[Panel], names: Sequence[str], parts: Sequence[str] = tuple(PARTS)) -> None:
    """Write ``name``.png: a panel for each setting, on one scale of time. ``parts``: those the legend has."""
    figure = Figure(figsize=(8, 0.5 + len(panels) * (0.42 + 0.17 * len(names))), layout="constrained")
    for axes, (title, played) in zip(figure.subplots(len(panels), 1, sharex=True), panels, strict=True):
        with tempfile.TemporaryDirectory() as folder:
            _strips(axes, played(Path(folder)), names)
        axes.set_title(title, fontsize=9, loc="left")
        axes.tick_params(labelsize=7)
    axes.set_xlabel("time (ms)", fontsize=8)
    swatches = [Patch(color=PARTS[part], label=part) for part in parts] + [Patch(color=WAITS, label="waiting")]
    figure.legend(handles=swatches, loc="outside lower center", ncols=6, fontsize=8, frameon=False)
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=DOTS_PER_INCH)
    with Image.open(drawn) as image:
        image.convert("RGB").quantize(COLOURS).save(HERE / f"{name}.png", optimize=True)


def _strips(axes: Axes, rows: pd.DataFrame, names: Sequence[str]) -> None:
    """A strip for each NPU: what it computes, by colour, and when it waits."""
    for npu in range(len(names)):
        own = rows[rows.npu == npu]
        for part, colour in PARTS.items():
            _bars(axes, own[(own.kind == "compute") & (own.part == part)], npu, colour)
        _bars(axes, own[own.kind == "wait"], npu, WAITS)
    axes.set_yticks([number + 0.4 for number in range(len(names))], names)
    axes.set_ylim(len(names), -0.1)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _bars(axes: Axes, rows: pd.DataFrame, place: int, colour: str) -> None:
    """One colour of a strip."""
    spans = zip(rows.start_ps / MS, (rows.end_ps - rows.start_ps) / MS, strict=True)
    axes.broken_barh(list(spans), (place, 0.8), color=colour, linewidth=0)
