"""Reduced models on packets and on both analytical networks: docs/tables/reduced-models.csv.

Each model is small enough for packets, with the degrees of a large one. The floor is the least time that the lines
allow the run's bytes, or that the longest chain of computations takes. Seconds are of the processor.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from typing import Any, NamedTuple

from models import INPUTS, MODELS, SYSTEM

BACKENDS = ("ns3", "flow", "analytical-queues", "analytical")
CLOS = "roce-nvswitch-clos-128.yaml"
NO_LOSSES = {"compute.launch_overhead": 0, "compute.scale_up_efficiency": 1, "compute.overlap_slowdown": 1}
"""All lines at their rates: the networks are compared."""
LLAMA = {"model.layers": 4, "training.sequence": 1024, "training.micro_batches": 4, "parallel.tensor": 4}


class Reduced(NamedTuple):
    """A model file with other values of some keys, and a network."""

    words: str
    model: str
    changes: dict[str, Any]
    network: str


REDUCED = (
    Reduced(
        "Llama-3 8B, 4 layers, tensor 4, pipeline 2, data 16",
        "llama-3-8b",
        {**NO_LOSSES, **LLAMA, "parallel.pipeline": 2, "parallel.zero": 1},
        CLOS,
    ),
    Reduced(
        "the same, fully sharded: tensor 4, data 32, ZeRO 3",
        "llama-3-8b",
        {**NO_LOSSES, **LLAMA, "parallel.pipeline": 1, "parallel.zero": 3, "training.micro_batches": 1},
        CLOS,
    ),
    Reduced("ResNet-50, data 16, one switch", "resnet-50", NO_LOSSES, "roce-16.yaml"),
    Reduced(
        "BERT-large, 2 layers, data 32, 2:1 oversubscribed",
        "bert-large",
        {**NO_LOSSES, "model.layers": 2},
        "leaf-spine-32.yaml",
    ),
)


def played(reduced: Reduced, backend: str) -> tuple[int, int, float]:
    """Finish and floor in ps, and seconds of the processor."""
    import astra_ns3
    from astra_ns3.config.network.packet_network import read_network
    from astra_ns3.system.file import parse_system
    from astra_ns3.workload.models.changes import changed
    from astra_ns3.workload.models.workload import read_model

    begin = time.process_time()
    result = astra_ns3.run(
        workload=changed(read_model(MODELS / f"{reduced.model}.yaml"), reduced.changes),
        system=parse_system(SYSTEM, "benchmark"),
        network=read_network(INPUTS / "network" / reduced.network),
        backend=backend,
        isolated=False,
    )
    return result.finish_ps, result.metadata["floor"]["time_ps"], time.process_time() - begin


def main() -> None:
    """Print the table as CSV, and seconds of the processor beside it."""
    from astra_ns3.units import format_time

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("numbers", nargs="*", type=int, default=range(len(REDUCED)), help="which, from 0")
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["Model", "packets", *BACKENDS[1:], "floor"])
    for number in parser.parse_args().numbers:
        reduced = REDUCED[number]
        cells, taken = [], []
        for backend in BACKENDS:
            finish_ps, floor_ps, seconds = played(reduced, backend)
            cells.append(format_time(finish_ps))
            taken.append(f"{seconds:.0f} s")
        table.writerow([reduced.words, *cells, format_time(floor_ps)])
        print(", ".join(taken), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
