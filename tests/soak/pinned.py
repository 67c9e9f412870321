"""What random runs and scenarios gave when someone last looked: a change that no one meant is seen here.

A pin is a digest of each file that a run writes, and of what the program says of the run. Pins don't say what is right,
which other tests do; they say that something is other than it was. After a change that is meant, ``make pins`` writes
them anew. Then look in the difference of ``tests/regression/pinned.json`` for runs that the change shouldn't reach.
``python -m soak.against TREE`` shows which values differ.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import Any

import click
from plotly.offline import get_plotlyjs
from pyarrow import parquet

from astra_ns3.errors import AstraNs3Error, InputError
from astra_ns3.experiments.metadata import VARYING_KEYS, usual_options
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.result import Result
from astra_ns3.experiments.run import execute
from astra_ns3.experiments.scenario_request import ScenarioRequest
from astra_ns3.experiments.scenario_view import view_scenario
from astra_ns3.experiments.validate import validate
from astra_ns3.report.explanation.explain import explain
from astra_ns3.report.page.page import report_page
from astra_ns3.report.scenario_text import scenario_run_text, scenario_validation_text
from astra_ns3.report.summary import run_text
from astra_ns3.report.validation import validation_text
from soak.case import REPOSITORY, Case, write_files
from soak.cases import random_case
from soak.explained import run_to_explain
from soak.requests import request_of
from soak.scenarios import KIND as SCENARIO
from soak.scenarios import scenario_of

PINNED = REPOSITORY / "tests" / "regression" / "pinned.json"
SCENARIOS = 0.3
"""The share of scenarios."""
SHARE = 0.03
"""Of the soak's bytes."""
RUNS = 100
DIGITS = 9
"""Of numbers with a fraction: the last ones may differ between processors."""
DIGEST_DIGITS = 10
Made = Callable[[Path], RunRequest]


def pinned_runs() -> Iterator[tuple[str, Made]]:
    """Yield runs without end, and their names: loops, models, graphs, lists of flows and scenarios."""
    for seed in count(1):
        case = replace(random_case(seed, SCENARIOS), cores=1)
        kind = case.job["kind"]
        if kind != "collective" and ".hpp" not in case.document():
            yield f"{kind} {seed}", partial(_request, seed, case)


def _request(seed: int, case: Case, folder: Path) -> RunRequest:
    write_files(case, folder)
    if case.job["kind"] == SCENARIO:
        return scenario_of(case, folder)
    return run_to_explain(seed, folder, share=SHARE) or request_of(case, folder, share=SHARE)


def pins_of(make: Made) -> dict[str, str]:
    """Play a run; return a digest of each file and text by its name, or of the one line that refuses the run.

    The run is played in a folder of its own, so that paths are short and the same everywhere.
    """
    here = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="astra-ns3-pinned-") as name:
        os.chdir(name)
        try:
            return _digests(make)
        finally:
            os.chdir(here)


def _digests(make: Made) -> dict[str, str]:
    found: dict[str, str] = {}
    try:
        for name, value in _told_by(make):
            found[name] = _digest(value)
    except AstraNs3Error as error:
        found["error"] = _digest(str(error))
    return found


def _told_by(make: Made) -> Iterator[tuple[str, Any]]:
    """Yield a run's forecast, files, summary, explanation and report."""
    results = Path("results")
    request = replace(make(Path()), output=results, record=("all",), isolated=False)
    try:
        yield "validate", _validated(request)
    except InputError:  # of a network that has no analytical counterpart
        request = replace(request, backend="ns3")
        yield "validate", _validated(request)
    outcome = execute(request)
    yield from _files(results)
    for job in _jobs(results):
        yield job.name, list(_files(job))
    if outcome.error is not None:
        raise outcome.error
    for file in results.rglob("run.json"):
        _settle(file)
    metadata = json.loads((results / "run.json").read_text(encoding="utf-8"))
    yield "summary", scenario_run_text(metadata, None) if "jobs" in metadata else run_text(metadata, None)
    for place in _jobs(results) or [results]:
        run = Result.load(place)
        found = explain(run)
        yield f"{place.name}: explain", [found.document(), found.text()]
    yield "report", report_page([run], usual_options()).replace(get_plotlyjs(), "")


def _settle(file: Path) -> None:
    """Put numbers and words that are the same in each repeat in the place of wall times, memory and versions."""
    document = json.loads(file.read_text(encoding="utf-8"))
    document |= {key: _constant(document[key]) for key in VARYING_KEYS if key in document}
    document["started"] = "2026-01-01T00:00:00+00:00"
    file.write_text(json.dumps(document), encoding="utf-8")


def _constant(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _constant(each) for key, each in value.items()}
    return "" if isinstance(value, str) else 1


def _validated(request: RunRequest) -> Any:
    if isinstance(request, ScenarioRequest):
        view = view_scenario(request)
        return [view.document(), scenario_validation_text(view.scenario, view.forecast.document())]
    document = validate(request.workload, request.system, request.network, request).document()
    return [document, validation_text(document)]


def _jobs(folder: Path) -> list[Path]:
    return sorted(each for each in folder.iterdir() if each.is_dir())


def _files(folder: Path) -> Iterator[tuple[str, Any]]:
    for file in sorted(each for each in folder.iterdir() if each.is_file()):
        name = file.name
        if name == "run.json":
            document = json.loads(file.read_text(encoding="utf-8"))
            yield name, {key: each for key, each in document.items() if key not in (*VARYING_KEYS, "digests")}
        elif file.suffix == ".parquet":
            table = parquet.read_table(file)
            yield name, {column: table[column].to_pylist() for column in table.column_names}
        else:
            yield name, file.read_bytes().hex()


def _digest(value: Any) -> str:
    told = json.dumps(_rounded(value)).replace(str(REPOSITORY), "REPOSITORY")
    return hashlib.sha256(told.encode()).hexdigest()[:DIGEST_DIGITS]


def _rounded(value: Any) -> Any:
    """Plain data whose numbers with a fraction have few enough digits to be the same everywhere."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, Mapping):
        return {str(key): _rounded(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(each) for each in value]
    return value if value is None or isinstance(value, (str, int, bool)) else str(value)


def pins(first: int, runs: int) -> dict[str, dict[str, str]]:
    """Return the digests of so many runs by their names."""
    found = {}
    for name, make in islice(pinned_runs(), first, first + runs):
        found[name] = pins_of(make)
    return found


@click.command()
@click.option("--runs", default=RUNS, help="How many runs.")
@click.option("-o", "--output", default=PINNED, type=click.Path(path_type=Path), help="Where to write the pins.")
def main(runs: int, output: Path) -> None:
    """Write the pins anew."""
    logging.disable(logging.WARNING)
    lines = [f"{json.dumps(name)}: {json.dumps(each)}" for name, each in pins(0, runs).items()]
    output.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
