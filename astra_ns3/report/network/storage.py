"""Storage hosts in a picture of a network: a row of their own, or beside what they hang on."""

from __future__ import annotations

from astra_ns3.report.network.marks import Layout, Mark, wires_between
from astra_ns3.topology.graph import Graph

MOST_IN_A_ROW = 48
"""More marks than this in a row can't be told apart: neighbours are drawn as one."""
_BESIDE = 0.45
"""How far a mark stands from what it hangs on, where there are no rows."""


def add_storage(drawn: Layout, graph: Graph) -> None:
    """Add the storage hosts of ``graph`` to a layout of the rest."""
    if not graph.storage:
        return
    first, more = graph.storage[0], len(graph.storage)
    whole = [*drawn.mark_of[:first], *([0] * more), *drawn.mark_of[first:]]
    size = 1 if more <= MOST_IN_A_ROW else -(-2 * more // MOST_IN_A_ROW)
    crowds = [graph.storage[begin : begin + size] for begin in range(0, more, size)]
    height = _height(drawn, graph, whole)
    for place, crowd in enumerate(crowds):
        for host in crowd:
            whole[host] = len(drawn.marks)
        label = str(crowd[0] - first) if len(crowd) == 1 else f"{crowd[0] - first}-{crowd[-1] - first}"
        if height is None:
            at = drawn.marks[whole[graph.ports[crowd[0]][0].peer]]
            x, y = at.x + _BESIDE * (1 + crowd[0] % 2), at.y - _BESIDE
        else:
            x, y = (place + 0.5) * drawn.width / len(crowds), height
        drawn.marks.append(Mark(x, y, label, len(crowd), is_host=True))
    if height is not None:
        drawn.rows.append(("storage", height))
        drawn.rows.sort(key=lambda row: row[1])
    drawn.mark_of = whole
    drawn.wires = wires_between(graph, whole)


def _height(drawn: Layout, graph: Graph, mark_of: list[int]) -> float | None:
    """Return where the row stands: below all if storage hangs on hosts, else above all; None without rows."""
    if drawn.height is not None:
        return None
    heights = [mark.y for mark in drawn.marks]
    hangs_on_hosts = drawn.marks[mark_of[graph.ports[graph.storage[0]][0].peer]].is_host
    return min(heights) - 1.0 if hangs_on_hosts else max(heights) + 1.0
