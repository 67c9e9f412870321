"""Attention with its own heads of keys and values for all, some or one head of queries, or made of short vectors.

Sources: A. Vaswani et al., "Attention Is All You Need", NeurIPS 2017; J. Ainslie et al., "GQA: Training Generalized
Multi-Query Transformer Models from Multi-Head Checkpoints", 2023; DeepSeek-AI, "DeepSeek-V2", 2024, section 2.1. Kept
activations: V. Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models", 2022, section 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from astra_ns3.config.model.transformer import LatentAttention
from astra_ns3.workload.models.piece import Piece, joined
from astra_ns3.workload.models.sized_operations import Linear, elementwise
from astra_ns3.workload.models.transformer.common import addition, linear, norm, norm_parameters
from astra_ns3.workload.models.transformer.core import core
from astra_ns3.workload.models.transformer.share import Share


def attention(share: Share) -> Iterator[Piece]:
    """From a block's input to its sum with what attention makes of it."""
    yield norm(share, "attention norm")
    latent = share.shape.latent
    yield _queries_keys_values(share) if latent is None else _latent(share, latent)
    if share.shape.query_key_norm:
        yield _query_key_norm(share)
    if share.shape.positions == "rotary":
        yield _rotation(share)
    yield core(share)
    made = share.heads * share.shape.value_size
    yield linear(
        share,
        Linear("attention output", share.tokens, share.shape.hidden, made, share.value_bytes),
        share.tokens * made * share.value_bytes,
        share.shape.hidden,
        sums=True,
    )
    yield share.leave()
    yield addition(share, "attention addition")


def _queries_keys_values(share: Share) -> Piece:
    """One product for all three; its outputs are kept."""
    size = share.shape.query_size
    outputs = (share.heads + 2 * share.key_value_heads) * size
    made = Piece(kept_bytes=share.tokens * outputs * share.value_bytes)
    product = Linear("query key value", share.tokens, outputs, share.shape.hidden, share.value_bytes)
    weights = linear(share, product, share.input_bytes(share.shape.hidden))
    weights = replace(weights, parameters=weights.parameters + share.shape.input_biases * outputs)
    return joined((share.enter(), weights, made))


def _query_key_norm(share: Share) -> Piece:
    """Each head's query and key alone; all heads share the scales, whose gradients the tensor group adds up."""
    size = share.shape.query_size
    moved = share.tokens * (share.heads + share.key_value_heads) * size * share.value_bytes
    parameters = 2 * norm_parameters(share.shape.norm, size)
    return Piece(
        (elementwise("query key norm", 2 * moved),),
        (elementwise("query key norm gradient", 3 * moved),),
        parameters=parameters,
        summed_parameters=parameters if share.degrees.tensor > 1 else 0,
        kept_bytes=moved,
    )


def _latent(share: Share, latent: LatentAttention) -> Piece:
    """Short vectors that every NPU of a tensor group makes of its own tokens, and of these its heads."""
    shape, tokens, value = share.shape, share.own_tokens, share.value_bytes
    pieces = []
    down = latent.query_rank + latent.key_value_rank + latent.rotary_size
    made_short = linear(share, Linear("latent down", tokens, down, shape.hidden, value), share.own_bytes)
    pieces.append(replace(made_short, summed_parameters=share.summed(made_short.parameters)))
    normed = latent.query_rank + latent.key_value_rank
    pieces.append(_latent_norm(share, normed))
    # Without short queries, queries are made of the block's input, which comes along.
    pieces.append(share.enter_of(down if latent.query_rank else down + shape.hidden))
    if latent.query_rank:
        pieces.append(_up(share, "query up", share.heads * shape.query_size, latent.query_rank))
    else:
        pieces.append(_up(share, "query", share.heads * shape.query_size, shape.hidden))
    outputs = share.heads * (latent.plain_size + latent.value_size)
    pieces.append(_up(share, "key value up", outputs, latent.key_value_rank))
    made = share.heads * (2 * shape.query_size + shape.value_size)
    pieces.append(Piece(kept_bytes=share.tokens * made * value))
    return joined(pieces)


def _latent_norm(share: Share, size: int) -> Piece:
    moved = share.own_tokens * size * share.value_bytes
    parameters = norm_parameters(share.shape.norm, size)
    return Piece(
        (elementwise("latent norm", 2 * moved),),
        (elementwise("latent norm gradient", 3 * moved),),
        parameters=parameters,
        summed_parameters=share.summed(parameters),
        kept_bytes=moved,
    )


def _up(share: Share, name: str, outputs: int, inputs: int) -> Piece:
    product = Linear(name, share.tokens, outputs, inputs, share.value_bytes)
    return linear(share, product, share.input_bytes(inputs))


def _rotation(share: Share) -> Piece:
    """Queries and keys are turned by their position; nothing is kept, for the gradient is turned back."""
    latent = share.shape.latent
    if latent is None:
        numbers = (share.heads + share.key_value_heads) * share.shape.query_size
    else:
        numbers = (share.heads + 1) * latent.rotary_size
    moved = 2 * share.tokens * numbers * share.value_bytes
    return Piece((elementwise("rotation", moved),), (elementwise("rotation gradient", moved),))
