"""Whether the graphs of all NPUs can be played: each by itself, and together.

Every file is read once, from one end to the other; what is kept of it is a few numbers, so millions of nodes take no
memory. Only where those numbers tell that something is wrong are files read again, to say what.
"""

from __future__ import annotations

from astra_ns3.config.graph_workload import GraphWorkload
from astra_ns3.workload.graphs.checks.collectives import CollectiveCheck
from astra_ns3.workload.graphs.checks.messages import MessageCheck
from astra_ns3.workload.graphs.checks.order import OrderCheck
from astra_ns3.workload.graphs.checks.unusual import UnusualNodes


def check_graphs(workload: GraphWorkload, *, collectives: bool = True, messages: bool = True) -> tuple[str, ...]:
    """What the user of a workload should know, each one line, beside its own warnings.

    Raises InputError for a node that stands there twice, and for what can't be played: ProgramsDeadlock for nodes that
    wait for one another, ProgramMismatch for collectives that differ between the members of a communicator and for
    messages without a second end, unless these don't matter. A parent that is missing counts as done, with a warning.
    """
    order, unusual = OrderCheck(workload), UnusualNodes(workload)
    together: list[CollectiveCheck | MessageCheck] = [CollectiveCheck(workload)] if collectives else []
    together += [MessageCheck(workload)] if messages else []
    take_by_kind = {kind: take for check in (unusual, *together) for kind, take in check.takes().items()}
    for npu in range(workload.npus):
        order.begin(npu)
        for node in workload.nodes(npu):
            order.take(node)
            take = take_by_kind.get(node.kind)
            if take is not None:
                take(npu, node)
        order.end()
    order.raise_problems()
    for check in together:
        check.raise_problems()
    return (*order.warnings(), *unusual.warnings())
