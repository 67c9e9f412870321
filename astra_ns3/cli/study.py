"""``astra-ns3 study``: many runs from one file."""

from __future__ import annotations

import click

from astra_ns3.cli.output import show, tell
from astra_ns3.studies.expansion import expand
from astra_ns3.studies.file import USUAL_PRESET, read_study
from astra_ns3.studies.run_study import folder_of, play_study


@click.command("study")
@click.argument("file", metavar="FILE")
@click.option("-o", "--output", metavar="DIR", help="Folder of the study.  [default: results/NAME-PRESET]")
@click.option("--preset", default=USUAL_PRESET, show_default=True, help="One of the file's sizes: laptop, paper, ...")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Points at once.  [default: one a core]")
@click.option("--scheduler", metavar="ADDRESS", help="Of Dask, tcp://host:port, whose workers play the points.")
@click.option("--only", multiple=True, metavar="AXIS=VALUE", help="Points with this value; may be repeated.")
@click.option("--list", "as_list", is_flag=True, help="Print the points, which are done, and a forecast; play nothing.")
@click.option("--retry-failed", is_flag=True, help="Play failed points again.")
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
@click.option("--quiet", is_flag=True, help="No progress line.")
def study_command(
    file: str,
    output: str | None,
    preset: str,
    jobs: int | None,
    scheduler: str | None,
    only: tuple[str, ...],
    as_list: bool,
    retry_failed: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Play the points of the study in FILE, and write its tables, figures and page.

    Points that the folder has are not run again: a study that was stopped goes on where it was.
    """
    expansion = expand(read_study(file), preset, only)
    folder = folder_of(expansion, output)
    for warning in expansion.warnings:
        tell(f"astra-ns3: warning: {warning}")
    result = play_study(expansion, folder, jobs, scheduler, only, retry_failed=retry_failed)
    show(result.frame.to_string())
    return 0
