"""What the time of one NPU went into, by kind of work."""

from __future__ import annotations

from collections import defaultdict

from astra_ns3.config.graph_workload import GraphNode, NodeKind
from astra_ns3.network.records import LayerTimes, PassTimes
from astra_ns3.workload.graphs.names import IDLE, kind_of_work

_COMMUNICATION = frozenset((NodeKind.COLLECTIVE, NodeKind.SEND, NodeKind.RECEIVE))


class WorkSums:
    """Sums of one NPU. While its device doesn't compute, time is exposed by what began first of all that goes on."""

    def __init__(self) -> None:
        self._compute_ps: dict[str, int] = defaultdict(int)
        self._exposed_ps: dict[str, int] = defaultdict(int)
        self._comm_ps: dict[str, int] = defaultdict(int)
        self._running: dict[int, str] = {}  # nodes that go on, in the order in which they began
        self._computing = 0
        self._since_ps = 0

    def begun(self, node: GraphNode, time_ps: int) -> None:
        """A node has begun."""
        self._book(time_ps)
        if node.kind is NodeKind.COMPUTE and not node.on_host:
            self._computing += 1
        else:
            self._running[node.number] = kind_of_work(node)

    def ended(self, node: GraphNode, begin_ps: int, time_ps: int) -> None:
        """It has ended."""
        self._book(time_ps)
        if node.kind is NodeKind.COMPUTE and not node.on_host:
            self._computing -= 1
            self._compute_ps[kind_of_work(node)] += time_ps - begin_ps
            return
        del self._running[node.number]
        if node.kind in _COMMUNICATION:
            self._comm_ps[kind_of_work(node)] += time_ps - begin_ps

    def layers(self, now_ps: int) -> tuple[LayerTimes, ...]:
        """A row for each kind of work, computing first."""
        self._book(now_ps)
        none = PassTimes()
        return tuple(
            LayerTimes(
                name,
                PassTimes(self._compute_ps.get(name, 0), self._exposed_ps.get(name, 0), self._comm_ps.get(name, 0)),
                none,
                none,
                0,
            )
            for name in dict.fromkeys((*self._compute_ps, *self._comm_ps, *self._exposed_ps))
        )

    def _book(self, time_ps: int) -> None:
        if time_ps > self._since_ps and not self._computing:
            self._exposed_ps[next(iter(self._running.values()), IDLE)] += time_ps - self._since_ps
        self._since_ps = time_ps
