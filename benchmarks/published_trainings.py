"""Published iterations of large models beside ours: docs/tables/published-trainings.csv.

Sources, each read in a file:

* SC 2021: D. Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM",
  table 1 (as data/megatron_table.csv of SotaroKaneda/MLCarbon has it) and equation 3. Micro-batches and virtual stages
  aren't in the table: micro-batches are of 2 sequences, the paper's best for 91 billion parameters, where their number
  is a multiple of the stages, else of 1; virtual stages are the least divisor above 1 of a stage's layers.
* MLSys 2023: V. Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models", table 5 (as
  calculon/llm/validation.py and validation/seqsel/tab5 of calculon-ai/calculon have it, with all settings).
* Llama 3: Llama Team, "The Llama 3 Herd of Models", 2024, table 4; 4 virtual stages are our choice.

Servers of 8 GPUs with NVLink, 300 GB/s each way (A100) or 450 GB/s (H100), and a NIC for each GPU, 200 or 400 Gb/s.
Their fabric is never the limit. Groups are rings (``oneRing``), a chunk a collective. Nothing is set for a row but what
its source says.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import time
from typing import Any, NamedTuple

from models import MODELS, SYSTEM

BACKEND = "analytical"
"""Rings of a group have lines of their own, so no two messages meet; with queues each would be stored and forwarded."""
IDEAL = {"compute.launch_overhead": 0, "compute.scale_up_efficiency": 1, "compute.overlap_slowdown": 1}
SEQUENCE = 2048
VOCABULARY = 51_200
LAYERS_OF_LLAMA = 126
NOTHING_OVERLAPS = {"compute.overlap_slowdown": 1}
"""Of rows in which nothing is computed beside a collective. They end in the same picosecond, and are played faster."""
TITLES = ("Row", "Setting", "Source", "Theirs", "Ours", "Ours over theirs", "Held out")
MOST_COPIES = 8
"""Of a model with a pipeline: an NPU then sends 7/8 of its gradients twice, where 128 copies send 127/128."""


class Row(NamedTuple):
    """A published iteration; ``copies``: played of its data-parallel copies, fewer than there are where it is large."""

    name: str
    setting: str
    source: str
    seconds: float
    """Of an iteration, theirs."""
    held_out: bool
    """From the choice of any setting."""
    model: str
    changes: dict[str, Any]
    nvlink: str
    nic: str
    copies: int | None = None


def narayanan(
    billions: str, heads: int, hidden: int, layers: int, tensor: int, pipeline: int, gpus: int, batch: int, tflops: int
) -> Row:
    """A row of table 1: the time of an iteration follows from its operations and what each GPU does in a second."""
    size, sequence = hidden, SEQUENCE
    besides = sequence / (6 * size) + VOCABULARY / (16 * layers * size)
    operations = 96 * batch * sequence * layers * size**2 * (1 + besides)
    copies = gpus // (tensor * pipeline)
    sequences = batch // copies
    micro_batch = 2 if sequences % (2 * pipeline) == 0 else 1
    of_a_stage = layers // pipeline
    virtual = next(parts for parts in range(2, of_a_stage + 1) if of_a_stage % parts == 0) if pipeline > 1 else 1
    words = f"{gpus:,} A100, tensor {tensor}, pipeline {pipeline}, {batch:,} sequences, {micro_batch} a micro-batch"
    changes = {
        **gpt(heads, hidden, layers),
        "training.micro_batch": micro_batch,
        "training.micro_batches": sequences // micro_batch,
        "training.recompute": "full",
        "parallel.tensor": tensor,
        "parallel.sequence": False,
        "parallel.pipeline": pipeline,
        "parallel.virtual_stages": virtual,
        "parallel.schedule": "interleaved" if virtual > 1 else "1f1b",
        "parallel.overlap": False,
        **NOTHING_OVERLAPS,
    }
    held_out = billions not in ("18.4", "145.6")
    return Row(
        f"{billions}B",
        words,
        "SC 2021",
        operations / (gpus * tflops * 1e12),
        held_out,
        "gpt-3-175b",
        changes,
        "2400Gbps",
        "200Gbps",
        copies if pipeline == 1 else min(copies, MOST_COPIES),
    )


def gpt(heads: int, hidden: int, layers: int) -> dict[str, Any]:
    """Sizes of a GPT as Megatron-LM trains it."""
    sizes = {"heads": heads, "hidden": hidden, "layers": layers, "vocabulary": VOCABULARY}
    return {f"model.{key}": value for key, value in sizes.items()}


def korthikanti(
    name: str, sizes: tuple[int, int, int], batch: int, micro_batch: int, pipeline: int, virtual: int, times: str
) -> tuple[Row, Row]:
    """Two rows of table 5: full recomputing, and selective with sequence parallelism; ``times``: theirs, in s."""

    def row(seconds: str, words: str, held_out: bool, **changes: object) -> Row:
        setting = f"{8 * pipeline} A100, tensor 8, pipeline {pipeline}, {batch} sequences, {micro_batch} a micro-batch"
        common = {
            **gpt(*sizes),
            **({} if words == "selective" else NOTHING_OVERLAPS),
            "training.micro_batch": micro_batch,
            "training.micro_batches": batch // micro_batch,
            "parallel.pipeline": pipeline,
            "parallel.virtual_stages": virtual,
            "parallel.schedule": "interleaved" if virtual > 1 else "1f1b",
        }
        given = {f"{'parallel' if key == 'sequence' else 'training'}.{key}": value for key, value in changes.items()}
        return Row(
            f"{name}, {words}",
            setting,
            "MLSys 2023",
            float(seconds),
            held_out,
            "gpt-3-175b",
            common | given,
            "2400Gbps",
            "200Gbps",
            1,
        )

    full, selective = times.split()
    decides = "full" if name == "175B" else "selective"
    return (
        row(full, "full", decides != "full", recompute="full", sequence=False),
        row(selective, "selective", decides != "selective", recompute="selective", sequence=True),
    )


def llama(gpus: int, batch: int, tflops: int, held_out: bool) -> Row:
    """A row of Llama 3's table 4; model FLOP by the model's own count, as its paper's MFU is of 989 TFLOPS."""
    from astra_ns3.workload.models.workload import read_model

    layers = [7, *[8] * 14, 7]  # one fewer on the first and the last stage, as its paper says
    stages = [[size // 4 + (part < size % 4) for part in range(4)] for size in layers]
    parts = [stages[stage][part] for part in range(4) for stage in range(16)]
    assert sum(parts) == LAYERS_OF_LLAMA
    model = read_model(MODELS / "llama-3-405b.yaml")
    operations = model.totals().training_flops * batch * gpus // 128
    changes = {
        "training.micro_batches": batch,
        "parallel.virtual_stages": 4,
        "parallel.schedule": "interleaved",
        "parallel.layers_per_part": parts,
    }
    setting = f"{gpus:,} H100, tensor 8, pipeline 16, {batch} sequences a copy, 4 virtual stages"
    seconds = operations / (gpus * tflops * 1e12)
    return Row(
        f"Llama-3 405B, {gpus:,}",
        setting,
        "Llama 3",
        seconds,
        held_out,
        "llama-3-405b",
        changes,
        "3600Gbps",
        "400Gbps",
        MOST_COPIES,
    )


def rows() -> list[Row]:
    """All of them."""
    return [
        *korthikanti("22B", (64, 6144, 48), 4, 4, 1, 1, "1.42 1.10"),
        *korthikanti("175B", (96, 12288, 96), 64, 1, 8, 3, "18.13 13.75"),
        narayanan("1.7", 24, 2304, 24, 1, 1, 32, 512, 137),
        narayanan("3.6", 32, 3072, 30, 2, 1, 64, 512, 138),
        narayanan("7.5", 32, 4096, 36, 4, 1, 128, 512, 142),
        narayanan("18.4", 48, 6144, 40, 8, 1, 256, 1024, 135),
        narayanan("39.1", 64, 8192, 48, 8, 2, 512, 1536, 138),
        narayanan("145.6", 96, 12288, 80, 8, 8, 1536, 2304, 148),
        llama(8192, 32, 430, False),
        llama(16384, 16, 400, True),
    ]


def network_of(row: Row, npus: int) -> dict[str, Any]:
    """Keys of a network of servers of 8 GPUs."""
    switch = {"buffer": "64MiB"}
    servers = max(npus // 8, 1)
    out = {"kind": "single-switch", "link": {"rate": row.nic, "delay": "1us"}, "switch": switch}
    inside = {"link": {"rate": row.nvlink, "delay": "500ns"}, "switch": switch}
    topology = {"kind": "hierarchical", "nodes": servers, "npus_per_node": 8, "scale_up": inside, "scale_out": out}
    return {"topology": topology, "transport": {"kind": "roce"}}


def played(row: Row, backend: str = BACKEND, ideal: bool = False) -> Any:
    """Play an iteration of a row; its result."""
    import astra_ns3
    from astra_ns3.config.network.packet_network import parse_network
    from astra_ns3.system.file import parse_system
    from astra_ns3.workload.models.changes import changed
    from astra_ns3.workload.models.workload import read_model

    model = changed(read_model(MODELS / f"{row.model}.yaml"), {**row.changes, **(IDEAL if ideal else {})})
    npus = model.least_npus * (row.copies or 1)
    return astra_ns3.run(
        workload=model,
        system=parse_system(SYSTEM, "benchmark"),
        network=parse_network(network_of(row, npus)),
        backend=backend,
        isolated=False,
    )


def cells(row: Row, seconds: float) -> tuple[str, ...]:
    """Return the cells of the table for a row whose iteration took us ``seconds``, as ``TITLES`` names them."""
    times = f"{row.seconds:.4g} s", f"{seconds:.4g} s", f"{seconds / row.seconds:.3f}"
    return row.name, row.setting, row.source, *times, "yes" if row.held_out else ""


def measured(row: Row, backend: str, ideal: bool) -> dict[str, Any]:
    """Seconds of an iteration of ours and what NPU 0 does in it, and of the processor."""
    result = played(row, backend, ideal)
    metadata = result.metadata
    found = {"row": row.name, "ours": result.finish_ps / 1e12, "ratio": result.finish_ps / 1e12 / row.seconds}
    floor = metadata["floor"]
    exposed = metadata.get("exposed_by_group") or metadata["exposed_ps"]
    return {
        **found,
        "computing": metadata["compute_ps"] / 1e12,
        "exposed": exposed,
        "of_floor": None if floor is None else floor["share"],
        "cpu_seconds": time.process_time(),
    }


def main() -> None:
    """Print the table as CSV, or with ``--json`` the numbers of each row."""
    known = {row.name: row for row in rows()}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(known), help=f"of {'; '.join(known)}")
    parser.add_argument("--backend", default=BACKEND)
    parser.add_argument("--ideal", action="store_true", help="without losses of the device")
    parser.add_argument("--json", action="store_true", help="a JSON line for each, in this process")
    arguments = parser.parse_args()
    table = csv.writer(sys.stdout, lineterminator="\n")
    if not arguments.json:
        table.writerow(TITLES)
    for name in arguments.names:
        row = known[name]
        if arguments.json:
            print(json.dumps(measured(row, arguments.backend, arguments.ideal)), flush=True)
            continue
        command = [sys.executable, __file__, "--json", "--backend", arguments.backend, name]
        command += ["--ideal"] if arguments.ideal else []
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        found = json.loads(done.stdout.splitlines()[-1])
        table.writerow(cells(row, found["ours"]))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
