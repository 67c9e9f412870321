"""The elements of a picture of a network: marks at places, wires between them, frames around them."""

from __future__ import annotations

from collections import Counter

from astra_ns3.frozen import dataclass, field
from astra_ns3.topology.graph import Graph


@dataclass(frozen=True)
class Mark:
    """One or several alike nodes, drawn at a place; ``count`` nodes stand behind it."""

    x: float
    y: float
    label: str
    count: int
    is_host: bool


@dataclass(frozen=True)
class Wire:
    """All links between two marks; ``rate_bps`` of each, ``count`` of them."""

    a: int
    b: int
    rate_bps: int
    count: int
    kind: str


@dataclass(frozen=True)
class Frame:
    """A frame around what belongs together, with words above it, or ``below`` all that it holds."""

    left: float
    right: float
    bottom: float
    top: float
    label: str
    below: bool = False


@dataclass
class Layout:
    """``boxes``: frames around NPUs as (left, right, bottom, top); ``frames``: those with words.

    ``rows``: the name and height of each row.
    """

    marks: list[Mark] = field(default_factory=list)
    wires: list[Wire] = field(default_factory=list)
    boxes: list[tuple[float, float, float, float]] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    rows: list[tuple[str, float]] = field(default_factory=list)
    mark_of: list[int] = field(default_factory=list)
    """The mark of each node."""
    width: float = 1.0
    height: float | None = None
    """The size of a picture without rows."""


def switch_name(graph: Graph, node: int) -> str:
    """The name of a switch, whatever node it is."""
    switch = node - graph.hosts
    return graph.switch_names[switch] if graph.switch_names else f"switch {switch}"


def wires_between(graph: Graph, mark_of: list[int]) -> list[Wire]:
    """The links of ``graph``, those between the same two marks as one."""
    found: Counter[tuple[int, int, int, str]] = Counter()
    for link in graph.links:
        a, b = sorted((mark_of[link.a], mark_of[link.b]))
        if a != b:
            found[(a, b, link.rate_bps, link.kind)] += 1
    return [Wire(a, b, rate, count, kind) for (a, b, rate, kind), count in found.items()]
