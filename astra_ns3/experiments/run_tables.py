"""Our own tables: every NPU, every collective, every port. Units stand in the column names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import methodcaller

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.experiments.tables import Cell, CellColumn, Table, decimal, microseconds
from astra_ns3.network.records import PORT_COUNTERS, CollectiveRecord, NpuRecord, RunRecords
from astra_ns3.network.run_document import SpentDocument, TenantDocument, npus_of
from astra_ns3.report.alignment import ranges
from astra_ns3.units import PS_PER_NS

NPUS = "npus.csv"
COLLECTIVES = "collectives.csv"
SWITCH = "switch.csv"


PORT_COLUMNS: tuple[CellColumn[Mapping[str, Cell]], ...] = tuple(
    (name, methodcaller("get", name)) for name in ("port", "link_to", *PORT_COUNTERS)
)
JOBS = "jobs.csv"
_ALL_BYTES_ONCE = (CollectiveKind.POINT_TO_POINT, CollectiveKind.BROADCAST, CollectiveKind.REDUCE)
"""Kinds in which all bytes cross the busiest line, so both bandwidths are equal: nccl-tests, doc/PERFORMANCE.md."""

_MEAN, _LONGEST = 0, 1


def _duration_ps(record: CollectiveRecord) -> int | None:
    return None if record.end_ps is None else record.end_ps - record.start_ps


def _of_groups(record: CollectiveRecord, which: int) -> int | None:
    return None if record.durations_ps is None else record.durations_ps[which]


def _time(time_ps: int | None) -> Cell:
    return None if time_ps is None else microseconds(time_ps)


def _bus_bandwidth(record: CollectiveRecord) -> Cell:
    if record.kind in _ALL_BYTES_ONCE:
        return _bandwidth(record, 1, 1)
    if record.line_bytes is not None:
        duration_ps = _of_groups(record, _MEAN)
        return decimal(record.line_bytes * PS_PER_NS, duration_ps) if duration_ps else None
    factor = 2 if record.kind is CollectiveKind.ALL_REDUCE else 1
    return _bandwidth(record, factor * (record.ranks - 1), record.ranks)


def _bandwidth(record: CollectiveRecord, numerator: int, denominator: int) -> Cell:
    """Size over a group's time, times a fraction; the size of an all-gather is what each NPU has after it."""
    duration_ps = _of_groups(record, _MEAN)
    if not duration_ps:
        return None
    size = record.bytes * (record.ranks if record.kind is CollectiveKind.ALL_GATHER else 1) * PS_PER_NS
    return decimal(size * numerator, duration_ps * denominator)


NPU_COLUMNS: tuple[CellColumn[tuple[NpuRecord, SpentDocument]], ...] = (
    ("npu", lambda row: row[0].npu),
    ("finish_us", lambda row: microseconds(row[0].finish_ps) if row[0].done else None),
    ("compute_us", lambda row: _time(row[1].get("compute_ps"))),
    ("exposed_us", lambda row: _time(row[1].get("exposed_ps"))),
)
COLLECTIVE_COLUMNS: tuple[CellColumn[CollectiveRecord], ...] = (
    ("collective", lambda record: record.index),
    ("layer", lambda record: record.layer),
    ("iteration", lambda record: record.label.iteration),
    ("part", lambda record: str(record.label.part)),
    ("kind", lambda record: record.kind.value),
    ("algorithm", lambda record: record.algorithm),
    ("group", lambda record: record.group),
    ("npus", lambda record: record.ranks),
    ("chunks", lambda record: record.chunks),
    ("bytes", lambda record: record.bytes),
    ("start_us", lambda record: microseconds(record.start_ps)),
    ("end_us", lambda record: _time(record.end_ps)),
    ("duration_us", lambda record: _time(_duration_ps(record))),
    ("group_duration_us", lambda record: _time(_of_groups(record, _MEAN))),
    ("slowest_group_us", lambda record: _time(_of_groups(record, _LONGEST))),
    ("algorithm_bandwidth_gbytes_per_s", lambda record: _bandwidth(record, 1, 1)),
    ("bus_bandwidth_gbytes_per_s", _bus_bandwidth),
)


def npu_table(records: RunRecords) -> Table:
    """Finish (empty if it has not), compute and exposed time of each NPU (empty where it plays flows)."""
    return Table.of(NPUS, NPU_COLUMNS, [(npu, records.spent_by(npu)) for npu in records.npus])


def collective_table(records: RunRecords) -> Table:
    """Each collective in program order; end, duration and bandwidths are empty if it has not ended.

    Bandwidths are those of NVIDIA's nccl-tests (doc/PERFORMANCE.md), in 10**9 bytes a second: the algorithm's is size
    over the mean time of its groups, the size of an all-gather being what each NPU has after it; the bus's is that
    times 2(n-1)/n for an all-reduce, 1 for a message and (n-1)/n for the others, which a link's rate can be compared
    with. That of an all-to-all with counts is what the busiest NPU sends to others, or gets from them, over that time.
    """
    return Table.of(COLLECTIVES, COLLECTIVE_COLUMNS, records.collectives)


def switch_table(ports: Sequence[Mapping[str, Cell]]) -> Table:
    """One row per port of the network, those of NICs included, as the backend counted."""
    return Table.of(SWITCH, PORT_COLUMNS, ports)


JOB_COLUMNS: tuple[CellColumn[TenantDocument], ...] = (
    ("job", lambda tenant: tenant["name"]),
    ("npus", npus_of),
    ("start_us", lambda tenant: _time(tenant["start_ps"])),
    ("finish_us", lambda tenant: _finish(tenant)),
    ("duration_us", lambda tenant: microseconds(tenant["finish_ps"]) if _has_ended(tenant) else None),
    ("compute_us", lambda tenant: _time(tenant.get("compute_ps"))),
    ("exposed_us", lambda tenant: _time(tenant.get("exposed_ps"))),
    ("passes", lambda tenant: tenant["passes_done"]),
    ("ended_by", lambda tenant: tenant["ended_by"]),
    ("arrival_us", lambda tenant: _time(tenant.get("arrival_ps"))),
    ("waited_us", lambda tenant: _waited(tenant)),
    ("restarts", lambda tenant: tenant.get("restarts")),
    ("last_try_us", lambda tenant: _time(tenant.get("last_try_ps"))),
    ("resumed_passes", lambda tenant: tenant.get("resumed_passes")),
    ("which", lambda tenant: " ".join(ranges(tenant["npus"]))),
)


def jobs_table(tenants: Sequence[TenantDocument]) -> Table:
    """When each tenant started and finished (empty if it has not), and the times of the NPU that it reports."""
    return Table.of(JOBS, JOB_COLUMNS, tenants)


def _waited(tenant: TenantDocument) -> str | None:
    """How long a job waited for NPUs; None of one that didn't arrive or never started."""
    start_ps = tenant["start_ps"]
    return microseconds(start_ps - tenant["arrival_ps"]) if "arrival_ps" in tenant and start_ps is not None else None


def _finish(tenant: TenantDocument) -> str | None:
    start_ps = tenant["start_ps"]
    return microseconds(start_ps + tenant["finish_ps"]) if _has_ended(tenant) and start_ps is not None else None


def _has_ended(tenant: TenantDocument) -> bool:
    """Whether a job has come to its end, or failed for good."""
    return tenant["complete"] or tenant["ended_by"] is not None
