"""Every node of a run, when it began and ended, handed on while the run goes on."""

from __future__ import annotations

from astra_ns3.config.graph_workload import GraphNode
from astra_ns3.network.recorded import NODES, TableSink
from astra_ns3.system.journal import Rows
from astra_ns3.workload.graphs.kinds_of_work import kind_of_work


class NodeRows:
    """Hands rows of :data:`NODES` to ``sink``."""

    def __init__(self, sink: TableSink) -> None:
        self._sink = sink
        self._rows = Rows(sink, NODES.name, len(NODES.recorded))
        self._numbers: dict[tuple[str, str], int] = {}
        sink.open(NODES)

    def ended(self, npu: int, node: GraphNode, issue_ps: int, done_ps: int) -> None:
        """A node of an NPU has ended."""
        name, kind = self._number("name", node.name), self._number("kind", kind_of_work(node))
        self._rows.add((npu, node.number, name, kind, issue_ps, done_ps))

    def hand_over(self) -> None:
        """Hand over what waits."""
        self._rows.flush()

    def _number(self, column: str, text: str) -> int:
        """The number that stands for a text in a column, made known when it is first needed."""
        number = self._numbers.get((column, text))
        if number is None:
            number = self._numbers[column, text] = len(self._numbers)
            self._sink.label(NODES.name, column, number, text)
        return number
