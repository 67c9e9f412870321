"""A picture of a scenario: NPUs in rows by servers or racks, coloured by job, and what happens when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle

from astra_ns3.network.run_document import EventDocument, RowDocument, ScenarioDocument, TenantDocument
from astra_ns3.report.figures import style
from astra_ns3.report.figures.figure import Axis, Figure, Panel, Series, Spans
from astra_ns3.report.scenario_text import event_spans, start_text, state_text
from astra_ns3.units import LARGEST_INTEGER, PS_PER_US, counted

MOST_ARRIVALS = 24
"""More jobs that arrive find no room; the first are shown."""
MOST_PARTS = 24
"""More parts that change find no room; the first are shown."""
_SHOWN_BEHIND = 0.15
"""Share of the time up to the last beginning or end that is shown behind it."""
_FREE = "#D9D9D9"
_THIN = 0.2
_STRIPS = 0.3
"""Height of the strips of all traffic together, of a cell's 0.8."""
_DASHES, _PARTS = 3, 80
"""The least dashes of a bar without a known end, and how small a part a dash is of the time that is shown."""
# A label, of a part's name and its new state, is cut after so many letters.
_LETTERS = 40


def scenario_figure(document: ScenarioDocument) -> Figure:
    """Return the panels: who is where, and when what happens, unless all begins at once and lasts."""
    given = document["jobs"]
    arriving = [job["name"] for job in given if "arrival_ps" in job]
    left_out = {*arriving[MOST_ARRIVALS:]}
    jobs = [job for job in given if job["name"] not in left_out]
    colours = [colour for colour, _ in zip(cycle(style.COLOURS), jobs, strict=False)]
    panels = [_where(document["rows"], jobs, colours)]
    begins_ps = _begins_ps(given)
    if _last_ps(jobs, begins_ps, document["events"]) or any(map(_is_open, jobs)):
        panels.append(_when(jobs, begins_ps, document["events"], colours, len(given) - len(jobs)))
    return Figure(panels, legend=(3, 6))


def _where(rows: Sequence[RowDocument], jobs: Sequence[TenantDocument], colours: Sequence[str]) -> Panel:
    owner = {npu: number for number, job in enumerate(jobs) if not job.get("traffic") for npu in job["npus"]}
    places = [(npu, (column, lane)) for lane, row in enumerate(rows) for column, npu in enumerate(row["npus"])]
    series: list[Series] = []
    for number, (job, colour) in enumerate(zip(jobs, colours, strict=True)):
        if job.get("traffic") or not job["npus"]:  # traffic may have the NPUs of jobs; who arrives has none yet
            continue
        series.append(_cells([place for npu, place in places if owner.get(npu) == number], job["name"], colour))
    free = [place for npu, place in places if npu not in owner]
    if free:
        series.append(_cells(free, "free of jobs", _FREE))
    traffic = [(job, colour) for job, colour in zip(jobs, colours, strict=True) if job.get("traffic")]
    for number, (job, colour) in enumerate(traffic):  # strips at the foot of the NPUs' cells
        thick, own = _STRIPS / len(traffic), set(job["npus"])
        foot = 0.4 - (number + 0.5) * thick
        cells = [(column, lane + foot) for npu, (column, lane) in places if npu in own]
        series.append(_cells(cells, f"{job['name']} (traffic)", colour, thick))
    widest = max(len(row["npus"]) for row in rows)
    x = Axis("NPU of the row", low=0, high=widest, whole=True)
    return Panel(x, Axis(names=[row["name"] for row in rows], letters=5), series, height=0.11 * max(len(rows), 4) + 0.2)


def _cells(places: Sequence[tuple[int, float]], name: str, colour: str, thick: float = 0.8) -> Spans:
    starts, lanes = [column + 0.06 for column, _ in places], [lane for _, lane in places]
    return Spans(starts, [0.88] * len(places), lanes, thick, name=name, colour=colour)


