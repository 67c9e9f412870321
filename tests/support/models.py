"""Small models for tests, as their files would say them."""

from __future__ import annotations

from collections import Counter
from typing import Any

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.document import Document
from astra_ns3.config.model.file import parse_model_file
from astra_ns3.config.training_plan import Block, Exchange, Group, Item, Operation, OperationKind, Ring, TrainingPlan
from astra_ns3.workload.models.workload import ModelWorkload

SEQUENCE, BATCH = 512, 2
LAYERS, HIDDEN, HEADS, VOCABULARY = 4, 1024, 16, 51200
GPT: dict[str, Any] = {
    "layers": LAYERS,
    "hidden": HIDDEN,
    "heads": HEADS,
    "vocabulary": VOCABULARY,
    "norm": "layer",
    "biases": True,
    "tied_embeddings": True,
    "dropout": True,
    "fused_attention": False,
    "positions": SEQUENCE,
}
MULTIPLIED = (OperationKind.MATMUL, OperationKind.ATTENTION, OperationKind.CONVOLUTION)


def model_of(data: dict[str, Any], source: str = "small.yaml") -> ModelWorkload:
    """What a file with these keys says."""
    return ModelWorkload(parse_model_file(Document(source, data)), source)


def small_gpt(
    model: dict[str, Any] | None = None, parallel: dict[str, Any] | None = None, **training: Any
) -> ModelWorkload:
    """A small GPT with other keys."""
    data = {
        "kind": "transformer",
        "name": "small",
        "model": {**GPT, **(model or {})},
        "training": {"sequence": SEQUENCE, "micro_batch": BATCH, **training},
        "parallel": parallel or {},
    }
    return model_of(data)


def blocks(plan: TrainingPlan) -> list[Block]:
    """All of a plan's."""
    return [block for chunk in plan.chunks for block in chunk]


def layer(plan: TrainingPlan, number: int = 0) -> Block:
    """A transformer's layer."""
    return next(block for block in blocks(plan) if block.name == f"layer {number}")


def flops(items: tuple[Item, ...], turns: int = 1) -> int:
    """Of products; of a ring in so many turns."""
    operations = [item for item in items if isinstance(item, Operation)]
    turned = sum(turns * item.operation.flops for item in items if isinstance(item, Ring))
    return turned + sum(item.flops for item in operations if item.kind in MULTIPLIED)


def exchanges(items: tuple[Item, ...], group: Group) -> list[Exchange]:
    """Of a group."""
    return [item for item in items if isinstance(item, Exchange) and item.group is group]


def exchanged(items: tuple[Item, ...], group: Group) -> Counter[tuple[CollectiveKind, int]]:
    """How often which collective of how many bytes."""
    return Counter((item.kind, item.bytes) for item in exchanges(items, group))
