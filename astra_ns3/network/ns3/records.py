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

QUEUE_PAIR_QUANTITIES = {"rate": 1, "window": 2, "alpha": 4, "retransmissions": 8, "cnps": 16}
"""The same of a RoCE queue pair."""

_QUANTITY_COLUMN = {1: "congestion_window_bytes", 2: "rtt_ps", 4: "retransmitted_bytes", 8: "timeouts"}
_QUEUE_PAIR_COLUMN = {1: "rate_bps", 2: "window_bytes", 4: "alpha_millionths", 8: "retransmitted_bytes", 16: "cnps"}


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

    columns = 8

    def __init__(self, directory: Path) -> None:
        import pyarrow as pa

        names = ["source", "destination", "collective", "chunk", "phase", "row"]
        fields = [(name, pa.int32()) for name in names]
        fields += [(name, pa.int64()) for name in ("bytes", "start_ps", "end_ps", "ideal_ps")]
        self._table = TableWriter(directory / "flows.parquet", pa.schema(fields))

    def write(self, columns: Columns) -> None:
        """Append rows: source, destination, bytes, start, end, instance, row, time alone on the network."""
        from astra_ns3.network.instance import unpack_instances

        source, destination, size, start, end, instance, row, ideal = columns
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
                "ideal_ps": ideal,
            }
        )

    def close(self) -> None:
        """Finish the file."""
        self._table.close()


class PairWriter:
    """What was observed of pairs of NPUs, one value a row: ``connections.parquet`` and ``queue_pairs.parquet``."""

    columns = 5

    def __init__(self, path: Path, quantities: dict[int, str]) -> None:
        """``quantities``: name of each of the native library's numbers."""
        import pyarrow as pa

        self._quantities = dict(sorted(quantities.items()))
        fields = [
            ("time_ps", pa.int64()),
            ("source", pa.int32()),
            ("destination", pa.int32()),
            ("quantity", pa.dictionary(pa.int8(), pa.string())),
            ("value", pa.int64()),
        ]
        self._table = TableWriter(path, pa.schema(fields))

    def write(self, columns: Columns) -> None:
        """Append rows: time, source, destination, quantity, value."""
        import pyarrow as pa

        time, source, destination, quantity, value = columns
        codes = np.searchsorted(list(self._quantities), quantity).astype(np.int8)
        names = pa.DictionaryArray.from_arrays(codes, list(self._quantities.values()))
        self._table.write(
            {"time_ps": time, "source": source, "destination": destination, "quantity": names, "value": value}
        )

    def close(self) -> None:
        """Finish the file."""
        self._table.close()


def connection_writer(directory: Path) -> PairWriter:
    """``connections.parquet``: TCP connections."""
    return PairWriter(directory / "connections.parquet", _QUANTITY_COLUMN)


def queue_pair_writer(directory: Path) -> PairWriter:
    """``queue_pairs.parquet``: RoCE queue pairs."""
    return PairWriter(directory / "queue_pairs.parquet", _QUEUE_PAIR_COLUMN)


class PortWriter:
    """One value of observed ports over time, a row each: queues, pauses, bytes sent."""

    columns = 4

    def __init__(self, path: Path, value: str, port_names: dict[tuple[int, int], str]) -> None:
        """``value`` names the last column, ``port_names`` the port of each node and number."""
        import pyarrow as pa

        self._value = value
        self._names = list(port_names.values())
        self._codes = {port: code for code, port in enumerate(port_names)}
        fields = [
            ("time_ps", pa.int64()),
            ("port", pa.dictionary(pa.int32(), pa.string())),
            (value, pa.int64()),
        ]
        self._table = TableWriter(path, pa.schema(fields))

    def write(self, columns: Columns) -> None:
        """Append rows: time, node, port, value."""
        import pyarrow as pa

        time, node, port, value = columns
        codes = np.array([self._codes[key] for key in zip(node.tolist(), port.tolist(), strict=True)], dtype=np.int32)
        names = pa.DictionaryArray.from_arrays(codes, self._names)
        self._table.write({"time_ps": time, "port": names, self._value: value})

    def close(self) -> None:
        """Finish the file."""
        self._table.close()
