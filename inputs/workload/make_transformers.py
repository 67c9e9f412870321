"""Transformers, data parallel or tensor and data parallel, from their published sizes.

Two are written: BERT-large (Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers for Language
Understanding", NAACL 2019) and the 8.3 billion parameters of Shoeybi et al., "Megatron-LM: Training Multi-Billion
Parameter Language Models Using Model Parallelism", 2019, table 1, whose split of each block over NPUs (section 3) this
follows: two all-reduces of the activations in a block's forward pass, two in its backward pass. A block is two layers,
attention and feed-forward. Model limits, choices of ours: matrix products run at the full compute rate and nothing else
takes time; a pass backward is two products, of the input's and of the weight's gradient; nothing is computed twice to
save memory; the loss of split logits sends nothing; gradients have 16 bits and travel layer by layer, not in buckets.
``README.md`` beside this file has the numbers.

    python inputs/workload/make_transformers.py FOLDER
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.workload import Layer, Pass, Workload
from astra_ns3.workload.files.astra_sim import format_workload
from astra_ns3.workload.generators.rates import A100_OPERATIONS_PER_NS, rounded_up, update_ns


@dataclass(frozen=True)
class TransformerModel:
    """Sizes of a transformer and of the NPUs that train it; the defaults are BERT-large."""

    blocks: int = 24
    hidden: int = 1024
    feed_forward: int = 4096
    vocabulary: int = 30522
    positions: int = 512
    """The longest sequence, and here the length of all."""
    encoder: bool = True
    """BERT's ends: segments and a normalisation at the embedding, a pooler at the head; else a normalisation there."""
    predicted_percent: int = 15
    """Share of the tokens whose logits are computed: BERT predicts those that it masks."""
    batch: int = 16
    """Sequences per copy of the model and iteration."""
    tensor_parallel: int = 1
    """NPUs that share each block; the others are copies."""
    element_bytes: int = 2
    operations_per_ns: int = A100_OPERATIONS_PER_NS

    @property
    def tokens(self) -> int:
        """Of one iteration of a copy."""
        return self.batch * self.positions

    @property
    def activation_bytes(self) -> int:
        """Activations between layers: what NPUs that share a block all-reduce."""
        return self.tokens * self.hidden * self.element_bytes


BERT_LARGE = TransformerModel()

MEGATRON_8B = TransformerModel(
    blocks=72,
    hidden=3072,
    feed_forward=4 * 3072,
    vocabulary=51200,
    positions=1024,
    encoder=False,
    predicted_percent=100,
    batch=8,
    tensor_parallel=8,
)

FILES = {"transformer-bert-large": BERT_LARGE, "transformer-megatron-8b": MEGATRON_8B}
"""What is written, by the file's name without ``.txt``."""


@dataclass(frozen=True)
class Part:
    """A layer before it is timed: parameters and operations of one NPU."""

    name: str
    split_parameters: int
    """Of the whole model; each NPU of a group has its share."""
    whole_parameters: int
    """That every NPU has."""
    weight_operations: int
    """Of the forward pass's products with weights, for all tokens of a copy, over the group."""
    score_operations: int = 0
    """Of its products of activations with each other."""
    forward_all_reduce: bool = True
    backward_all_reduce: bool = True


def parts_of(model: TransformerModel) -> tuple[Part, ...]:
    """Embedding, attention and feed-forward of each block, head; in the order of the forward pass."""
    blocks = [part for number in range(model.blocks) for part in _block(model, number)]
    return (_embedding(model), *blocks, _head(model))


def transformer_workload(model: TransformerModel, source: str = "transformer") -> Workload:
    """The DATA loop of ``model``, or HYBRID_TRANSFORMER where NPUs share its blocks."""
    layers = tuple(_layer(model, part) for part in parts_of(model))
    if model.tensor_parallel == 1:
        return Workload("DATA", layers, source=source)
    return Workload("HYBRID_TRANSFORMER", layers, source=source, model_parallel_npus=model.tensor_parallel)


def _embedding(model: TransformerModel) -> Part:
    """Tables of words, split, and of positions; a look-up takes no time here, and has no input to have a gradient."""
    tables = model.positions + (2 + 2 if model.encoder else 0)  # two segments; scale and shift of the normalisation
    return Part("Embedding", model.vocabulary * model.hidden, tables * model.hidden, 0, backward_all_reduce=False)


def _block(model: TransformerModel, number: int) -> Iterator[Part]:
    """Whole on every NPU are what follows a sum over the group: the last bias, and a normalisation of two vectors."""
    hidden, wide = model.hidden, model.feed_forward
    products = 4 * hidden * hidden  # query, key, value, output
    yield Part(
        f"Attention_{number}",
        products + 3 * hidden,
        3 * hidden,
        2 * model.tokens * products,
        4 * model.tokens * model.positions * hidden,  # query with key, and the scores with value
    )
    yield Part(
        f"FeedForward_{number}",
        2 * hidden * wide + wide,
        3 * hidden,
        4 * model.tokens * hidden * wide,
    )


def _head(model: TransformerModel) -> Part:
    """Logits with the embedding's own weights, so the only gradients are those of what stands before them."""
    logits = 2 * model.tokens * model.hidden * model.vocabulary * model.predicted_percent // 100
    whole = model.hidden * (model.hidden + 1) if model.encoder else 2 * model.hidden
    return Part("Head", 0, whole, logits, forward_all_reduce=False)


def _layer(model: TransformerModel, part: Part) -> Layer:
    share = model.tensor_parallel * model.operations_per_ns
    gradient_bytes = (part.split_parameters // model.tensor_parallel + part.whole_parameters) * model.element_bytes
    return Layer(
        part.name,
        _activations(model, rounded_up(part.weight_operations + part.score_operations, share), part.forward_all_reduce),
        _activations(
            model, rounded_up(part.weight_operations + 2 * part.score_operations, share), part.backward_all_reduce
        ),
        Pass(rounded_up(part.weight_operations, share), CollectiveKind.ALL_REDUCE, gradient_bytes),
        update_ns(gradient_bytes),
    )


def _activations(model: TransformerModel, compute_ns: int, all_reduce: bool) -> Pass:
    if all_reduce and model.tensor_parallel > 1:
        return Pass(compute_ns, CollectiveKind.ALL_REDUCE, model.activation_bytes)
    return Pass(compute_ns)


if __name__ == "__main__":
    for name, model in FILES.items():
        text = format_workload(transformer_workload(model, name))
        (Path(sys.argv[1]) / f"{name}.txt").write_text(text, encoding="utf-8", newline="\n")
