"""Cuts the network's dimensions where groups of NPUs begin or end inside one, for each group in its own way.

A group of a stage is the ranks that differ by multiples of one stride, below another. Within a dimension its ranks
lie in one part, so that a collective of the group isn't cut where another kind of group ends. Groups that begin at the
same stride share a part, and so its queue. Source of the order of ranks: Megatron-LM.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

from astra_ns3.config.training_plan import Degrees, Group
from astra_ns3.errors import refuse, wrong
from astra_ns3.frozen import dataclass


@dataclass(frozen=True)
class OwnGrid:
    """``sizes``: NPUs of a stage along each dimension of the system; ``dimensions``: which of these a group is."""

    sizes: tuple[int, ...]
    dimensions: tuple[int, ...]


@dataclass(frozen=True)
class _Dimension:
    """One of the network's: ranks in it differ by multiples of ``lower``, below ``upper``; where its parts begin."""

    lower: int
    upper: int
    begins: tuple[int, ...]

    def world_sizes(self) -> tuple[int, ...]:
        """NPUs of each part, for all NPUs; 1 for a part that begins where another one doesn't divide."""
        kept = [self.begins[0]]
        for begin in self.begins[1:]:
            if begin % kept[-1] == 0:
                kept.append(begin)
        ends = dict(pairwise([*kept, self.upper]))
        return tuple(ends.get(begin, begin) // begin for begin in self.begins)

    def own_sizes(self, begin: int, end: int, stage: int) -> tuple[tuple[int, ...], int | None]:
        """NPUs of each part for a group from stride to stride in stages of so many; which part is the group's."""
        sizes = [1] * len(self.begins)
        cuts = [min(max(stride, self.lower), self.upper) for stride in (1, begin, end, stage)]
        below, within, above = (upper // lower for lower, upper in pairwise(cuts))
        if within == 1:
            sizes[0] = below * above
            return tuple(sizes), None
        index = self.begins.index(cuts[1])
        sizes[index] = within
        for beside, size in ((index - 1, below), (index + 1, above)):
            if size > 1:
                sizes[beside] = size
        return tuple(sizes), index


class TrainingGrid:
    """The dimensions that degrees of parallelism make of the network's. Raises InputError if they don't fit."""

    def __init__(self, degrees: Degrees, dimensions: Sequence[int], source: str) -> None:
        refuse(
            degrees.npus != prod(dimensions),
            f"tensor {degrees.tensor} x context {degrees.context} x data {degrees.data} x pipeline "
            f"{degrees.pipeline} is {degrees.npus} NPUs, but the network has {prod(dimensions)}",
            source,
        )
        self._degrees = degrees
        self._shape = "x".join(map(str, dimensions))
        self._source = source
        self._cut = [self._dimension(dimensions, number) for number in range(len(dimensions))]

    @property
    def sizes(self) -> tuple[int, ...]:
        """NPUs along each dimension of the system."""
        return tuple(size for dimension in self._cut for size in dimension.world_sizes())

    @property
    def parts(self) -> tuple[int, ...]:
        """How many dimensions of the system each one of the network is."""
        return tuple(len(dimension.begins) for dimension in self._cut)

    def of(self, group: Group) -> OwnGrid:
        """A stage's NPUs as collectives among a group see them."""
        begin, end = self._degrees.strides(group)
        sizes: list[int] = []
        numbers: list[int] = []
        for dimension in self._cut:
            own, index = dimension.own_sizes(begin, end, self._degrees.stage_npus)
            if index is not None:
                numbers.append(len(sizes) + index)
            sizes += own
        return OwnGrid(tuple(sizes), tuple(numbers))

    def pairs(self) -> OwnGrid:
        """The first and the last stage, which differ in the highest dimension that has several NPUs."""
        highest = max(number for number, size in enumerate(self.sizes) if size > 1)
        sizes = [1] * len(self.sizes)
        sizes[0] = self._degrees.stage_npus
        sizes[highest] *= 2
        return OwnGrid(tuple(sizes), (highest,))

    def _dimension(self, dimensions: Sequence[int], number: int) -> _Dimension:
        lower = prod(dimensions[:number])
        upper = lower * dimensions[number]
        degrees = self._degrees
        begins = {lower}
        for group in Group:
            begin, end = degrees.strides(group)
            if begin < end and begin < upper and end > lower:
                begins.add(max(begin, lower))
        if degrees.pipeline > 1 and lower < degrees.stage_npus < upper:
            begins.add(degrees.stage_npus)
        for name, stride in self._ends():
            if lower < stride < upper and (stride % lower or upper % stride):
                between = f"{lower} doesn't divide {stride}" if stride % lower else f"{stride} doesn't divide {upper}"
                raise wrong(
                    f"groups of {name} = {stride} NPUs don't fit dimensions of {self._shape}: {between}"
                    f"{self._what_fits(prod(dimensions))}",
                    self._source,
                )
        return _Dimension(lower, upper, tuple(sorted(begins)))

    def _what_fits(self, npus: int) -> str:
        """Dimensions with an end wherever a group ends; nothing to say if there are none."""
        cuts = sorted({1, npus, *(stride for _, stride in self._ends())})
        if any(after % before for before, after in pairwise(cuts)):
            return ""
        return f"; dimensions of {'x'.join(str(after // before) for before, after in pairwise(cuts))} would fit"

    def _ends(self) -> list[tuple[str, int]]:
        """Where groups of more than one NPU end, and what that is called."""
        degrees = self._degrees
        ends = [(f"tensor {degrees.tensor}", degrees.tensor)]
        for name in ("context", "expert", "data"):
            if getattr(degrees, name) > 1:
                times = f"{name} {getattr(degrees, name)}"
                if name == "data" and degrees.context > 1:
                    times = f"context {degrees.context} x {times}"
                stride = degrees.stage_npus if name == "data" else degrees.tensor * getattr(degrees, name)
                ends.append((f"tensor {degrees.tensor} x {times}" if degrees.tensor > 1 else times, stride))
        return ends
