"""Degrees that Narayanan et al. chose beside the best of their space, as flows: a table of docs/plan.md.

Sources: D. Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", SC
2021, table 1 and section 5 (``published_trainings.py`` says where the rows were read); V. Korthikanti et al., "Reducing
Activation Recomputation in Large Transformer Models", table 5. Narayanan's space: tensor, pipeline, data, micro-batch
and virtual stages; all is recomputed, without ZeRO and sequence parallelism. A plan has to fit as in Megatron-LM, which
needs 20 bytes a parameter when it updates (NVIDIA, "Megatron Core User Guide", "Distributed Optimizer", its row of
float16 parameters and gradients): to ours of 16 it adds a copy of the gradients in single precision.

Bounds are of all plans at full size. Then the published degrees are played, with each micro-batch and number of virtual
stages whose bound isn't above their best run, and the plans of the least bounds. A plan is played with as many copies
as fill eight servers a stage; what the copies that are left out add to its gradients is added as the bounds of both
sizes differ. Each run is a row of a table, and the next call goes on from there.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from models import MODELS
from published_trainings import gpt, network_of, rows

MOST_PLAYED, MOST_OF_THEIRS = 10, 6
LEAST_OF_STAGE = 64
"""NPUs of a stage that is played: eight servers, so that rings of gradients leave their servers as they would."""
CAPACITY_BYTES = 80 * 10**9
COPIES_OF_WEIGHTS = 2
"""A copy of gradients in single precision takes as much as two of the weights in half precision."""
SCHEDULES = ("1f1b", "interleaved")
COLUMNS = ("case", "plan", "theirs", "bound_s", "time_s", "npus_played", "npus", "cpu_s")
CHOSEN = (
    *("parallel.tensor", "parallel.sequence", "parallel.context", "parallel.expert", "parallel.pipeline"),
    *("parallel.schedule", "parallel.virtual_stages", "parallel.zero", "training.micro_batch", "training.recompute"),
)
THEIRS = {
    "parallel.context": 1,
    "parallel.expert": 1,
    "parallel.sequence": False,
    "parallel.zero": 0,
    "training.recompute": "full",
}


class Case(NamedTuple):
    """A model on so many GPUs, whose plans are compared.

    ``held``: keys that all plans have; ``published``: keys of those that are theirs; ``seconds``: of theirs, 0: not
    told; ``one_copy``: whether plans with several copies of the model are left out; ``most``: how many are played;
    ``copies``: that are played at most, 0: as many as fill eight servers a stage.
    """

    name: str
    sizes: dict[str, Any]
    gpus: int
    batch: int
    held: dict[str, Any]
    published: dict[str, Any]
    seconds: float = 0.0
    one_copy: bool = False
    most: int = MOST_PLAYED
    copies: int = 0

    def is_theirs(self, choice: Any) -> bool:
        """Return whether a plan has the published keys."""
        return all(choice.keys[key] == value for key, value in self.published.items())


def cases() -> list[Case]:
    """Return the rows of table 1 up to 1,024 GPUs and that of a trillion parameters; then what the texts say."""
    known = {row.name: row.seconds for row in rows()}
    known |= {"76.1B": 16.06, "1008B": 102.6}  # equation 3 at 140 and 163 TFLOP/s a GPU
    table = [
        ("1.7B", (24, 2304, 24), 32, 512, 1, 1),
        ("3.6B", (32, 3072, 30), 64, 512, 2, 1),
        ("7.5B", (32, 4096, 36), 128, 512, 4, 1),
        ("18.4B", (48, 6144, 40), 256, 1024, 8, 1),
        ("39.1B", (64, 8192, 48), 512, 1536, 8, 2),
        ("76.1B", (80, 10240, 60), 1024, 1792, 8, 4),
        ("1008B", (160, 25600, 128), 3072, 3072, 8, 64),
    ]
    found = [
        Case(name, gpt(*sizes), gpus, batch, THEIRS, degrees_of(tensor, pipeline), known[name])
        for name, sizes, gpus, batch, tensor, pipeline in table
    ]
    found[-1] = found[-1]._replace(copies=1, most=0)  # one copy has 512 GPUs and takes nine minutes
    # Layers and hidden sizes are those that the numbers of parameters come to.
    at_8_x_8 = {**THEIRS, **degrees_of(8, 8)}
    found.append(Case("91B at 8 x 8", gpt(80, 10240, 72), 64, 128, at_8_x_8, {"training.micro_batch": 2}))
    fixed = {**THEIRS, "training.micro_batch": 1, "parallel.schedule": "1f1b"}
    found.append(Case("162B on 64", gpt(128, 20480, 32), 64, 32, fixed, degrees_of(8, 8), one_copy=True))
    sizes, common = gpt(128, 20480, 105), {**THEIRS, **degrees_of(8, 35), "training.micro_batch": 1}
    found.append(Case("530B, full", sizes, 280, 280, common, degrees_of(8, 35), 49.05, most=0))
    selective = {**common, "parallel.sequence": True, "training.recompute": "selective"}
    found.append(Case("530B, selective", sizes, 280, 280, selective, degrees_of(8, 35), 37.83, most=0))
    return found


def degrees_of(tensor: int, pipeline: int) -> dict[str, int]:
    """Return keys of a model's file."""
    return {"parallel.tensor": tensor, "parallel.pipeline": pipeline}


