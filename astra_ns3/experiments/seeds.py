"""The same run with several seeds, one after the other, each in a child process of its own: what chance makes of it."""

from __future__ import annotations

import json
import logging
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from astra_ns3.errors import AstraNs3Error, InputError, Interrupted, ResultsNotSaved, refuse, whole_number
from astra_ns3.experiments.isolated.interruption import Interruption
from astra_ns3.experiments.metadata import scales_document, stop_document
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.run import Outcome, execute
from astra_ns3.experiments.store import SEEDS_FORMAT, RunFolder
from astra_ns3.frozen import dataclass, replace
from astra_ns3.network.backends import abilities_of
from astra_ns3.network.parquet import reason_of
from astra_ns3.network.run_document import RunDocument, SeedsDocument
from astra_ns3.scenario.tenant import LARGEST_SEED
from astra_ns3.scenario.times import PROGRAMS
from astra_ns3.units import without_numbers
from astra_ns3.whole_file import RUN_FILE

SEEDS_FORMAT_VERSION = 1
_RUN_LOGGER = "astra_ns3.experiments.run"


@dataclass(frozen=True)
class SeedsOutcome:
    """The outcome of all runs, as plain data, and where run.json has it; None: it was not written.

    ``error``: that of Ctrl-C, or of the first run that failed, or None; ``message``: whose it is, and what it says.
    """

    document: SeedsDocument
    folder: Path | None
    error: AstraNs3Error | None
    message: str


def seed_folder(output: Path, seed: int) -> Path:
    """Where the run with ``seed`` lies below the output folder."""
    return output / f"seed-{seed}"


def execute_seeds(request: RunRequest, count: int) -> SeedsOutcome:
    """Play ``request`` with its seed and the next ones, ``count`` in all; one that fails doesn't stop the others.

    Ctrl-C stops the one that runs and leaves out the rest. Raises InputError if nothing can be played: an argument or
    a file is wrong, or a folder holds a run; nothing was written then.
    """
    request = replace(request, isolated=True)
    seeds = _seeds(request, count)
    folder = _folders(request, seeds)
    begun = time.monotonic()
    runs: list[SeedsDocument] = []
    failures: list[tuple[str, AstraNs3Error]] = []
    first: RunDocument = {}
    with Interruption() as interruption, _each_warning_once():
        for seed in seeds:
            outcome, error = _one(request, seed, may_be_wrong=not runs)
            first = first or (outcome.result.metadata if outcome is not None else {})
            runs.append(_run_document(seed, outcome, error))
            if error is not None:
                failures.append((f"seed {seed}: {error}", error))
            asked_to_stop = interruption.noted_at is not None or (outcome is not None and outcome.asked_to_stop)
            if asked_to_stop and not isinstance(error, Interrupted):
                failures.append((f"interrupted after seed {seed}", Interrupted()))
            if asked_to_stop or isinstance(error, Interrupted):
                break
        document = _document(request, seeds, runs, first, time.monotonic() - begun)
        written = folder is not None and bool(first)  # what had not begun writes nothing
        if folder is not None and written and (not_saved := _write(folder, document)) is not None:
            failures.append((str(not_saved), not_saved))
            written = False
    failures.sort(key=lambda failure: not isinstance(failure[1], Interrupted))
    message, stopped = failures[0] if failures else ("", None)
    return SeedsOutcome(document, folder.path if folder is not None and written else None, stopped, message)


def _seeds(request: RunRequest, count: int) -> range:
    whole_number("seeds", count, 1)
    request.check()
    refuse(
        request.seed + count - 1 > LARGEST_SEED,
        f"seeds is {count}, and {request.seed} + {count - 1} is above the largest seed, {LARGEST_SEED}",
    )
    return range(request.seed, request.seed + count)


def _folders(request: RunRequest, seeds: range) -> RunFolder | None:
    """The folder of all, once it is known that each run's own may be written."""
    output = request.output_path
    if output is None:
        return None
    for seed in seeds:
        RunFolder(seed_folder(output, seed), overwrite=request.overwrite)
    return RunFolder(output, overwrite=request.overwrite)


def _one(request: RunRequest, seed: int, *, may_be_wrong: bool) -> tuple[Outcome | None, AstraNs3Error | None]:
    """Play one seed; ``may_be_wrong``: it is the first, which finds out whether the inputs are."""
    output = None if request.output_path is None else seed_folder(request.output_path, seed)
    try:
        outcome = execute(replace(request, seed=seed, output=output), tables_kept=False)
    except AstraNs3Error as error:
        if may_be_wrong and isinstance(error, InputError):
            raise
        return None, error
    return outcome, outcome.error


