"""The parts of a kind of model, before it is cut."""

from __future__ import annotations

from astra_ns3.config.training_plan import Block
from astra_ns3.frozen import dataclass

BACKWARD_TOO = 3
"""Times the products of a forward pass: a backward pass has two for each."""


@dataclass(frozen=True)
class Parts:
    """Blocks of the first part only, those that are cut evenly, and those of the last part only.

    ``boundary_bytes``: an NPU's activations between two of the second kind; ``output_bytes``: instead, behind each of
    them, where they differ. ``tied_parameters``: of this NPU's part of
    the embedding, which the last block has a copy of; both blocks count them among their parameters.
    """

    body: tuple[Block, ...]
    first: tuple[Block, ...] = ()
    last: tuple[Block, ...] = ()
    boundary_bytes: int = 0
    output_bytes: tuple[int, ...] = ()
    tied_parameters: int = 0

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks, in the model's order."""
        return (*self.first, *self.body, *self.last)


@dataclass(frozen=True)
class Totals:
    """A whole model in numbers, each parameter counted once.

    ``active_parameters``: that a sample's token uses; fewer than all with experts. ``forward_flops``: of one sample's
    products. ``layers``: without embedding and head. ``sample``: what a sample is; ``tokens``: of one (1 where there
    are none). ``routed_flops``: of a sample's forward products in one layer with experts, those of the chosen experts.
    """

    parameters: int
    active_parameters: int
    forward_flops: int
    layers: int
    sample: str
    tokens: int = 1
    routed_flops: int = 0

    @property
    def training_flops(self) -> int:
        """FLOPs of one sample, forward and backward, without what is computed again."""
        return BACKWARD_TOO * self.forward_flops
