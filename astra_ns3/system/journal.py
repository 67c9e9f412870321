"""The acts of every NPU, written down while it happens: the operations of its program, the phases of chunks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from astra_ns3.collectives.schedule import Schedule
from astra_ns3.network.channel import ChannelCosts
from astra_ns3.network.recorded import CHANNEL_ROWS, CHANNELS, OPERATIONS, PHASES, Columns, TableSink
from astra_ns3.network.records import Label
from astra_ns3.system.launches import Launch
from astra_ns3.system.task import Task

NO_DIMENSION = -1
"""The dimension of a message from one NPU to another, which stands in no queue."""
BATCH_ROWS = 16_384
"""So many rows are handed over at once."""


class Journal:
    """Hands rows of :data:`OPERATIONS` and :data:`PHASES` to ``sink``; layers are told by ``layer_names``.

    A row is written when what it tells of has ended. :data:`CHANNELS` and :data:`CHANNEL_ROWS` are opened once a
    collective is played by channels.
    """

    def __init__(self, sink: TableSink, layer_names: list[str]) -> None:
        self._layer_names = layer_names
        self._operations = Rows(sink, OPERATIONS.name, len(OPERATIONS.recorded))
        self._phases = Rows(sink, PHASES.name, len(PHASES.recorded))
        self._since: dict[tuple[int, int], tuple[int, int]] = {}
        self._sink = sink
        self._channels: Rows | None = None
        self._schedules: set[int] = set()  # those that are written down
        sink.open(OPERATIONS)
        sink.open(PHASES)

    def operation(self, npu: int, kind: str, label: Label, collective: int, start_ps: int, end_ps: int) -> None:
        """``npu`` did an operation of its program; ``collective``: number of what it issued or waited for, or -1."""
        layer = self._layer_names[label.layer] if isinstance(label.layer, int) else label.layer
        number = self._operations.number
        numbers = number("kind", kind), number("layer", layer), number("part", str(label.part))
        self._operations.add((npu, numbers[0], numbers[1], label.iteration, numbers[2], collective, start_ps, end_ps))

    def queued(self, npu: int, instance: int, time_ps: int) -> None:
        """A chunk's phase joined its queue."""
        self._since[npu, instance] = time_ps, -1

    def started(self, npu: int, instance: int, time_ps: int) -> None:
        """It got a slot."""
        self._since[npu, instance] = self._since[npu, instance][0], time_ps

    def finished(self, npu: int, instance: int, dimension: int, time_ps: int) -> None:
        """It is over."""
        self._phases.add((npu, instance, dimension, *self._since.pop((npu, instance)), time_ps))

    def channels(self, tasks: Sequence[Task]) -> None:
        """A collective has begun: what its channels cost, if it is played by channels."""
        for task in tasks:
            if task.launch.channel is not None:
                self._channel(task.instance, task.launch, *task.launch.channel)

    def _channel(self, instance: int, launch: Launch, costs: ChannelCosts, schedule: Schedule, number: int) -> None:
        if self._channels is None:
            for table in (CHANNELS, CHANNEL_ROWS):
                self._sink.open(table)
            self._channels = Rows(self._sink, CHANNELS.name, len(CHANNELS.recorded))
        whole = launch.bytes * schedule.expansion
        numbers = number, schedule.lanes, whole, schedule.blocks
        of_costs = CHANNELS.recorded[1 + len(numbers) :]
        self._channels.add((instance, *numbers, *(int(getattr(costs, name)) for name in of_costs)))
        if number not in self._schedules:
            self._schedules.add(number)
            kept = schedule.kept
            columns = [kept[name].astype(np.int64) for name in ("step", "first_block", "block_count")]
            rows = np.arange(schedule.kept_rows, dtype=np.int64)
            self._sink.write(CHANNEL_ROWS.name, [np.full_like(rows, number), rows, *columns])

    def hand_over(self) -> None:
        """Hand over what waits."""
        self._operations.flush()
        self._phases.flush()
        if self._channels is not None:
            self._channels.flush()


class Rows:
    """Rows on their way to a table."""

    def __init__(self, sink: TableSink, table: str, width: int) -> None:
        self._sink = sink
        self._table = table
        self._width = width
        self._rows: list[tuple[int, ...]] = []
        self._numbers: dict[tuple[str, str], int] = {}

    def number(self, column: str, text: str) -> int:
        """Return the number that stands for a text in a column; it is made known when it is first needed."""
        number = self._numbers.get((column, text))
        if number is None:
            number = self._numbers[column, text] = len(self._numbers)
            self._sink.label(self._table, column, number, text)
        return number

    def add(self, row: tuple[int, ...]) -> None:
        """One more; a full batch is handed over."""
        self._rows.append(row)
        if len(self._rows) == BATCH_ROWS:
            self.flush()

    def flush(self) -> None:
        """Hand over what there is."""
        if self._rows:
            numbers = np.array(self._rows, dtype=np.int64).reshape(-1, self._width)
            columns: Columns = [np.ascontiguousarray(column) for column in numbers.T]
            self._sink.write(self._table, columns)
            self._rows = []
