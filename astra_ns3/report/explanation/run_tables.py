"""The tables of a run that explanations are made from, as arrays that can be looked up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from astra_ns3.errors import InputError
from astra_ns3.network.instance import CHUNK_BITS, PHASE_BITS
from astra_ns3.report.tables import is_of_flows
from astra_ns3.units import PS_PER_NS

if TYPE_CHECKING:
    import pandas as pd

Numbers = npt.NDArray[np.int64]
REDUCTION_MEMORY_ACCESSES = 3
"""Two reads and a write, as :class:`astra_ns3.network.api.EndpointModel` has it."""
TAKES_TIME = ("compute", "wait", "step")


class RunResult(Protocol):
    """What is asked of a run, besides its tables as attributes: :class:`astra_ns3.Result` is one."""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """All of run.json."""


def table_of(run: RunResult, name: str) -> pd.DataFrame | None:
    """A table of the run; None if it was not recorded."""
    try:
        found: pd.DataFrame | None = getattr(run, name, None)
    except InputError:
        if any(file.startswith(f"{name}.") for file in run.metadata["files"]):
            raise
        return None
    return found


class _Index:
    """Rows by a number that several may have; those of one number by another, rising."""

    def __init__(self, numbers: Numbers, then: Numbers) -> None:
        self._order = np.lexsort((then, numbers))
        self._numbers = numbers[self._order]
        self._then = then[self._order]

    def rows(self, number: int) -> Numbers:
        """All rows that have it."""
        first, last = np.searchsorted(self._numbers, (number, number + 1))
        return self._order[first:last]

    def row_at(self, number: int, then: int) -> int:
        """The last row that has both, or -1."""
        first, last = np.searchsorted(self._numbers, (number, number + 1))
        place = first + int(np.searchsorted(self._then[first:last], then, side="right")) - 1
        return int(self._order[place]) if place >= first and self._then[place] == then else -1

    def last_row(self, number: int, then: int) -> int:
        """The last row that has the number, and of the other no more than ``then``; or -1."""
        first, last = np.searchsorted(self._numbers, (number, number + 1))
        place = first + int(np.searchsorted(self._then[first:last], then, side="right")) - 1
        return int(self._order[place]) if place >= first else -1


def _column(table: pd.DataFrame, name: str) -> Numbers:
    return table[name].to_numpy(dtype=np.int64)


class Tables:
    """Messages, phases and operations of a run; raises InputError for one without ``timeline``.

    Messages are the rows of accounts.parquet if that was recorded, else of flows.parquet, else there are none. A *part*
    of an NPU is a phase as one NPU plays it, known by the number of its instance and the NPU.
    """

    def __init__(self, run: RunResult) -> None:
        metadata = run.metadata
        if is_of_flows(run):
            raise InputError("a list of flows has no passes, collectives or critical path; explain all of it")
        operations, phases = table_of(run, "operations"), table_of(run, "phases")
        if operations is None or phases is None:
            raise InputError("the critical path needs what every NPU did: run with --record timeline, found neither")
        self.npus = int(metadata["npus"])
        collectives = table_of(run, "collectives")
        unended = [] if collectives is None else collectives[collectives["end_us"].isna()]["collective"].tolist()
        self.unended = frozenset(int(number) for number in unended)
        system = metadata["system"]
        self.delay_ps = int(system.get("endpoint-delay", 0)) * PS_PER_NS
        self.jitter_ps = int(system.get("start-jitter", 0)) * PS_PER_NS
        self.stopped_ps = None if metadata["complete"] else int(metadata["finish_ps"])
        self._reduction_bytes_per_ns = int(system.get("reduction-bytes-per-ns", 500_000))
        self.operations = operations
        self._read_operations(operations)
        self._read_phases(phases)
        accounts = table_of(run, "accounts")
        self.accounts = accounts
        self.messages = accounts if accounts is not None else table_of(run, "flows")
        self._read_messages()

    def _read_operations(self, table: pd.DataFrame) -> None:
        kinds = table["kind"].astype(str).to_numpy()
        blocking = np.isin(kinds, TAKES_TIME)
        self.kinds = kinds
        self.operation_npu, self.operation_collective = _column(table, "npu"), _column(table, "collective")
        self.operation_start, self.operation_end = _column(table, "start_ps"), _column(table, "end_ps")
        self.iterations = _column(table, "iteration")
        self._blocking = np.flatnonzero(blocking)
        self._by_end = _Index(self.operation_npu[blocking], self.operation_end[blocking])
        posted = np.flatnonzero(~blocking)
        self._posted = posted
        self._by_post = _Index(self.operation_collective[posted], self.operation_end[posted])
        ends = self.operation_end[self._blocking]
        if not len(ends):
            raise InputError("no NPU did anything that takes time: there is nothing to explain")

    def _read_phases(self, table: pd.DataFrame) -> None:
        self.phase_npu, self.phase_dimension = _column(table, "npu"), _column(table, "dimension")
        self.phase_queued, self.phase_start = _column(table, "queued_ps"), _column(table, "start_ps")
        self.phase_end = _column(table, "end_ps")
        self.phase_instance = _instances(table)
        self._instances = np.unique(self.phase_instance)
        self._phase_of_instance = _Index(self.phase_instance, self.phase_end)
        collective = _column(table, "collective")
        self._phase_of_part = _Index(self._part(self.phase_instance, self.phase_npu), self.phase_end)
        self._phase_of_wait = _Index(collective * self.npus + self.phase_npu, self.phase_end)
        place = self.phase_npu * 256 + self.phase_dimension + 1
        self._phase_by_end = _Index(place, self.phase_end)
        self._phase_by_queued = _Index(place, self.phase_queued)

    def _read_messages(self) -> None:
        table = self.messages
        if table is None:
            return
        self.source, self.destination = _column(table, "source"), _column(table, "destination")
        self.bytes, self.start, self.end = (_column(table, name) for name in ("bytes", "start_ps", "end_ps"))
        self.message_instance = _instances(table)
        self._received = _Index(self._part(self.message_instance, self.destination), self.end)

    def _part(self, instances: Numbers, npus: Numbers) -> Numbers:
        """A number for each part; instances and NPUs are few enough that products stay below 2**63."""
        known = self._instances
        if not len(known):
            return npus
        places = np.searchsorted(known, instances)
        inside = np.minimum(places, len(known) - 1)
        places = np.where(known[inside] == instances, inside, len(known))
        return places * self.npus + npus

    def part(self, instance: int, npu: int) -> int:
        """The number of a part."""
        return int(self._part(np.array([instance]), np.array([npu]))[0])

    def blocking_at(self, npu: int, time_ps: int) -> int:
        """The operation of an NPU that ended then, or before if none did; -1: none."""
        row = self._by_end.last_row(npu, time_ps)
        return -1 if row < 0 else int(self._blocking[row])

    def last_blocking(self, iteration: int | None) -> int:
        """The operation that ended last, of an iteration or of all; raises InputError if there is none."""
        rows = self._blocking
        if iteration is not None:
            rows = rows[self.iterations[rows] == iteration]
        if not len(rows):
            there = np.unique(self.iterations[self._blocking])
            raise InputError(f"there is no iteration {iteration}, expected {there.min()}..{there.max()}")
        return int(rows[np.argmax(self.operation_end[rows])])

    def first_start(self, iteration: int) -> int:
        """When the first operation of an iteration began."""
        return int(self.operation_start[self._blocking][self.iterations[self._blocking] == iteration].min())

    def posts(self, collective: int) -> Iterator[tuple[int, int]]:
        """Who issued a collective, or posted an end of a message, and when; in order of time."""
        for row in self._by_post.rows(collective).tolist():
            operation = self._posted[row]
            yield int(self.operation_npu[operation]), int(self.operation_end[operation])

    def phase(self, instance: int, npu: int) -> int:
        """The phase that an NPU played, or -1."""
        rows = self._phase_of_part.rows(self.part(instance, npu))
        return int(rows[-1]) if len(rows) else -1

    def last_phase(self, collective: int, npu: int, time_ps: int) -> int:
        """The phase of a collective that an NPU ended last, no later than then; -1: none."""
        return self._phase_of_wait.last_row(collective * self.npus + npu, time_ps)

    def phase_ended(self, npu: int, dimension: int, time_ps: int) -> int:
        """A phase that an NPU ended then in a dimension, or -1."""
        return self._phase_by_end.row_at(npu * 256 + dimension + 1, time_ps)

    def phase_queued_at(self, npu: int, dimension: int, time_ps: int) -> int:
        """A phase that joined the queue of a dimension then, or -1."""
        return self._phase_by_queued.row_at(npu * 256 + dimension + 1, time_ps)

    def handling_ps(self, instance: int, npu: int) -> list[int]:
        """What the messages of a part may cost their receiver: the delay, and with a reduction."""
        costs = {self.delay_ps}
        for size in set(self.bytes[self._received.rows(self.part(instance, npu))].tolist()):
            nanoseconds = REDUCTION_MEMORY_ACCESSES * (size // self._reduction_bytes_per_ns)
            costs.add(self.delay_ps + nanoseconds * PS_PER_NS)
        return sorted(costs)

    def received_at(self, instance: int, npu: int, time_ps: int) -> int:
        """A message of an instance that arrived at an NPU then, or -1."""
        return self._received.row_at(self.part(instance, npu), time_ps)

    def received_before(self, instance: int, npu: int, time_ps: int) -> int:
        """The last message of an instance that arrived at an NPU by then, or -1."""
        return self._received.last_row(self.part(instance, npu), time_ps)

    def ended_with(self, instance: int, time_ps: int) -> list[int]:
        """The NPUs that ended an instance at a time."""
        rows = self._phase_of_instance.rows(instance)
        members: list[int] = self.phase_npu[rows[self.phase_end[rows] == time_ps]].tolist()
        return members


def _instances(table: pd.DataFrame) -> Numbers:
    collective, chunk, phase = (_column(table, name) for name in ("collective", "chunk", "phase"))
    return (collective << (CHUNK_BITS + PHASE_BITS)) | (chunk << PHASE_BITS) | phase
