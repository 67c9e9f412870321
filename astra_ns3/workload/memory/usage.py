"""Bytes of an NPU's memory, by what they are."""

from __future__ import annotations

from typing import NamedTuple


class Usage(NamedTuple):
    """Bytes of each kind."""

    weights: int = 0
    """This NPU's own, sharded or not."""
    gradients: int = 0
    """That are kept, summed up over micro-batches."""
    optimizer: int = 0
    """States of the optimizer."""
    activations: int = 0
    """Activations of micro-batches whose backward pass is still to come."""
    recomputed: int = 0
    """Activations that have been computed again."""
    gathered: int = 0
    """Weights of others, with ZeRO's stage 3."""
    buckets: int = 0
    """Gradients on their way, where they are kept in shards."""
    ring: int = 0
    """Keys and values of the next of a ring, that come while those of the one before are used."""

    @property
    def total_bytes(self) -> int:
        """All of them."""
        return sum(self)

    def largest(self) -> str:
        """The kind with most bytes."""
        return max(zip(self, self._fields, strict=True), key=lambda part: part[0])[1]
