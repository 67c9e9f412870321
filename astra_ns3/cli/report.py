"""``astra-ns3 report``: one HTML page of one run or several."""

from __future__ import annotations

import click

from astra_ns3.cli.completion import results
from astra_ns3.cli.help import Command
from astra_ns3.cli.output import show
from astra_ns3.experiments.metadata import usual_options
from astra_ns3.experiments.result import Result
from astra_ns3.report.page.page import write_report

_DEFAULT_OUTPUT = "report.html"


@click.command(
    "report",
    cls=Command,
    examples=("astra-ns3 report results/mine", "astra-ns3 report results/hier results/flat-100g -o both.html"),
)
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, shell_complete=results)
@click.option(
    "-o", "--output", metavar="FILE", default=_DEFAULT_OUTPUT, show_default=True, help="Where to write the page."
)
def report_command(folders: tuple[str, ...], output: str) -> int:
    """Write one HTML page about the runs in the folders.

    Figures, numbers, words and the configuration in force, of several runs side by side; it opens without a network.
    """
    write_report([Result.load(folder) for folder in folders], output, usual_options())
    show(f"written to {output}")
    return 0
