"""The four tables that ASTRA-sim 1.0 writes, with its column names; times in microseconds, rows of one NPU.

Departures: EndToEnd.csv and detailed.csv name their first two columns and have no empty padding. A layer without
chunks has empty cells in detailed.csv instead of shifting the others; the cost column is empty, for
no cost is modelled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from astra_ns3.config.workload import PassKind
from astra_ns3.experiments.tables import Cell, CellColumn, Table, decimal, mean_microseconds, microseconds
from astra_ns3.network.records import LayerDetail, LayerTimes, NpuRecord, PhaseTimes, RunRecords
from astra_ns3.units import PS_PER_US

END_TO_END = "EndToEnd.csv"
DETAILED = "detailed.csv"
BACKEND_END_TO_END = "backend_end_to_end.csv"
UTILIZATION_SUFFIX = "_dimension_utilization.csv"

_NAMES = ("layer name", "run name")
_PAYLOAD_COLUMNS = 7
_NO_DIMENSION = "-1"
_WINDOW_PS = 10 * PS_PER_US
_MOST_WINDOWS = 100_000
_BYTES_PER_MIB = 2**20


def astra_sim_tables(records: RunRecords, run_name: str) -> list[Table]:
    """All four tables of a run."""
    return [
        _end_to_end(records, run_name),
        _detailed(records, run_name),
        _backend_end_to_end(records, run_name),
        _utilization(records, run_name),
    ]


class _LayerRow(NamedTuple):
    """The source of a row of EndToEnd.csv; ``npu`` only in the first one, which has the totals too."""

    layer: LayerTimes
    run_name: str
    finish_ps: int
    npu: NpuRecord | None


_PARTS = (
    ("compute", "compute_ps"),
    ("exposed comm", "exposed_ps"),
    ("total comm", "comm_ps"),
)
_PASSES = (("fwd", PassKind.FORWARD), ("wg", PassKind.WEIGHT_GRADIENT), ("ig", PassKind.INPUT_GRADIENT))


def _pass_time(of_pass: PassKind, of_times: str) -> Callable[[_LayerRow], Cell]:
    return lambda row: microseconds(getattr(row.layer.with_others(of_pass), of_times))


END_TO_END_COLUMNS: tuple[CellColumn[_LayerRow], ...] = (
    ("layer name", lambda row: row.layer.name),
    ("run name", lambda row: row.run_name),
    *((f"{short} {what}", _pass_time(of_pass, of_times)) for what, of_times in _PARTS for short, of_pass in _PASSES),
    ("workload finished at", lambda row: microseconds(row.finish_ps)),
    ("total comp", lambda row: None if row.npu is None else microseconds(row.npu.compute_ps)),
    (
        "total exposed comm",
        lambda row: None if row.npu is None else microseconds(row.npu.finish_ps - row.npu.compute_ps),
    ),
)


def _end_to_end(records: RunRecords, run_name: str) -> Table:
    npu = records.npus[records.reported_npu]
    rows = (
        _LayerRow(layer, run_name, npu.finish_ps, None if number else npu)
        for number, layer in enumerate(records.layers)
    )
    return Table.of(END_TO_END, END_TO_END_COLUMNS, rows)


class _DetailRow(NamedTuple):
    """The source of a row of detailed.csv; ``delays`` of each dimension, only in the first one."""

    detail: LayerDetail
    run_name: str
    delays: Sequence[Cell]


def _phase_mean(phase: int, sum_of: Callable[[PhaseTimes], int]) -> Callable[[_DetailRow], Cell]:
    def cell(row: _DetailRow) -> Cell:
        phases = row.detail.phases
        return _mean(sum_of(phases[phase]), phases[phase].chunks) if phase < len(phases) else None

    return cell


def _dimension_delay(dimension: int) -> Callable[[_DetailRow], Cell]:
    return lambda row: row.delays[dimension] if row.delays else None


def _detailed_columns(phases: int, dimensions: int) -> list[CellColumn[_DetailRow]]:
    """Mean wait before phase 0, 1, ..., then mean network delay of each phase, then those of dimensions."""
    found: list[CellColumn[_DetailRow]] = [
        ("layer name", lambda row: row.detail.name),
        ("run name", lambda row: row.run_name),
    ]
    if phases:
        found.append(("queuing delay phase 0", lambda row: _mean(row.detail.creation_ps, row.detail.chunks)))
    return [
        *found,
        *((f"queuing delay phase {phase + 1}", _phase_mean(phase, lambda it: it.queue_ps)) for phase in range(phases)),
        *(
            (f"network delay phase {phase + 1}", _phase_mean(phase, lambda it: it.network_ps))
            for phase in range(phases)
        ),
        *((f"avg chunk delay dimension {index + 1}", _dimension_delay(index)) for index in range(dimensions)),
    ]


def _detailed(records: RunRecords, run_name: str) -> Table:
    phases = max((len(detail.phases) for detail in records.details), default=0)
    dimensions = max((len(detail.dimensions) for detail in records.details), default=0)
    delays = _chunk_delays(records, dimensions)
    rows = (_DetailRow(detail, run_name, () if number else delays) for number, detail in enumerate(records.details))
    return Table.of(DETAILED, _detailed_columns(phases, dimensions), rows)


def _chunk_delays(records: RunRecords, dimensions: int) -> list[Cell]:
    """Mean time of a chunk's phase in each dimension, over the chunks of all layers."""
    delays: list[Cell] = []
    for dimension in range(dimensions):
        times = [detail.dimensions[dimension] for detail in records.details if dimension < len(detail.dimensions)]
        delays.append(_mean(sum(time.time_ps for time in times), sum(time.chunks for time in times)))
    return delays