def _when(
    jobs: Sequence[TenantDocument],
    begins_ps: Mapping[str, int],
    events: Sequence[EventDocument],
    colours: Sequence[str],
    more_jobs: int,
) -> Panel:
    parts: dict[str, list[EventDocument]] = {}
    for event in events:
        parts.setdefault(f"{event['name']}: {state_text(event)}", []).append(event)
    shown = list(parts)[:MOST_PARTS]
    end_ps = int((_last_ps(jobs, begins_ps, events) or PS_PER_US) * (1 + _SHOWN_BEHIND))
    unit = style.time_unit(end_ps)
    series: list[Series] = []
    for lane, (job, colour) in enumerate(zip(jobs, colours, strict=True)):
        bars = [(begin / unit[0], (end - begin) / unit[0]) for begin, end in _from_to(job, begins_ps, end_ps)]
        starts, lengths = [start for start, _ in bars], [length for _, length in bars]
        # Nobody knows yet when a job starts that waits for another, or for NPUs: some time along a thin bar.
        height = _THIN if _is_open(job) else 0.7
        series.append(Spans(starts, lengths, [lane] * len(bars), height, colour=colour))
        failures = [(begin / unit[0], (end - begin) / unit[0]) for begin, end in _failures(job, begins_ps)]
        starts, lengths = [start for start, _ in failures], [length for _, length in failures]
        series += [Spans(starts, lengths, [lane] * len(failures), height, colour=style.GREY)] if failures else []
    for lane, part in enumerate(shown, len(jobs)):
        spans = [span for event in parts[part] for span in event_spans(event, end_ps)]
        starts, lengths = ([start / unit[0] for start, _ in spans], [(end - start) / unit[0] for start, end in spans])
        series.append(Spans(starts, lengths, [lane] * len(spans), 0.4, colour=style.GREY))
    x = Axis("simulated time", unit[1], 0, end_ps / unit[0], grid=True)
    left = len(parts) - len(shown)
    of_jobs = [f"{job['name']}: {start_text(job)}" if _is_open(job) else job["name"] for job in jobs]
    names = style.cut([*of_jobs, *shown], _LETTERS)
    notes = [counted(more_jobs, "more job arrives", "more jobs arrive")] * (more_jobs > 0)
    notes += [counted(left, "more part of the network changes", "more parts of the network change")] * (left > 0)
    notes += ["grey, of jobs: from a failure until they begin again"] * any(_failures(job, begins_ps) for job in jobs)
    notes += ["thin: some time along the bar"] * any(map(_is_open, jobs))
    notes += ["dashes: no end is known"] * any("end_ps" not in job for job in jobs)
    return Panel(x, Axis(names=names, letters=5), series, note="; ".join(notes), height=0.14 * max(len(names), 4) + 0.2)


def _is_open(job: TenantDocument) -> bool:
    """Whether nobody knows yet when a job starts: it waits for another, or for NPUs."""
    return "after" in job or "arrival_ps" in job


def _last_ps(jobs: Sequence[TenantDocument], begins_ps: Mapping[str, int], events: Sequence[EventDocument]) -> int:
    """Return the last time that the file names, or that is the earliest start of a job."""
    times_ps = [time_ps for job in jobs for time_ps in (begins_ps[job["name"]], job.get("end_ps", 0))]
    times_ps += [end_ps for job in jobs for _, end_ps in _failures(job, begins_ps)]
    return max(times_ps + [end for each in events for span in event_spans(each, None) for end in span], default=0)


def _begins_ps(jobs: Sequence[TenantDocument]) -> dict[str, int]:
    """Return when each job may start at the earliest, by name: not before the job that it waits for."""
    named, found = {job["name"]: job for job in jobs}, dict[str, int]()
    for job in jobs:
        waits = [job]
        while "after" in waits[-1] and waits[-1]["after"] not in found:
            waits.append(named[waits[-1]["after"]])
        for each in reversed(waits):
            found[each["name"]] = (found[each["after"]] if "after" in each else 0) + (each["start_ps"] or 0)
    return found


def _failures(job: TenantDocument, begins_ps: Mapping[str, int]) -> list[tuple[int, int]]:
    """Return when a device fails that ends a try, as the timetable of a run has it, each with when the job goes on.

    A failure hits nobody before the job's start, until a further try has begun, and from the job's end on.
    """
    found: list[tuple[int, int]] = []
    plays_from_ps, end_ps = begins_ps[job["name"]], job.get("end_ps", LARGEST_INTEGER)
    for time_ps in sorted(job.get("fails_ps", [])):
        if plays_from_ps <= time_ps < end_ps and len(found) < job["most_restarts"]:
            again_ps = time_ps + job["restart_after_ps"]
            found.append((time_ps, min(again_ps, end_ps)))
            plays_from_ps = again_ps + 1
    return found


def _from_to(job: TenantDocument, begins_ps: Mapping[str, int], last_ps: int) -> list[tuple[int, int]]:
    """Return from when to when a job may play; where the file says no end, in dashes."""
    begin_ps = begins_ps[job["name"]]
    if "end_ps" in job:
        return [(begin_ps, max(begin_ps, job["end_ps"]))]
    dash_ps = min(last_ps // _PARTS, (last_ps - begin_ps) // (2 * _DASHES)) or 1
    return [(start_ps, min(start_ps + dash_ps, last_ps)) for start_ps in range(begin_ps, last_ps, 2 * dash_ps)]
