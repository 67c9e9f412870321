"""One queue of a dimension on one NPU: the chunks that wait there in line, and those that run."""

from __future__ import annotations

from astra_ns3.system.intra_dimension import JoinRule
from astra_ns3.system.launch_order import LaunchOrder
from astra_ns3.system.task import Task

# So many entries of the log that an NPU has started are kept until they are half of all that it holds.
_MOST_BEHIND = 64


class DimensionQueue:
    """A line, and ``slots`` places to run in; ``join`` says where a newcomer stands in line.

    Only an NPU at the end of the log takes the first of its line: see :mod:`astra_ns3.system.launch_order`. Without an
    ``order`` each NPU always takes that.
    """

    __slots__ = ("_entries", "_join", "_line", "_next", "_order", "_running", "_slots", "_waiting")

    def __init__(self, npu: int, order: LaunchOrder | None, slots: int, join: JoinRule) -> None:
        self._order = order
        self._slots = slots
        self._join = join
        self._entries = [] if order is None else order.follow(npu)
        self._next = 0  # among the entries, what is to be started
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

    def starts_at_once(self, task: Task) -> bool:
        """Whether a chunk that would join the line starts now instead; as if it had joined and been the next."""
        if self._line or len(self._running) >= self._slots:
            return False
        entries = self._entries
        if self._next < len(entries):
            if entries[self._next] is not task:
                return False
        elif self._order is not None:
            self._order.append(task)
        if self._order is not None:
            self._go_on()
        self._running.append(task)
        return True

    def start_next(self) -> Task | None:
        """Take the chunk to start now; None if no slot is free or none may start."""
        line = self._line
        if not line or len(self._running) >= self._slots:
            return None
        entries = self._entries
        if self._next < len(entries):
            task = entries[self._next]
            if task not in self._waiting:
                return None
        else:
            task = line[0]
            if self._order is not None:
                self._order.append(task)
        if self._order is not None:
            self._go_on()
        self._waiting.remove(task)
        if line[0] is task:
            del line[0]
        else:
            line.remove(task)
        self._running.append(task)
        return task

    def finish(self, task: Task) -> bool:
        """A running chunk has finished its phase; whether others wait in line."""
        self._running.remove(task)
        return bool(self._line)

    def awaited(self) -> Task | None:
        """The chunk that must start before any other here; None if the NPU may choose."""
        return self._entries[self._next] if self._next < len(self._entries) else None

    def _go_on(self) -> None:
        """Past an entry; those that are started are forgotten, in turns that keep this cheap."""
        self._next += 1
        if self._next == len(self._entries):
            self._entries.clear()
            self._next = 0
        elif self._next > _MOST_BEHIND and 2 * self._next > len(self._entries):
            del self._entries[: self._next]
            self._next = 0
