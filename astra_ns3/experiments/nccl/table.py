"""nccl-tests' table of our times, as text and as plain data."""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.config.core.plain import Json
from astra_ns3.experiments.nccl.bench import BenchRow

_HEAD = (
    "#       size     time   algbw   busbw     time   algbw   busbw  algorithm    protocol  channels  what binds",
    "#        (B)     (us)  (GB/s)  (GB/s)     (us)  (GB/s)  (GB/s)",
)


def table_text(operation: str, where: str, version: str, rows: Sequence[BenchRow]) -> str:
    """The table; times out of place, then in place, which are the same here."""
    title = f"# {operation} on {where}, NCCL {version}: out of place, in place"
    return "\n".join([title, *_HEAD, *map(_line, rows), f"# mean of busbw: {_mean(rows):.4g} GB/s"])


def table_document(operation: str, rows: Sequence[BenchRow]) -> list[dict[str, Json]]:
    """The rows by nccl-tests' names where it has them: bandwidths in GB/s, times in us, sizes in bytes."""
    return [
        {
            "operation": operation,
            "size": row.size_bytes,
            "time_us": round(row.time_us, 3),
            "algbw": round(row.alg_gbytes_per_s, 4),
            "busbw": round(row.bus_gbytes_per_s, 4),
            "algorithm": row.algorithm,
            "protocol": row.protocol,
            "channels": row.channels,
            "binds": row.binds,
            "share": round(row.share, 4),
        }
        for row in rows
    ]


def _line(row: BenchRow) -> str:
    one = f"{row.time_us:9.1f} {row.alg_gbytes_per_s:7.2f} {row.bus_gbytes_per_s:7.2f}"
    binds = row.binds if row.binds == "latency" else f"{row.binds} ({row.share:.0%} of the time)"
    return f"{row.size_bytes:12} {one}{one}  {row.algorithm:<12} {row.protocol:<8}  {row.channels:8}  {binds}"


def _mean(rows: Sequence[BenchRow]) -> float:
    return sum(row.bus_gbytes_per_s for row in rows) / len(rows)
