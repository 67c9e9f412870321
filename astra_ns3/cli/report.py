"""``astra-ns3 report``: one HTML page of one run or several."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from astra_ns3.cli.completion import results
from astra_ns3.cli.help import Command
from astra_ns3.cli.output import folder_for, show
from astra_ns3.cli.overwriting import overwrite_option
from astra_ns3.errors import ends_in, refuse
from astra_ns3.whole_file import check_free, whole_file

if TYPE_CHECKING:
    from astra_ns3.experiments.result import Result

_DEFAULT_OUTPUT = "report.html"


@click.command(
    "report",
    cls=Command,
    examples=(
        "astra-ns3 report results/micro",
        "astra-ns3 report results/micro results/faster -o both.html",
    ),
)
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, shell_complete=results)
@click.option(
    "-o", "--output", metavar="FILE", default=_DEFAULT_OUTPUT, show_default=True, help="Where to write the page."
)
@overwrite_option
def report_command(folders: tuple[str, ...], output: str, overwrite: bool) -> None:
    """Write one HTML page about the runs or the jobs of scenarios in folders, or about the plans in one.

    Figures, numbers, words and the configuration in force, of several runs side by side; it opens without a network.
    """
    from astra_ns3.experiments.integrity import blaming_damage
    from astra_ns3.experiments.metadata import usual_options
    from astra_ns3.experiments.replays.again import plays_again
    from astra_ns3.planning.page import told_page
    from astra_ns3.report.page.page import write_report

    ends_in("a report's file", output, (".html", ".htm"))
    plan = told_page(Path(folders[0]))
    refuse(plan is not None and len(folders) > 1, "holds plans, whose report is of one folder", folders[0])
    if plan is not None:
        check_free(output, overwrite=overwrite)
        with folder_for(output), whole_file(output) as partial:
            partial.write_text(plan, encoding="utf-8")
        show(f"written to {output}")
        return
    with blaming_damage(folders):
        runs = [run for folder in folders for run in _runs_in(folder)]
        check_free(output, overwrite=overwrite)
        with folder_for(output):
            write_report(runs, output, usual_options(), list(map(plays_again, runs)))
    show(f"written to {output}")


def _runs_in(folder: str) -> list[Result]:
    """Return the run of a folder, or those of all jobs of a scenario."""
    from astra_ns3.experiments.scenario_result import ScenarioResult, result_in

    found = result_in(folder)
    return [*found.tenants.values()] if isinstance(found, ScenarioResult) else [found]
