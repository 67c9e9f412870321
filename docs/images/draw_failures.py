"""Draws the figure of docs/failures.md from runs that it makes: ``python docs/images/draw_failures.py``.

One flow over one of two spines, as many small messages; the link from the spine to its receiver's leaf fails.
Needs matplotlib, which the extra "plots" brings; takes some 20 seconds.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import astra_ns3

HERE = Path(__file__).resolve().parent
US = 10**6
MESSAGES, MESSAGE_BYTES = 1_000, 10_000
FAILS_PS = 200 * US
COLOURS = ("#4c78a8", "#54a24b", "#f58518", "#b279a2")
DOTS_PER_INCH = 110
LINK = {"rate": "100Gbps", "delay": "500ns"}
SYSTEM = """scheduling-policy: LIFO
endpoint-delay: 0
active-chunks-per-dimension: 1
preferred-dataset-splits: 1
all-reduce-implementation: ring
reduce-scatter-implementation: ring
all-gather-implementation: ring
all-to-all-implementation: direct
collective-optimization: baseline
"""
HELLO = {"kind": "hello", "interval": "100us", "seed": 1}
CONVERGE = {"kind": "converge", "after": "600us"}
WAYS: Mapping[str, tuple[Mapping[str, Any], int]] = {
    "known at once": ({}, 0),
    "routes converge after 600 us": ({"routes": CONVERGE}, 0),
    "the same, a new path after each timeout": ({"routes": CONVERGE}, 1),
    "hellos each 100 us, then 600 us": ({"detection": HELLO, "routes": CONVERGE}, 0),
}
"""Keys of recovery, and of the transport's reliability."""


def arrivals_ps(folder: Path, spine: int, recovery: Mapping[str, Any], new_path_after: int) -> np.ndarray[Any, Any]:
    """When each message has arrived, in order; ``spine``: whose link fails."""
    reliability = {"kind": "go-back-n", "timeout": "100us", "retries": 0, "new_path_after": new_path_after}
    topology = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 1, "link": LINK}
    network = {
        "topology": {**topology, "switch": {"buffer": "1GB"}},
        "transport": {"kind": "roce", "congestion_control": "none", "window": "200KB", "reliability": reliability},
    }
    rows = "".join(f"0,1,{MESSAGE_BYTES},0ns\n" for _ in range(MESSAGES))
    (folder / "flows.csv").write_text(f"source,destination,bytes,start\n{rows}", encoding="utf-8")
    (folder / "system.txt").write_text(SYSTEM, encoding="utf-8")
    (folder / "network.yaml").write_text(json.dumps(network), encoding="utf-8")
    event = {"at": f"{FAILS_PS}ps", "link": [f"spine {spine}", "leaf 1"], "up": False}
    scenario = {
        "network": "network.yaml",
        "jobs": [{"name": "flow", "workload": "flows.csv", "system": "system.txt"}],
        "events": [event],
        "recovery": recovery,
    }
    (folder / "scenario.yaml").write_text(json.dumps(scenario), encoding="utf-8")
    result = astra_ns3.run_scenario(scenario=folder / "scenario.yaml", record=["flows"])
    return np.sort(result.tenants["flow"].flows["end_ps"].to_numpy())


def main() -> None:
    """Play and draw all ways to recover."""
    from PIL import Image

    figure = Figure(figsize=(8, 3.9), layout="constrained")
    axes = figure.subplots()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        spine = max((0, 1), key=lambda each: arrivals_ps(folder, each, {}, 0)[-1])  # the one that the flow takes
        for (words, (recovery, new_path_after)), colour in zip(WAYS.items(), COLOURS, strict=True):
            ends_us = arrivals_ps(folder, spine, recovery, new_path_after) / US
            done = np.arange(1, MESSAGES + 1) * MESSAGE_BYTES / 1e6
            axes.step(ends_us, done, where="post", color=colour, label=words)
    axes.axvline(FAILS_PS / US, color="#888888", linewidth=0.8, linestyle=":")
    axes.text(FAILS_PS / US + 10, 0.2, "the link fails", color="#666666")
    axes.set_xlabel("time (us)")
    axes.set_ylabel("arrived (MB)")
    axes.set_ylim(0, MESSAGES * MESSAGE_BYTES / 1e6)
    axes.set_xlim(0)
    figure.legend(frameon=False, loc="outside lower center", ncols=2)
    target = HERE / "failures.png"
    figure.savefig(target, dpi=DOTS_PER_INCH)
    with Image.open(target) as picture:
        picture.convert("RGB").quantize(48).save(target, optimize=True)


if __name__ == "__main__":
    main()
