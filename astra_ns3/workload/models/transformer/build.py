"""A transformer's blocks on an NPU: the embedding, its layers, the head."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from astra_ns3.config.model.transformer import TransformerFile
from astra_ns3.config.training_plan import Block, Degrees
from astra_ns3.workload.models.parts import Parts
from astra_ns3.workload.models.piece import Piece, block_of
from astra_ns3.workload.models.transformer.attention import attention
from astra_ns3.workload.models.transformer.ends import embedding, head
from astra_ns3.workload.models.transformer.experts import expert_layer
from astra_ns3.workload.models.transformer.feed_forward import feed_forward
from astra_ns3.workload.models.transformer.share import Share


def transformer_parts(file: TransformerFile, degrees: Degrees) -> Parts:
    """The blocks of a transformer, for one micro-batch on one NPU. Layers that are alike share their passes."""
    share = Share(file, degrees)
    tied, copied = file.model.tied_embeddings, degrees.pipeline > 1
    return Parts(
        body=_layers(share),
        first=(block_of("embedding", embedding(share)),),
        last=(block_of("head", head(share, has_weights=copied or not tied)),),
        boundary_bytes=share.own_bytes,
        tied_parameters=share.vocabulary * file.model.hidden if tied and copied else 0,
    )


def _layers(share: Share) -> tuple[Block, ...]:
    """Every layer by its number from 0; of each kind one is worked out."""
    shape, recompute = share.shape, share.file.training.recompute
    kinds = {}
    for with_experts in {shape.has_experts(layer) for layer in range(shape.layers)}:
        kinds[with_experts] = block_of("", _layer(share, with_experts=with_experts), recompute, share.own_bytes)
    return tuple(replace(kinds[shape.has_experts(layer)], name=f"layer {layer}") for layer in range(shape.layers))


def _layer(share: Share, *, with_experts: bool) -> Iterator[Piece]:
    """Attention, and a network or experts."""
    yield from attention(share)
    if with_experts and share.shape.experts is not None:
        yield from expert_layer(share, share.shape.experts)
    else:
        yield from feed_forward(share)
