"""A collective that has been issued, shared by all NPUs."""

from __future__ import annotations

from dataclasses import dataclass

from astra_ns3.system.launches import Launch
from astra_ns3.system.request import Handle


@dataclass
class Collective:
    """``left[rank]``: chunks that a rank has still to finish; ``handles[rank]``: None until it has issued it."""

    layer: int
    priority: int
    chunks: tuple[tuple[Launch, ...], ...]
    left: list[int]
    handles: list[Handle | None]
    ranks_left: int
