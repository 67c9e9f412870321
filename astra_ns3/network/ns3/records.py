"""Streams the tables that a session records into parquet files, in bounded memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

Columns = list[npt.NDArray[np.int64]]

QUANTITIES = {"congestion_window": 1, "rtt": 2, "retransmissions": 4, "timeouts": 8}
"""Names of what is recorded of a connection, and the native library's number of each."""

_QUANTITY_COLUMN = {1: "congestion_window_bytes", 2: "rtt_ps", 4: "retransmitted_bytes", 8: "timeouts"}


class TableWriter:
    """One parquet file with a fixed schema, written row group by row group."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        import pyarrow.parquet as pq

        self._schema = schema
        self._writer: pq.ParquetWriter = pq.ParquetWriter(path, schema, compression="zstd")

    def write(self, columns: dict[str, Any]) -> None:
        """Append rows given by column name."""
        import pyarrow as pa

        self._writer.write_table(pa.table(columns, schema=self._schema))

    def close(self) -> None:
        """Finish the file."""
        self._writer.close()


class FlowWriter:
    """``flows.parquet``: one row per message, in the order of arrival."""

    columns = 7

    def __init__(self, directory: Path) -> None:
        import pyarrow as pa

        names = ["source", "destination", "collective", "chunk", "phase", "row"]
        fields = [(name, pa.int32()) for name in names]
        fields += [("bytes", pa.int64()), ("start_ps", pa.int64()), ("end_ps", pa.int64())]
        self._table = TableWriter(directory / "flows.parquet", pa.schema(fields))

    def write(self, columns: Columns) -> None:
        """Append rows: source, destination, bytes, start, end, instance, row."""
        from astra_ns3.network.instance import unpack_instances

        source, destination, size, start, end, instance, row = columns
        collective, chunk, phase = unpack_instances(instance)
        self._table.write(
            {
                "source": source,
                "destination": destination,
                "collective": collective,
                "chunk": chunk,
                "phase": phase,
                "row": row,
                "bytes": size,
                "start_ps": start,
                "end_ps": end,
            }
        )

    def close(self) -> None:
        """Finish the file."""
        self._table.close()


class ConnectionWriter:
    """``connections.parquet``: what was observed of TCP connections, one value a row."""

    columns = 5

    def __init__(self, directory: Path) -> None:
        import pyarrow as pa

        fields = [
            ("time_ps", pa.int64()),
            ("source", pa.int32()),
            ("destination", pa.int32()),
            ("quantity", pa.dictionary(pa.int8(), pa.string())),
            ("value", pa.int64()),
        ]
        self._table = TableWriter(directory / "connections.parquet", pa.schema(fields))

    def write(self, columns: Columns) -> None:
        """Append rows: time, source, destination, quantity, value."""
        import pyarrow as pa

        time, source, destination, quantity, value = columns
        numbers = list(_QUANTITY_COLUMN)
        codes = np.searchsorted(numbers, quantity).astype(np.int8)
        names = pa.DictionaryArray.from_arrays(codes, list(_QUANTITY_COLUMN.values()))
        self._table.write(
            {"time_ps": time, "source": source, "destination": destination, "quantity": names, "value": value}
        )

    def close(self) -> None:
        """Finish the file."""
        self._table.close()


class QueueWriter:
    """``queues.parquet``: length of observed queues over time; a row holds until the next of its port."""

    columns = 4

    def __init__(self, directory: Path, port_names: dict[tuple[int, int], str]) -> None:
        import pyarrow as pa

        self._names = list(port_names.values())
        self._codes = {port: code for code, port in enumerate(port_names)}
        fields = [
            ("time_ps", pa.int64()),
            ("port", pa.dictionary(pa.int32(), pa.string())),
            ("queue_bytes", pa.int64()),
        ]
        self._table = TableWriter(directory / "queues.parquet", pa.schema(fields))

    def write(self, columns: Columns) -> None:
        """Append rows: time, node, port, bytes."""
        import pyarrow as pa

        time, node, port, size = columns
        codes = np.array([self._codes[key] for key in zip(node.tolist(), port.tolist(), strict=True)], dtype=np.int32)
        names = pa.DictionaryArray.from_arrays(codes, self._names)
        self._table.write({"time_ps": time, "port": names, "queue_bytes": size})

    def close(self) -> None:
        """Finish the file."""
        self._table.close()
