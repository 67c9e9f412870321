"""The network's dimensions as a workload sees them: cut where its groups of NPUs end inside one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from astra_ns3.config.system import SystemConfig


@dataclass(frozen=True)
class GridCut:
    """``dimensions``: NPUs along each, after cuts; ``parts``: how many of them each original one is."""

    dimensions: tuple[int, ...]
    parts: tuple[int, ...]

    @property
    def cut(self) -> int | None:
        """The first original dimension that was cut, None if none was."""
        return next((number for number, parts in enumerate(self.parts) if parts > 1), None)

    def of_each(self, values: Sequence[float]) -> tuple[float, ...]:
        """Values of each original dimension, that of one that was cut for each of its parts."""
        return tuple(value for value, parts in zip(values, self.parts, strict=True) for _ in range(parts))

    def system(self, config: SystemConfig) -> SystemConfig:
        """A system for the original dimensions on those that came of them: the parts run the whole one's algorithms."""
        for number in reversed(range(len(self.parts))):
            for _ in range(self.parts[number] - 1):
                config = config.for_dimensions(number)
        return config
