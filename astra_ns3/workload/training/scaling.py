"""A plan with other sizes, as ``--comm-scale`` asks for."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import gcd

from astra_ns3.config.core.relay import Relay, Rows
from astra_ns3.config.training_plan import Block, Exchange, Item, Ring, TrainingPlan

# A unit of so many can be rounded to a byte by itself.
_LEAST_UNIT_BYTES = 1000


def scaled_plan(plan: TrainingPlan, comm_scale: float) -> TrainingPlan:
    """Return a plan with the bytes of exchanges and of sends between stages times ``comm_scale``, at least one.

    Gradients and weights, whose sizes follow from parameters, are when they are sent.
    """
    if comm_scale == 1:
        return plan

    @cache
    def items(found: tuple[Item, ...]) -> tuple[Item, ...]:
        return tuple(_scaled_item(item, comm_scale) for item in found)

    def block(found: Block) -> Block:
        return replace(
            found,
            forward=items(found.forward),
            input_gradient=items(found.input_gradient),
            weight_gradient=items(found.weight_gradient),
            again=items(found.again),
        )

    return replace(
        plan,
        chunks=tuple(tuple(block(each) for each in chunk) for chunk in plan.chunks),
        boundary_bytes=scaled_bytes(plan.boundary_bytes, comm_scale),
        comm_scale=plan.comm_scale * comm_scale,
    )


def scaled_bytes(size_bytes: int, scale: float) -> int:
    """Truncated; what was to be sent stays at least one byte."""
    return max(1, int(size_bytes * scale)) if size_bytes else 0


def _scaled_item(item: Item, scale: float) -> Item:
    if isinstance(item, Ring):
        return replace(item, bytes=scaled_bytes(item.bytes, scale), home_bytes=scaled_bytes(item.home_bytes, scale))
    if not isinstance(item, Exchange):
        return item
    if item.counts is None:
        return replace(item, bytes=scaled_bytes(item.bytes, scale))
    relay, places = item.relay, len(item.counts)
    tables = _scaled_counts(item.counts + (relay.crossing if relay is not None else ()), scale)
    counts = tables[:places]
    return replace(
        item,
        bytes=max(map(sum, counts)),
        counts=counts,
        relay=relay and replace(relay, crossing=_fitted(relay, counts, tables[places:])),
    )


def _fitted(relay: Relay, counts: Rows, crossing: Rows) -> Rows:
    """Return no more for a node than for all its places, each of which was rounded by itself."""
    homes = tuple(zip(*counts, strict=True)) if relay.gathers else counts
    return tuple(
        tuple(min(size, sum(places[node * relay.node : (node + 1) * relay.node])) for node, size in enumerate(sizes))
        for places, sizes in zip(homes, crossing, strict=True)
    )


def _scaled_counts(counts: tuple[tuple[int, ...], ...], scale: float) -> tuple[tuple[int, ...], ...]:
    """Tokens stay whole where they are large: what all counts are multiples of is scaled, else each count."""
    unit = gcd(*(size for row in counts for size in row))
    if unit * scale < _LEAST_UNIT_BYTES:
        return tuple(tuple(scaled_bytes(size, scale) for size in row) for row in counts)
    return tuple(tuple(size // unit * scaled_bytes(unit, scale) for size in row) for row in counts)
