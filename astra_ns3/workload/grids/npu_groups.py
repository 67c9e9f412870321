"""Which NPUs compute one copy of a model together: cuts the grid of dimensions at ``model_parallel_NPU_group``.

Source: ASTRA-sim 1.0, where a group that ends inside a dimension cuts this in two. Ours refuses groups that don't
fit, where that program ends without a report.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from astra_ns3.errors import in_range, wrong


class SplitDimensions(NamedTuple):
    """NPUs along each logical dimension, and the numbers of those inside a group and of those across groups."""

    logical_dimensions: tuple[int, ...]
    model_dimensions: tuple[int, ...]
    data_dimensions: tuple[int, ...]

    def cut(self, dimensions: Sequence[int]) -> int | None:
        """Which of the original ``dimensions`` was cut in two, None if none was."""
        return self.model_dimensions[-1] if len(self.logical_dimensions) > len(dimensions) else None


def split_dimensions(dimensions: Sequence[int], model_parallel_npus: int) -> SplitDimensions:
    """Groups of ``model_parallel_npus`` neighbours in a grid of ``dimensions`` (sizes, lowest first).

    The lowest dimensions are used up until their product is the group; one that is too large is cut in two. Raises
    InputError if the group isn't a product of whole parts.
    """
    grid = tuple(dimensions)
    in_range("model_parallel_NPU_group", model_parallel_npus, 1)
    left = model_parallel_npus
    inside = 0
    while left > 1 and inside < len(grid):
        size = grid[inside]
        if left % size:
            if size % left:
                break
            grid = (*grid[:inside], left, size // left, *grid[inside + 1 :])
            size = left
        left //= size
        inside += 1
    if left > 1:
        shape = "x".join(str(size) for size in dimensions)
        raise wrong(
            f"model_parallel_NPU_group is {model_parallel_npus}, which does not fit dimensions of {shape} = "
            f"{prod(dimensions)} NPUs: expected a product of the lowest ones, or of those and a factor of the next"
        )
    return SplitDimensions(grid, tuple(range(inside)), tuple(range(inside, len(grid))))
