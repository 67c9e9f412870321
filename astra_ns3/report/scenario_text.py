"""A scenario in words: who is where and when what happens, before a run, and a line for each job after it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from astra_ns3.config.core.plain import JsonObject
from astra_ns3.network.run_document import EventDocument, RunDocument, ScenarioDocument, TenantDocument, chosen
from astra_ns3.report.alignment import aligned, clock, counted, table
from astra_ns3.report.floor_text import allowed_rows
from astra_ns3.units import exact_time, format_bytes, format_rate, format_time

_MOST_NPUS = 40
"""Letters of a list of NPUs."""
_MOST_EVENTS = 40
_COPIED = ("run_name", "complete", "stopped", "finish_ps", "floor", "scenario", "tenants", "events", "warnings")
_PERCENTILES = ("p50", "p95", "p99", "p999")
_COUNTS = ("messages", "packets", "events")
_LOSSES = ("dropped_frames", "lost_frames", "retransmissions", "timeouts", "pauses", "full_queues")


def scenario_text(document: ScenarioDocument) -> str:
    """Tables of jobs and of events, for people."""
    rows = [("scenario", document["scenario"] or "(no file)")]
    npus, hosts = counted(document["npus"], "NPU", "NPUs"), counted(document["hosts"], "host", "hosts")
    rows.append(("network", f"{document['network']}  ({npus} on {hosts})"))
    return "\n".join([aligned(rows), *_jobs(document["tenants"]), *_events(document["events"])])


def scenario_validation_text(document: ScenarioDocument, forecast: Mapping[str, int | float]) -> str:
    """The same, and how large the run will be."""
    rows = [
        ("messages", f"{forecast['messages']:,} ({format_bytes(int(forecast['bytes']))})"),
        *([("packets", f"{forecast['packets']:,} with data")] if "packets" in forecast else []),
        ("estimated time", f"{clock(forecast['wall_seconds'])} on one core"),
        ("estimated memory", format_bytes(int(forecast["memory_bytes"]))),
    ]
    return f"{scenario_text(document)}\n{aligned(rows)}"


def numbers_text(numbers: Sequence[int]) -> str:
    """Numbers in their order, runs of them as ``8-15``, the last left out where there are too many."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    words = ["-".join(map(str, part)) for part in parts]
    text = ", ".join(words)
    while len(text) > _MOST_NPUS and len(words) > 1:
        words.pop()
        text = ", ".join([*words, "..."])
    return text


def state_text(event: EventDocument) -> str:
    """Return the new state of a part in words."""
    words: list[str] = []
    if "up" in event:
        words.append("up" if event["up"] else "down")
    if "rate_bps" in event:
        words.append(format_rate(event["rate_bps"]))
    if "delay_ps" in event:
        words.append(f"delay {exact_time(event['delay_ps'])}")
    if "error_rate" in event:
        words.append(f"loses {event['error_rate']:g} of frames")
    return ", ".join(words)


def _jobs(jobs: Iterable[TenantDocument]) -> Iterator[str]:
    rows = [("job", "NPUs", "which", "start", "passes", "workload")]
    rows += [
        (
            job["name"],
            str(len(job["npus"])),
            numbers_text(job["npus"]),
            exact_time(job["start_ps"]) if job["start_ps"] else "0",
            str(job["passes"]),
            job["workload"],
        )
        for job in jobs
    ]
    yield f"jobs\n{table(rows, indent='  ')}"


def _events(events: Sequence[EventDocument]) -> Iterator[str]:
    if not events:
        return
    rows = [("from", "to", "what", "becomes", "again")]
    rows += [(_time(each["start_ps"]), _until(each), each["name"], state_text(each), _again(each)) for each in events]
    left = len(rows) - 1 - _MOST_EVENTS
    more = f"\n  and {left:,} more" if left > 0 else ""
    yield f"events\n{table(rows[: _MOST_EVENTS + 1], indent='  ')}{more}"


def _time(time_ps: int) -> str:
    return exact_time(time_ps) if time_ps else "0"


def _until(event: EventDocument) -> str:
    end_ps = event["end_ps"]
    return "the end" if end_ps is None else exact_time(end_ps)


def _again(event: EventDocument) -> str:
    return f"every {exact_time(event['every_ps'])}, {event['times']} times" if "times" in event else ""


def scenario_summary(metadata: RunDocument, folder: Path | None) -> JsonObject:
    """Return the numbers of a run with several jobs for scripts; times in ps."""
    return {
        **chosen(metadata, _COPIED),
        **metadata["statistics"],
        **{name: metadata["timing"][name] for name in ("wall_seconds", "setup_seconds", "simulation_seconds")},
        "peak_memory_bytes": metadata["memory"]["peak_bytes"],
        "peak_memory_above_idle_bytes": metadata["memory"]["peak_above_idle_bytes"],
        "output": None if folder is None else str(folder),
    }


def scenario_run_text(metadata: RunDocument, folder: Path | None) -> str:
    """The table at the end of a run with several jobs, for people: a line for each."""
    tenants = metadata["tenants"]
    jobs = [job for job in tenants if not job.get("traffic")]
    rows = [("job", "NPUs", "start", "finish", "took", "compute", "exposed"), *map(_line, jobs)]
    flows = [("flows of", "NPUs", "started", "delivered", *(f"slowdown {name}" for name in _PERCENTILES))]
    flows += [_flows_line(job) for job in tenants if "started" in job]
    statistics, memory = metadata["statistics"], metadata["memory"]
    state = "" if metadata["complete"] else "  (incomplete)"
    counts = [(name, f"{statistics[name]:,}") for name in _COUNTS if name in statistics]
    lost = [(name.replace("_", " "), f"{statistics[name]:,}") for name in _LOSSES if statistics.get(name)]
    changes = counted(len(metadata["events"]), "part changes", "parts change")
    timing = metadata["timing"]
    whole = [
        ("run", f"{metadata['run_name']}{state}"),
        ("finish", format_time(metadata["finish_ps"])),
        *allowed_rows(metadata),
        *([("network", changes)] if metadata["events"] else []),
        *counts,
        *lost,
        ("wall time", f"{clock(timing['wall_seconds'])}  ({clock(timing['setup_seconds'])} to set up)"),
        ("peak memory", f"{format_bytes(memory['peak_above_idle_bytes'])} above the idle program's"),
        ("files", str(folder) if folder is not None else "none (name a folder with --output)"),
    ]
    tables = [table(some) for some in (rows, flows) if len(some) > 1]
    return "\n".join([*tables, aligned(whole)])


def _flows_line(job: TenantDocument) -> tuple[str, ...]:
    slowdowns = job["slowdowns"]
    slower = [f"{slowdowns[name]:.4g}" if slowdowns else "-" for name in _PERCENTILES]
    return (job["name"], str(len(job["npus"])), f"{job['started']:,}", f"{job['delivered']:,}", *slower)


def _line(job: TenantDocument) -> tuple[str, str, str, str, str, str, str]:
    return (
        job["name"],
        str(len(job["npus"])),
        format_time(job["start_ps"]) if job["start_ps"] else "0",
        format_time(job["start_ps"] + job["finish_ps"]) if job["complete"] else "incomplete",
        format_time(job["finish_ps"]),
        format_time(job["compute_ps"]),
        format_time(job["exposed_ps"]),
    )
