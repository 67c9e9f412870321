"""The names of kinds of work in a run of graphs; they stand where a training loop has its layers."""

from __future__ import annotations

from functools import lru_cache

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.graph_workload import GraphNode, NodeKind
from astra_ns3.config.workload import PassKind

PART = PassKind.FORWARD
"""A graph has no passes, so all its work stands in the first."""
IDLE = "idle"


def kind_of_work(node: GraphNode) -> str:
    """``compute``, ``all_reduce of group 2``, ``send``, ..."""
    return _name(node.kind, node.collective, node.group, node.on_host)


@lru_cache(maxsize=4096)
def group_of_work(node_kind: NodeKind, group: str, kind_of_work: str, dimensions: tuple[int, ...] | None) -> str:
    """Whom a node exchanges with: ``group 2``, ``all NPUs``, ``messages``; what it is, if with nobody.

    ``dimensions``: over which of the network's it goes (None: all).
    """
    if node_kind is NodeKind.COLLECTIVE:
        return f"group {group}" if group else words_along(dimensions)
    return "messages" if node_kind in (NodeKind.SEND, NodeKind.RECEIVE) else kind_of_work


@lru_cache(maxsize=4096)
def _name(kind: NodeKind, collective: CollectiveKind | None, group: str, on_host: bool) -> str:
    if kind is NodeKind.COLLECTIVE and collective is not None:
        return collective.name.lower() + (f" of group {group}" if group else "")
    if kind is NodeKind.COMPUTE and on_host:
        return "host"
    return str(kind)


def words_along(dimensions: tuple[int, ...] | None) -> str:
    """Return among whom a collective of all NPUs goes over some of the network's dimensions (None: over all)."""
    return "all NPUs" if dimensions is None else f"NPUs along dimension {', '.join(map(str, dimensions))}"
