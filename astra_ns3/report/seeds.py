"""The table at the end of a run with several seeds. Reads the run.json of all only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from astra_ns3.network.floor.floor import is_below
from astra_ns3.network.run_document import SeedsDocument
from astra_ns3.report.alignment import aligned, clock
from astra_ns3.report.exposed_text import scale_rows
from astra_ns3.units import format_time

_MOST_JOBS = 12


def seeds_text(document: SeedsDocument, folder: Path | None) -> str:
    """The table, for people."""
    first, last, exposed = document["seed"], document["seed"] + document["seeds"] - 1, document["exposed"]
    rows = [("run", str(document["run_name"]))]
    if document["npus"] is not None:  # else none had begun
        rows += [
            ("workload", f"{document['workload']['source']}  ({document['workload']['loop']})"),
            ("NPUs", str(document["npus"])),
        ]
    rows += [
        *([] if document["passes"] is None else [("passes", str(document["passes"]))]),
        *scale_rows({**document, "jobs": [run for run in document["runs"] if run["finish_ps"] is not None]}),
        ("seeds", f"{first} to {last}  ({document['seeds_complete']} of {document['seeds']} complete)"),
        *(("held fixed", what) for what in document["held_fixed"]),
        ("finish", _spread_text(document["finish"])),
        *_jobs(document),
        *_below_floor(document),
        *([("exposed communication", _spread_text(exposed))] if exposed or not document["seeds_complete"] else []),
        *([("held fixed", "nothing is drawn: all seeds gave the same")] if _all_alike(document) else []),
        ("wall time", clock(document["timing"]["wall_seconds"])),
    ]
    parts = [aligned(rows)]
    failed = [run for run in document["runs"] if run["stopped"] is not None]
    if failed:
        why = [(f"seed {run['seed']}", f"{run['stopped']['kind']}: {run['stopped']['message']}") for run in failed]
        parts.append("failed\n" + aligned(why, indent="  "))
    if document["not_run"]:
        parts.append(aligned([("not run", f"seeds {document['not_run'][0]} to {document['not_run'][-1]}")]))
    parts.append(aligned([("files", "none (name a folder with --output)" if folder is None else str(folder))]))
    return "\n".join(parts)


def _jobs(document: SeedsDocument) -> Iterator[tuple[str, str]]:
    """Yield how long the first jobs took, with the number of runs where a job didn't end by itself in all."""
    jobs, complete = [*document["jobs"].items()], document["seeds_complete"]
    for name, spread in jobs[:_MOST_JOBS]:
        if spread is None:
            yield f"job {name}", "it never ended by itself"
        else:
            of_runs = "" if spread["runs"] == complete else f"  in {spread['runs']} of {complete} runs"
            yield f"job {name} took", f"{_spread_text(spread)}{of_runs}"
    if len(jobs) > _MOST_JOBS:
        yield "further jobs", f"{len(jobs) - _MOST_JOBS}, in run.json"


def _below_floor(document: SeedsDocument) -> list[tuple[str, str]]:
    """Return a row that says how many complete runs are faster than their lines allow; none where no run is."""
    shares = [run["of_floor"] for run in document["runs"] if run["complete"]]
    below = [share for share in shares if is_below(share)]
    words = f"{len(below)} of {len(shares)} runs; the fastest takes {min(below, default=1):.2g} of what its lines need"
    return [("below the floor", words)] if below else []


def _all_alike(document: SeedsDocument) -> bool:
    """Return whether several seeds came to their end, all of them at the same times to the picosecond."""
    complete = document["seeds_complete"]
    jobs = [each for each in document["jobs"].values() if each is not None]
    spreads = [*(document[name] for name in ("finish", "exposed") if document[name] is not None), *jobs]
    in_all = all(each["runs"] == complete for each in jobs)
    return complete > 1 and in_all and all(each["minimum_ps"] == each["maximum_ps"] for each in spreads)


def _spread_text(spread: Mapping[str, int | None] | None) -> str:
    if spread is None:
        return "no run came to its end"
    mean, deviation, least, most = (
        None if spread[name] is None else format_time(spread[name] or 0)
        for name in ("mean_ps", "standard_deviation_ps", "minimum_ps", "maximum_ps")
    )
    if deviation is None:
        return f"{mean}  (one run)"
    return f"{mean} +- {deviation}  (from {least} to {most})"
