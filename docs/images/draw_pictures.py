"""Draws docs/images/picture-*.png: every kind of picture that there is, of one run on 16 NPUs below four leaves.

That of memory is of a model on 8 stages, whose schedule is played on the analytical network.

usage: .venv/bin/python docs/images/draw_pictures.py docs/images [DIR]
Plays the run, or takes the one in DIR, and draws what that recorded. Needs the extra "plots".
"""

from __future__ import annotations

import argparse
import io
import json
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

import astra_ns3
from astra_ns3.config.core.document import Document
from astra_ns3.config.model.file import parse_model_file
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.experiments.request import RECORDABLE
from astra_ns3.report.pictures.kinds import IN_FILES
from astra_ns3.system.file import parse_system
from astra_ns3.workload.files.astra_sim import parse_workload
from astra_ns3.workload.models.workload import ModelWorkload
from astra_ns3.workload.training.schedules import SCHEDULES

DOTS_PER_INCH = 150
COLOURS = 64
WORKLOAD = """DATA
6
embedding -1 60000 NONE 0 20000 NONE 0 40000 ALLTOALL 1000000 10
attention_0 -1 90000 NONE 0 90000 NONE 0 90000 ALLREDUCE 1000000 10
experts_0 -1 120000 NONE 0 110000 NONE 0 120000 ALLREDUCE 2000000 10
attention_1 -1 90000 NONE 0 90000 NONE 0 90000 ALLREDUCE 1000000 10
experts_1 -1 120000 NONE 0 110000 NONE 0 120000 ALLREDUCE 2000000 10
head -1 50000 NONE 0 50000 NONE 0 50000 ALLREDUCE 500000 10
"""
SYSTEM = {
    "scheduling-policy": "LIFO",
    "endpoint-delay": 10,
    "active-chunks-per-dimension": 2,
    "preferred-dataset-splits": 4,
    **{f"{kind}-implementation": "direct" for kind in ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")},
}
TOPOLOGY = {
    "kind": "leaf-spine",
    "leaves": 4,
    "spines": 2,
    "hosts_per_leaf": 4,
    "oversubscription": 2,
    "link": {"rate": "100Gbps", "delay": "500ns"},
    "switch": {"buffer": "1MB", "pfc": {"priorities": [3]}},
}
OBSERVE = {
    "queues": ["all"],
    "queue_interval": "1us",
    "queue_pairs": ["rate", "window"],
    "queue_pair_interval": "1us",
    "pauses": True,
    "utilisation": ["all"],
    "utilisation_interval": "5us",
}


def play(folder: Path, control: str) -> astra_ns3.Result:
    """The run, under one of RoCE's congestion controls."""
    transport = {"kind": "roce", "payload": 1000, "congestion_control": control}
    return astra_ns3.run(
        workload=parse_workload(WORKLOAD, "mixture"),
        system=parse_system(dict(SYSTEM)),
        network=parse_network({"topology": TOPOLOGY, "transport": transport, "observe": OBSERVE}),
        passes=1,
        run_name=control,
        record=list(RECORDABLE),
        output=folder / control,
    )


def train(folder: Path) -> astra_ns3.Result:
    """A model's training, of which the memory is drawn."""
    data = {
        "kind": "transformer",
        "name": "GPT-3 13B",
        "model": {"layers": 40, "hidden": 5120, "heads": 40, "vocabulary": 51200, "dropout": True},
        "training": {"sequence": 2048, "micro_batch": 2, "micro_batches": 16},
        "parallel": {"pipeline": 8, "data": 2, "zero": 1},
        "compute": "A100-40GB",
    }
    topology = {"kind": "single-switch", "npus": 16, "link": {"rate": "100Gbps", "delay": "500ns"}}
    return astra_ns3.run(
        workload=ModelWorkload(parse_model_file(Document("model.yaml", data), SCHEDULES), "model.yaml"),
        system=parse_system(dict(SYSTEM)),
        network=parse_network({"topology": {**topology, "switch": {"buffer": "1GB"}}, "transport": {"kind": "tcp"}}),
        backend="analytical",
        passes=1,
        output=folder / "model",
    )


def others(folder: Path) -> astra_ns3.Result:
    """Flows of others on the same network, whose slowdowns are drawn."""
    network = folder / "network.yaml"
    transport = {"kind": "roce", "payload": 1000, "congestion_control": "dcqcn", "queue_pairs": "per-message"}
    network.write_text(json.dumps({"topology": TOPOLOGY, "transport": transport}), encoding="utf-8")
    entry = {
        "name": "hadoop",
        "kind": "poisson",
        "sizes": "hadoop",
        "load": 0.4,
        "cut": "racks",
        "flows": 4000,
        "seed": 1,
    }
    played = astra_ns3.run_scenario(
        scenario={"network": str(network), "traffic": [entry]}, output=folder / "traffic", run_name="traffic"
    )
    return played.tenants["hadoop"]


def draw(folder: Path, result: astra_ns3.Result, beside: list[astra_ns3.Result], only: str = "") -> None:
    """Write a file for each kind of which ``result`` has the tables, or for one."""
    for kind in IN_FILES:
        if (only == kind.name or not (only or kind.name == "slowdown")) and not kind.missing(result):
            options: dict[str, Any] = {"beside": beside} if kind.name == "bandwidth" else {}
            figure = getattr(result.plot, kind.name)(title="", **options)
            drawn = io.BytesIO()
            figure.savefig(drawn, format="png", dpi=DOTS_PER_INCH)
            with Image.open(drawn) as image:
                few = image.convert("RGB").quantize(COLOURS)
            few.save(folder / f"picture-{kind.name}.png", optimize=True)


def main() -> None:
    """Read the folders from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pictures", type=Path, help="where to write")
    parser.add_argument("run", type=Path, nargs="?", help="a run that is there already")
    arguments = parser.parse_args()
    if arguments.run is not None:
        draw(arguments.pictures, astra_ns3.Result.load(arguments.run), [])
        return
    with tempfile.TemporaryDirectory() as folder:
        results = [play(Path(folder), control) for control in ("dcqcn", "hpcc")]
        draw(arguments.pictures, results[0], results[1:])
        draw(arguments.pictures, train(Path(folder)), [], only="memory")
        draw(arguments.pictures, others(Path(folder)), [], only="slowdown")


if __name__ == "__main__":
    main()
