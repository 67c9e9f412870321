"""Which nodes of an NPU are finished: a bit for each number, for a trace has many and they must all be remembered."""

from __future__ import annotations

_SHIFT = 8
_MASK = (1 << _SHIFT) - 1


class FinishedNodes:
    """A set of whole numbers that are mostly near each other; takes less than a byte for each then."""

    __slots__ = ("_blocks",)

    def __init__(self) -> None:
        self._blocks: dict[int, int] = {}

    def add(self, number: int) -> None:
        """Put a number in."""
        block = number >> _SHIFT
        self._blocks[block] = self._blocks.get(block, 0) | 1 << (number & _MASK)

    def __contains__(self, number: int) -> bool:
        return bool(self._blocks.get(number >> _SHIFT, 0) >> (number & _MASK) & 1)