def model_of(case: Case, keys: Mapping[str, Any]) -> Any:
    """Return the GPT of a case, with values of more keys."""
    from astra_ns3.workload.models.changes import changed
    from astra_ns3.workload.models.workload import read_model

    alone = {"parallel.pipeline": 1, "parallel.tensor": 1, "parallel.sequence": False, "parallel.schedule": "1f1b"}
    training = {"training.global_batch": case.batch, "training.micro_batches": None, "training.micro_batch": 1}
    given = {**case.sizes, **training, **alone, "parallel.virtual_stages": 1, "parallel.overlap": False, **keys}
    return changed(read_model(MODELS / "gpt-3-175b.yaml"), given)


def network_for(npus: int) -> Any:
    """Return servers of 8 A100s with a NIC of 200 Gb/s each, below one switch."""
    from astra_ns3.config.network.packet_network import parse_network

    return parse_network(network_of(next(each for each in rows() if each.name == "1.7B"), npus))


def system() -> Any:
    """Return the system of a plan for which no file is named."""
    from astra_ns3.planning.usual_system import usual_system
    from astra_ns3.system.file import parse_system

    return parse_system(usual_system(2))


def bounds_of(case: Case, keys: Mapping[str, Any], npus: int) -> list[Any]:
    """Return bounds on all plans of a case with these keys held, the least first."""
    from astra_ns3.experiments.inputs import load_inputs
    from astra_ns3.experiments.options import Options
    from astra_ns3.planning.bounds import Bounds
    from astra_ns3.planning.degrees import space_of
    from astra_ns3.workload.models.changes import changed

    space = space_of(model_of(case, {}), npus, keys)
    layers = space.workload.totals().layers
    cells = (cell for shape in space.shapes for cell in space.cells(shape))
    first = next(choice for cell in cells for choice in space.choices(cell, layers))
    workload = changed(space.workload, first.keys)
    inputs = load_inputs(workload, system(), network_for(npus), Options(backend="flow"))
    found = (each for each in Bounds(space, workload.plan(npus), inputs).all() if is_asked(case, each.choice))
    return sorted(found, key=lambda each: (each.time_ps, each.choice.name))


def is_asked(case: Case, choice: Any) -> bool:
    """Return whether a plan is of the authors' space."""
    return choice.schedule in SCHEDULES and not (case.one_copy and choice.cell.degrees.data > 1)


def fits(case: Case, choice: Any) -> int:
    """Return the memory of the fullest NPU; 0 where it is more than 80 GB."""
    from astra_ns3.workload.memory.peaks import memory_of

    usages = [stage.peak.usage for stage in memory_of(model_of(case, choice.keys).plan(case.gpus))]
    most = max(max(usage.total_bytes, updating_bytes(usage)) for usage in usages)
    return most if most <= CAPACITY_BYTES else 0


def updating_bytes(usage: Any) -> int:
    """Return the memory of an NPU during Megatron-LM's update, when no activations are left."""
    return int(usage.weights + usage.gradients + usage.optimizer + COPIES_OF_WEIGHTS * usage.weights)


class Size(NamedTuple):
    """How large a plan is played: NPUs, samples an iteration, and what the bounds say it lacks, in ps."""

    npus: int
    samples: int
    lacking_ps: int


