"""layers.parquet: what each part of each layer took, on the NPU that stands for each role."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from astra_ns3.network.records import PassTimes, RoleTimes

LAYERS = "layers.parquet"
TAIL = "tail"
"""The part in which a layer's collectives are waited for after the last pass."""


def write_layers(path: Path, roles: Sequence[RoleTimes]) -> None:
    """Write the file; raises OSError. pyarrow is loaded here, so the parent of a child that holds ns-3 calls it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [
        (role.role, role.npu, layer.name, part, times.compute_ps, times.exposed_ps, times.comm_ps)
        for role in roles
        for layer in role.layers
        for part, times in (*layer.parts.items(), (TAIL, PassTimes(exposed_ps=layer.tail_ps)))
    ]
    texts, numbers = pa.string(), pa.int64()
    schema = pa.schema(
        [
            ("role", texts),
            ("npu", pa.int32()),
            ("layer", texts),
            ("part", texts),
            ("compute_ps", numbers),
            ("exposed_ps", numbers),
            ("communication_ps", numbers),
        ]
    )
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in schema]
    table = pa.table([pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema)
    pq.write_table(table, path, compression="zstd")
