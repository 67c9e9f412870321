"""From a node that communicates to what is asked of the system layer."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import cache

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.compatibility import Compatibility
from astra_ns3.config.graph_workload import GraphNode, NodeKind
from astra_ns3.errors import nearest, wrong
from astra_ns3.network.records import Label
from astra_ns3.system.communicator import Communicator
from astra_ns3.system.policies import HIGHEST_PRIORITY
from astra_ns3.system.request import CollectiveRequest, MessageRequest
from astra_ns3.workload.graphs.kinds_of_work import PART, kind_of_work

# Priorities that nodes give themselves count from here, above those that a policy gives the others.
_GIVEN_PRIORITY = HIGHEST_PRIORITY // 2


class Requests:
    """The requests of nodes. ``groups``: members by name, of a workload on ``npus`` in a grid of ``dimensions``."""

    def __init__(
        self,
        groups: Mapping[str, tuple[int, ...]],
        npus: int,
        dimensions: int,
        compatibility: Compatibility,
    ) -> None:
        self._groups = groups
        self._npus = npus
        self.dimensions = dimensions
        self._as_one_ring = compatibility.groups_as_one_ring
        self._plays_empty = compatibility.empty_collectives_are_played
        self._by_number = compatibility.nodes_of_graphs_by_number
        self.communicator = cache(self._communicator)

    def collective(self, npu: int, node: GraphNode) -> CollectiveRequest | None:
        """The collective that a node of ``npu`` takes part in; None if there is nothing to do. Raises InputError."""
        kind, bytes = node.collective, node.bytes
        if kind is None or bytes is None:
            return None
        communicator = self.communicator(node.group)
        if communicator is not None and npu not in communicator.ranks:
            where = f"node {node.number} ('{node.name}') of NPU {npu}"
            raise wrong(f"{where} names group {communicator}, of which it is no member")
        if kind is CollectiveKind.BARRIER:
            bytes = max(bytes, 1)  # its messages carry nothing, and must go all the same
        if not bytes and (not self._plays_empty or kind is CollectiveKind.ALL_GATHER):
            return None
        dimensions = self._dimensions_of(node)
        label = Label(0, kind_of_work(node), PART)
        policy = _GIVEN_PRIORITY + node.priority if node.priority and not self._by_number else None
        key = None if self._by_number else (kind, bytes, dimensions)
        return CollectiveRequest(kind, bytes, label, policy, dimensions, communicator, key)

    def message(self, npu: int, node: GraphNode, apart: Hashable = None) -> MessageRequest:
        """The end of a message that a node of ``npu`` is; ``apart``: part of its tag. Raises InputError."""
        peer = node.peer
        if peer is None or not 0 <= peer < self._npus:
            raise wrong(
                f"node {node.number} ('{node.name}') of NPU {npu} names NPU {peer} as the other end of its message, "
                f"expected one of 0 to {self._npus - 1}"
            )
        tag = node.tag if apart is None else (apart, node.tag)
        ends = (npu, peer) if node.kind is NodeKind.SEND else (peer, npu)
        return MessageRequest(*ends, max(node.bytes or 0, 1), tag, Label(0, kind_of_work(node), PART))

    def _communicator(self, group: str) -> Communicator | None:
        if group == "":
            return None
        if group not in self._groups:
            there = ", ".join(list(self._groups)[:8]) or "none"
            raise wrong(f"group '{group}': there is no such group, but {there}{nearest(group, self._groups)}")
        ranks = self._groups[group]
        if max(ranks, default=0) >= self._npus:
            raise wrong(f"group '{group}' has NPU {max(ranks)}, expected 0 to {self._npus - 1}")
        is_world = self._as_one_ring and len(ranks) == self._npus
        return Communicator(sorted(ranks) if is_world else ranks, group)

    def _dimensions_of(self, node: GraphNode) -> tuple[int, ...] | None:
        """The dimensions of a collective of all NPUs; a group's are where its members are."""
        if node.dimensions is None or node.group != "":
            return None
        chosen = tuple(number for number, over in enumerate(node.dimensions[: self.dimensions]) if over)
        return None if len(chosen) == self.dimensions else chosen
