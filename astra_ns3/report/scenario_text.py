"""A scenario in words: who is where and when what happens, before a run, and a line for each job after it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from astra_ns3.config.core.plain import JsonObject
from astra_ns3.network.run_document import (
    EventDocument,
    FileDocument,
    ForecastDocument,
    RunDocument,
    ScenarioDocument,
    TenantDocument,
    chosen,
    npus_of,
)
from astra_ns3.report.alignment import aligned, clock, given_text, ranges, table
from astra_ns3.report.exposed_text import scale_rows
from astra_ns3.report.floor_text import allowed_rows
from astra_ns3.report.records import ENDED_BY
from astra_ns3.report.validation import bound_word, estimate_rows
from astra_ns3.units import counted, exact_time, format_bytes, format_rate, format_time

_MOST_NPUS = 40
"""Letters of a list of NPUs."""
_MOST_JOBS = 100
MOST_TIMES = 200
"""So often an event is drawn."""
_MOST_EVENTS = 40
EVENT_HEAD = ("from", "to", "what", "becomes", "again")
_AT_ONCE = "detection loss-of-signal; routes at-once"
"""How a network recovers unless its scenario says otherwise."""
_COPIED = (
    "run_name",
    "complete",
    "stopped",
    "finish_ps",
    "floor",
    "scenario",
    "jobs",
    "waits",
    "npu_time_used",
    "events",
    "warnings",
)
_PERCENTILES = ("p50", "p95", "p99", "p999")
_COUNTS = ("messages", "packets", "events")
_LOSSES = (
    *("dropped_frames", "lost_frames", "retransmissions", "timeouts", "pauses"),
    *("full_queues", "full_ingress_queues"),
)


def scenario_text(document: ScenarioDocument) -> str:
    """Tables of jobs and of events, for people."""
    rows = [("scenario", document["scenario"] or "(no file)")]
    npus, hosts = counted(document["npus"], "NPU", "NPUs"), counted(document["hosts"], "host", "hosts")
    rows.append(("network", f"{document['network']}  ({npus} on {hosts})"))
    recovery = recovery_text(document["recovery"])
    if recovery != _AT_ONCE:
        rows.append(("recovery", recovery))
    return "\n".join([aligned(rows), *_jobs(document["jobs"]), *_events(document["events"])])


def recovery_text(recovery: FileDocument) -> str:
    """Return in words how a network comes to know of its failures: each policy with its keys."""
    words = []
    for part, policy in recovery.items():
        given = {key: value for key, value in policy.items() if key != "kind" and value not in (None, {})}
        keys = ", ".join(f"{key}: {given_text(value)}" for key, value in given.items())
        words.append(f"{part} {policy['kind']}" + (f" ({keys})" if keys else ""))
    return "; ".join(words)


def scenario_validation_text(document: ScenarioDocument, forecast: ForecastDocument) -> str:
    """The same, and how large the run will be."""
    bound = bound_word("not_counted" in forecast, "may_not_come" in forecast)
    rows = [
        ("messages", f"{bound}{forecast['messages']:,} ({format_bytes(forecast['bytes'])})"),
        *([("packets", f"{bound}{forecast['packets']:,} with data")] if "packets" in forecast else []),
        *estimate_rows(forecast),
    ]
    return f"{scenario_text(document)}\n{aligned(rows)}"


def numbers_text(numbers: Sequence[int]) -> str:
    """Numbers in their order, runs of them as ``8-15``, the last left out where there are too many."""
    words = ranges(numbers)
    text = ", ".join(words)
    while len(text) > _MOST_NPUS and len(words) > 1:
        words.pop()
        text = ", ".join([*words, "..."])
    return text


def start_text(job: TenantDocument) -> str:
    """Return when a job starts, in words: a time, what it waits for, or when it arrives."""
    start_ps = job["start_ps"]
    if "arrival_ps" in job:
        return f"arrives at {exact_time(start_ps) if start_ps else '0'}"
    if "after" not in job:
        return exact_time(start_ps) if start_ps else "0"
    passes = job.get("after_passes")
    waits = f"after {job['after']}"
    if passes is not None:
        waits = f"after {counted(passes, 'pass', 'passes')} of {job['after']}"
    return f"{exact_time(start_ps)} {waits}" if start_ps else waits


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
    if "storm" in event:
        words.append("storm of pauses" if event["storm"] else "no storm of pauses")
    if "ecn" in event:
        ecn = event["ecn"]
        limits = f"{format_bytes(int(ecn['kmin_bytes']))} to {format_bytes(int(ecn['kmax_bytes']))}"
        words.append(f"marks from {limits}, up to {ecn['pmax']:g}")
    if "buffer_bytes" in event:
        words.append(f"buffer {format_bytes(event['buffer_bytes'])}")
    words += [f"pfc {_threshold_text(name, value)}" for name, value in event.get("pfc", {}).items()]
    words += [f"control {name} {given_text(value)}" for name, value in event.get("control", {}).items()]
    if "still" in event:
        words.append("stands still")
    if "slower" in event:
        words.append(f"computes {event['slower']:g} times as long")
    return ", ".join(words)


def _threshold_text(name: str, value: float) -> str:
    """Return a threshold of PFC in words."""
    in_bytes = name.endswith("_bytes")
    return f"{name.removesuffix('_bytes')} {format_bytes(int(value)) if in_bytes else f'{value:g}'}"


def _jobs(jobs: Iterable[TenantDocument]) -> Iterator[str]:
    jobs = list(jobs)
    named = any("priority" in job for job in jobs)
    rows = [("job", "NPUs", "which", "start", "passes", *(["priority"] if named else []), "workload")]
    rows += [
        (
            job["name"],
            str(npus_of(job)),
            numbers_text(job["npus"]) or "decided when it starts",
            start_text(job),
            _passes(job),
            *([str(job.get("priority", "-"))] if named else []),
            job["workload"],
        )
        for job in jobs
    ]
    left = len(rows) - 1 - _MOST_JOBS
    more = f"\n  and {left:,} more" if left > 0 else ""
    yield f"jobs\n{table(rows[: _MOST_JOBS + 1], indent='  ')}{more}"


def _passes(job: TenantDocument) -> str:
    """Return how many passes a job is to play, and when it is stopped; other traffic has none."""
    if job.get("traffic"):
        return "-"
    words = "for ever" if job["passes"] is None else str(job["passes"])
    if "end_ps" in job:
        words = f"{words}, to {exact_time(job['end_ps'])}"
    if "most_restarts" not in job:
        return words
    times = counted(job["most_restarts"], "time", "times")
    dies = ", ".join(map(exact_time, job.get("fails_ps", [])))
    fails = f"; a device dies at {dies}" if dies else ""
    return f"{words}; again {exact_time(job['restart_after_ps'])} after a failure, {times} at most{fails}"


def _events(events: Sequence[EventDocument]) -> Iterator[str]:
    if not events:
        return
    rows, left = event_rows(events)
    more = f"\n  and {left:,} more" if left else ""
    yield f"events\n{table([EVENT_HEAD, *rows], indent='  ')}{more}"


def event_rows(events: Sequence[EventDocument]) -> tuple[list[tuple[str, ...]], int]:
    """Return a row of words for each of the first events, and how many more events there are."""
    rows: list[tuple[str, ...]] = [
        (_time(each, each["start_ps"]), _until(each), each["name"], state_text(each), _again(each))
        for each in events[:_MOST_EVENTS]
    ]
    return rows, len(events) - len(rows)


def _time(event: EventDocument, time_ps: int) -> str:
    """Return a time of an event: exactly as the file has it, or rounded if chance drew it."""
    if not time_ps:
        return "0"
    return format_time(time_ps) if event.get("drawn") else exact_time(time_ps)


def _until(event: EventDocument) -> str:
    end_ps = event["end_ps"]
    return "the end" if end_ps is None else _time(event, end_ps)


def _again(event: EventDocument) -> str:
    return f"every {exact_time(event['every_ps'])}, {event['times']} times" if "times" in event else ""


def event_spans(event: EventDocument, forever_ps: int | None, most: int = MOST_TIMES) -> Iterator[tuple[int, int]]:
    """Yield from when to when a part is otherwise; what has no end lasts to ``forever_ps``, or no time at all."""
    start_ps, end_ps = event["start_ps"], event["end_ps"]
    lasts_ps = (forever_ps or start_ps) - start_ps if end_ps is None else end_ps - start_ps
    every_ps = event.get("every_ps", 0)
    for number in range(min(event.get("times", 1), most)):
        yield start_ps + number * every_ps, start_ps + number * every_ps + lasts_ps


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
    tenants = metadata["jobs"]
    lines = [_line(job) for job in tenants if not job.get("traffic")]
    rows: list[tuple[str, ...]] = [("job", "NPUs", "start", "finish", "took", "compute", "exposed")]
    stopped = any(line[-1] for line in lines)
    rows = [(*rows[0], ""), *lines] if stopped else [*rows, *(line[:-1] for line in lines)]
    flows = [("flows of", "NPUs", "started", "delivered", *(f"slowdown {name}" for name in _PERCENTILES))]
    flows += [_flows_line(job) for job in tenants if "started" in job]
    statistics, memory = metadata["statistics"], metadata["memory"]
    state = "" if metadata["complete"] else "  (incomplete)"
    counts = [(name, f"{statistics[name]:,}") for name in _COUNTS if name in statistics]
    lost = [(name.replace("_", " "), f"{statistics[name]:,}") for name in _LOSSES if statistics.get(name)]
    events = {each["event"]: event_spans(each, None, each.get("times", 1)) for each in metadata["events"]}
    begins_ps = [start_ps for spans in events.values() for start_ps, _ in spans]
    begun = sum(time_ps <= metadata["finish_ps"] for time_ps in begins_ps)
    all_events = counted(len(begins_ps), "event")
    changes = all_events if begun == len(begins_ps) else f"{begun:,} of {all_events} before the end"
    timing = metadata["timing"]
    whole = [
        ("run", f"{metadata['run_name']}{state}"),
        *scale_rows(metadata),
        ("finish", format_time(metadata["finish_ps"])),
        *allowed_rows(metadata),
        *_waits(metadata),
        *([("changes", changes)] if metadata["events"] else []),
        *counts,
        *lost,
        ("wall time", f"{clock(timing['wall_seconds'])}  ({clock(timing['setup_seconds'])} to set up)"),
        ("peak memory", f"{format_bytes(memory['peak_above_idle_bytes'])} above the idle program's"),
        ("files", str(folder) if folder is not None else "none (name a folder with --output)"),
    ]
    tables = [table(some) for some in (rows, flows) if len(some) > 1]
    return "\n".join([*tables, aligned(whole)])


def _waits(metadata: RunDocument) -> Iterator[tuple[str, str]]:
    """Yield a row about jobs that arrived; none in runs without them."""
    waits, used = metadata.get("waits"), metadata.get("npu_time_used")
    if waits is None:
        return
    mean, longest = format_time(waits["mean_ps"]), format_time(waits["longest_ps"])
    left = waits["arrived"] - waits["started"]
    never = f", {left:,} never started" if left else ""
    share = "" if used is None else f"; jobs had {100 * used:.1f}% of all NPUs' time"
    arrived = counted(waits["arrived"], "job", "jobs")
    yield "waits", f"{mean} on average, {longest} at most, of {arrived} that arrived{never}{share}"


def _flows_line(job: TenantDocument) -> tuple[str, ...]:
    slowdowns = job["slowdowns"]
    slower = [f"{slowdowns[name]:.4g}" if slowdowns else "-" for name in _PERCENTILES]
    return (job["name"], str(len(job["npus"])), f"{job['started']:,}", f"{job['delivered']:,}", *slower)


def _line(job: TenantDocument) -> tuple[str, ...]:
    start_ps = job["start_ps"]
    if start_ps is None:
        return job["name"], str(npus_of(job)), "never", "never", "-", "-", "-", ""
    npu = (job.get("compute_ps"), job.get("exposed_ps"))
    took = [format_time(job["finish_ps"]), *("-" if time_ps is None else format_time(time_ps) for time_ps in npu)]
    finish = format_time(start_ps + job["finish_ps"]) if job["complete"] else "incomplete"
    started = format_time(start_ps) if start_ps else "0"
    return job["name"], str(len(job["npus"])), started, finish, *took, _ended(job)


def _ended(job: TenantDocument) -> str:
    """Return which try a job's last one was, how many passes a job has done that was stopped, and by what."""
    by = ENDED_BY.get(job["ended_by"] or "")
    done = "" if job["passes_done"] is None else f" after {counted(job['passes_done'], 'pass', 'passes')}"
    words = [] if by is None else [f"ended {by}{done}"]
    if job.get("restarts"):
        again = format_time((job["start_ps"] or 0) + job["last_try_ps"])
        kept = counted(job["resumed_passes"], "pass", "passes")
        resumed = f", {kept} from a checkpoint" if job["resumed_passes"] else ""
        words.insert(0, f"compute and exposed of try {job['restarts'] + 1}, from {again} on{resumed}")
    return "; ".join(words)
