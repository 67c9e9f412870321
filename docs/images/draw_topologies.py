"""Draws the pictures of docs/topologies.md from files in inputs/network: ``python docs/images/draw_topologies.py``."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from astra_ns3.experiments.network_summary import load_network
from astra_ns3.report.network_figure import draw_network

HERE = Path(__file__).resolve().parent
NETWORKS = HERE.parents[1] / "inputs" / "network"
DRAWN = {
    "single-switch": "single-switch-16",
    "leaf-spine": "leaf-spine-32",
    "fat-tree": "fat-tree-16",
    "clos": "clos-24",
    "hierarchical": "hier",
    "hierarchical-shared-nics": "hierarchical-shared-nics",
    "hierarchical-ring": "hierarchical-ring",
    "rail-optimised": "rail-optimised-32",
    "ring": "ring-8",
    "torus": "torus-4x4",
    "mesh": "mesh-2x2x3",
    "full-mesh": "full-mesh-8",
    "dragonfly": "dragonfly-24",
    "dumbbell": "dumbbell-8",
}
COLOURS = 48
"""Enough for lines and text, and a third of the bytes."""
WIDEST = 1000


def main() -> None:
    """Write every picture."""
    for name, file in DRAWN.items():
        network = load_network(NETWORKS / f"{file}.yaml")
        target = HERE / f"topology-{name}.png"
        draw_network(network.graph, target, f"{file}.yaml")
        with Image.open(target) as opened:
            picture = opened.convert("RGB")
        if picture.width > WIDEST:
            picture = picture.resize((WIDEST, round(picture.height * WIDEST / picture.width)), Image.Resampling.LANCZOS)
        picture.quantize(COLOURS, dither=Image.Dither.NONE).save(target, optimize=True)


if __name__ == "__main__":
    main()
