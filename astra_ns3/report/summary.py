"""The short table at the end of a run, and the same for scripts. Reads run.json only."""

from __future__ import annotations

from pathlib import Path

from astra_ns3.config.core.plain import JsonObject
from astra_ns3.network.backends import abilities_of
from astra_ns3.network.run_document import FileDocument, RunDocument, chosen
from astra_ns3.report.alignment import aligned, clock
from astra_ns3.report.exposed_text import exposed_rows, npu_computing, npu_time, scale_rows
from astra_ns3.report.floor_text import allowed_rows
from astra_ns3.report.flow_text import completion_text, flow_rows
from astra_ns3.report.foreseen_text import foreseen_rows, throughput_rows
from astra_ns3.units import counted, format_bytes, format_time

_COPIED = (
    "run_name",
    "complete",
    "stopped",
    "npus",
    "passes",
    "finish_ps",
    "compute_ps",
    "exposed_ps",
    "collectives",
    "collectives_ended",
    "chunks",
    "warnings",
)
_IF_THERE = ("floor", "exposed_by_group", "flows", "memory_by_stage", "experts", "device_losses", "throughput")
_GATHER_AFTER_UPDATE = (1, 2)  # stages of ZeRO; the next pass needs the weights
_UPDATED_WEIGHTS = "weights"
_WORTH_TELLING = 100
"""Waits of less than this part of the run aren't told."""
_COUNTS = ("messages", "packets", "events")
_LOSSES = (
    *("dropped_frames", "lost_frames", "retransmissions", "timeouts", "pauses"),
    *("full_queues", "full_ingress_queues"),
)


def summary(metadata: RunDocument, folder: Path | None) -> JsonObject:
    """Return a run's numbers for scripts, flat; times in ps, of the reported NPU, but for the last one's finish."""
    return {
        **chosen(metadata, (*_COPIED, *_IF_THERE)),
        **metadata["statistics"],
        **{name: metadata["timing"][name] for name in ("wall_seconds", "setup_seconds", "simulation_seconds")},
        "peak_memory_bytes": metadata["memory"]["peak_bytes"],
        "peak_memory_above_idle_bytes": metadata["memory"]["peak_above_idle_bytes"],
        "output": None if folder is None else str(folder),
    }


def run_text(metadata: RunDocument, folder: Path | None) -> str:
    """The table, for people."""
    parts = [aligned(_rows(metadata))]
    groups = exposed_rows(metadata, "group")
    if groups:
        parts.append(f"exposed communication by group\n{aligned(groups, indent='  ')}")
    layers = exposed_rows(metadata, "layer")
    if layers:
        parts.append(f"largest exposed communication, by layer first waited for\n{aligned(layers, indent='  ')}")
    completion = completion_text(metadata["flows"]) if "flows" in metadata else ""
    if completion:
        parts.append(f"time from start to delivery, and over the time alone on an idle network\n{completion}")
    parts.append(aligned([("files", str(folder) if folder is not None else "none (name a folder with --output)")]))
    return "\n".join(parts)


def _rows(metadata: RunDocument) -> list[tuple[str, str]]:
    finish_ps, timing, memory = metadata["finish_ps"], metadata["timing"], metadata["memory"]
    state = "" if metadata["complete"] else "  (incomplete)"
    rows = [
        ("run", f"{metadata['run_name']}{state}"),
        ("workload", f"{metadata['workload']['source']}  ({metadata['workload']['loop']})"),
        *pipeline_rows(metadata["workload"]),
        ("NPUs", f"{metadata['npus']}"),
        ("passes", f"{metadata['passes']}"),
        *scale_rows(metadata),
        ("finish", f"{format_time(finish_ps)}"),
        *allowed_rows(metadata),
    ]
    if "flows" in metadata:
        rows += flow_rows(metadata["flows"])
    else:
        npu, npu_ps = metadata["report_npu"], metadata["compute_ps"] + metadata["exposed_ps"]
        rows += [
            ("compute", npu_computing(metadata["compute_ps"], npu_ps, npu)),
            ("exposed communication", npu_time(metadata["exposed_ps"], npu_ps, npu)),
            *hidden_rows(metadata),
            (
                "collectives",
                f"{metadata['collectives']:,} in {counted(metadata['chunks'], 'chunk', 'chunks')}{_left(metadata)}",
            ),
            *foreseen_rows(metadata),
            *throughput_rows(metadata),
        ]
    statistics, no_packets = metadata["statistics"], not abilities_of(metadata["backend"]).packets
    counts = [name for name in _COUNTS if name in statistics and not (name == "packets" and no_packets)]
    rows += [(name, f"{statistics[name]:,}") for name in counts]
    lost = [(name, statistics.get(name, 0)) for name in _LOSSES]
    rows += [(name.replace("_", " "), f"{count:,}") for name, count in lost if count]
    above, idle = format_bytes(memory["peak_above_idle_bytes"]), format_bytes(memory["idle_bytes"])
    return [
        *rows,
        ("wall time", f"{clock(timing['wall_seconds'])}  ({clock(timing['setup_seconds'])} to set up)"),
        ("peak memory", f"{above} above the {idle} of the idle program"),
    ]


def hidden_by_the_next_ps(metadata: RunDocument) -> int:
    """Return how long a single pass with ZeRO 1 or 2 waits for updated weights, which a next pass may hide; else 0."""
    if metadata["passes"] != 1 or _zero(metadata) not in _GATHER_AFTER_UPDATE:
        return 0
    groups = metadata.get("exposed_by_group", ())
    return sum(each["exposed_ps"] for each in groups if each["group"].endswith(_UPDATED_WEIGHTS))


def _zero(metadata: RunDocument) -> int | None:
    return (metadata["workload"].get("parallel") or {}).get("zero")


def hidden_rows(metadata: RunDocument) -> list[tuple[str, str]]:
    """Return a row for what a single pass waits for at its end and another would hide: weights that others updated."""
    zero, waited_ps = _zero(metadata), hidden_by_the_next_ps(metadata)
    if not waited_ps or waited_ps * _WORTH_TELLING < metadata["finish_ps"]:
        return []
    waits = f"waits {format_time(waited_ps)} for updated weights (zero {zero})"
    return [("at the end", f"{waits}, which a next pass may hide: try --passes 2")]


def _left(metadata: RunDocument) -> str:
    """Collectives that the programs of a finished run did not wait for."""
    left = metadata["collectives"] - metadata["collectives_ended"]
    return f"; {left:,} had not ended when the loop did" if metadata["complete"] and left else ""


def pipeline_rows(workload: FileDocument) -> list[tuple[str, str]]:
    """Rows of the summary's table, from what run.json says of a workload; none for what has no such pipeline."""
    rows = workload.get("micro_batch_rows")
    if rows is None:
        return []
    count, first, each = rows["micro_batches"], rows["first"], rows["each"]
    chunks = len(rows["chunks"])
    order = "1F1B" if chunks == 1 else f"interleaved 1F1B, {chunks} chunks a stage (vpp)"
    words = [
        f"{counted(count, 'micro-batch', 'micro-batches')} of {counted(each, 'row')}, "
        f"{counted(workload['pipeline_stages'], 'stage')}",
        order,
        f"they begin at row {first} (from 0), '{workload['layers'][first]['name']}'",
    ]
    if rows["with_the_last"]:
        words.append(f"with the last {counted(rows['with_the_last'], 'row')} more")
    if first or rows["behind"]:
        words.append(f"played once: {counted(first, 'row')} before, {rows['behind']} behind")
    return [("pipeline", "; ".join(words))]
