"""The measures of a workload of graphs, before anything runs: nodes, bytes, computation, chains, and how wide it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from astra_ns3.config.graph_workload import GraphNode, GraphWorkload, NodeKind
from astra_ns3.workload.graphs.checks.collectives import dimensions_of
from astra_ns3.workload.graphs.checks.order import in_order

_MEMORY = (NodeKind.MEMORY_LOAD, NodeKind.MEMORY_STORE)


class CollectiveKey(NamedTuple):
    """The collectives that are counted together. ``group``: of so many members, "" for all NPUs.

    ``dimensions``: over which of a network's those of all NPUs go; empty: all.
    """

    collective: str
    group: str
    members: int
    dimensions: tuple[int, ...] = ()


@dataclass
class Share:
    """``nodes`` of all NPUs, and the bytes of the buffers or messages that each NPU has, by NPU."""

    nodes: int = 0
    bytes_of: Counter[int] = field(default_factory=Counter)

    @property
    def bytes(self) -> int:
        """Return the bytes of all NPUs."""
        return self.bytes_of.total()

    def add(self, npu: int, bytes_: int) -> None:
        """Count one more node of an NPU."""
        self.nodes += 1
        self.bytes_of[npu] += bytes_


@dataclass
class Overview:
    """Totals of all NPUs together, unless a field says it is for each."""

    nodes: int = 0
    dependencies: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    collectives: dict[CollectiveKey, Share] = field(default_factory=dict)
    messages: Share = field(default_factory=Share)
    pairs: set[tuple[int, int]] = field(default_factory=set)
    compute_ps: list[int] = field(default_factory=list)
    """The computing of each NPU, its device alone."""
    host_ps: int = 0
    operations: int = 0
    tensor_bytes: int = 0
    """Read and written by what computes, as far as it says so."""
    memory_bytes: int = 0
    """Loaded and stored by nodes for that."""
    chain_ps: list[int] = field(default_factory=list)
    """The longest chain of each NPU by durations, where communication takes no time and nobody waits for
    others."""
    levels: list[Counter[str]] = field(default_factory=list)
    """The nodes of each level, with so many others before them in the longest chain, how many of each kind."""


def overview(workload: GraphWorkload) -> Overview:
    """Read all nodes, one NPU after the other; raises InputError, ProgramsDeadlock if they wait in a circle."""
    found = Overview()
    members = {name: len(ranks) for name, ranks in workload.groups.items()}
    for npu in range(workload.npus):
        nodes = list(workload.nodes(npu))
        computed = 0
        for node in nodes:
            computed += _count(found, npu, node, members, workload.npus)
        found.compute_ps.append(computed)
        found.chain_ps.append(_chains(found, in_order(nodes, workload, npu)))
    return found


def _count(found: Overview, npu: int, node: GraphNode, members: Mapping[str, int], npus: int) -> int:
    """Add a node; how long the device computes for it."""
    found.nodes += 1
    found.dependencies += len(node.parents)
    found.kinds[_kind(node)] += 1
    size = node.bytes or 0
    if node.kind is NodeKind.COLLECTIVE:
        of = members.get(node.group, 0) if node.group else npus
        word = "none" if node.collective is None else node.collective.name.lower()
        key = CollectiveKey(word, node.group, of, () if node.group else dimensions_of(node, None) or ())
        found.collectives.setdefault(key, Share()).add(npu, size)
    elif node.kind is NodeKind.SEND:
        found.messages.add(npu, size)
        found.pairs.add((npu, -1 if node.peer is None else node.peer))
    elif node.kind in _MEMORY:
        found.memory_bytes += node.tensor_bytes or 0
    elif node.kind is NodeKind.COMPUTE:
        found.operations += node.operations or 0
        found.tensor_bytes += node.tensor_bytes or 0
        if not node.on_host:
            return node.duration_ps
        found.host_ps += node.duration_ps
    return 0


def _kind(node: GraphNode) -> str:
    return "compute on the host" if node.kind is NodeKind.COMPUTE and node.on_host else str(node.kind)


def _chains(found: Overview, nodes: list[GraphNode]) -> int:
    """Add the levels of one NPU's nodes, parents before children; its longest chain of durations."""
    ends: dict[int, tuple[int, int]] = {}
    longest = 0
    for node in nodes:
        begin_ps = level = 0
        for parent in node.parents:
            above = ends.get(parent)
            if above is not None:
                begin_ps, level = max(begin_ps, above[0]), max(level, above[1] + 1)
        takes_ps = node.duration_ps if node.kind in (NodeKind.COMPUTE, NodeKind.OTHER, *_MEMORY) else 0
        ends[node.number] = begin_ps + takes_ps, level
        longest = max(longest, begin_ps + takes_ps)
        while len(found.levels) <= level:
            found.levels.append(Counter())
        found.levels[level][_kind(node)] += 1
    return longest
