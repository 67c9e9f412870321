"""Draws docs/images/loops.png: what NPUs do in the loops of ASTRA-sim's text.

usage: .venv/bin/python docs/images/draw_loops.py
Plays four layers on two nodes of two NPUs, on the analytical network. Needs the extra "plots"; takes ten seconds.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pandas as pd
from training_strips import Panel, draw, play

LAYERS = ("first", "second", "third", "fourth")
COMPUTE_NS = 100_000
UPDATE_NS = 10_000
GATHER, REDUCE, GRADIENTS, NONE = "ALLGATHER 500000", "ALLREDUCE 500000", "ALLREDUCE 4000000", "NONE 0"
GROUP = "model_parallel_NPU_group: 2"
LOOPS = [
    # The header, and the collectives of the three passes of a layer.
    ("DATA", NONE, NONE, GRADIENTS),
    ("MODEL", GATHER, REDUCE, NONE),
    ("HYBRID_DATA_MODEL", GATHER, REDUCE, GRADIENTS),
    (f"HYBRID_TRANSFORMER {GROUP}", REDUCE, REDUCE, GRADIENTS),
    (f"HYBRID_TRANSFORMER_FWD_IN_BCKWD {GROUP} checkpoints: 1 0 checkpoint_initiates: 1 3", REDUCE, REDUCE, GRADIENTS),
    ("HYBRID_DLRM 1", NONE, NONE, GRADIENTS),
    ("HYBRID_DLRM_ENHANCED 1", NONE, NONE, GRADIENTS),
    ("DISTRIBUTED_INFERENCE", GATHER, NONE, NONE),
]


def panel(loop: tuple[str, str, str, str]) -> Panel:
    """A panel of one loop."""
    return loop[0].replace(" model_parallel", ", model_parallel", 1), partial(_play, loop)


def _play(loop: tuple[str, str, str, str], folder: Path) -> pd.DataFrame:
    header, *collectives = loop
    passes = " ".join(f"{COMPUTE_NS} {collective}" for collective in collectives)
    rows = [f"{name} -1 {passes} {UPDATE_NS}" for name in LAYERS]
    if header.startswith("HYBRID_DLRM"):
        rows[0] = f"tables -1 30000 ALLTOALL 10000000 30000 ALLTOALL 30000000 30000 NONE 0 {UPDATE_NS}"
    file = folder / "loop.txt"
    file.write_text("\n".join([header, str(len(rows)), *rows, ""]), encoding="utf-8")
    node = {"link": {"rate": "800Gbps", "delay": "100ns"}, "switch": {"buffer": "1GB"}}
    outside = {"kind": "single-switch", "link": {"rate": "400Gbps", "delay": "500ns"}, "switch": {"buffer": "1GB"}}
    topology = {"kind": "hierarchical", "nodes": 2, "npus_per_node": 2, "scale_up": node, "scale_out": outside}
    return play(file, topology, passes=2)


def main() -> None:
    """Draw it."""
    draw("loops", [panel(loop) for loop in LOOPS], ["NPU 0", "NPU 1"], ("forward", "input gradient", "weight gradient"))


if __name__ == "__main__":
    main()
