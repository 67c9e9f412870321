"""layers.parquet: what each part of each layer took, on the NPU that stands for each role."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from astra_ns3.network.parquet import schema_of
from astra_ns3.network.recorded import Column, RecordedTable, asked_record, of_job
from astra_ns3.network.records import TAIL, LayerTimes, PassTimes, RoleTimes


class _Row(NamedTuple):
    role: RoleTimes
    layer: LayerTimes
    part: str
    times: PassTimes


_COLUMNS: tuple[tuple[Column, Callable[[_Row], str | int]], ...] = (
    (Column("role", "string", "", "the role"), lambda row: row.role.role),
    (Column("npu", "int32", "", "the NPU that stands for it"), lambda row: row.role.npu),
    (Column("layer", "string", "", "its name"), lambda row: row.layer.name),
    (
        Column(
            "part",
            "string",
            "",
            "forward (all work of graphs), weight gradient, ..., or tail: waiting after the last pass",
        ),
        lambda row: row.part,
    ),
    (Column("compute_ps", "int64", "ps", "computing"), lambda row: row.times.compute_ps),
    (Column("exposed_ps", "int64", "ps", "waiting"), lambda row: row.times.exposed_ps),
    (
        Column("communication_ps", "int64", "ps", "from issue until done, summed over messages"),
        lambda row: row.times.comm_ps,
    ),
)
LAYERS = RecordedTable(
    "layers",
    'the layers of every role, if ``record`` had "layers"; raises InputError otherwise',
    asked_record("layers"),
    tuple(column for column, _ in _COLUMNS),
)


def write_layers(path: Path, roles: Sequence[RoleTimes], job: str | None = None) -> None:
    """Write the file; raises OSError. ``job``: its name, if it is one of several.
    pyarrow is loaded here, so the parent of a child that holds ns-3 calls it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [
        _Row(role, layer, part, times)
        for role in roles
        for layer in role.layers
        for part, times in (*layer.parts.items(), (TAIL, PassTimes(exposed_ps=layer.tail_ps)))
    ]
    cells: list[list[str | int]] = [[cell(row) for row in rows] for _, cell in _COLUMNS]
    described = LAYERS
    if job is not None:
        described, cells = of_job(LAYERS, job), [[job] * len(rows), *cells]
    schema = schema_of(described)
    table = pa.table([pa.array(column, field.type) for column, field in zip(cells, schema, strict=True)], schema)
    with path.open("wb") as file:  # pyarrow takes no name that isn't UTF-8
        pq.write_table(table, file, compression="zstd")
