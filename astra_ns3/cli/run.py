"""``astra-ns3 run``: a thin layer on :mod:`astra_ns3.experiments.run`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from astra_ns3.cli.help import Command
from astra_ns3.cli.of_scenario import scenario_request
from astra_ns3.cli.options import OF_THE_NETWORK, groups_of, run_parameters, values, without_effect
from astra_ns3.cli.output import log_warnings, print_failure, print_json, show, show_logs, tell
from astra_ns3.cli.signals import run_is_over
from astra_ns3.config.core.plain import Json, JsonObject
from astra_ns3.errors import refuse
from astra_ns3.experiments.garbage import no_search
from astra_ns3.experiments.option import options_of
from astra_ns3.experiments.request import RunRequest

if TYPE_CHECKING:  # help and Tab do without what plays a run
    from astra_ns3.experiments.run import Outcome

_SEEDS = click.Option(["--seeds"], type=int, metavar="N", help="Run N seeds, from --seed on, and say mean and spread.")
_FILES = "-w inputs/workload/micro-all-reduce.txt -s inputs/system/flat.txt -n inputs/network/roce-16.yaml"
_QUIET = click.Option(["--quiet"], is_flag=True, help="No progress line.")


_PARAMETERS = run_parameters(RunRequest, _SEEDS, _QUIET)


@click.command(
    "run",
    cls=Command,
    params=_PARAMETERS,
    groups=groups_of(_PARAMETERS, RunRequest),
    others=OF_THE_NETWORK,
    examples=(
        f"astra-ns3 run {_FILES} -o results/micro",
        f"astra-ns3 run {_FILES} --set network.topology.link.rate=400Gbps --record flows -o results/faster",
    ),
)
def run_command(
    as_json: bool,
    log_level: str,
    quiet: bool,
    seeds: int | None,
    scenario: str | None,
    **words: Json,
) -> int:
    """Run a workload on a system and a network, or several that share one.

    Ctrl-C ends the run within a second; what is done so far is saved and marked incomplete.
    """
    show_logs(log_level)
    log_warnings(*without_effect(words))
    progress = None
    if not quiet and sys.stderr.isatty():
        from astra_ns3.cli.progress import LiveLine

        progress = LiveLine(sys.stderr)
    if scenario is None:
        request = RunRequest(**values(options_of(RunRequest), words), progress=progress, isolated=True)
    else:
        request = scenario_request(scenario, words, progress=progress, isolated=True)
    refuse(bool(request.record and request.output is None), "--record needs an output folder: add --output DIR")
    if seeds is not None:
        return _run_seeds(request, seeds, as_json)
    with no_search():
        from astra_ns3.experiments.run import execute

    outcome = execute(request, tables_kept=False)
    run_is_over()
    more, text = _told(outcome)
    if outcome.error is not None:
        status = outcome.error.exit_status
        if not as_json:
            show(text)
        if outcome.result.folder is not None:
            tell(f"astra-ns3: what was done so far is in {outcome.result.folder}")
        print_failure(str(outcome.error), type(outcome.error).__name__, status, as_json, more)
        return status
    if as_json:
        print_json({**more, "exit_status": 0})
    else:
        _show_lines(outcome)
        show(text)
    return 0


def _told(outcome: Outcome) -> tuple[JsonObject, str]:
    """Return what is said of a run: numbers for scripts, and a table."""
    from astra_ns3.report.scenario_text import scenario_run_text, scenario_summary
    from astra_ns3.report.summary import run_text, summary

    metadata, folder = outcome.result.metadata, outcome.result.folder
    if "jobs" in metadata:
        return scenario_summary(metadata, folder), scenario_run_text(metadata, folder)
    return summary(metadata, folder), run_text(metadata, folder)


def _show_lines(outcome: Outcome) -> None:
    """Print the lines that ASTRA-sim prints, where its rules were asked for."""
    from astra_ns3.experiments.run_tables import NPUS
    from astra_ns3.report.astra_sim_lines import astra_sim_lines, has_lines

    metadata = outcome.result.metadata
    if "jobs" not in metadata and has_lines(metadata):
        show(astra_sim_lines(outcome.result.rows(NPUS)))


def _run_seeds(request: RunRequest, seeds: int, as_json: bool) -> int:
    from astra_ns3.experiments.seeds import execute_seeds
    from astra_ns3.report.seeds import seeds_text

    outcome = execute_seeds(request, seeds)
    run_is_over()
    more = {**outcome.document, "output": None if outcome.folder is None else str(outcome.folder)}
    if not as_json:
        show(seeds_text(outcome.document, outcome.folder))
    if outcome.error is not None:
        status = outcome.error.exit_status
        print_failure(outcome.message, type(outcome.error).__name__, status, as_json, more)
        return status
    if as_json:
        print_json({**more, "exit_status": 0})
    return 0
