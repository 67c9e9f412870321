"""Time and memory of `astra-ns3 timeline` for a trace of a million events, made of tables of that size.

Prints a JSON object: seconds and CPU seconds of the writing, events, microseconds of CPU per event, bytes of the trace,
and how far the resident memory rose above what it was before.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from astra_ns3.errors import InputError
from astra_ns3.report.timeline.timeline import write_timeline

NPUS, COLLECTIVES = 64, 20
INTERVAL_PS = 10_000_000
BYTES_PER_KIB = 1024


class MadeRun:
    """A run with tables of the sizes asked for; nothing was simulated."""

    def __init__(self, folder: Path, events: int) -> None:
        self.folder = folder
        self.finish_ps = events * 20_000
        self.metadata: dict[str, Any] = {
            "run_name": "made",
            "npus": NPUS,
            "finish_ps": self.finish_ps,
            "files": [],
            "network": {"observe": {"utilisation_interval": f"{INTERVAL_PS}ps"}},
        }
        self._events = events

    def make(self) -> None:
        """Write the tables."""
        self.folder.mkdir(exist_ok=True)
        random, events = np.random.default_rng(1), self._events
        self._write_messages(random, events // 5)
        self._write_phases(random, events // 5)
        self._write_operations(events // 5)
        self._write_ports(random, events // 5)

    def file(self, name: str) -> Path:
        if not (self.folder / name).is_file():
            raise InputError(f"there is no {name}")
        return self.folder / name

    def rows(self, name: str) -> list[dict[str, str]]:
        if name == "switch.csv":
            return [{"port": f"host{npu}", "link_to": "switch0"} for npu in range(NPUS)]
        return [
            {
                "collective": str(number),
                "layer": f"layer_{number}",
                "part": "weight gradient",
                "kind": "ALLREDUCE",
                "bytes": "1000000",
                "start_us": "0.000000",
                "end_us": f"{self.finish_ps / 10**6:.6f}",
            }
            for number in range(COLLECTIVES)
        ]

    def _write(self, name: str, columns: dict[str, Any]) -> None:
        pq.write_table(pa.table(columns), self.folder / f"{name}.parquet", row_group_size=65_536)

    def _spans(self, random: np.random.Generator, rows: int, longest_ps: int) -> tuple[Any, Any]:
        end = np.sort(random.integers(longest_ps, self.finish_ps, rows))
        return end - random.integers(1, longest_ps, rows), end

    def _write_messages(self, random: np.random.Generator, rows: int) -> None:
        start, end = self._spans(random, rows, 5_000_000)
        source = random.integers(0, NPUS, rows).astype(np.int32)
        columns = {"source": source, "destination": (source + 1) % NPUS, "collective": source % COLLECTIVES}
        columns |= {name: np.zeros(rows, np.int32) for name in ("chunk", "phase", "row")}
        self._write("flows", {**columns, "bytes": np.full(rows, 65_536), "start_ps": start, "end_ps": end})

    def _write_phases(self, random: np.random.Generator, rows: int) -> None:
        start, end = self._spans(random, rows, 50_000_000)
        npu = random.integers(0, NPUS, rows).astype(np.int32)
        columns = {"npu": npu, "collective": random.integers(0, COLLECTIVES, rows).astype(np.int32)}
        columns |= {name: np.zeros(rows, np.int32) for name in ("chunk", "phase", "dimension")}
        self._write("phases", {**columns, "queued_ps": start, "start_ps": start, "end_ps": end})

    def _write_operations(self, rows: int) -> None:
        place = np.arange(rows) // NPUS
        texts = {
            "kind": np.where(place % 2, "wait", "compute"),
            "layer": np.char.add("layer_", (place % COLLECTIVES).astype(str)),
            "part": np.full(rows, "forward"),
        }
        numbers = {"npu": np.arange(rows) % NPUS, "iteration": place // 100, "collective": place % 2 - 1}
        columns: dict[str, Any] = {name: pa.array(text).dictionary_encode() for name, text in texts.items()}
        columns |= {name: number.astype(np.int32) for name, number in numbers.items()}
        self._write("operations", {**columns, "start_ps": place * 1_000_000, "end_ps": (place + 1) * 1_000_000})

    def _write_ports(self, random: np.random.Generator, rows: int) -> None:
        ports = pa.array([f"host{row % NPUS}" for row in range(rows)]).dictionary_encode()
        times = (1 + np.arange(rows) // NPUS) * INTERVAL_PS
        self._write("utilisation", {"time_ps": times, "port": ports, "wire_bytes": random.integers(1, 10_000, rows)})
        self._write("queues", {"time_ps": times, "port": ports, "queue_bytes": random.integers(0, 10_000, rows)})


def made_run(folder: Path, events: int) -> MadeRun:
    """A run whose tables another process has written, so that this one's memory is the trace's alone."""
    run = MadeRun(folder, events)
    maker = multiprocessing.get_context("spawn").Process(target=run.make)
    maker.start()
    maker.join()
    return run


def resident_kib() -> int:
    """Highest resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000, help="about so many; by default a million")
    events = parser.parse_args().events
    with tempfile.TemporaryDirectory() as folder:
        small, run = made_run(Path(folder) / "small", 10_000), made_run(Path(folder) / "large", events)
        write_timeline(small, Path(folder) / "small.pftrace")  # loads what it needs
        before_kib, began, cpu = resident_kib(), time.perf_counter(), time.process_time()
        made = write_timeline(run, Path(folder) / "made.pftrace", events)
        seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu
        found = {
            "events": made.written.events,
            "seconds": seconds,
            "cpu_seconds": cpu_seconds,
            "us_per_event": 1e6 * cpu_seconds / made.written.events,
            "trace_bytes": made.bytes,
            "memory_above_mb": (resident_kib() - before_kib) * BYTES_PER_KIB / 1e6,
        }
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
