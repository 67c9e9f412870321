"""nccl-tests' table of our times, as text and as plain data."""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.config.core.plain import Json
from astra_ns3.experiments.nccl.bench import BenchRow
from astra_ns3.nccl.version import parse_version

_ALL = 1.02  # of a time, rounding aside
_HEAD = (
    "#       size     time   algbw   busbw     time   algbw   busbw  algorithm    protocol  channels  what binds",
    "#        (B)     (us)  (GB/s)  (GB/s)     (us)  (GB/s)  (GB/s)",
)


def table_text(operation: str, where: str, version: str, rows: Sequence[BenchRow], more: Sequence[str] = ()) -> str:
    """The table; times out of place, then in place, which are the same here. ``more``: what is said above its head."""
    known = parse_version(version)
    of = "" if known.is_known else f" (by the rules of {known.rules[0]}.{known.rules[1]})"
    title = f"# {operation} on {where}, NCCL {version}{of}: out of place, in place"
    over = [row for row in rows if row.share > _ALL]
    beyond = f"# {len(over)} of {len(rows)} sizes exceed their lines: messages never meet on this backend; use flow"
    lines = [title, *(f"# {words}" for words in more), *_HEAD, *map(_line, rows), *([beyond] if over else [])]
    return "\n".join([*lines, f"# mean of busbw: {_mean(rows):.4g} GB/s"])


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
    one = f" {row.time_us:8.1f} {row.alg_gbytes_per_s:7.2f} {row.bus_gbytes_per_s:7.2f}"
    return f"{row.size_bytes:12} {one}{one}  {row.algorithm:<12} {row.protocol:<8}  {row.channels:8}  {row.binds_text}"


def _mean(rows: Sequence[BenchRow]) -> float:
    return sum(row.bus_gbytes_per_s for row in rows) / len(rows)
