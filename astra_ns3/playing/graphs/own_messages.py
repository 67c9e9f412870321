"""Messages from an NPU to itself: they cross no network and take no time."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable

from astra_ns3.config.graph_workload import GraphNode

_Key = tuple[int, int, Hashable]


class OwnMessages:
    """The messages of all NPUs; the k-th sent with a tag on an NPU is the k-th received. ``apart``: part of the tag."""

    def __init__(self) -> None:
        self._sent: Counter[_Key] = Counter()
        self._awaited: dict[_Key, deque[GraphNode]] = {}

    def send(self, npu: int, node: GraphNode, apart: Hashable = None) -> GraphNode | None:
        """A message is sent; the node that waited for it, if there is one."""
        key = npu, node.tag, apart
        if self._awaited.get(key):
            return self._awaited[key].popleft()
        self._sent[key] += 1
        return None

    def receive(self, npu: int, node: GraphNode, apart: Hashable = None) -> bool:
        """Whether the message is there; otherwise :meth:`send` returns ``node`` when it is."""
        key = npu, node.tag, apart
        if self._sent[key]:
            self._sent[key] -= 1
            return True
        self._awaited.setdefault(key, deque()).append(node)
        return False
