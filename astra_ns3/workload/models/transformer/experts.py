"""Experts: a router, an all-to-all to those who have the experts, their networks, and one back.

Sources: D. Lepikhin et al., "GShard", 2020; S. Singh et al., "A Hybrid Tensor-Expert-Data Parallelism Approach to
Optimize Mixture-of-Experts Training", ICS 2023. With ``sequence`` each NPU of a tensor group sends its own tokens, and
the group gathers what each of it got; without, each sends all, and sums come after the way back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.model.transformer import Experts
from astra_ns3.config.training_plan import Group, Operation
from astra_ns3.workload.models.operations import Linear, elementwise, gather
from astra_ns3.workload.models.piece import Piece
from astra_ns3.workload.models.transformer.common import addition, norm
from astra_ns3.workload.models.transformer.feed_forward import activation, network
from astra_ns3.workload.models.transformer.routes import Routes
from astra_ns3.workload.models.transformer.share import Share

_SCORE_BYTES = 4
"""A router's numbers are in single precision."""


def expert_layer(share: Share, experts: Experts, routes: Routes) -> Iterator[Piece]:
    """From a block's sum to the next, in a layer with experts."""
    yield norm(share, "feed-forward norm")
    if experts.shared:
        yield from network(share, "shared expert", experts.shared * experts.feed_forward)
    yield _router(share, experts)
    yield from _routed(share, experts, routes)
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


def _routed(share: Share, experts: Experts, routes: Routes) -> Iterator[Piece]:
    """Tokens to their experts and back. Sent are ``active`` rows for each own token, if all are chosen alike."""
    if not share.splits_sequence:
        yield share.enter()
    row_bytes = share.shape.hidden * share.value_bytes
    sent, received = routes.sent_rows * row_bytes, routes.received_rows * row_bytes
    moved = gather("permutation", sent + share.own_bytes)
    yield Piece((moved,), (moved,))
    yield Piece(routes.there, routes.back)
    yield _brought_together(share, received)
    yield from _networks(share, experts, routes)
    yield _summed(share, received)
    yield Piece(routes.back, routes.there)
    # What experts made is kept, for the gradient of the weights with which it is summed.
    yield Piece((moved,), (moved,), kept_bytes=sent)
    if not share.splits_sequence:
        yield share.leave()


def _networks(share: Share, experts: Experts, routes: Routes) -> Iterator[Piece]:
    """This NPU's part of its experts' networks; the rows of a place are spread evenly over its experts."""
    own = experts.count // share.degrees.expert
    hidden, value, part = share.shape.hidden, share.value_bytes, share.split(experts.feed_forward)
    outputs = (2 if share.shape.gated else 1) * part
    times = share.degrees.tensor if share.splits_sequence else 1
    most = times * max(routes.rows)
    biases = share.shape.biases

    def up(rows: int) -> Linear:
        return Linear("experts up", -(-rows // own), outputs, hidden, value, own, rows)

    def down(rows: int) -> Linear:
        return Linear("experts down", -(-rows // own), hidden, part, value, own, rows)

    yield _product(routes, times, up, own * outputs * (hidden + int(biases)), max(routes.rows) * hidden * value)
    acts = activation(share, "experts activation", most, part)
    yield replace(
        acts,
        forward=routes.items(times, lambda rows: _computed(share, rows, part, forward=True)),
        input_gradient=routes.items(times, lambda rows: _computed(share, rows, part, forward=False)),
    )
    yield _product(routes, times, down, own * hidden * (part + int(biases)), most * part * value)


def _computed(share: Share, rows: int, width: int, *, forward: bool) -> Operation:
    """The activation of so many rows."""
    piece = activation(share, "experts activation", rows, width)
    operation = (piece.forward if forward else piece.input_gradient)[0]
    assert isinstance(operation, Operation)
    return operation


def _product(routes: Routes, times: int, product: Callable[[int], Linear], parameters: int, kept_bytes: int) -> Piece:
    return Piece(
        routes.items(times, lambda rows: product(rows).forward),
        routes.items(times, lambda rows: product(rows).input_gradient),
        routes.items(times, lambda rows: product(rows).weight_gradient),
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
