"""The four tables that ASTRA-sim 1.0 writes, with its column names; times in microseconds, rows of one NPU.

Departures: EndToEnd.csv and detailed.csv name their first two columns and have no empty padding; a layer without
chunks has empty cells in detailed.csv instead of shifting the others; the cost column is empty, for
no cost is modelled.
"""

from __future__ import annotations

from astra_ns3.experiments.tables import Cell, Table, decimal, mean_microseconds, microseconds
from astra_ns3.network.records import LayerDetail, LayerTimes, RunRecords
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


def _end_to_end(records: RunRecords, run_name: str) -> Table:
    header = [*_NAMES]
    for what in ("compute", "exposed comm", "total comm"):
        header += [f"{phase} {what}" for phase in ("fwd", "wg", "ig")]
    header += ["workload finished at", "total comp", "total exposed comm"]
    npu = records.npus[records.reported_npu]
    finish = microseconds(npu.finish_ps)
    rows: list[list[Cell]] = []
    for number, layer in enumerate(records.layers):
        totals: list[Cell] = [None, None]
        if number == 0:
            totals = [microseconds(npu.compute_ps), microseconds(npu.finish_ps - npu.compute_ps)]
        rows.append([layer.name, run_name, *(microseconds(time) for time in _layer_times(layer)), finish, *totals])
    return Table(END_TO_END, header, rows)


def _layer_times(layer: LayerTimes) -> list[int]:
    passes = (layer.forward, layer.weight_gradient, layer.input_gradient)
    return [
        *(times.compute_ps for times in passes),
        *(times.exposed_ps for times in passes),
        *(times.comm_ps for times in passes),
    ]


def _detailed(records: RunRecords, run_name: str) -> Table:
    phases = max((len(detail.phases) for detail in records.details), default=0)
    dimensions = max((len(detail.dimensions) for detail in records.details), default=0)
    queues = phases + 1 if phases else 0
    header = [
        *_NAMES,
        *(f"queuing delay phase {phase}" for phase in range(queues)),
        *(f"network delay phase {phase + 1}" for phase in range(phases)),
        *(f"avg chunk delay dimension {dimension + 1}" for dimension in range(dimensions)),
    ]
    rows: list[list[Cell]] = []
    for number, detail in enumerate(records.details):
        delays = _chunk_delays(records, dimensions) if number == 0 else [None] * dimensions
        rows.append([detail.name, run_name, *_queue_and_network_delays(detail, phases), *delays])
    return Table(DETAILED, header, rows)


def _queue_and_network_delays(detail: LayerDetail, phases: int) -> list[Cell]:
    """Mean wait before phase 0, 1, ..., then mean network delay of each phase."""
    creation = [_mean(detail.creation_ps, detail.chunks)] if phases else []
    queue = [_mean(phase.queue_ps, phase.chunks) for phase in detail.phases]
    network = [_mean(phase.network_ps, phase.chunks) for phase in detail.phases]
    missing: list[Cell] = [None] * (phases - len(detail.phases))
    return [*creation, *queue, *missing, *network, *missing]


def _chunk_delays(records: RunRecords, dimensions: int) -> list[Cell]:
    """Mean time of a chunk's phase in each dimension, over the chunks of all layers."""
    delays: list[Cell] = []
    for dimension in range(dimensions):
        times = [detail.dimensions[dimension] for detail in records.details if dimension < len(detail.dimensions)]
        delays.append(_mean(sum(time.time_ps for time in times), sum(time.chunks for time in times)))
    return delays


def _mean(sum_ps: int, count: int) -> str | None:
    return mean_microseconds(sum_ps, count) if count else None


def _backend_end_to_end(records: RunRecords, run_name: str) -> Table:
    npu = records.npus[records.reported_npu]
    header = ["RunName", "CommsTime", "ComputeTime", "ExposedCommsTime", "Cost", "TotalPayloadSize"]
    header += [f"PayloadSize_Dim{dimension}" for dimension in range(_PAYLOAD_COLUMNS)]
    times = (npu.finish_ps, npu.compute_ps, npu.finish_ps - npu.compute_ps)
    payload = [decimal(sent, _BYTES_PER_MIB) for sent in records.sent_bytes]
    row: list[Cell] = [
        run_name,
        *(microseconds(time) for time in times),
        None,
        decimal(sum(records.sent_bytes), _BYTES_PER_MIB),
        *payload,
        *[_NO_DIMENSION] * (_PAYLOAD_COLUMNS - len(payload)),
    ]
    return Table(BACKEND_END_TO_END, header, [row])


def _utilization(records: RunRecords, run_name: str) -> Table:
    """Share of each window of 10 us in which the dimension's queue was not empty; the last, partial window is left out.

    Every line ends in a comma and the first header cell has blanks around it, as in ASTRA-sim's.
    """
    finish_ps = records.npus[records.reported_npu].finish_ps
    # A second of simulated time has its windows of 10 us. A longer run (a connection may give up after minutes) has
    # as many, wider ones, or the table would take longer than the run.
    window_ps = _WINDOW_PS * max(1, -(-finish_ps // (_MOST_WINDOWS * _WINDOW_PS)))
    windows = finish_ps // window_ps
    columns = [_busy_percent(busy, windows, window_ps) for busy in records.busy]
    header = [" time (us) ", *(f"dim{number + 1} util" for number in range(len(columns))), ""]
    rows: list[list[Cell]] = []
    for window in range(windows):
        time = microseconds((window + 1) * window_ps)
        rows.append([time, *(column[window] for column in columns), None])
    return Table(f"{run_name}{UTILIZATION_SUFFIX}", header, rows)


def _busy_percent(intervals: tuple[tuple[int, int], ...], windows: int, window_ps: int) -> list[str]:
    """Percent of each window of ``window_ps`` that the ordered, disjoint ``intervals`` cover."""
    covered_ps = [0] * windows
    for begin, end in intervals:
        for window in range(begin // window_ps, min(windows, -(-end // window_ps))):
            start = window * window_ps
            covered_ps[window] += min(end, start + window_ps) - max(begin, start)
    return [decimal(100 * covered, window_ps) for covered in covered_ps]