def _run_document(seed: int, outcome: Outcome | None, error: AstraNs3Error | None) -> SeedsDocument:
    """The numbers of one run; one that had not begun has no times."""
    metadata: RunDocument = {} if outcome is None else outcome.result.metadata
    folder = None if outcome is None else outcome.result.folder
    floor = metadata.get("floor")
    return {
        "seed": seed,
        "complete": bool(metadata.get("complete", False)),
        "finish_ps": metadata.get("finish_ps"),
        "exposed_ps": metadata.get("exposed_ps"),
        "of_floor": None if floor is None else floor["share"],
        "jobs": {
            job["name"]: job["finish_ps"] if job["ended_by"] == PROGRAMS else None
            for job in metadata.get("jobs", ())
            if "traffic" not in job
        },
        "folder": None if folder is None else folder.name,
        "stopped": stop_document(error),
    }


def _document(
    request: RunRequest, seeds: range, runs: Sequence[SeedsDocument], first: RunDocument, wall_seconds: float
) -> SeedsDocument:
    complete = [run for run in runs if run["complete"]]
    workload = first.get("workload", {})
    return {
        "format": SEEDS_FORMAT,
        "format_version": SEEDS_FORMAT_VERSION,
        "run_name": first.get("run_name", request.run_name),
        "complete": len(complete) == len(seeds),
        "seed": seeds.start,
        "seeds": len(seeds),
        "seeds_complete": len(complete),
        "finish": _spread([run["finish_ps"] for run in complete]),
        "exposed": _spread([run["exposed_ps"] for run in complete if run["exposed_ps"] is not None]),
        "jobs": _spreads_of_jobs(complete),
        "runs": list(runs),
        "not_run": list(seeds[len(runs) :]),
        "workload": {"source": workload.get("source"), "loop": workload.get("loop")},
        "npus": first.get("npus"),
        "passes": None if "jobs" in first else request.passes,
        **scales_document(request),
        "held_fixed": _held_fixed(first),
        "warnings": first.get("warnings", []),
        "files": [RUN_FILE],
        "timing": {"wall_seconds": round(wall_seconds, 6)},
    }


def _held_fixed(first: RunDocument) -> list[str]:
    """Things that chance could draw and the files fix, so that all seeds have it in common; ``first``: a run's
    run.json."""
    if not abilities_of(first.get("backend")).drawn_paths:
        return []
    network = first["network"]
    transports = network.get("transports") or [network["transport"]]
    routing = network["topology"]["routing"]
    by_port = any(transport.get("ecmp") == "per-message-port" for transport in transports)
    if by_port and routing["kind"] == "ecmp":
        return ["paths: ecmp per-message-port hashes without a seed"]
    seed = routing["seed"]
    return [] if seed is None else [f"paths: routing.seed is {seed} in the network file"]


def _spreads_of_jobs(runs: Sequence[SeedsDocument]) -> dict[str, Mapping[str, int | None] | None]:
    """Return the spread of how long each job took in the runs in which it ended by itself, and their number."""
    names = dict.fromkeys(name for run in runs for name in run["jobs"])
    times_ps = {name: [ps for run in runs if (ps := run["jobs"].get(name)) is not None] for name in names}
    return {name: (spread := _spread(each)) and {**spread, "runs": len(each)} for name, each in times_ps.items()}


def _spread(times_ps: Sequence[int]) -> Mapping[str, int | None] | None:
    """Mean, sample standard deviation (None of a single time), least and most; rounded to the picosecond."""
    if not times_ps:
        return None
    deviation_ps = round(statistics.stdev(times_ps)) if len(times_ps) > 1 else None
    return {
        "mean_ps": round(statistics.mean(times_ps)),
        "standard_deviation_ps": deviation_ps,
        "minimum_ps": min(times_ps),
        "maximum_ps": max(times_ps),
    }


def _write(folder: RunFolder, document: SeedsDocument) -> ResultsNotSaved | None:
    """Write run.json of all beside the folders of the runs; why it could not be written, if so."""
    try:
        (folder.open() / RUN_FILE).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
        folder.commit()
    except InputError as error:
        return ResultsNotSaved(str(error))
    except OSError as error:
        return ResultsNotSaved(f"not saved: {folder.path / RUN_FILE}: {reason_of(error)}")
    finally:
        folder.discard()
    return None


class _Once(logging.Filter):
    """Lets each message through once, whatever its numbers."""

    def __init__(self) -> None:
        super().__init__()
        self._said: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the message is new."""
        message = without_numbers(record.getMessage())
        new = message not in self._said
        self._said.add(message)
        return new


@contextmanager
def _each_warning_once() -> Iterator[None]:
    """The first run says what every run warns of."""
    logger, once = logging.getLogger(_RUN_LOGGER), _Once()
    logger.addFilter(once)
    try:
        yield
    finally:
        logger.removeFilter(once)
