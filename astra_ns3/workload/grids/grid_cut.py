"""The network's dimensions as a workload sees them: cut where its groups of NPUs end inside one."""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.config.system import SystemConfig
from astra_ns3.frozen import dataclass


@dataclass(frozen=True)
class GridCut:
    """``dimensions``: NPUs along each, after cuts; ``parts``: how many of them each original one is."""

    dimensions: tuple[int, ...]
    parts: tuple[int, ...]

    @property
    def cut(self) -> int | None:
        """The first original dimension that was cut, None if none was."""
        return next((number for number, parts in enumerate(self.parts) if parts > 1), None)

    @property
    def aligned(self) -> tuple[int, ...] | None:
        """Dimensions of as many NPUs, inside none of which groups end; None if kinds of groups exclude each other."""
        begin = 0
        for parts in self.parts:
            if parts > 1 and 1 in self.dimensions[begin : begin + parts]:
                return None
            begin += parts
        return tuple(size for size in self.dimensions if size > 1) or (1,)

    @property
    def names(self) -> tuple[str, ...]:
        """The original dimension that each one is, or is a part of."""
        return tuple(
            f"dimension {number}, part {part + 1} of {parts}" if parts > 1 else f"dimension {number}"
            for number, parts in enumerate(self.parts)
            for part in range(parts)
        )

    def of_each(self, values: Sequence[float]) -> tuple[float, ...]:
        """Values of each original dimension, that of one that was cut for each of its parts."""
        return tuple(value for value, parts in zip(values, self.parts, strict=True) for _ in range(parts))

    def system(self, config: SystemConfig) -> SystemConfig:
        """A system for the original dimensions on those that came of them: the parts run the whole one's algorithms."""
        return config if self.cut is None else config.for_parts(self.parts)
