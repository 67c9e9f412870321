"""Draws the pictures of docs/topologies.md from files in inputs/network, and of graph files that tests make.

``PYTHONPATH=tests python docs/images/draw_topologies.py [NAME...]``; without names all.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from PIL import Image
from support.graphs.imported_graphs import hpn, spectrum_x

from astra_ns3.experiments.network_summary import load_network
from astra_ns3.report.network.figure import draw_network

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
    "rail-only": "rail-only-16",
    "ring": "ring-8",
    "torus": "torus-4x4",
    "mesh": "mesh-2x2x3",
    "full-mesh": "full-mesh-8",
    "dragonfly": "dragonfly-24",
    "dumbbell": "dumbbell-8",
    "file-dgx-1": "graphs/dgx-1",
}
IMPORTED = {
    "file-spectrum-x": ("spectrum-x-128.txt", spectrum_x(16, 16)),
    "file-hpn": ("hpn-1024.graphml", hpn(4, 32, spines=8)),
}
"""Name and text of graph files."""
COLOURS = 40
"""Enough for lines and text, and a third of the bytes."""
WIDEST = 1000


def main() -> None:
    """Write the pictures that were asked for."""
    for name in sys.argv[1:] or (*DRAWN, *IMPORTED):
        if name in DRAWN:
            draw(name, NETWORKS / f"{DRAWN[name]}.yaml", f"{DRAWN[name]}.yaml")
            continue
        file, text = IMPORTED[name]
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, file).write_text(text, encoding="utf-8")
            network = Path(folder, "network.yaml")
            network.write_text(f"topology: {{kind: file, path: {file}, switch: {{buffer: 64MB}}}}\n", encoding="utf-8")
            draw(name, network, file)


def draw(name: str, network: Path, title: str) -> None:
    """The picture of a network file."""
    target = HERE / f"topology-{name}.png"
    draw_network(load_network(network).plan.graph, target, title)
    with Image.open(target) as opened:
        picture = opened.convert("RGB")
    if picture.width > WIDEST:
        picture = picture.resize((WIDEST, round(picture.height * WIDEST / picture.width)), Image.Resampling.LANCZOS)
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(target, optimize=True)


if __name__ == "__main__":
    main()
