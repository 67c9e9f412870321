"""A transformer's blocks on an NPU: the embedding, its layers, the head."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from astra_ns3.config.model.transformer import TransformerFile
from astra_ns3.config.training_plan import Block, Degrees, Exchange, Group, Item
from astra_ns3.workload.models.parts import Parts
from astra_ns3.workload.models.piece import Piece, block_of, joined
from astra_ns3.workload.models.transformer.attention import attention
from astra_ns3.workload.models.transformer.dispatch import Dispatch, even, routed, router_of
from astra_ns3.workload.models.transformer.ends import embedding, head
from astra_ns3.workload.models.transformer.experts import expert_layer
from astra_ns3.workload.models.transformer.feed_forward import feed_forward
from astra_ns3.workload.models.transformer.share import Share


def transformer_parts(file: TransformerFile, degrees: Degrees) -> Parts:
    """The blocks of a transformer, for one micro-batch on one NPU. Layers that are alike share their passes."""
    share = Share(file, degrees)
    copied = degrees.pipeline > 1
    tied = share.vocabulary * file.model.hidden if file.model.tied_embeddings else 0
    last = block_of("head", head(share, has_weights=copied or not tied))
    return Parts(
        body=_layers(share),
        first=(block_of("embedding", embedding(share)),),
        last=(last if copied else replace(last, tied_parameters=tied),),
        boundary_bytes=share.own_bytes,
        tied_parameters=tied if copied else 0,
    )


def _layers(share: Share) -> tuple[Block, ...]:
    """Every layer by its number from 0; those that are alike are worked out once."""
    alike: dict[Dispatch | None, Block] = {}
    blocks = []
    for layer, dispatch in enumerate(_dispatches(share)):
        if dispatch not in alike:
            alike[dispatch] = _block(share, dispatch)
        load = None if dispatch is None else dispatch.load
        blocks.append(replace(alike[dispatch], name=f"layer {layer}", expert_load=load))
    return tuple(blocks)


def _dispatches(share: Share) -> Iterator[Dispatch | None]:
    """How each layer's tokens go to experts; None: it has none."""
    shape = share.shape
    experts = shape.experts
    router = None if experts is None else router_of(share, experts)
    usual = None if experts is None or router is not None else even(share, experts)
    for layer in range(shape.layers):
        if experts is None or not shape.has_experts(layer):
            yield None
        elif router is None:
            yield usual
        else:
            yield routed(share, experts, router.layer(layer))


def _block(share: Share, dispatch: Dispatch | None) -> Block:
    """A layer: attention, and a network or experts."""
    halves = tuple(attention(share)), tuple(_network(share, dispatch))
    block = block_of("", chain(*halves), share.file.training.recompute, share.own_bytes)
    if not share.file.parallel.overlap_tensor:
        return block
    inputs, weights = backward_of(halves)
    return replace(block, input_gradient=inputs, weight_gradient=weights)


def _network(share: Share, dispatch: Dispatch | None) -> Iterator[Piece]:
    """The second half."""
    if dispatch is None or share.shape.experts is None:
        return feed_forward(share)
    return expert_layer(share, share.shape.experts, dispatch)


def backward_of(halves: Sequence[Sequence[Piece]]) -> tuple[tuple[Item, ...], tuple[Item, ...]]:
    """Return gradients of inputs, with those of weights where they hide a sum, and gradients of weights that are left.

    As in Megatron-LM: each half of a layer, attention or network, sums the gradients of its input over the tensor
    group, and nothing of the half waits for that but its normalisation, so the gradients of its weights come next.
    Model limits: the normalisation is counted before the sum is there; where the sum isn't there when they are done,
    the next exchange of the group queues behind it. A half whose tokens go to experts has other exchanges behind that
    one, and is left as it is.
    """
    inputs: tuple[Item, ...] = ()
    weights: tuple[Item, ...] = ()
    for half in reversed(halves):
        whole = joined(half)
        index = _last_sum(whole.input_gradient)
        if index is None:
            inputs, weights = (*inputs, *whole.input_gradient), (*weights, *whole.weight_gradient)
            continue
        found = whole.input_gradient[index]
        assert isinstance(found, Exchange)
        before, after = whole.input_gradient[:index], whole.input_gradient[index + 1 :]
        inputs = (*inputs, *before, replace(found, waited=False), *whole.weight_gradient, *after)
    return inputs, weights


def _last_sum(items: tuple[Item, ...]) -> int | None:
    """Where the last exchange of the tensor group stands; None if there is none, or experts have exchanges too."""
    exchanges = [(index, item) for index, item in enumerate(items) if isinstance(item, Exchange)]
    if not exchanges or any(item.group is Group.EXPERT for _, item in exchanges):
        return None
    index, last = exchanges[-1]
    return index if last.group is Group.TENSOR else None
