"""``astra-ns3 study``: many runs from one file."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from astra_ns3.cli.completion import files, folders
from astra_ns3.cli.help import Command
from astra_ns3.cli.output import log_warnings, print_failure, print_json, show, show_logs
from astra_ns3.cli.signals import run_is_over
from astra_ns3.cli.study_progress import StudyLine
from astra_ns3.config.core.plain import JsonObject
from astra_ns3.errors import PointsFailed, refuse, some_of, wrong
from astra_ns3.studies.usual_preset import USUAL_PRESET

if TYPE_CHECKING:  # help and Tab do without
    from astra_ns3.studies.expansion import Expansion
    from astra_ns3.studies.result import StudyResult
    from astra_ns3.studies.task import PointOutcome
    from astra_ns3.studies.workers.cluster import Security


@click.command(
    "study",
    cls=Command,
    examples=(
        "astra-ns3 study inputs/studies/first.yaml -o results/first-study",
        "astra-ns3 study inputs/studies/dlrm.yaml --preset laptop --list",
    ),
    groups={
        "Points": ("preset", "only", "retry_failed", "as_list"),
        "How they are played": ("jobs", "scheduler", "tls_ca_file", "tls_cert", "tls_key"),
        "Output": ("output", "overwrite", "as_json", "quiet"),
    },
)
@click.argument("file", metavar="FILE", shell_complete=files(".yaml", ".yml"))
@click.option(
    "-o", "--output", metavar="DIR", shell_complete=folders, help="Folder of the study.  [default: results/NAME-PRESET]"
)
@click.option("--preset", default=USUAL_PRESET, show_default=True, help="One of the file's sizes: laptop, paper, ...")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Points at once.  [default: one a core]")
@click.option(
    "--scheduler", metavar="ADDRESS", help="A Dask scheduler, tls://host:port, whose workers play the points."
)
@click.option("--tls-ca-file", metavar="FILE", help="PEM certificate that signed those of scheduler and workers.")
@click.option("--tls-cert", metavar="FILE", help="Certificate that the scheduler knows you by, PEM.")
@click.option("--tls-key", metavar="FILE", help="Private key of --tls-cert, PEM.")
@click.option("--only", multiple=True, metavar="AXIS=VALUE", help="Points with this value; may be repeated.")
@click.option("--list", "as_list", is_flag=True, help="Print the points, which are done, and a forecast; play nothing.")
@click.option("--retry-failed", is_flag=True, help="Play failed points again.")
@click.option(
    "--overwrite",
    is_flag=True,
    help="Play into a folder that holds a run, another study or your own files; replace files with a study's names.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
@click.option("--quiet", is_flag=True, help="No progress line.")
def study_command(
    file: str,
    output: str | None,
    preset: str,
    jobs: int | None,
    scheduler: str | None,
    tls_ca_file: str | None,
    tls_cert: str | None,
    tls_key: str | None,
    only: tuple[str, ...],
    as_list: bool,
    retry_failed: bool,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Play the many runs of a study's file, and draw its figures.

    Points that the folder has are not run again: a study that was stopped goes on where it was.
    """
    from astra_ns3.studies.expansion import expand
    from astra_ns3.studies.file import read_study
    from astra_ns3.studies.run_study import folder_of, play_study, standing_outcomes

    show_logs("warning")
    expansion = expand(read_study(file), preset, only)
    folder = folder_of(expansion, output)
    log_warnings(*expansion.warnings)
    if as_list:
        _list(expansion, standing_outcomes(expansion, folder, retry_failed=retry_failed), as_json)
        return 0
    security = security_of(scheduler, tls_ca_file, tls_cert, tls_key)
    line = None if quiet else StudyLine(sys.stderr, live=sys.stderr.isatty())
    result = play_study(
        expansion,
        folder,
        jobs,
        scheduler,
        only,
        security=security,
        retry_failed=retry_failed,
        overwrite=overwrite,
        progress=line,
    )
    run_is_over()
    return _told(result, as_json)


def _told(result: StudyResult, as_json: bool) -> int:
    """Say what came out and which points failed, and return the exit status."""
    from astra_ns3.studies.text import study_text

    failures = result.failures
    if not as_json:
        show(study_text(result))
    if not failures:
        if as_json:
            print_json({**_document(result), "exit_status": 0})
        return 0
    names = some_of((f"{name}: {outcome.message}" for name, outcome in failures), 3, "; ", "; and")
    said = f"{len(failures)} of {len(result.outcomes)} runs failed: {names}"
    print_failure(said, PointsFailed.__name__, PointsFailed.exit_status, as_json, _document(result))
    return PointsFailed.exit_status


def security_of(scheduler: str | None, ca_file: str | None, certificate: str | None, key: str | None) -> Security:
    """The three options of TLS as Dask takes them; None: Dask's own configuration decides. Raises InputError."""
    from astra_ns3.studies.workers.cluster import tls_files

    options = {"--tls-ca-file": ca_file, "--tls-cert": certificate, "--tls-key": key}
    given = {name: file for name, file in options.items() if file is not None}
    if not given:
        return None
    if scheduler is None or not scheduler.startswith("tls://"):
        raise wrong(f"{next(iter(given))} is for a scheduler with TLS: --scheduler tls://HOST:PORT")
    for name in options:
        refuse(name not in given, f"TLS needs all of {', '.join(options)}: {name} is missing")
        refuse(not os.access(given[name], os.R_OK), f"{name} {given[name]}: cannot be read")
    return tls_files(*given.values())


def _document(result: StudyResult) -> JsonObject:
    """The whole table, as plain data."""
    expansion = result.expansion
    return {
        "study": expansion.study.title,
        "preset": expansion.preset or None,
        "output": str(result.folder),
        "played": result.played,
        "failed": len(result.failures),
        "warnings": dict(result.warnings),
        "best": {part: asdict(best) for part, best in result.best.items()},
        "means": result.mean_rows,
        "points": result.rows,
    }


def _list(expansion: Expansion, outcomes: Mapping[str, PointOutcome], as_json: bool) -> None:
    from astra_ns3.studies.checking import forecasts
    from astra_ns3.studies.text import list_text, state_of

    left = [point for point in expansion.points if point.address not in outcomes]
    guesses = forecasts(left)
    if not as_json:
        show(list_text(expansion, outcomes, guesses))
        return
    points = [
        {
            **point.coordinates,
            "status": state_of(point.address, outcomes),
            "forecast_seconds": guesses[point.address].seconds if point.address in guesses else None,
            "address": point.address,
        }
        for point in expansion.points
    ]
    print_json({"study": expansion.study.title, "points": points, "exit_status": 0})