def size_of(case: Case, bound: Any) -> Size:
    """Return the size at which a plan is played: as many copies as fill eight servers a stage."""
    degrees = bound.choice.cell.degrees
    copies = min(degrees.data, max(1, case.copies or LEAST_OF_STAGE // degrees.tensor))
    while degrees.data % copies:
        copies += 1
    if copies == degrees.data:
        return Size(case.gpus, case.batch, 0)
    npus, samples = case.gpus // degrees.data * copies, case.batch // degrees.data * copies
    smaller = case._replace(gpus=npus, batch=samples)
    held = {key: value for key, value in bound.choice.keys.items() if key in CHOSEN}
    least = next(
        each for each in bounds_of(smaller, held, npus) if each.choice.virtual_stages == bound.choice.virtual_stages
    )
    return Size(npus, samples, bound.time_ps - least.time_ps)


def played(case: Case, bound: Any) -> dict[str, Any]:
    """Play a plan, and return its row."""
    import astra_ns3

    begun, size = time.process_time(), size_of(case, bound)
    keys = {key: value for key, value in bound.choice.keys.items() if not key.startswith("training.global")}
    result = astra_ns3.run(
        workload=model_of(case._replace(batch=size.samples), {**keys, "training.global_batch": size.samples}),
        system=system(),
        network=network_for(size.npus),
        backend="flow",
        isolated=False,
    )
    return {
        "case": case.name,
        "plan": bound.choice.name,
        "theirs": int(case.is_theirs(bound.choice)),
        "bound_s": f"{bound.time_ps / 1e12:.4f}",
        "time_s": f"{(result.finish_ps + size.lacking_ps) / 1e12:.4f}",
        "npus_played": size.npus,
        "npus": case.gpus,
        "cpu_s": f"{time.process_time() - begun:.1f}",
    }


class Table:
    """The rows of all runs, in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.rows: list[dict[str, str]] = []
        if path.exists():
            with path.open(encoding="utf-8", newline="") as file:
                self.rows = list(csv.DictReader(file))

    def row(self, case: Case, bound: Any) -> dict[str, str]:
        """Return the row of a plan, which is played in a process of its own unless the table has it."""
        for row in self.rows:
            if (row["case"], row["plan"]) == (case.name, bound.choice.name):
                return row
        with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
            row = {
                key: str(value)
                for key, value in pool.submit(played_named, case.name, bound.choice.name).result().items()
            }
        self.rows.append(row)
        with self._path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(self.rows)
        print(", ".join(row[name] for name in COLUMNS), flush=True)
        return row


def played_named(name: str, plan: str) -> dict[str, Any]:
    """Play a plan of a case by their names, in this process."""
    case = case_named(name)
    bound = next(each for each in bounds_of(case, case.held, case.gpus) if each.choice.name == plan)
    return played(case, bound)


def case_named(name: str) -> Case:
    """Return a case."""
    return next(each for each in cases() if each.name == name)


def search(case: Case, table: Table, most: int) -> None:
    """Play plans: theirs until no bound of theirs is below their best run, and those of the least bounds."""
    begun = time.process_time()
    bounds = bounds_of(case, case.held, case.gpus)
    seconds = time.process_time() - begun
    print(f"{case.name}: {len(bounds):,} plans, bounds {seconds:.1f} s", flush=True)
    best = float("inf")
    own = [each for each in bounds if case.is_theirs(each.choice)]
    for number, bound in enumerate(each for each in own if fits(case, each.choice)):
        if number == MOST_OF_THEIRS or bound.time_ps / 1e12 >= best:
            break
        best = min(best, float(table.row(case, bound)["time_s"]))
    number = 0
    for bound in bounds:
        if number == min(case.most, most) or bound.time_ps / 1e12 >= best:
            break
        if fits(case, bound.choice):
            best = min(best, float(table.row(case, bound)["time_s"]))
            number += 1


def summary(case: Case, table: Table) -> str:
    """Return the line of a case."""
    own = [row for row in table.rows if row["case"] == case.name]
    if not own:
        return f"| {case.name}, {case.gpus:,} | not played |"
    theirs = [row for row in own if row["theirs"] == "1"]
    best = min(own, key=lambda row: float(row["time_s"]))
    their = min(theirs, key=lambda row: float(row["time_s"])) if theirs else best
    gain = float(their["time_s"]) / float(best["time_s"]) - 1
    measured = f"{case.seconds:.4g} s" if case.seconds else "-"
    cells = [f"{case.name}, {case.gpus:,}", measured, f"{float(their['time_s']):.4g} s", their["plan"]]
    cells += [f"{float(best['time_s']):.4g} s", best["plan"], f"{100 * gain:.1f}%", str(len(own))]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Play cases, and print a line for each."""
    known = [case.name for case in cases()]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=known, help=f"of {'; '.join(known)}")
    parser.add_argument("-o", "--output", type=Path, default=Path("published-plans.csv"), help="the table")
    parser.add_argument("--most", type=int, default=MOST_PLAYED, help="how many of the least bounds are played")
    parser.add_argument("--only-lines", action="store_true", help="play nothing")
    arguments = parser.parse_args()
    table = Table(arguments.output)
    for name in arguments.names:
        if not arguments.only_lines:
            search(case_named(name), table, arguments.most)
        print(summary(case_named(name), table), flush=True)


if __name__ == "__main__":
    main()
