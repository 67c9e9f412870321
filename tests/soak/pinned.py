"""What random runs and scenarios gave when someone last looked: a change that no one meant is seen here.

A pin is a digest of each file that a run writes, and of what the program says of the run. Pins don't say what is right,
which other tests do; they say that something is other than it was. After a change that is meant, ``make pins`` writes
them anew. Then look in the difference of ``tests/regression/pinned.json`` for runs that the change shouldn't reach.
``python -m soak.against TREE`` shows which values differ. :mod:`soak.pairs` chooses the runs.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
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
from astra_ns3.report.scenario_text import scenario_run_text, scenario_summary, scenario_validation_text
from astra_ns3.report.summary import run_text, summary
from astra_ns3.report.timeline.timeline import write_timeline
from astra_ns3.report.validation import validation_text
from soak.case import REPOSITORY, Case, write_files
from soak.requests import request_of
from soak.scenarios import KIND as SCENARIO
from soak.scenarios import scenario_of
from soak.varied import SHARE, varied_case

PINNED = REPOSITORY / "tests" / "regression" / "pinned.json"
DIGITS = 9
"""Of numbers with a fraction: the last ones may differ between processors."""
DIGEST_DIGITS = 10
_SMALL_BATCH = 16
_BATCH = re.compile(r"_?(GROUP_ROWS|BATCH_ROWS|ROWS_IN_A_BATCH|(ROWS|PAIRS)_AT_ONCE)")
"""Names of numbers of rows that the program holds at once."""


def kind_and_seed(name: str) -> tuple[str, int]:
    """Return what the name of a pinned run says."""
    kind, seed = name.split()
    return kind, int(seed)


def request_for(case: Case, folder: Path) -> RunRequest:
    """Return what a user would ask for, who has the files of a case in ``folder``."""
    write_files(case, folder)
    if case.job["kind"] == SCENARIO:
        return scenario_of(case, folder)
    return request_of(case, folder, share=SHARE)


def pins_of(case: Case) -> dict[str, str]:
    """Play a case; return a digest of each file and text by its name, or of the one line that refuses the run."""
    return {name: _digest(value) for name, value in told_of(case).items()}


def told_of(case: Case) -> dict[str, Any]:
    """Play a case; return the contents of its files and what the program says of it, by name.

    The run is played in a folder of its own, so that paths are short and the same everywhere.
    """
    here, found = Path.cwd(), dict[str, Any]()
    with tempfile.TemporaryDirectory(prefix="astra-ns3-pinned-") as name:
        os.chdir(name)
        try:
            with _small_batches() if case.job.get("small_batches") else nullcontext():
                for key, value in _told_by(case):
                    found[key] = value
        except AstraNs3Error as error:
            found["error"] = str(error)
        finally:
            os.chdir(here)
    return found


@contextmanager
def _small_batches() -> Iterator[None]:
    """Have the program take few rows at once, so that a small run has many batches."""
    found = [
        (module, name, value)
        for key, module in list(sys.modules.items())
        if key.startswith("astra_ns3.")
        for name, value in vars(module).items()
        if _BATCH.fullmatch(name)
    ]
    try:
        for module, name, _ in found:
            setattr(module, name, _SMALL_BATCH)
        yield
    finally:
        for module, name, value in found:
            setattr(module, name, value)


def _told_by(case: Case) -> Iterator[tuple[str, Any]]:
    """Yield a run's forecast, files, summary, explanation, report and timeline, also if the run stopped on its way."""
    results = Path("results")
    request = request_for(case, Path())
    request = replace(request, output=results, record=request.record or ("all",), isolated=False)
    try:
        yield "validate", _validated(request)
    except InputError:  # of a network that has no analytical counterpart
        request = replace(request, backend="ns3")
        yield "validate", _validated(request)
    outcome = execute(request)
    yield from _files(results)
    for job in _jobs(results):
        yield job.name, list(_files(job))
    for file in results.rglob("run.json"):
        settle(file)
    metadata = json.loads((results / "run.json").read_text(encoding="utf-8"))
    told = (scenario_summary, scenario_run_text) if "jobs" in metadata else (summary, run_text)
    yield "summary", [each(metadata, None) for each in told]
    runs = {place.name: Result.load(place) for place in _jobs(results) or [results]}
    for name, run in runs.items():
        yield f"{name}: explain", _explained(run)
        yield f"{name}: timeline", write_timeline(run, "timeline").path.read_bytes().hex()
    yield "report", report_page([*runs.values()], usual_options()).replace(get_plotlyjs(), "")
    if outcome.error is not None:
        yield "stopped", str(outcome.error)


def _explained(run: Result) -> Any:
    try:
        found = explain(run)
    except InputError as error:
        return str(error)
    return [found.document(), found.text()]


def settle(file: Path) -> None:
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
    text = json.dumps(value, default=lambda each: dict(each) if isinstance(each, Mapping) else str(each))
    return json.loads(text, parse_float=lambda digits: float(f"{float(digits):.{DIGITS}g}"))


@click.command()
@click.option("-o", "--output", default=PINNED, type=click.Path(path_type=Path), help="Where to write the pins.")
def main(output: Path) -> None:
    """Write the pins anew, of the runs that are pinned."""
    logging.disable(logging.WARNING)
    lines = []
    for name in json.loads(PINNED.read_text(encoding="utf-8")):
        case = varied_case(kind_and_seed(name)[1])
        assert case is not None, name
        lines.append(f"{json.dumps(name)}: {json.dumps(pins_of(case))}")
    output.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
