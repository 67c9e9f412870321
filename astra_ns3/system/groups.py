"""The NPUs in a grid of dimensions, and the groups that a collective over some of these runs in."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from astra_ns3.errors import InputError
from astra_ns3.network.api import NetworkBackend


@dataclass(frozen=True)
class Grid:
    """``sizes``: NPUs along each dimension; ranks that are neighbours in dimension 0 differ by one.

    ``bandwidths``: of each dimension, in any unit (None: not known).
    """

    sizes: tuple[int, ...]
    bandwidths: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if self.bandwidths is not None and len(self.bandwidths) != len(self.sizes):
            raise InputError(f"{len(self.bandwidths)} bandwidths are given for {len(self.sizes)} dimensions")

    @cached_property
    def ranks(self) -> int:
        """How many NPUs there are."""
        return prod(self.sizes)

    @cached_property
    def wide(self) -> tuple[int, ...]:
        """The dimensions with more than one NPU, ascending."""
        return tuple(dimension for dimension, size in enumerate(self.sizes) if size > 1)

    def ranks_in(self, dimensions: Collection[int]) -> int:
        """How many NPUs a group over ``dimensions`` has."""
        return prod(self.sizes[dimension] for dimension in dimensions)

    def cosets(self, dimensions: Collection[int]) -> list[list[int]]:
        """Every group of ranks that differ in ``dimensions`` only; a group's ranks ascend."""
        count = len(self.sizes)
        along = [count - 1 - dimension for dimension in sorted(dimensions, reverse=True)]
        across = [axis for axis in range(count) if axis not in along]
        numbers = np.arange(self.ranks).reshape(self.sizes[::-1])
        groups: list[list[int]] = numbers.transpose(across + along).reshape(-1, self.ranks_in(dimensions)).tolist()
        return groups


class GroupTable:
    """Hands each group over to the network, once."""

    def __init__(self, network: NetworkBackend, grid: Grid) -> None:
        self._network = network
        self._grid = grid
        self._groups: dict[tuple[int, ...], list[int]] = {}

    def of_ranks(self, dimensions: tuple[int, ...]) -> list[int]:
        """The network's number of each rank's group over ``dimensions``; shape ``(ranks,)``."""
        if dimensions not in self._groups:
            of_rank = [0] * self._grid.ranks
            for ranks in self._grid.cosets(dimensions):
                group = self._network.register_group(ranks)
                for rank in ranks:
                    of_rank[rank] = group
            self._groups[dimensions] = of_rank
        return self._groups[dimensions]
