"""What one NPU holds of one queue of a dimension: the chunks that wait there in line, and those that run."""

from __future__ import annotations

from astra_ns3.system.intra_dimension import JoinRule
from astra_ns3.system.launch_order import LaunchOrder
from astra_ns3.system.task import Task


class DimensionQueue:
    """A line, and ``slots`` places to run in; ``join`` says where a newcomer stands in line.

    Only an NPU at the end of the log takes the first of its line: see :mod:`astra_ns3.system.launch_order`.
    """

    __slots__ = ("_join", "_line", "_order", "_position", "_running", "_slots", "_waiting")

    def __init__(self, order: LaunchOrder, slots: int, join: JoinRule) -> None:
        self._order = order
        self._slots = slots
        self._join = join
        self._position = 0
        self._running: list[Task] = []
        self._line: list[Task] = []
        self._waiting: set[Task] = set()

    @property
    def running(self) -> tuple[Task, ...]:
        """The chunks that run, in the order in which they started."""
        return tuple(self._running)

    @property
    def waiting(self) -> tuple[Task, ...]:
        """The chunks that wait for a slot or their turn, in line."""
        return tuple(self._line)

    def add(self, task: Task) -> None:
        """A chunk joins the line."""
        self._line.insert(self._join(self._running, self._line, task), task)
        self._waiting.add(task)

    def start_next(self) -> Task | None:
        """Take the chunk to start now; None if no slot is free or none may start."""
        line = self._line
        if not line or len(self._running) >= self._slots:
            return None
        task = self._order.at(self._position)
        if task is None:
            task = line[0]
            self._order.append(task)
        elif task not in self._waiting:
            return None
        self._order.started(self._position)
        self._position += 1
        self._waiting.remove(task)
        if line[0] is task:
            del line[0]
        else:
            line.remove(task)
        self._running.append(task)
        return task

    def finish(self, task: Task) -> None:
        """A running chunk has finished its phase."""
        self._running.remove(task)

    def awaited(self) -> Task | None:
        """The chunk that must start before any other here; None if the NPU may choose."""
        return self._order.at(self._position)
