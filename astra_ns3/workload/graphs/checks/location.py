"""Where something stands, and how often, in words."""

from __future__ import annotations

from astra_ns3.config.graph_workload import GraphNode, GraphWorkload
from astra_ns3.units import counted


def named(node: GraphNode) -> str:
    """A node by its number and name."""
    return f"node {node.number} '{node.name}'"


def location(workload: GraphWorkload, npu: int, node: GraphNode) -> str:
    """A node and its file."""
    return f"{workload.file_of(npu)}: {named(node)}"


def and_more(count: int, one: str, many: str = "") -> str:
    """``" (and 3 more NODES)"`` if there are more than the one that was named."""
    return f" (and {counted(count - 1, f'more {one}', many and f'more {many}')})" if count > 1 else ""


def only_npus(npus: int) -> str:
    """How many NPUs there are, in the words behind "but there"."""
    if npus == 1:
        return "is only NPU 0: name the files' folder or prefix, if it is one rank of several"
    return f"are only {npus} NPUs, 0 to {npus - 1}"
