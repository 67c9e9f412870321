"""Our own tables: every NPU, every collective, every port. Units stand in the column names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from astra_ns3.collectives.kind import CollectiveKind
from astra_ns3.experiments.tables import Cell, Table, decimal, microseconds
from astra_ns3.network.records import PORT_COUNTERS, CollectiveRecord, RunRecords
from astra_ns3.units import PS_PER_NS

NPUS = "npus.csv"
COLLECTIVES = "collectives.csv"
SWITCH = "switch.csv"

SWITCH_COLUMNS = ("port", "link_to", *PORT_COUNTERS)


def npu_table(records: RunRecords) -> Table:
    """Finish (empty if it has not), compute and exposed time of each NPU."""
    rows = [
        [
            npu.npu,
            microseconds(npu.finish_ps) if npu.done else None,
            microseconds(npu.compute_ps),
            microseconds(npu.exposed_ps),
        ]
        for npu in records.npus
    ]
    return Table(NPUS, ["npu", "finish_us", "compute_us", "exposed_us"], rows)


def collective_table(records: RunRecords) -> Table:
    """Each collective in program order; end, duration and bandwidths are empty if it has not ended.

    Bandwidths are those of NVIDIA's nccl-tests (doc/PERFORMANCE.md), in 10**9 bytes a second: the algorithm's is size
    over time, the size of an all-gather being what each NPU has after it; the bus's is that times 2(n-1)/n for an
    all-reduce, 1 for a message and (n-1)/n for the others, which a link's rate can be compared with.
    """
    header = ["collective", "layer", "iteration", "part", "kind", "algorithm", "npus", "chunks", "bytes"]
    header += ["start_us", "end_us", "duration_us", "algorithm_bandwidth_gbytes_per_s", "bus_bandwidth_gbytes_per_s"]
    rows: list[list[Cell]] = []
    for record in records.collectives:
        what: list[Cell] = [
            record.index,
            record.layer,
            record.label.iteration,
            str(record.label.part),
            record.kind.value,
        ]
        what += [record.algorithm, record.ranks, record.chunks, record.bytes, microseconds(record.start_ps)]
        rows.append([*what, *_end_and_bandwidths(record)])
    return Table(COLLECTIVES, header, rows)


def _end_and_bandwidths(record: CollectiveRecord) -> list[Cell]:
    if record.end_ps is None:
        return [None] * 4
    duration_ps = record.end_ps - record.start_ps
    times: list[Cell] = [microseconds(record.end_ps), microseconds(duration_ps)]
    if duration_ps == 0:
        return [*times, None, None]
    # A byte per nanosecond is 10**9 bytes a second.
    size = record.bytes * (record.ranks if record.kind is CollectiveKind.ALL_GATHER else 1) * PS_PER_NS
    if record.kind is CollectiveKind.POINT_TO_POINT:
        return [*times, decimal(size, duration_ps), decimal(size, duration_ps)]
    factor = 2 if record.kind is CollectiveKind.ALL_REDUCE else 1
    bus = decimal(size * factor * (record.ranks - 1), duration_ps * record.ranks)
    return [*times, decimal(size, duration_ps), bus]


def switch_table(ports: Sequence[Mapping[str, Cell]]) -> Table:
    """One row per port of the network, those of NICs included, as the backend counted."""
    return Table(SWITCH, SWITCH_COLUMNS, [[port[name] for name in SWITCH_COLUMNS] for port in ports])
