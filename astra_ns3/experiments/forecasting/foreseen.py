"""Facts of a model's run known before it is played, as tables and data: memory by stage, how experts are chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astra_ns3.experiments.tables import Cell, CellColumn, Table, decimal
from astra_ns3.frozen import dataclass
from astra_ns3.network.run_document import ExpertsDocument, ForeseenDocument, StageDocument
from astra_ns3.workload.memory.usage import Usage

if TYPE_CHECKING:  # runs without a model need none of it
    from astra_ns3.config.model.compute import Losses
    from astra_ns3.workload.experts.skew import LayerSkew
    from astra_ns3.workload.memory.stage import Moment, StageMemory
    from astra_ns3.workload.models.work import IterationWork

MEMORY = "memory.csv"
EXPERTS = "experts.csv"


@dataclass(frozen=True)
class Foreseen:
    """Figures of a model's training, worked out from its plan.

    ``memory``: of an NPU of each stage; ``capacity_bytes``: what it has (None: not known); ``experts``: layers whose
    experts aren't chosen alike; ``work``: of an iteration; ``losses``: of what the device and its lines could do (None:
    no device); ``left_to_nccl``: the device's share of the lines inside nodes, where NCCL's channels lose it.
    """

    memory: tuple[StageMemory, ...] = ()
    capacity_bytes: int | None = None
    experts: tuple[LayerSkew, ...] = ()
    work: IterationWork | None = None
    losses: Losses | None = None
    left_to_nccl: float | None = None


@dataclass(frozen=True)
class _Step:
    """A moment of a stage; ``number``: its place in the stage's schedule."""

    stage: str
    number: int
    moment: Moment


def _part(name: str) -> CellColumn[_Step]:
    return f"{name}_bytes", lambda step: getattr(step.moment.usage, name)


def _of_work(name: str) -> CellColumn[_Step]:
    def cell(step: _Step) -> Cell:
        work = step.moment.work
        return None if work is None else int(getattr(work, name))

    return name, cell


MEMORY_COLUMNS: tuple[CellColumn[_Step], ...] = (
    ("stage", lambda step: step.stage),
    ("step", lambda step: step.number),
    ("work", lambda step: "update" if step.moment.work is None else step.moment.work.kind.value),
    _of_work("chunk"),
    _of_work("micro_batch"),
    ("layer", lambda step: step.moment.block or None),
    ("total_bytes", lambda step: step.moment.usage.total_bytes),
    *(_part(name) for name in Usage._fields),
)
EXPERTS_COLUMNS: tuple[CellColumn[LayerSkew], ...] = (
    ("layer", lambda skew: skew.layer),
    ("places", lambda skew: skew.places),
    ("rows", lambda skew: skew.rows),
    ("most_rows", lambda skew: skew.most_rows),
    ("busiest_place", lambda skew: skew.busiest),
    ("most_over_mean", lambda skew: decimal(skew.most_rows * skew.places, skew.rows) if skew.rows else None),
    ("dropped", lambda skew: skew.dropped),
)


def foreseen_tables(foreseen: Foreseen) -> list[Table]:
    """A row for each step of each stage's schedule; a row for each layer with uneven experts. None without them."""
    tables = []
    if foreseen.memory:
        steps = [_Step(of.name, number, moment) for of in foreseen.memory for number, moment in enumerate(of.moments)]
        tables.append(Table.of(MEMORY, MEMORY_COLUMNS, steps))
    if foreseen.experts:
        tables.append(Table.of(EXPERTS, EXPERTS_COLUMNS, foreseen.experts))
    return tables


def foreseen_document(foreseen: Foreseen) -> ForeseenDocument:
    """Part of run.json about it; empty where nothing is foreseen."""
    found: ForeseenDocument = {}
    if foreseen.memory:
        stages = [_stage_document(stage) for stage in foreseen.memory]
        capacity, peak = foreseen.capacity_bytes, max(int(stage["peak_bytes"]) for stage in stages)
        fits = None if capacity is None else peak <= capacity
        found["memory_by_stage"] = {"capacity_bytes": capacity, "peak_bytes": peak, "fits": fits, "stages": stages}
    if foreseen.experts:
        found["experts"] = _experts_document(foreseen.experts)
    losses = foreseen.losses
    if losses is not None and losses != type(losses)():
        found["device_losses"] = losses._asdict()
    if foreseen.left_to_nccl is not None:
        found["scale_up_efficiency_left_to_nccl"] = foreseen.left_to_nccl
    return found


def _stage_document(memory: StageMemory) -> StageDocument:
    from astra_ns3.workload.memory.peaks import moment_words

    peak = memory.peak
    parts = {f"{name}_bytes": value for name, value in peak.usage._asdict().items()}
    return {"stage": memory.name, "peak_bytes": peak.usage.total_bytes, "when": moment_words(peak), **parts}


def _experts_document(layers: tuple[LayerSkew, ...]) -> ExpertsDocument:
    worst = max(layers, key=lambda skew: skew.most_over_mean)
    rows, dropped = sum(skew.rows for skew in layers), sum(skew.dropped for skew in layers)
    return {
        "layers": len(layers),
        "worst_layer": worst.layer,
        "most_over_mean": round(worst.most_over_mean, 6),
        "mean_over_layers": round(sum(skew.most_over_mean for skew in layers) / len(layers), 6),
        "rows": rows,
        "dropped": dropped,
    }
