"""Slots: the nodes of an NPU that may run at the same time.

Ours: one computation of the device at a time, one of the host, and one access to memory; communication needs no place
here, for the system's queues order it. ASTRA-sim 2 (``Compatibility.nodes_of_graphs_by_number``): one node of the host,
one computation of the device, and one of all the others but receives, which need none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum
from types import MappingProxyType

from astra_ns3.config.graph_workload import GraphNode, NodeKind


class Slot(IntEnum):
    """A place that one node of an NPU can have at a time; of ``NONE`` there is no end."""

    HOST = 0
    DEVICE = 1
    COMMUNICATION = 2
    MEMORY = 3
    NONE = 4


_OURS: Mapping[NodeKind, Slot] = MappingProxyType(
    {
        NodeKind.COMPUTE: Slot.DEVICE,
        NodeKind.COLLECTIVE: Slot.NONE,
        NodeKind.SEND: Slot.NONE,
        NodeKind.RECEIVE: Slot.NONE,
        NodeKind.MEMORY_LOAD: Slot.MEMORY,
        NodeKind.MEMORY_STORE: Slot.MEMORY,
        NodeKind.MARK: Slot.NONE,
        NodeKind.OTHER: Slot.NONE,
    }
)
_ASTRA_SIM_2: Mapping[NodeKind, Slot] = MappingProxyType(
    {
        **dict.fromkeys(NodeKind, Slot.COMMUNICATION),
        NodeKind.COMPUTE: Slot.DEVICE,
        NodeKind.RECEIVE: Slot.NONE,
    }
)


def slot_rule(*, by_number: bool) -> Callable[[GraphNode], Slot]:
    """The place that a node needs; ``by_number``: as ASTRA-sim 2 has it."""
    if by_number:
        return lambda node: Slot.HOST if node.on_host else _ASTRA_SIM_2[node.kind]
    return _our_slot


def _our_slot(node: GraphNode) -> Slot:
    slot = _OURS[node.kind]
    return Slot.HOST if node.on_host and slot is not Slot.MEMORY and node.kind not in _COMMUNICATION else slot


_COMMUNICATION = frozenset((NodeKind.COLLECTIVE, NodeKind.SEND, NodeKind.RECEIVE, NodeKind.MARK))
