"""Experts: a router, an all-to-all to those who have the experts, their networks, and one back.

Sources: D. Lepikhin et al., "GShard", 2020; S. Singh et al., "A Hybrid Tensor-Expert-Data Parallelism Approach to
Optimize Mixture-of-Experts Training", ICS 2023. With ``sequence`` each NPU of a tensor group sends its own tokens, and
the group gathers what each of it got; without, each sends all, and sums come after the way back. Model limits: where
routing isn't even, tensor groups gather as many rows as that of the busiest place, and as many are kept. A place's
products are those of experts with an even share of its rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.model.transformer import Experts
from astra_ns3.config.training_plan import Exchange, Group, Operation
from astra_ns3.workload.models.piece import Piece
from astra_ns3.workload.models.sized_operations import Linear, elementwise, gather
from astra_ns3.workload.models.transformer.common import addition, norm
from astra_ns3.workload.models.transformer.dispatch import Dispatch
from astra_ns3.workload.models.transformer.feed_forward import network
from astra_ns3.workload.models.transformer.share import Share

# A router's numbers are in single precision.
_SCORE_BYTES = 4


def expert_layer(share: Share, experts: Experts, dispatch: Dispatch) -> Iterator[Piece]:
    """From a block's sum to the next, in a layer with experts."""
    yield norm(share, "feed-forward norm")
    if experts.shared:
        yield from network(share, "shared expert", experts.shared * experts.feed_forward)
        if experts.shared_gate:
            yield _shared_gate(share)
    yield _router(share, experts)
    yield from _routed(share, experts, dispatch)
    yield addition(share, "feed-forward addition")


def _shared_gate(share: Share) -> Piece:
    """A number for each own token, with which what the shared experts made is multiplied."""
    product = Linear("shared gate", share.own_tokens, 1, share.shape.hidden, share.value_bytes)
    return Piece(
        (product.forward, elementwise("shared gating", 2 * share.own_bytes)),
        (elementwise("shared gating gradient", 3 * share.own_bytes), product.input_gradient),
        (product.weight_gradient,),
        parameters=share.shape.hidden,
        summed_parameters=share.summed(share.shape.hidden),
        kept_bytes=share.own_bytes,
    )


def _router(share: Share, experts: Experts) -> Piece:
    """Scores of all experts for each own token, and which are the highest."""
    product = Linear("router", share.own_tokens, experts.count, share.shape.hidden, share.value_bytes)
    scores = share.own_tokens * experts.count * _SCORE_BYTES
    parameters = experts.count * (share.shape.hidden + int(experts.router_biases))
    return Piece(
        (product.forward, elementwise("router choice", 2 * scores)),
        (elementwise("router choice gradient", 2 * scores), product.input_gradient),
        (product.weight_gradient,),
        parameters=parameters,
        summed_parameters=share.summed(parameters),
        kept_bytes=scores,
    )


def _routed(share: Share, experts: Experts, dispatch: Dispatch) -> Iterator[Piece]:
    """Tokens to their experts and back; gradients go the same ways, turned round."""
    if not share.splits_sequence:
        yield share.enter()
    sent = dispatch.sent * share.shape.hidden * share.value_bytes
    moved = gather("permutation", sent + share.own_bytes)
    yield Piece((moved,), (moved,))
    yield Piece(dispatch.there, dispatch.back)
    together = _brought_together(share, dispatch)
    gathered = together.forward if share.gathers_again else ()
    again = tuple(replace(each, waited=False) for each in gathered if isinstance(each, Exchange))
    yield replace(together, input_gradient=(*again, *together.input_gradient))
    yield from _networks(share, experts, dispatch)
    yield _summed(share, dispatch)
    yield Piece(dispatch.back, dispatch.there)
    # What experts made is kept, for the gradient of the weights with which it is summed.
    yield Piece((moved,), (moved,), kept_bytes=sent)
    if not share.splits_sequence:
        yield share.leave()


def _networks(share: Share, experts: Experts, dispatch: Dispatch) -> Iterator[Piece]:
    """Yield this NPU's part of its experts' networks."""
    own = experts.count // share.degrees.expert
    hidden, value, part = share.shape.hidden, share.value_bytes, share.split(experts.feed_forward)
    ways, biases = (2 if share.shape.gated else 1), int(share.shape.all_biases)
    received = dispatch.most * hidden * value * (1 if share.gathers_again else _gathered(share))
    rows = dispatch.most * _gathered(share)
    yield _product(share, dispatch, ("experts up", ways * part, hidden), own, received)
    yield _activation(share, dispatch, ways * part, part)
    yield _product(share, dispatch, ("experts down", hidden, part), own, rows * part * value)
    yield Piece(expert_parameters=biases * own * (ways * part + hidden))


def _product(share: Share, dispatch: Dispatch, sizes: tuple[str, int, int], own: int, kept_bytes: int) -> Piece:
    """``sizes``: name, outputs and inputs of each of ``own`` experts."""

    def product(rows: int) -> Linear:
        name, outputs, inputs = sizes
        whole = rows * _gathered(share)
        return Linear(name, -(-whole // own), outputs, inputs, share.value_bytes, own, whole)

    return Piece(
        (dispatch.on_each(lambda rows: product(rows).forward),),
        (dispatch.on_each(lambda rows: product(rows).input_gradient),),
        (dispatch.on_each(lambda rows: product(rows).weight_gradient),),
        expert_parameters=own * sizes[1] * sizes[2],
        kept_bytes=kept_bytes,
    )


def _activation(share: Share, dispatch: Dispatch, read: int, written: int) -> Piece:
    """``read`` and ``written``: numbers of a row."""

    def operation(rows: int, *, backward: bool) -> Operation:
        values = rows * _gathered(share) * ((2 * read if backward else read) + written)
        return elementwise(f"experts activation{' gradient' * backward}", values * share.value_bytes)

    return Piece(
        (dispatch.on_each(lambda rows: operation(rows, backward=False)),),
        (dispatch.on_each(lambda rows: operation(rows, backward=True)),),
        kept_bytes=dispatch.most * _gathered(share) * read * share.value_bytes,
    )


def _gathered(share: Share) -> int:
    """How many NPUs' rows are brought together for split products."""
    return share.degrees.tensor if share.splits_sequence else 1


def _brought_together(share: Share, dispatch: Dispatch) -> Piece:
    """All tokens that the tensor group got, for each has a part of the same experts."""
    if not share.splits_sequence:
        return Piece()
    own = dispatch.most * share.shape.hidden * share.value_bytes
    return Piece(
        share.exchange(CollectiveKind.ALL_GATHER, Group.TENSOR, own),
        share.exchange(CollectiveKind.REDUCE_SCATTER, Group.TENSOR, own * share.degrees.tensor),
    )


def _summed(share: Share, dispatch: Dispatch) -> Piece:
    """Sums of the parts of the tensor group, of which each gets its own tokens."""
    there = _brought_together(share, dispatch)
    return Piece(there.input_gradient, there.forward)
