"""A translator of recurrent layers, data parallel or in stages; every layer is a block.

Source: Y. Wu et al., "Google's Neural Machine Translation System", 2016, sections 3 and 3.1; the cell: S. Hochreiter,
J. Schmidhuber, "Long Short-Term Memory", 1997. A layer's products with its input are done for all words at once, those
with its own last output a word at a time. Model limits: all sentences have the same length; additions of inputs and
outputs of layers take no time; a decoder's stages take the attention's vectors with them.
"""

from __future__ import annotations

from collections.abc import Iterator

from astra_ns3.config.model.recurrent import RecurrentFile, RecurrentShape
from astra_ns3.config.training_plan import Degrees
from astra_ns3.frozen import dataclass
from astra_ns3.workload.models.parts import Parts, Totals
from astra_ns3.workload.models.piece import Piece, block_of
from astra_ns3.workload.models.sized_operations import Linear, elementwise, gather, product

# Input, forget and output gate, and what is remembered.
_GATES = 4
_SINGLE_BYTES = 4


@dataclass(frozen=True)
class Cells:
    """A layer: how many numbers it reads of each word, of how many words, and whether in both directions."""

    name: str
    inputs: int
    words: int
    directions: int = 1
    attends: bool = False
    """Whether attention stands in front of it."""


def recurrent_parts(file: RecurrentFile, degrees: Degrees) -> Parts:
    """Tables of words with the first layer, logits with the last."""
    shape, batch, value = file.model, file.training.micro_batch, file.training.value_bytes
    body = tuple(block_of(layer.name, _pieces(layer, shape, batch, value)) for layer in layers_of(shape))
    tables = Piece(
        (gather("embedding", 2 * batch * (shape.source_length + shape.target_length) * shape.units * value),),
        weight_gradient=(
            gather("embedding gradient", 2 * batch * (shape.source_length + shape.target_length) * shape.units * value),
        ),
        parameters=2 * shape.vocabulary * shape.units,
    )
    return Parts(
        body,
        (block_of("embedding", (tables,)),),
        (block_of("head", _head(shape, batch, value)),),
        output_bytes=tuple(
            # A stage behind a decoder's layer needs attention's vectors for each word, too.
            batch * layer.words * (layer.directions if layer.name.startswith("encoder") else 2) * shape.units * value
            for layer in layers_of(shape)
        ),
    )


def recurrent_totals(file: RecurrentFile) -> Totals:
    """The whole model; a sample is a pair of sentences."""
    shape = file.model
    weights = biases = flops = 0
    for layer in layers_of(shape):
        here = layer.directions * _GATES * shape.units * (layer.inputs + shape.units)
        weights += here
        biases += layer.directions * _GATES * shape.units
        flops += 2 * layer.words * here
    attention = 2 * shape.units**2 + shape.units
    tables = 3 * shape.vocabulary * shape.units
    flops += 2 * shape.units**2 * (shape.source_length + shape.target_length)
    flops += 2 * shape.source_length * shape.target_length * shape.units
    flops += 2 * shape.target_length * shape.units * shape.vocabulary
    parameters = weights + biases + attention + tables
    words = shape.source_length + shape.target_length
    return Totals(parameters, parameters, flops, len(layers_of(shape)), "pair of sentences", words)


def layers_of(shape: RecurrentShape) -> tuple[Cells, ...]:
    """Encoder, then decoder; behind a layer in both directions inputs are twice as wide."""
    layers, inputs = [], shape.units
    for number in range(shape.encoder_layers):
        directions = 2 if number < shape.bidirectional_layers else 1
        layers.append(Cells(f"encoder {number}", inputs, shape.source_length, directions))
        inputs = directions * shape.units
    for number in range(shape.decoder_layers):
        layers.append(Cells(f"decoder {number}", 2 * shape.units, shape.target_length, attends=number == 0))
    return tuple(layers)


def _pieces(layer: Cells, shape: RecurrentShape, batch: int, value: int) -> Iterator[Piece]:
    if layer.attends:
        yield _attention(shape, batch, value)
    for _ in range(layer.directions):
        yield from _cells(layer, shape.units, batch, value)


def _cells(layer: Cells, units: int, batch: int, value: int) -> Iterator[Piece]:
    """One direction. Kept are its input, its gates and what is remembered."""
    rows, outputs = batch * layer.words, _GATES * units
    of_input = Linear(f"{layer.name} input", rows, outputs, layer.inputs, value)
    yield Piece(
        (of_input.forward,),
        (of_input.input_gradient,),
        (of_input.weight_gradient,),
        parameters=outputs * (layer.inputs + 1),
        kept_bytes=rows * layer.inputs * value,
    )
    moved = rows * (outputs + 2 * units) * value
    # The gradient of the weights sums over all words, so it is one product.
    yield Piece(
        (
            product(f"{layer.name} recurrence", batch, outputs, units, value, layer.words),
            elementwise(f"{layer.name} gates", moved),
        ),
        (
            elementwise(f"{layer.name} gates gradient", 2 * moved),
            product(f"{layer.name} recurrence gradient", batch, units, outputs, value, layer.words),
        ),
        (product(f"{layer.name} recurrence weight gradient", units, outputs, rows, value),),
        parameters=outputs * units,
        kept_bytes=moved,
    )


def _attention(shape: RecurrentShape, batch: int, value: int) -> Piece:
    """The attention of every word of the target to every word of the source, by a layer of ``units``."""
    units, source, target = shape.units, shape.source_length, shape.target_length
    keys = Linear("attention keys", batch * source, units, units, value)
    queries = Linear("attention queries", batch * target, units, units, value)
    pairs = batch * source * target * units * value
    return Piece(
        (
            keys.forward,
            queries.forward,
            elementwise("attention scores", pairs),
            product("attention sum", target, units, source, value, batch),
        ),
        (
            product("attention sum gradient", target, source, units, value, batch),
            product("attention value gradient", source, units, target, value, batch),
            elementwise("attention scores gradient", 2 * pairs),
            queries.input_gradient,
            keys.input_gradient,
        ),
        (queries.weight_gradient, keys.weight_gradient),
        parameters=2 * units**2 + units,
        kept_bytes=batch * ((2 * source + target) * units + source * target) * value,
    )


def _head(shape: RecurrentShape, batch: int, value: int) -> Iterator[Piece]:
    rows = batch * shape.target_length
    logits = Linear("logits", rows, shape.vocabulary, shape.units, value)
    moved = 2 * rows * shape.vocabulary * _SINGLE_BYTES
    yield Piece(
        (logits.forward, elementwise("loss", moved)),
        (elementwise("loss gradient", moved), logits.input_gradient),
        (logits.weight_gradient,),
        parameters=shape.vocabulary * shape.units,
        kept_bytes=rows * (shape.units * value + shape.vocabulary * _SINGLE_BYTES),
    )
