"""The question to a policy about a chunk, and its answer: the order of dimensions."""

from __future__ import annotations

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.frozen import dataclass


@dataclass(frozen=True)
class ChunkToRoute:
    """A chunk that is about to be cut from a collective.

    ``dimensions``: those it has to go through, ascending. ``bytes``: its size per rank; ``usual_bytes``: that of the
    collective's first chunk; ``bytes_left``: what of the collective isn't cut yet, this chunk included. ``time_ps``:
    when the collective is issued.
    """

    kind: CollectiveKind
    dimensions: tuple[int, ...]
    bytes: int
    usual_bytes: int
    bytes_left: int
    time_ps: int


@dataclass(frozen=True)
class Route:
    """``dimensions`` in the order in which the chunk goes through them, and its size, 1 to ``bytes_left``.

    With ``mirrored`` an all-reduce that isn't ``baseline`` is a reduce-scatter on every dimension in that order and an
    all-gather back; otherwise an all-reduce stands at the turning point.
    """

    dimensions: tuple[int, ...]
    bytes: int
    mirrored: bool = False
