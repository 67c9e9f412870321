"""Pieces of a block, each with its passes, and blocks put together of them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Literal

from astra_ns3.config.training_plan import Block, Item
from astra_ns3.frozen import dataclass

Recompute = Literal["none", "selective", "full"]


@dataclass(frozen=True)
class Piece:
    """Something that a block does on an NPU; its backward passes are in the order in which they are played.

    ``summed_parameters``: of ``parameters``, see :class:`~astra_ns3.config.training_plan.Block`.
    ``kept_bytes``: from the forward to the backward pass. ``cheap``: selective recomputing does it again instead.
    """

    forward: tuple[Item, ...] = ()
    input_gradient: tuple[Item, ...] = ()
    weight_gradient: tuple[Item, ...] = ()
    parameters: int = 0
    summed_parameters: int = 0
    expert_parameters: int = 0
    kept_bytes: int = 0
    cheap: bool = False


def joined(pieces: Iterable[Piece]) -> Piece:
    """Pieces one after the other, as one; cheap if all of them are."""
    parts = tuple(pieces)
    return Piece(
        tuple(chain.from_iterable(piece.forward for piece in parts)),
        tuple(chain.from_iterable(piece.input_gradient for piece in reversed(parts))),
        tuple(chain.from_iterable(piece.weight_gradient for piece in reversed(parts))),
        sum(piece.parameters for piece in parts),
        sum(piece.summed_parameters for piece in parts),
        sum(piece.expert_parameters for piece in parts),
        sum(piece.kept_bytes for piece in parts),
        all(piece.cheap for piece in parts),
    )


def block_of(name: str, pieces: Iterable[Piece], recompute: Recompute = "none", input_bytes: int = 0) -> Block:
    """The block of these pieces; ``input_bytes`` is what full recomputing keeps, a part of what the pieces keep."""
    parts = tuple(pieces)
    whole = joined(parts)
    again: tuple[Item, ...] = ()
    again_bytes = 0
    if recompute == "full":
        again, again_bytes = whole.forward, max(0, whole.kept_bytes - input_bytes)
    elif recompute == "selective":
        cheap = joined(piece for piece in parts if piece.cheap)
        again, again_bytes = cheap.forward, cheap.kept_bytes
    return Block(
        name,
        whole.forward,
        whole.input_gradient,
        whole.weight_gradient,
        again,
        parameters=whole.parameters,
        summed_parameters=whole.summed_parameters,
        expert_parameters=whole.expert_parameters,
        activation_bytes=whole.kept_bytes - again_bytes,
        again_bytes=again_bytes,
    )
