"""The chain of an NPU's graph if it is one thread: computations and collectives one after the other, and collectives
that nobody waits for."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.graph_workload import GraphNode, GraphWorkload, NodeKind
from astra_ns3.errors import InputError, wrong
from astra_ns3.workload.graphs.checks.location import location, named
from astra_ns3.workload.graphs.checks.order import in_order


class Step(NamedTuple):
    """A computation of ``time_ps``, or a collective among the NPUs that are ``stride`` apart, ``members`` of them.

    ``waits``: whether the thread waits for the collective; ``update_ps``: what the host does after one that it doesn't
    wait for. ``name`` and ``number`` are the node's and no part of what must be the same on all NPUs.
    """

    name: str
    number: int
    time_ps: int = 0
    collective: CollectiveKind | None = None
    bytes: int = 0
    stride: int = 1
    members: int = 1
    waits: bool = True
    update_ps: int = 0

    def work(self) -> tuple[object, ...]:
        """All but name and number."""
        return self[2:]


def chain(workload: GraphWorkload, npu: int) -> list[Step]:
    """The steps of an NPU in their order; raises InputError with file and node where its graph is no single thread."""
    return _Chain(workload, npu).steps()


class _Chain:
    def __init__(self, workload: GraphWorkload, npu: int) -> None:
        self._workload = workload
        self._npu = npu
        nodes = list(workload.nodes(npu))
        self._nodes = in_order(nodes, workload, npu)
        self._by_number = {node.number: node for node in nodes}
        self._children = Counter(parent for node in nodes for parent in node.parents)
        self._updates = {node.number: node for node in nodes if self._is_update(node)}
        self._done_at: dict[int, int] = {}  # of each node, how many steps of the thread are done when it is
        self._thread: list[Step] = []
        self._beside: dict[int, list[Step]] = {}

    def steps(self) -> list[Step]:
        """The thread, and after each of its steps what begins beside it."""
        updates = {parent: node for node in self._updates.values() for parent in node.parents}
        for node in self._nodes:
            if node.number in self._updates:
                continue
            self._take(node, updates.get(node.number))
        found = self._in_turn(0)
        for number, step in enumerate(self._thread, start=1):
            found += [step, *self._in_turn(number)]
        return found

    def _in_turn(self, number: int) -> list[Step]:
        return sorted(self._beside.get(number, ()), key=lambda step: step.number)

    def _take(self, node: GraphNode, update: GraphNode | None) -> None:
        after = max((self._done_at.get(parent, 0) for parent in node.parents), default=0)
        beside = [parent for parent in node.parents if self._done_at.get(parent) == -1]
        if beside:
            raise self._error(node, f"waits for {named(self._by_number[beside[0]])}, which others don't wait for")
        if node.kind is NodeKind.MARK:
            self._done_at[node.number] = after
            return
        step = self._step(node)
        if not step.waits:
            self._done_at[node.number] = -1
            step = step._replace(update_ps=0 if update is None else update.duration_ps)
            self._beside.setdefault(after, []).append(step)
            return
        if after != len(self._thread):
            raise self._error(node, f"may run beside node {self._thread[after].number} '{self._thread[after].name}'")
        self._thread.append(step)
        self._done_at[node.number] = len(self._thread)

    def _step(self, node: GraphNode) -> Step:
        ranked = node.priority and node.kind is not NodeKind.COLLECTIVE
        if ranked or node.start_ps:
            raise self._error(node, "has a priority" if ranked else "starts at a time")
        if node.kind is NodeKind.COMPUTE and not node.on_host:
            return Step(node.name, node.number, node.duration_ps)
        if node.kind is not NodeKind.COLLECTIVE or node.collective is None:
            raise self._error(node, f"is {'work of the host' if node.on_host else node.kind.value}")
        if node.dimensions is not None and not node.group and not all(node.dimensions):
            raise self._error(node, "goes over some dimensions")
        stride, members = self._group(node)
        children = self._children[node.number] - sum(node.number in each.parents for each in self._updates.values())
        waits = children > 0
        return Step(node.name, node.number, 0, node.collective, node.bytes or 0, stride, members, waits)

    def _is_update(self, node: GraphNode) -> bool:
        """Work of the host after one collective, for which nobody waits."""
        if not (node.kind is NodeKind.COMPUTE and node.on_host and len(node.parents) == 1):
            return False
        parent = self._by_number.get(node.parents[0])
        alone = parent is not None and parent.kind is NodeKind.COLLECTIVE and self._children[parent.number] == 1
        return alone and not self._children[node.number]

    def _group(self, node: GraphNode) -> tuple[int, int]:
        """How far apart the members are, and how many."""
        if not node.group:
            return 1, self._workload.npus
        ranks = self._workload.groups[node.group]
        stride = ranks[1] - ranks[0] if len(ranks) > 1 else 1
        if stride > 0:
            first = self._npu - self._npu // stride % len(ranks) * stride
            if list(ranks) == list(range(first, first + stride * len(ranks), stride)):
                return stride, len(ranks)
        raise self._error(node, f"is of communicator '{node.group}', whose members are no even part of all NPUs")

    def _error(self, node: GraphNode, why: str) -> InputError:
        return wrong(
            f"{why}; SimAI's text can't express it, only operations one after another and collectives that nothing "
            "waits for",
            location(self._workload, self._npu, node),
        )
