"""The NPUs in a grid of dimensions, and the groups that a collective over some of these runs in.

A communicator of fewer NPUs has a grid of its own. It is a part of the whole one if its NPUs form such, with the same
dimensions, else all of them along one dimension; unless it brings the sizes of one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from itertools import pairwise
from math import prod

import numpy as np

from astra_ns3.errors import wrong
from astra_ns3.frozen import dataclass
from astra_ns3.network.api import NetworkBackend
from astra_ns3.system.communicator import Communicator, PerNpu, per_npu
from astra_ns3.units import counted


@dataclass(frozen=True)
class Grid:
    """``sizes``: NPUs along each dimension; places that are neighbours in dimension 0 differ by one.

    ``bandwidths``: of each dimension, in any unit (None: not known). ``communicator``: whose grid it is, with the NPU
    in each place (None: the world's, NPU i in place i). ``flat``: its NPUs are no part of the world's grid, and lie
    along one dimension.
    """

    sizes: tuple[int, ...]
    bandwidths: tuple[float, ...] | None = None
    communicator: Communicator | None = None
    flat: bool = False

    def __post_init__(self) -> None:
        if self.bandwidths is not None and len(self.bandwidths) != len(self.sizes):
            raise wrong(f"{len(self.bandwidths)} bandwidths are given for {len(self.sizes)} dimensions")

    @cached_property
    def npus(self) -> int:
        """Number of NPUs."""
        return prod(self.sizes)

    @cached_property
    def wide(self) -> tuple[int, ...]:
        """The dimensions with more than one NPU, ascending."""
        return tuple(dimension for dimension, size in enumerate(self.sizes) if size > 1)

    def ranks_in(self, dimensions: Collection[int]) -> int:
        """Number of NPUs in a group over ``dimensions``."""
        return prod(self.sizes[dimension] for dimension in dimensions)

    def cosets(self, dimensions: Collection[int]) -> list[list[int]]:
        """Every group of ranks that differ in ``dimensions`` only; a group's ranks ascend."""
        count = len(self.sizes)
        along = [count - 1 - dimension for dimension in sorted(dimensions, reverse=True)]
        across = [axis for axis in range(count) if axis not in along]
        members = np.arange(self.npus) if self.communicator is None else np.array(self.communicator.ranks)
        numbers = members.reshape(self.sizes[::-1])
        groups: list[list[int]] = numbers.transpose(across + along).reshape(-1, self.ranks_in(dimensions)).tolist()
        return groups

    def place(self, npu: int, dimensions: Collection[int]) -> int:
        """The place of ``npu`` in its group over ``dimensions``."""
        number = npu if self.communicator is None else self.communicator.ranks.index(npu)
        place, stride = 0, 1
        for dimension, size in enumerate(self.sizes):
            number, coordinate = divmod(number, size)
            if dimension in dimensions:
                place += coordinate * stride
                stride *= size
        return place

    def highest_difference(self, npu: int, other: int) -> int:
        """The last dimension in which two of the world's NPUs have different places; 0 for an NPU and itself."""
        highest = 0
        for dimension, size in enumerate(self.sizes):
            if npu % size != other % size:
                highest = dimension
            npu, other = npu // size, other // size
        return highest

    def of(self, communicator: Communicator | None) -> Grid:
        """The grid of a communicator on this one, which is the world's; raises InputError."""
        if communicator is None:
            return self
        ranks = communicator.ranks
        if max(ranks) >= self.npus:
            raise wrong(f"there are {self.npus} NPUs, 0 to {self.npus - 1}", str(communicator))
        if communicator.sizes is not None:
            return self._own_grid(communicator, communicator.sizes)
        coordinates = np.unravel_index(ranks, self.sizes[::-1])[::-1]
        widths = tuple(len(np.unique(along)) for along in coordinates)
        ascends = all(one < other for one, other in pairwise(ranks))
        if ascends and prod(widths) == len(ranks):
            return Grid(widths, self.bandwidths, communicator)
        highest = max(dimension for dimension, width in enumerate(widths) if width > 1)
        sizes = tuple(len(ranks) if dimension == highest else 1 for dimension in range(len(self.sizes)))
        return Grid(sizes, self.bandwidths, communicator, flat=True)

    def _own_grid(self, communicator: Communicator, sizes: tuple[int, ...]) -> Grid:
        if len(sizes) != len(self.sizes):
            raise wrong(
                f"its grid has {counted(len(sizes), 'dimension')}, the system's {len(self.sizes)}", str(communicator)
            )
        return Grid(sizes, self.bandwidths, communicator)

    def ring_of(self, communicator: Communicator) -> Grid:
        """A grid of one dimension, of the members in the order of their list."""
        bandwidths = None if self.bandwidths is None else self.bandwidths[:1]
        return Grid((len(communicator),), bandwidths, communicator, flat=True)

    def check_dimensions(self, dimensions: Collection[int] | None) -> None:
        """Raise InputError if a collective can't be cut over ``dimensions`` here."""
        if self.flat and dimensions is not None:
            raise wrong(
                f"a collective over dimensions {tuple(dimensions)} in {self.communicator}: its NPUs are no part of the "
                "grid in ascending order, so expected a collective over all of them"
            )


def register_groups(
    network: NetworkBackend, grid: Grid, delay_ps: int | None, dimensions: tuple[int, ...]
) -> PerNpu[int]:
    """Return the network's number of each NPU's new group over ``dimensions``; ``delay_ps``: as of one group."""
    of_npu = per_npu(grid.communicator, grid.npus, 0)
    for ranks in grid.cosets(dimensions):
        group = register_group(network, ranks, delay_ps)
        for npu in ranks:
            of_npu[npu] = group
    return of_npu


def register_group(network: NetworkBackend, npus: Sequence[int], delay_ps: int | None) -> int:
    """The network's number of a new group; ``delay_ps``: its endpoint delay (None: that of all)."""
    return network.register_group(npus) if delay_ps is None else network.register_delayed_group(npus, delay_ps)
