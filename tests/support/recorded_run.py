"""A small run's folder with every table that a run may record, made of numbers that tests know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

import astra_ns3
from astra_ns3.network.recorded import ACCOUNTS
from support.fake_backend import FakeBackend
from support.small_run import NPUS, small_run

US = 1_000_000
PORTS = {"host0": "switch0", "switch0:0": "host0", "switch0:1": "host1"}
"""And what they lead to."""
INTERVAL_PS = 10 * US
TENTHS = (12_500, 25_000, 37_500)
"""Bytes of each port in an interval: one, two and three tenths of 100 Gb/s."""
ACCOUNT_PARTS = {"turn_ps": 200_000, "switch_queue_ps": 500_000, "serialisation_ps": 100_000, "propagation_ps": 300_000}
"""Parts of the first message's time; those of message n are n times as long."""
MESSAGES, COLLECTIVES = 40, 2

Columns = Mapping[str, Sequence[object]]


def tables(finish_ps: int) -> dict[str, Columns]:
    """What a run of the length could have recorded besides layers, operations and phases."""
    bins = finish_ps // INTERVAL_PS + 1
    ends = [(place + 1) * INTERVAL_PS for place in range(bins) for _ in PORTS]
    named = list(PORTS) * bins
    pairs = {"source": [0, 0, 1, 1], "destination": [1, 1, 2, 2]}
    return {
        "utilisation": {"time_ps": ends, "port": named, "wire_bytes": list(TENTHS) * bins},
        "queues": {"time_ps": ends, "port": named, "queue_bytes": [1000 * (n % 7) for n in range(len(ends))]},
        "pauses": {
            "time_ps": [US, 3 * US, 4 * US, 6 * US],
            "port": ["host0", "host0", "switch0:1", "host0"],
            "paused_priorities": [8, 0, 8, 8],
        },
        "queue_pairs": {"time_ps": [0, US, 0, US], **pairs, "quantity": ["rate_bps", "rate_bps"] * 2,
                        "value": [10**11, 5 * 10**10, 10**11, 2 * 10**10]},
        "connections": {"time_ps": [0, US, 0, US], **pairs, "quantity": ["rtt_ps", "congestion_window_bytes"] * 2,
                        "value": [4 * US, 14_600, 5 * US, 29_200]},
        "flows": {**_messages(), "ideal_ps": [US // 2] * MESSAGES},
        "accounts": {
            **{column.name: [0] * MESSAGES for column in ACCOUNTS.columns},
            **_messages(),
            **{part: [number * each for number in range(MESSAGES)] for part, each in ACCOUNT_PARTS.items()},
        },
    }  # fmt: skip


def _messages() -> dict[str, list[int]]:
    """Message n takes n times as long as the first."""
    return {
        **{name: [0] * MESSAGES for name in ("source", "chunk", "phase", "row", "start_ps")},
        "destination": [1] * MESSAGES,
        "collective": [number % COLLECTIVES for number in range(MESSAGES)],
        "bytes": [1000 * (1 + number % 4) for number in range(MESSAGES)],
        "end_ps": [number * sum(ACCOUNT_PARTS.values()) for number in range(MESSAGES)],
    }


def recorded_run(folder: Path, latency_ps: int = US, **options: Any) -> astra_ns3.Result:
    """The run, and all of its tables."""
    backend = FakeBackend(NPUS, latency_ps=latency_ps)
    record = ["layers", "timeline"]
    result = astra_ns3.run(**{**small_run(), "backend": backend, "output": folder, "record": record, **options})
    for name, columns in tables(result.finish_ps).items():
        write_table(folder, name, columns)
    write_ports(folder, PORTS)
    return astra_ns3.Result.load(folder)


def write_table(folder: Path, name: str, columns: Columns) -> None:
    """A recorded table of these columns, texts as the program writes them."""
    texts = {key for key, values in columns.items() if values and isinstance(values[0], str)}
    table = pa.table({key: pa.array(values).dictionary_encode() if key in texts else pa.array(values)
                      for key, values in columns.items()})  # fmt: skip
    parquet.write_table(table, folder / f"{name}.parquet")


def write_ports(folder: Path, links: Mapping[str, str]) -> None:
    """Ports to what each leads to, as the rows of switch.csv, with all counters 0."""
    file = folder / "switch.csv"
    head = file.read_text(encoding="utf-8").splitlines()[0]
    rows = [f"{port},{peer}" + ",0" * (head.count(",") - 1) for port, peer in links.items()]
    file.write_text("\n".join([head, *rows, ""]), encoding="utf-8")
