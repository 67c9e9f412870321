"""Whether every message has two ends: the hashes of all that is sent and of all that is received add up to the same.

Hashes of text, since numbers that differ may have the same one: -1 and -2, 0 and 2**61 - 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from astra_ns3.config.graph_workload import GraphNode, GraphWorkload, NodeKind
from astra_ns3.errors import ProgramMismatch, wrong
from astra_ns3.workload.graphs.checks.location import and_more, location, named, only_npus

_MASK = 2**64 - 1


class _Key(NamedTuple):
    source: int
    destination: int
    tag: int


class MessageCheck:
    """Takes the sends and receives of all NPUs."""

    def __init__(self, workload: GraphWorkload) -> None:
        self._workload = workload
        self._npus = workload.npus
        self._ends = 0
        """The sum of the hashes of what is sent, less those of what is received."""
        self._sizes = 0
        """The same with sizes."""
        self._all_sized = True
        self._nowhere: list[str] = []
        self._unsized: list[str] = []

    def takes(self) -> Mapping[NodeKind, Callable[[int, GraphNode], None]]:
        """The checks of nodes of each kind."""
        return {NodeKind.SEND: self._take_send, NodeKind.RECEIVE: self._take_receive}

    def _take_send(self, npu: int, node: GraphNode) -> None:
        peer = node.peer
        if peer is None or peer >= self._npus:
            self._nowhere.append(self._no_peer(npu, node, "sends to"))
            return
        if node.bytes is None:
            self._unsized.append(location(self._workload, npu, node))
        key = f"{npu} {peer} {node.tag}"
        self._ends += hash(key)
        self._sizes += hash(f"{key} {node.bytes}")

    def _take_receive(self, npu: int, node: GraphNode) -> None:
        peer = node.peer
        if peer is None or peer >= self._npus:
            self._nowhere.append(self._no_peer(npu, node, "receives from"))
            return
        self._all_sized = self._all_sized and node.bytes is not None
        key = f"{peer} {npu} {node.tag}"
        self._ends -= hash(key)
        self._sizes -= hash(f"{key} {node.bytes}")

    def _no_peer(self, npu: int, node: GraphNode, does: str) -> str:
        return f"{location(self._workload, npu, node)}: {does} NPU {node.peer}, but there {only_npus(self._npus)}"

    def raise_problems(self) -> None:
        """Raise InputError for messages to nobody or without a size, ProgramMismatch for those with one end."""
        if self._nowhere:
            raise wrong(self._nowhere[0] + and_more(len(self._nowhere), "such node"))
        if self._unsized:
            raise wrong(f"is sent without a size{and_more(len(self._unsized), 'such node')}", self._unsized[0])
        if self._ends & _MASK:
            raise ProgramMismatch(self._unmatched())
        if self._all_sized and self._sizes & _MASK:
            raise ProgramMismatch(self._different())

    def _unmatched(self) -> str:
        """The first message with one end alone, and how many there are."""
        balance: Counter[_Key] = Counter()
        for _, node, key in self._messages():
            balance[key] += 1 if node.kind is NodeKind.SEND else -1
        alone = sum(map(abs, balance.values()))
        seen: Counter[tuple[_Key, bool]] = Counter()
        for npu, node, key in self._messages():
            sends = node.kind is NodeKind.SEND
            seen[key, sends] += 1
            surplus = balance[key] if sends else -balance[key]
            if surplus > 0:
                peer = self._workload.file_of(key.destination if sends else key.source)
                does = f"sends NPU {key.destination}" if sends else f"waits for NPU {key.source} to send"
                other = "receives" if sends else "sends"
                return (
                    f"{location(self._workload, npu, node)}: {does} a message with tag {key.tag} that {peer} never "
                    f"{other}{and_more(alone, 'message with one end', 'messages with one end')}"
                )
        return f"{self._workload.source}: what is sent and what is received differ"

    def _different(self) -> str:
        """The first two ends that differ in size."""
        sizes: dict[_Key, Counter[int]] = {}
        for _, node, key in self._messages():
            sizes.setdefault(key, Counter())[node.bytes or 0] += 1 if node.kind is NodeKind.SEND else -1
        uneven = {key: counts for key, counts in sizes.items() if any(counts.values())}
        count = sum(sum(map(abs, counts.values())) for counts in uneven.values()) // 2
        sends = [(npu, node, key) for npu, node, key in self._messages() if self._odd(node, key, uneven, 1)]
        npu, node, key = sends[0]
        _, other, _ = next(
            found for found in self._messages() if found[2] == key and self._odd(found[1], key, uneven, -1)
        )
        return (
            f"{location(self._workload, npu, node)}: sends NPU {key.destination} {node.bytes} bytes with tag {key.tag}"
            f", but {self._workload.file_of(key.destination)} receives {other.bytes} ({named(other)})"
            f"{and_more(count, 'message whose ends differ', 'messages whose ends differ')}"
        )

    @staticmethod
    def _odd(node: GraphNode, key: _Key, uneven: Mapping[_Key, Counter[int]], sign: int) -> bool:
        kind = NodeKind.SEND if sign > 0 else NodeKind.RECEIVE
        return node.kind is kind and key in uneven and sign * uneven[key][node.bytes or 0] > 0

    def _messages(self) -> Iterator[tuple[int, GraphNode, _Key]]:
        for npu in range(self._npus):
            for node in self._workload.nodes(npu):
                if node.kind is NodeKind.SEND and node.peer is not None:
                    yield npu, node, _Key(npu, node.peer, node.tag)
                elif node.kind is NodeKind.RECEIVE and node.peer is not None:
                    yield npu, node, _Key(node.peer, npu, node.tag)
