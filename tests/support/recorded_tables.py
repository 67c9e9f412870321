"""The folder of a run on the fake backend, with tables written by hand, as a run on packets would leave them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import astra_ns3
from support.small_run import NPUS, small_run

US = 1_000_000
"""Picoseconds."""
PARTS = (
    "turn_ps",
    "window_ps",
    "pacing_ps",
    "nic_paused_ps",
    "nic_queue_ps",
    "transport_ps",
    "lost_ps",
    "switch_queue_ps",
    "switch_paused_ps",
    "serialisation_ps",
    "propagation_ps",
    "acknowledgement_ps",
)
"""Of a message's time, as accounts.parquet has them."""


def write_table(folder: Path, name: str, **columns: Any) -> None:
    """A Parquet file of columns; texts become dictionaries, as in recorded tables."""
    arrays = {key: values if isinstance(values, pa.Array) else pa.array(values) for key, values in columns.items()}
    made = {
        key: array.dictionary_encode() if pa.types.is_string(array.type) else array for key, array in arrays.items()
    }
    pq.write_table(pa.table(made), folder / f"{name}.parquet")


def run_folder(folder: Path, *, passes: int = 1, record: Sequence[str] = (), **options: Any) -> Path:
    """The folder of a small run: 4 NPUs, each on a host of one switch, links of 100 Gb/s."""
    path = folder / "out"
    astra_ns3.run(**{**small_run(), "passes": passes, "output": path, "record": list(record), **options})
    lines = ["port,link_to", *(f"host{npu},switch0" for npu in range(NPUS))]
    lines += [f"switch0:{npu},host{npu}" for npu in range(NPUS)]
    (path / "switch.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_messages(folder: Path, spans: Sequence[tuple[int, int, int, int]], *, ideal_ps: int = 0) -> None:
    """flows.parquet: source, destination, start and end of each message; all are of collective 0 and 1000 bytes."""
    rows = sorted(spans, key=lambda span: span[3])
    source, destination, start, end = zip(*rows, strict=True) if rows else ((), (), (), ())
    none = [0] * len(rows)
    write_table(
        folder,
        "flows",
        source=_whole(source),
        destination=_whole(destination),
        collective=_whole(none),
        chunk=_whole(none),
        phase=_whole(none),
        row=_whole(range(len(rows))),
        bytes=_whole([1000] * len(rows)),
        start_ps=_whole(start),
        end_ps=_whole(end),
        ideal_ps=_whole([ideal_ps] * len(rows)),
    )


def write_accounts(folder: Path, rows: Sequence[tuple[int, int, dict[str, int]]]) -> None:
    """accounts.parquet: collective, start and the parts of each message, from NPU 0 to NPU 1."""
    ends = [start + sum(parts.values()) for _, start, parts in rows]
    zeros = [0] * len(rows)
    columns: dict[str, Any] = {name: [parts.get(name, 0) for _, _, parts in rows] for name in PARTS}
    write_table(
        folder,
        "accounts",
        source=zeros,
        destination=[1] * len(rows),
        collective=[collective for collective, _, _ in rows],
        chunk=zeros,
        phase=zeros,
        row=zeros,
        bytes=[1000] * len(rows),
        start_ps=[start for _, start, _ in rows],
        end_ps=ends,
        **columns,
    )


def write_ports(folder: Path, name: str, value: str, rows: Sequence[tuple[int, str, int]]) -> None:
    """utilisation, queues or pauses: time, port and value of each row."""
    time, port, values = zip(*rows, strict=True) if rows else ((), (), ())
    write_table(folder, name, time_ps=_whole(time), port=_words(port), **{value: _whole(values)})


def write_pairs(
    folder: Path, name: str, rows: Sequence[tuple[int, int, int, str, int]], queue_pairs: Sequence[int] = ()
) -> None:
    """queue_pairs or connections: time, source, destination, quantity and value of each row, and its queue pair, which
    files of earlier versions don't have."""
    time, source, destination, quantity, value = zip(*rows, strict=True) if rows else ((), (), (), (), ())
    write_table(
        folder,
        name,
        time_ps=_whole(time),
        source=_whole(source),
        destination=_whole(destination),
        quantity=_words(quantity),
        value=_whole(value),
        **({"queue_pair": _whole(queue_pairs)} if queue_pairs else {}),
    )


def full_folder(folder: Path) -> Path:
    """A run of which everything was recorded."""
    path = run_folder(folder, passes=2, record=["layers", "timeline"])
    write_messages(path, [(0, 1, 0, 2 * US), (0, 2, 0, 3 * US), (1, 2, US, 4 * US), (3, 0, 2 * US, 9 * US)],
                   ideal_ps=US)  # fmt: skip
    write_accounts(path, [
        (0, 0, {"turn_ps": US, "switch_queue_ps": 2 * US, "propagation_ps": US}),
        (1, 5 * US, {"pacing_ps": 3 * US, "nic_paused_ps": US, "serialisation_ps": 500_000}),
    ])  # fmt: skip
    write_ports(path, "utilisation", "wire_bytes",
                [(10 * US, "host0", 125_000), (20 * US, "host0", 62_500), (20 * US, "switch0:1", 25_000)])  # fmt: skip
    write_ports(path, "queues", "queue_bytes",
                [(10 * US, "switch0:1", 5_000), (10 * US, "host0", 90), (20 * US, "switch0:1", 0)])  # fmt: skip
    write_ports(path, "pauses", "paused_priorities", [(2 * US, "host0", 8), (6 * US, "host0", 0), (7 * US, "host2", 8)])
    write_pairs(path, "queue_pairs", [
        (US, 0, 1, "rate_bps", 100 * 10**9),
        (US, 0, 1, "window_bytes", 40_000),
        (5 * US, 0, 1, "rate_bps", 25 * 10**9),
    ])  # fmt: skip
    write_memory(path, [(stage, step, 100 * step) for stage in range(2) for step in range(4)])
    return path


def write_memory(folder: Path, rows: Sequence[tuple[int, int, int]]) -> None:
    """memory.csv: stage, step and bytes of activations; with 500 bytes of weights."""
    parts = ("weights", "gradients", "optimizer", "activations", "recomputed", "gathered", "buckets", "ring")
    lines = [",".join(["stage", "step", "work", "chunk", "micro_batch", "layer", "total_bytes", *map(_bytes, parts)])]
    for stage, step, kept in rows:
        sizes = [500 if part == "weights" else kept if part == "activations" else 0 for part in parts]
        lines.append(",".join(map(str, [stage, step, "forward", 0, step, "layer 0", 500 + kept, *sizes])))
    (folder / "memory.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    document = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    document["files"] = sorted({*document["files"], "memory.csv"})
    document["memory_by_stage"] = {"capacity_bytes": 700, "stages": []}
    (folder / "run.json").write_text(json.dumps(document), encoding="utf-8")


def _bytes(part: str) -> str:
    return f"{part}_bytes"


def _whole(values: Sequence[int]) -> Any:
    return pa.array(list(values), pa.int64())


def _words(values: Sequence[str]) -> Any:
    return pa.array(list(values), pa.string())
