"""Every node of a run, when it began and ended, handed on while the run goes on."""

from __future__ import annotations

from astra_ns3.config.graph_workload import GraphNode
from astra_ns3.network.recorded import NODES, TableSink
from astra_ns3.system.journal import Rows
from astra_ns3.workload.graphs.kinds_of_work import kind_of_work


class NodeRows:
    """Hands rows of :data:`NODES` to ``sink``."""

    def __init__(self, sink: TableSink) -> None:
        self._rows = Rows(sink, NODES.name, len(NODES.recorded))
        sink.open(NODES)

    def ended(self, npu: int, node: GraphNode, issue_ps: int, done_ps: int) -> None:
        """A node of an NPU has ended."""
        name, kind = self._rows.number("name", node.name), self._rows.number("kind", kind_of_work(node))
        self._rows.add((npu, node.number, name, kind, issue_ps, done_ps))

    def hand_over(self) -> None:
        """Hand over what waits."""
        self._rows.flush()
