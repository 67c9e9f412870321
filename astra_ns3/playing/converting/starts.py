"""Where a graph begins collectives otherwise than the loop that it is made of, or that is made of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import compress, pairwise
from math import prod

from astra_ns3.config.core.collective_kind import ROOTED, CollectiveKind
from astra_ns3.config.graph_workload import GraphNode, GraphWorkload, NodeKind
from astra_ns3.playing.converting.unrolled import UnrolledLoop
from astra_ns3.units import counted

_COMMUNICATION = (NodeKind.COLLECTIVE, NodeKind.SEND, NodeKind.RECEIVE)
_SPLIT = (CollectiveKind.ALL_REDUCE, CollectiveKind.REDUCE_SCATTER, CollectiveKind.ALL_TO_ALL)


def ends_apart(graphs: GraphWorkload, npu: int) -> set[str]:
    """Return words for collectives of an NPU whose members end at different times, and behind which it communicates.

    A collective of one member sends nothing, so it doesn't count.
    """
    found: set[str] = set()
    before = ""
    for node in graphs.nodes(npu):
        if node.kind in _COMMUNICATION and not (node.kind is NodeKind.COLLECTIVE and _members(graphs, node) == 1):
            found.add(before)
            before = _apart(graphs, node)
    return found - {""}


def other_starts(collectives: Collection[str], where: str) -> tuple[str, ...]:
    """Return a warning if there are such collectives."""
    if not collectives:
        return ()
    return (
        f"{where}: members of {' and '.join(sorted(collectives))} end at different times; what follows begins in a "
        "graph when all members have issued it, in a loop at each member for itself, so the graph may take longer",
    )


def other_orders(loop: UnrolledLoop) -> tuple[str, ...]:
    """Return a warning if the graph begins collectives of one moment in another order, the highest priority first."""
    found = max(sum(_overtakes(loop.nodes(npu))) for npu in loop.first_npus)
    if not found:
        return ()
    return (
        f"{loop.source}: {counted(found, 'collective')} of an NPU and an earlier one with a lower priority begin at "
        "one moment; the graph begins the highest priority first, the loop the earlier one, so times may differ",
    )


def _overtakes(nodes: Iterable[GraphNode]) -> Iterator[bool]:
    """Yield of each collective but the first whether it goes before the previous one, though both begin at once."""
    for before, node in pairwise(node for node in nodes if node.kind is NodeKind.COLLECTIVE):
        yield before.parents == node.parents and before.priority < node.priority


def _apart(graphs: GraphWorkload, node: GraphNode) -> str:
    """Return a word for a collective whose members end at different times; "" for any other node.

    An uneven one has bytes that its members don't divide.
    """
    if not node.bytes or node.collective is None:
        return ""
    if node.collective in ROOTED:
        return f"a {node.collective.name.lower()}"
    uneven = node.collective in _SPLIT and node.bytes % _members(graphs, node)
    return f"an uneven {node.collective.name.lower()}" if uneven else ""


def _members(graphs: GraphWorkload, node: GraphNode) -> int:
    if node.group in graphs.groups:
        return len(graphs.groups[node.group])
    if node.dimensions is None or not isinstance(graphs, UnrolledLoop):
        return graphs.npus
    return prod(compress(graphs.dimensions, node.dimensions))
