"""A recommendation model's blocks: tables, the bottom network, the top network's layers.

Source: M. Naumov et al., "Deep Learning Recommendation Model for Personalization and Recommendation Systems", 2019.
Sums of rows travel while the bottom network is computed, their gradients while its gradients are.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from astra_ns3.config.model.dlrm import DlrmFile
from astra_ns3.config.training_plan import Block, Degrees, Item
from astra_ns3.workload.models.parts import Parts, Totals
from astra_ns3.workload.models.piece import Piece, block_of, joined
from astra_ns3.workload.models.recommendation.tables import Tables
from astra_ns3.workload.models.sized_operations import Linear, elementwise


def dlrm_parts(file: DlrmFile, degrees: Degrees) -> Parts:
    """The tables' own block has no exchange but of indices: what it makes is sent while the next is computed."""
    tables = Tables.of(file, degrees)
    update = tables.looked_up("table update", 2)
    lookup = Block(
        "embedding",
        forward=(*tables.indices(), *tables.looked_up("table look-up", 1)),
        weight_gradient=update,
        table_parameters=tables.parameters,
    )
    widths = (file.model.dense_features, *file.model.bottom)
    bottom = joined(
        _layer(file, f"bottom {number}", *pair, number == 0) for number, pair in enumerate(pairwise(widths))
    )
    around = Piece(
        (*tables.sums(), *bottom.forward),
        (*tables.gradients(), *bottom.input_gradient),
        bottom.weight_gradient,
        bottom.parameters,
        kept_bytes=bottom.kept_bytes,
    )
    return Parts((lookup, block_of("bottom", (around,)), *_top(file)))


def dlrm_totals(file: DlrmFile) -> Totals:
    """The whole model; a sample uses ``pooling`` rows of each table."""
    shape = file.model
    dense = flops = 0
    for widths in ((shape.dense_features, *shape.bottom), (shape.interactions, *shape.top)):
        for inputs, outputs in pairwise(widths):
            dense += (inputs + 1) * outputs
            flops += 2 * inputs * outputs
    if shape.interaction == "dot":
        flops += 2 * (shape.tables + 1) ** 2 * shape.embedding
    table = shape.rows * shape.embedding
    used = shape.tables * min(shape.pooling, shape.rows) * shape.embedding
    layers = 2 + len(shape.top)  # the tables are one, and so is the bottom network
    return Totals(dense + shape.tables * table, dense + used, flops, layers, "sample")


def _top(file: DlrmFile) -> Sequence[Block]:
    shape = file.model
    blocks = []
    for number, pair in enumerate(pairwise((shape.interactions, *shape.top))):
        pieces = [_layer(file, f"top {number}", *pair)]
        if number == 0:
            pieces.insert(0, _interaction(file))
        blocks.append(block_of(f"top {number}", pieces))
    return blocks


def _layer(file: DlrmFile, name: str, inputs: int, outputs: int, is_first: bool = False) -> Piece:
    """A fully connected layer and its activation; the first of a model needs no gradient of its input."""
    batch, value = file.training.micro_batch, file.training.value_bytes
    product = Linear(name, batch, outputs, inputs, value)
    moved = batch * outputs * value
    input_gradient: tuple[Item, ...] = (elementwise(f"{name} activation gradient", 3 * moved),)
    return Piece(
        (product.forward, elementwise(f"{name} activation", 2 * moved)),
        input_gradient if is_first else (*input_gradient, product.input_gradient),
        (product.weight_gradient,),
        parameters=(inputs + 1) * outputs,
        kept_bytes=batch * (inputs + outputs) * value,
    )


def _interaction(file: DlrmFile) -> Piece:
    """All vectors side by side, or their products with each other."""
    shape, batch, value = file.model, file.training.micro_batch, file.training.value_bytes
    vectors = shape.tables + 1
    moved = batch * (vectors * shape.embedding + shape.interactions) * value
    forward: tuple[Item, ...] = (elementwise("interaction", moved),)
    backward: tuple[Item, ...] = (elementwise("interaction gradient", moved),)
    if shape.interaction == "dot":
        forward = (Linear("interaction", vectors, vectors, shape.embedding, value, batch).forward, *forward)
        backward = (
            *backward,
            Linear("interaction gradient", vectors, shape.embedding, vectors, value, 2 * batch).forward,
        )
    return Piece(forward, backward, kept_bytes=batch * vectors * shape.embedding * value)
