"""Collectives whose members end at different times, and which a loop and a graph therefore play otherwise."""

from __future__ import annotations

from collections.abc import Collection
from itertools import compress
from math import prod

from astra_ns3.config.core.collective_kind import ROOTED, CollectiveKind
from astra_ns3.config.graph_workload import GraphNode, GraphWorkload, NodeKind

_COMMUNICATION = (NodeKind.COLLECTIVE, NodeKind.SEND, NodeKind.RECEIVE)


def followed_rooted(graphs: GraphWorkload, npu: int, sizes: tuple[int, ...] = ()) -> set[CollectiveKind]:
    """The kinds among an NPU's collectives that begin or end at one member, and behind which more is communicated.

    ``sizes``: NPUs along each dimension, where collectives name dimensions.
    """
    found: set[CollectiveKind] = set()
    last: CollectiveKind | None = None
    for node in graphs.nodes(npu):
        if node.kind not in _COMMUNICATION or _is_alone(graphs, node, sizes):
            continue
        if last is not None:
            found.add(last)
        last = node.collective if node.bytes and node.collective in ROOTED else None
    return found


def _is_alone(graphs: GraphWorkload, node: GraphNode, sizes: tuple[int, ...]) -> bool:
    """Return whether a collective has one member, so that nothing is sent."""
    if node.kind is not NodeKind.COLLECTIVE:
        return False
    if node.group:
        return len(graphs.groups.get(node.group, ())) == 1
    return prod(compress(sizes, node.dimensions) if sizes and node.dimensions is not None else (graphs.npus,)) == 1


def other_starts(kinds: Collection[CollectiveKind], where: str) -> tuple[str, ...]:
    """A warning if there are such kinds."""
    if not kinds:
        return ()
    names = " and ".join(sorted(kind.name.lower() for kind in kinds))
    return (
        f"{where}: members of a {names} end at different times; what follows begins in a graph when all members have "
        "issued it, in a loop at each member for itself, so the graph may take longer",
    )
