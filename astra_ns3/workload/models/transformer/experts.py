"""Experts: a router, an all-to-all to those who have the experts, their networks, and one back.

Sources: D. Lepikhin et al., "GShard", 2020; S. Singh et al., "A Hybrid Tensor-Expert-Data Parallelism Approach to
Optimize Mixture-of-Experts Training", ICS 2023. With ``sequence`` each NPU of a tensor group sends its own tokens, and
the group gathers what each of it got; without, each sends all, and sums come after the way back.
"""

from __future__ import annotations

from collections.abc import Iterator

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.model.transformer import Experts
from astra_ns3.config.training_plan import Group
from astra_ns3.workload.models.operations import Linear, elementwise, gather
from astra_ns3.workload.models.piece import Piece
from astra_ns3.workload.models.transformer.common import addition, norm
from astra_ns3.workload.models.transformer.feed_forward import activation, network
from astra_ns3.workload.models.transformer.share import Share

_SCORE_BYTES = 4
"""A router's numbers are in single precision."""


def expert_layer(share: Share, experts: Experts) -> Iterator[Piece]:
    """From a block's sum to the next, in a layer with experts."""
    yield norm(share, "feed-forward norm")
    if experts.shared:
        yield from network(share, "shared expert", experts.shared * experts.feed_forward)
    yield _router(share, experts)
    yield from _routed(share, experts)
    yield addition(share, "feed-forward addition")


def _router(share: Share, experts: Experts) -> Piece:
    """Scores of all experts for each own token, and which are the highest."""
    product = Linear("router", share.own_tokens, experts.count, share.shape.hidden, share.value_bytes)
    scores = share.own_tokens * experts.count * _SCORE_BYTES
    return Piece(
        (product.forward, elementwise("router choice", 2 * scores)),
        (elementwise("router choice gradient", 2 * scores), product.input_gradient),
        (product.weight_gradient,),
        parameters=experts.count * (share.shape.hidden + int(experts.router_biases)),
        kept_bytes=scores,
    )


def _routed(share: Share, experts: Experts) -> Iterator[Piece]:
    """Tokens to their experts and back. Sent are ``active`` rows for each own token."""
    if not share.splits_sequence:
        yield share.enter()
    rows = share.own_tokens * experts.active
    sent = rows * share.shape.hidden * share.value_bytes
    moved = gather("permutation", sent + share.own_bytes)
    yield Piece((moved,), (moved,))
    there_and_back = share.exchange(CollectiveKind.ALL_TO_ALL, Group.EXPERT, sent)
    yield Piece(there_and_back, there_and_back)
    yield _brought_together(share, sent)
    yield from _networks(share, experts, rows * (share.degrees.tensor if share.splits_sequence else 1))
    yield _summed(share, sent)
    yield Piece(there_and_back, there_and_back)
    # What experts made is kept, for the gradient of the weights with which it is summed.
    yield Piece((moved,), (moved,), kept_bytes=sent)
    if not share.splits_sequence:
        yield share.leave()


def _networks(share: Share, experts: Experts, rows: int) -> Iterator[Piece]:
    """This NPU's part of its experts' networks, with ``rows`` spread evenly over these."""
    own = experts.count // share.degrees.expert
    hidden, value, part = share.shape.hidden, share.value_bytes, share.split(experts.feed_forward)
    outputs = (2 if share.shape.gated else 1) * part
    each = -(-rows // own)
    up = Linear("experts up", each, outputs, hidden, value, own, rows)
    biases = share.shape.biases
    kept = share.own_tokens * experts.active * hidden * value
    yield _product(up, own * outputs * (hidden + int(biases)), kept)
    yield activation(share, "experts activation", rows, part)
    down = Linear("experts down", each, hidden, part, value, own, rows)
    yield _product(down, own * hidden * (part + int(biases)), rows * part * value)


def _product(product: Linear, parameters: int, kept_bytes: int) -> Piece:
    return Piece(
        (product.forward,),
        (product.input_gradient,),
        (product.weight_gradient,),
        expert_parameters=parameters,
        kept_bytes=kept_bytes,
    )


def _brought_together(share: Share, sent_bytes: int) -> Piece:
    """All tokens that the tensor group got, for each has a part of the same experts."""
    if not share.splits_sequence:
        return Piece()
    whole = sent_bytes * share.degrees.tensor
    return Piece(
        share.exchange(CollectiveKind.ALL_GATHER, Group.TENSOR, sent_bytes),
        share.exchange(CollectiveKind.REDUCE_SCATTER, Group.TENSOR, whole),
    )


def _summed(share: Share, sent_bytes: int) -> Piece:
    """Sums of the parts of the tensor group, of which each gets its own tokens."""
    if not share.splits_sequence:
        return Piece()
    whole = sent_bytes * share.degrees.tensor
    return Piece(
        share.exchange(CollectiveKind.REDUCE_SCATTER, Group.TENSOR, whole),
        share.exchange(CollectiveKind.ALL_GATHER, Group.TENSOR, sent_bytes),
    )
