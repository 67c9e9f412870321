"""Where a picture of a network has its nodes: levels as rows, NPUs of one node side by side, crowds drawn as one."""

from __future__ import annotations

from collections import Counter, defaultdict

from astra_ns3.report.network_marks import Layout, Mark, switch_name, wires_between
from astra_ns3.report.network_round import in_a_circle, in_a_grid
from astra_ns3.topology.graph import Graph

MOST_IN_A_ROW = 48
"""More marks than this in a row can't be told apart: neighbours are drawn as one."""


def layout(graph: Graph) -> Layout:
    """Places for everything that a picture of ``graph`` shows."""
    return in_a_grid(graph) or in_a_circle(graph) or in_rows(graph)


def in_rows(graph: Graph) -> Layout:
    """Levels of switches from the NPUs upwards; networks inside nodes below the NPUs."""
    found = Layout()
    mark_of = [0] * graph.nodes
    levels = graph.switch_levels or (1,) * graph.switches
    rows: dict[int, list[int]] = defaultdict(list)
    rows[0] = list(range(graph.hosts))
    for switch in range(graph.switches):
        rows[levels[switch]].append(graph.hosts + switch)
    heights = {level: float(row) for row, level in enumerate(sorted(rows))}
    shown = {level: _crowds(graph, nodes) for level, nodes in rows.items()}
    found.width = max(sum(_room(graph, crowd) for crowd in crowds) for crowds in shown.values())
    for level in sorted(rows):
        _place_row(graph, found, mark_of, shown[level], heights[level], level)
    found.wires = wires_between(graph, mark_of)
    _frame(graph, found, mark_of)
    return found


def _crowds(graph: Graph, nodes: list[int]) -> list[list[int]]:
    """Nodes of a row that are drawn as one mark, in order."""
    if len(nodes) <= MOST_IN_A_ROW:
        return [[node] for node in nodes]
    boxes = graph.host_boxes
    if boxes and nodes[0] < graph.hosts and len(set(boxes)) <= MOST_IN_A_ROW:
        members: dict[int, list[int]] = defaultdict(list)
        for node in nodes:
            members[boxes[node]].append(node)
        return list(members.values())
    size = next(size for size in range(2, len(nodes) + 1) if -(-len(nodes) // size) <= MOST_IN_A_ROW // 2)
    size = next((s for s in range(size, 2 * size) if len(nodes) % s == 0), size)
    return [nodes[begin : begin + size] for begin in range(0, len(nodes), size)]


def _place_row(
    graph: Graph, found: Layout, mark_of: list[int], crowds: list[list[int]], height: float, level: int
) -> None:
    for place, crowd in enumerate(crowds):
        x = (place + 0.5) * found.width / len(crowds)
        for node in crowd:
            mark_of[node] = len(found.marks)
        found.marks.append(Mark(x, height, _label(graph, crowd), len(crowd), level == 0))
    found.rows.append((_row_name(graph, crowds, level), height))


def _room(graph: Graph, crowd: list[int]) -> float:
    """Width of a mark: 1 for a number of up to three digits."""
    return max(1.0, 0.24 * len(_label(graph, crowd)))


def _label(graph: Graph, crowd: list[int]) -> str:
    first, last = crowd[0], crowd[-1]
    if first < graph.hosts:
        return str(first) if first == last else f"{first}-{last}"
    numbers = [switch_name(graph, node).rpartition(" ")[2] for node in (first, last)]
    return numbers[0] if first == last else f"{numbers[0]}-{numbers[1]}"


def _row_name(graph: Graph, crowds: list[list[int]], level: int) -> str:
    if level == 0:
        return "NPUs"
    names = Counter(switch_name(graph, node).rpartition(" ")[0] for crowd in crowds for node in crowd)
    return names.most_common(1)[0][0]


def _frame(graph: Graph, found: Layout, mark_of: list[int]) -> None:
    """Boxes around the NPUs of each node that has several marks."""
    places: dict[int, set[int]] = defaultdict(set)
    for host, box in enumerate(graph.host_boxes):
        places[box].add(mark_of[host])
    for marks in places.values():
        if len(marks) > 1:
            xs, y = [found.marks[mark].x for mark in marks], found.marks[next(iter(marks))].y
            found.boxes.append((min(xs) - 0.42, max(xs) + 0.42, y - 0.2, y + 0.2))
