"""Whether the graphs of all NPUs can be played: each by itself, and together.

Every file is read once, from one end to the other; what is kept of it is a few numbers, so millions of nodes take no
memory. Only where those numbers tell that something is wrong are files read again, to say what.
"""

from __future__ import annotations

from collections import defaultdict

from astra_ns3.config.graph_workload import GraphWorkload
from astra_ns3.workload.graphs.checks.collectives import CollectiveCheck
from astra_ns3.workload.graphs.checks.dimensions import UnfitDimensions
from astra_ns3.workload.graphs.checks.messages import MessageCheck
from astra_ns3.workload.graphs.checks.order import OrderCheck
from astra_ns3.workload.graphs.checks.shared_receives import SharedReceives
from astra_ns3.workload.graphs.checks.unusual import UnusualNodes


def check_graphs(
    workload: GraphWorkload,
    *,
    collectives: bool = True,
    messages: bool = True,
    dimensions: int | None = None,
    players: int = 1,
    roofline: bool = True,
) -> tuple[str, ...]:
    """Warnings for the user of a workload, each one line, beside its own warnings.

    ``dimensions``: how many the network has (None: not known, or of no meaning). ``players``: how many NPUs play each
    graph, from 1; more than one can't receive. ``roofline``: computations take what the roofline says, or nobody asks.

    Raises InputError for a node that stands there twice, and for what can't be played: ProgramsDeadlock for nodes that
    wait for one another, ProgramMismatch for collectives that differ between the members of a communicator and for
    messages without a second end, unless these don't matter. A parent that is missing counts as done, with a warning.
    """
    order, unusual = OrderCheck(workload), UnusualNodes(workload, roofline=roofline)
    unfit = [] if dimensions is None else [UnfitDimensions(workload, dimensions)]
    together: list[CollectiveCheck | MessageCheck | SharedReceives] = (
        [CollectiveCheck(workload, dimensions)] if collectives else []
    )
    together += [MessageCheck(workload)] if messages else []
    together += [SharedReceives(workload, players)] if players > 1 else []
    takes_by_kind = defaultdict(list)
    for check in (unusual, *unfit, *together):
        for kind, take in check.takes().items():
            takes_by_kind[kind].append(take)
    for npu in range(workload.npus):
        order.begin(npu)
        for node in workload.nodes(npu):
            order.take(node)
            takes = takes_by_kind.get(node.kind)
            if takes is not None:
                for take in takes:
                    take(npu, node)
        order.end()
    order.raise_problems()
    for check in together:
        check.raise_problems()
    return (*order.warnings(), *unusual.warnings(), *(line for odd in unfit for line in odd.warnings()))
