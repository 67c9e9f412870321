"""Exchanges of a tensor group that go on while gradients of weights are computed, as in Megatron-LM.

Each half of a layer, attention or network, sums the gradients of its input over the group. Nothing of the half waits
for that but its normalisation, so the gradients of its weights come next. Model limits: the normalisation is counted
before the sum is there; where the sum isn't there when they are done, the next exchange of the group queues behind it.
A half whose tokens go to experts has other exchanges behind that one, and is left as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from astra_ns3.config.training_plan import Exchange, Group, Item
from astra_ns3.workload.models.piece import Piece, joined


def backward_of(halves: Sequence[Sequence[Piece]]) -> tuple[tuple[Item, ...], tuple[Item, ...]]:
    """Gradients of inputs, with those of weights where they hide a sum, and gradients of weights that are left."""
    inputs: tuple[Item, ...] = ()
    weights: tuple[Item, ...] = ()
    for half in reversed(halves):
        whole = joined(half)
        place = _last_sum(whole.input_gradient)
        if place is None:
            inputs, weights = (*inputs, *whole.input_gradient), (*weights, *whole.weight_gradient)
            continue
        found = whole.input_gradient[place]
        assert isinstance(found, Exchange)
        before, after = whole.input_gradient[:place], whole.input_gradient[place + 1 :]
        inputs = (*inputs, *before, replace(found, waited=False), *whole.weight_gradient, *after)
    return inputs, weights


def _last_sum(items: tuple[Item, ...]) -> int | None:
    """Where the last exchange of the tensor group stands; None if there is none, or experts have exchanges too."""
    exchanges = [(place, item) for place, item in enumerate(items) if isinstance(item, Exchange)]
    if not exchanges or any(item.group is Group.EXPERT for _, item in exchanges):
        return None
    place, last = exchanges[-1]
    return place if last.group is Group.TENSOR else None
