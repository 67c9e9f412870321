"""The numbers that Chakra's traces give to types of nodes and to collectives, and what each is here."""

from __future__ import annotations

from collections.abc import Mapping

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.graph_workload import NodeKind

NODE_TYPES = (
    "INVALID_NODE",
    "METADATA_NODE",
    "MEM_LOAD_NODE",
    "MEM_STORE_NODE",
    "COMP_NODE",
    "COMM_SEND_NODE",
    "COMM_RECV_NODE",
    "COMM_COLL_NODE",
)
"""By number. Kinds proposed beyond them (storage, batches, checkpoints) has no number that all agree on."""

INVALID, METADATA, LOAD, STORE, COMPUTE, SEND, RECEIVE, COLLECTIVE = range(len(NODE_TYPES))

KINDS: Mapping[int, NodeKind] = {
    INVALID: NodeKind.MARK,
    METADATA: NodeKind.MARK,
    LOAD: NodeKind.MEMORY_LOAD,
    STORE: NodeKind.MEMORY_STORE,
    COMPUTE: NodeKind.COMPUTE,
    SEND: NodeKind.SEND,
    RECEIVE: NodeKind.RECEIVE,
    COLLECTIVE: NodeKind.COLLECTIVE,
}

COLLECTIVE_TYPES = (
    "ALL_REDUCE",
    "REDUCE",
    "ALL_GATHER",
    "GATHER",
    "SCATTER",
    "BROADCAST",
    "ALL_TO_ALL",
    "REDUCE_SCATTER",
    "REDUCE_SCATTER_BLOCK",
    "BARRIER",
)
"""By number."""

COLLECTIVES: Mapping[str, CollectiveKind] = {
    "ALL_REDUCE": CollectiveKind.ALL_REDUCE,
    "REDUCE": CollectiveKind.REDUCE,
    "ALL_GATHER": CollectiveKind.ALL_GATHER,
    "BROADCAST": CollectiveKind.BROADCAST,
    "ALL_TO_ALL": CollectiveKind.ALL_TO_ALL,
    "REDUCE_SCATTER": CollectiveKind.REDUCE_SCATTER,
    "REDUCE_SCATTER_BLOCK": CollectiveKind.REDUCE_SCATTER,
    "BARRIER": CollectiveKind.BARRIER,
}
"""Kinds that can be played; a gather and a scatter can't yet."""


def type_name(number: int) -> str:
    """The word for a type of nodes, ``type 8`` for one that has none."""
    return NODE_TYPES[number] if 0 <= number < len(NODE_TYPES) else f"type {number}"


def collective_name(number: int) -> str:
    """The word for a collective, ``collective 11`` for one that has none."""
    return COLLECTIVE_TYPES[number] if 0 <= number < len(COLLECTIVE_TYPES) else f"collective {number}"


def plain_name(text: str) -> str:
    """The name of a communicator; a number without zeros before it."""
    name = text.strip()
    return name.lstrip("0") or "0" if name.isascii() and name.isdigit() else name
