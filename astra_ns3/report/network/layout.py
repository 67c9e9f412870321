"""Where a picture of a network has its nodes: levels as rows, pods and planes side by side, crowds drawn as one."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import groupby, takewhile

from astra_ns3.report.network.marks import Frame, Layout, Mark, switch_name, wires_between
from astra_ns3.report.network.round import in_a_circle, in_a_grid
from astra_ns3.report.network.storage import MOST_IN_A_ROW, add_storage
from astra_ns3.report.network.structure import NONE, SCALE_UP, Structure, structure
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.storage import without_storage

_BETWEEN_PODS = 1.0
_ANY_NAME = "switch"

Crowd = list[int]
"""Nodes that are drawn as one mark, in order."""


def layout(graph: Graph) -> Layout:
    """Places for everything that a picture of ``graph`` shows."""
    rest = without_storage(graph)
    found = in_a_grid(rest) or in_a_circle(rest) or _Rows(rest, structure(rest)).drawn()
    add_storage(found, graph)
    return found


class _Rows:
    """A network on its way into rows: levels of switches from the NPUs up; networks inside nodes below the NPUs."""

    def __init__(self, graph: Graph, built: Structure) -> None:
        self._graph, self._built = graph, built
        self._found = Layout()
        self._mark_of = [0] * graph.nodes
        rows: dict[int, list[int]] = defaultdict(list)
        for node in sorted(range(graph.nodes), key=self._order):
            rows[built.levels[node]].append(node)
        self._rows = {level: self._crowds(rows[level]) for level in sorted(rows)}
        self._names = {level: _row_name(graph, rows[level], level, inferred=built.inferred) for level in rows}
        self._heights = {level: float(row) for row, level in enumerate(self._rows)}

    def drawn(self) -> Layout:
        """Everything at its place."""
        left = 0.0
        pods = sorted(set(self._built.pods) - {NONE})
        for pod in pods:
            right = left + self._width_of_pod(pod, pods)
            for level in self._rows:
                self._place(self._of_pod(self._rows[level], pod), level, left, right)
            self._frame_pod(pod, left, right)
            left = right + _BETWEEN_PODS
        above = {level: self._of_pod(crowds, NONE) for level, crowds in self._rows.items()}
        self._found.width = max(left - _BETWEEN_PODS, *(self._width(crowds) for crowds in above.values()))
        if pods:
            self._spread(left - _BETWEEN_PODS)
        for level, crowds in above.items():
            self._place(crowds, level, 0.0, self._found.width)
            self._found.rows.append((self._names[level][0], self._heights[level]))
        self._found.mark_of = self._mark_of
        self._found.wires = wires_between(self._graph, self._mark_of)
        self._frame_boxes()
        self._frame_planes()
        return self._found

    def _order(self, node: int) -> tuple[int, int, int, int]:
        return self._built.pods[node], self._built.planes[node], self._built.first_hosts[node], node

    def _crowds(self, nodes: list[int]) -> list[Crowd]:
        """Nodes of a row by mark: alone, by box, or so many of a pod and plane."""
        if len(nodes) <= MOST_IN_A_ROW:
            return [[node] for node in nodes]
        boxes = self._built.boxes
        if boxes and nodes[0] < self._graph.hosts and len(set(boxes)) <= MOST_IN_A_ROW:
            return [list(crowd) for _, crowd in groupby(nodes, key=boxes.__getitem__)]
        groups = [list(group) for _, group in groupby(nodes, key=lambda node: self._order(node)[:2])]
        if len(groups) > MOST_IN_A_ROW // 2:
            groups = [nodes]
        size = _size([len(group) for group in groups])
        return [group[begin : begin + size] for group in groups for begin in range(0, len(group), size)]

    def _of_pod(self, crowds: list[Crowd], pod: int) -> list[Crowd]:
        return [crowd for crowd in crowds if self._built.pods[crowd[0]] == pod]

    def _width_of_pod(self, pod: int, pods: list[int]) -> float:
        """The same for pods of as many marks."""
        alike = [other for other in pods if self._shape(other) == self._shape(pod)]
        return max(self._width(self._of_pod(crowds, other)) for crowds in self._rows.values() for other in alike)

    def _shape(self, pod: int) -> list[int]:
        return [len(self._of_pod(crowds, pod)) for crowds in self._rows.values()]

    def _width(self, crowds: list[Crowd]) -> float:
        return sum(self._room(crowd) for crowd in crowds)

    def _room(self, crowd: Crowd) -> float:
        """Width of a mark: 1 for a number of up to three digits."""
        return max(1.0, 0.24 * len(self._label(crowd)))

    def _label(self, crowd: Crowd) -> str:
        first, last = crowd[0], crowd[-1]
        if first < self._graph.hosts:
            return str(first) if first == last else f"{first}-{last}"
        cut = self._names[self._built.levels[first]][1]
        names = [_last_word(self._graph, node)[cut:] for node in (first, last)]
        if first == last:
            return names[0]
        return f"{names[0]}-{names[1][len(re.sub('[0-9]*$', '', _common(names))) :]}"

    def _place(self, crowds: list[Crowd], level: int, left: float, right: float) -> None:
        for index, crowd in enumerate(crowds):
            x = left + (index + 0.5) * (right - left) / len(crowds)
            for node in crowd:
                self._mark_of[node] = len(self._found.marks)
            mark = Mark(x, self._heights[level], self._label(crowd), len(crowd), level == 0)
            self._found.marks.append(mark)

    def _spread(self, width: float) -> None:
        """Give the pods all of a width that a row above them needs."""
        factor = self._found.width / width
        self._found.marks = [
            Mark(factor * mark.x, mark.y, mark.label, mark.count, mark.is_host) for mark in self._found.marks
        ]
        self._found.frames = [
            Frame(factor * each.left, factor * each.right, each.bottom, each.top, each.label, each.below)
            for each in self._found.frames
        ]

    def _frame_pod(self, pod: int, left: float, right: float) -> None:
        heights = [self._heights[level] for level, crowds in self._rows.items() if self._of_pod(crowds, pod)]
        self._found.frames.append(
            Frame(left - 0.2, right + 0.2, min(heights) - 0.4, max(heights) + 0.36, f"pod {pod}", below=True)
        )

    def _frame_boxes(self) -> None:
        """Frames around the NPUs of each box that has several marks."""
        places: dict[int, set[int]] = defaultdict(set)
        for host, box in enumerate(self._built.boxes):
            places[box].add(self._mark_of[host])
        for marks in places.values():
            if len(marks) > 1:
                xs, y = [self._found.marks[mark].x for mark in marks], self._found.marks[next(iter(marks))].y
                self._found.boxes.append((min(xs) - 0.42, max(xs) + 0.42, y - 0.2, y + 0.2))

    def _frame_planes(self) -> None:
        """Frames around neighbours of one plane in a row."""
        for level, crowds in self._rows.items():
            for (_, plane), run in groupby(crowds, key=lambda crowd: self._order(crowd[0])[:2]):
                if plane != NONE:
                    xs = [(self._found.marks[self._mark_of[crowd[0]]].x, self._room(crowd)) for crowd in run]
                    left, right = min(x - room / 2 for x, room in xs), max(x + room / 2 for x, room in xs)
                    y = self._heights[level]
                    self._found.frames.append(Frame(left + 0.02, right - 0.02, y - 0.22, y + 0.22, f"plane {plane}"))


def _size(groups: Sequence[int]) -> int:
    """How many neighbours are one mark: few enough marks, and no group with a rest if that can be."""
    most = MOST_IN_A_ROW // 2

    def marks(size: int) -> int:
        return sum(-(-group // size) for group in groups)

    least = next((size for size in range(2, max(groups) + 1) if marks(size) <= most), max(groups))
    even = (size for size in range(least, 2 * least) if all(group % size == 0 for group in groups))
    return next(even, least)


def _row_name(graph: Graph, nodes: list[int], level: int, *, inferred: bool) -> tuple[str, int]:
    """The name of a row, and how many letters of its switches' last words say the same."""
    if level == 0:
        return "NPUs", 0
    name = Counter(switch_name(graph, node).rpartition(" ")[0] for node in nodes).most_common(1)[0][0]
    letters = re.sub("[^A-Za-z_-].*", "", _common([_last_word(graph, node) for node in nodes]))
    cut = len(letters) if name in ("", _ANY_NAME) else 0
    if cut:
        return letters.rstrip("_-"), cut
    if inferred or not name:
        return "scale-up" if level == SCALE_UP else f"level {level}", 0
    return name, 0


def _common(names: Sequence[str]) -> str:
    """The words that all names begin with."""
    alike = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    return "".join(letters[0] for letters in alike)


def _last_word(graph: Graph, node: int) -> str:
    return switch_name(graph, node).rpartition(" ")[2]