def _mean(sum_ps: int, count: int) -> str | None:
    return mean_microseconds(sum_ps, count) if count else None


class _RunRow(NamedTuple):
    """The source of the row of backend_end_to_end.csv."""

    run_name: str
    npu: NpuRecord
    sent_bytes: tuple[int, ...]


def _payload(dimension: int) -> Callable[[_RunRow], Cell]:
    def cell(row: _RunRow) -> Cell:
        sent = row.sent_bytes
        return decimal(sent[dimension], _BYTES_PER_MIB) if dimension < len(sent) else _NO_DIMENSION

    return cell


BACKEND_COLUMNS: tuple[CellColumn[_RunRow], ...] = (
    ("RunName", lambda row: row.run_name),
    ("CommsTime", lambda row: microseconds(row.npu.finish_ps)),
    ("ComputeTime", lambda row: microseconds(row.npu.compute_ps)),
    ("ExposedCommsTime", lambda row: microseconds(row.npu.finish_ps - row.npu.compute_ps)),
    ("Cost", lambda _: None),
    ("TotalPayloadSize", lambda row: decimal(sum(row.sent_bytes), _BYTES_PER_MIB)),
)


def _backend_end_to_end(records: RunRecords, run_name: str) -> Table:
    row = _RunRow(run_name, records.npus[records.reported_npu], records.sent_bytes)
    dimensions = range(max(_PAYLOAD_COLUMNS, len(records.sent_bytes)))
    payload = [(f"PayloadSize_Dim{dimension}", _payload(dimension)) for dimension in dimensions]
    return Table.of(BACKEND_END_TO_END, [*BACKEND_COLUMNS, *payload], [row])


def _utilization(records: RunRecords, run_name: str) -> Table:
    """Share of each window of 10 us in which the dimension's queue was not empty; the last, partial window is left out.

    Every line ends in a comma and the first header cell has blanks around it, as in ASTRA-sim's.
    """
    finish_ps = records.npus[records.reported_npu].finish_ps
    # A second of simulated time has its windows of 10 us. A longer run (a connection may give up after minutes) has
    # as many, wider ones, or the table would take longer than the run.
    window_ps = _WINDOW_PS * max(1, -(-finish_ps // (_MOST_WINDOWS * _WINDOW_PS)))
    windows = finish_ps // window_ps if records.flows is None else 0  # flows stand in no queue
    columns = [_busy_percent(busy, windows, window_ps) for busy in records.busy]
    header = [" time (us) ", *(f"dim{number + 1} util" for number in range(len(columns))), ""]
    rows = [
        [microseconds((window + 1) * window_ps), *(column[window] for column in columns), None]
        for window in range(windows)
    ]
    return Table(f"{run_name}{UTILIZATION_SUFFIX}", header, rows)


def _busy_percent(intervals: tuple[tuple[int, int], ...], windows: int, window_ps: int) -> list[str]:
    """Percent of each window of ``window_ps`` that the ordered, disjoint ``intervals`` cover."""
    covered_ps = [0] * windows
    for begin, end in intervals:
        for window in range(begin // window_ps, min(windows, -(-end // window_ps))):
            start = window * window_ps
            covered_ps[window] += min(end, start + window_ps) - max(begin, start)
    return [decimal(100 * covered, window_ps) for covered in covered_ps]
