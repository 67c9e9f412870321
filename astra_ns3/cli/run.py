"""``astra-ns3 run``: a thin layer on :mod:`astra_ns3.experiments.run`."""

from __future__ import annotations

import sys
from typing import Any

import click

from astra_ns3.cli.options import input_options, seconds, size_bytes, time_ps
from astra_ns3.cli.output import print_failure, print_json, show, show_logs, tell
from astra_ns3.cli.progress import LiveLine
from astra_ns3.cli.signals import run_is_over
from astra_ns3.errors import InputError
from astra_ns3.experiments.hooks import HookFile
from astra_ns3.experiments.request import RECORDABLE, RunRequest
from astra_ns3.experiments.run import Outcome, execute
from astra_ns3.experiments.scaling import joint_scales
from astra_ns3.experiments.seeds import execute_seeds
from astra_ns3.network.api import Limits
from astra_ns3.report.seeds import seeds_text
from astra_ns3.report.summary import run_text, summary


@click.command("run")
@input_options
@click.option("-o", "--path", "output", metavar="DIR", help="Folder for the results; without it only a table is shown.")
@click.option("--overwrite", is_flag=True, help="Replace the run that the folder holds.")
@click.option("--run-name", default="run", show_default=True, help="Name of the run in its files.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of all random numbers, 1 to 4294967295.")
@click.option("--seeds", type=int, metavar="N", help="Run N seeds, from --seed on, and say mean and spread.")
@click.option(
    "--record",
    type=click.Choice(RECORDABLE),
    multiple=True,
    help="Also write a table: of messages (flows.parquet), of every role's layers (layers.parquet). Needs --path.",
)
@click.option(
    "--hook", metavar="FILE.py:name", help="Function called with a context before the first event; FILE.py: on_built."
)
@click.option("--limit-simulated-time", type=time_ps, metavar="TIME", help="Stop there, e.g. 10ms.")
@click.option("--limit-wall-time", type=time_ps, metavar="TIME", help="Stop after so long, e.g. 60s.")
@click.option("--limit-memory", type=size_bytes, metavar="SIZE", help="Stop when so much is resident, e.g. 4GiB.")
@click.option("--quiet", is_flag=True, help="No progress line.")
def run_command(as_json: bool, log_level: str, quiet: bool, seeds: int | None, **options: Any) -> int:
    """Run a workload on a system and a network.

    Ctrl-C ends the run within a second; what is done so far is saved and marked incomplete.
    """
    show_logs(log_level)
    request = _request(quiet=quiet, isolated=True, **options)
    if seeds is not None:
        return _run_seeds(request, seeds, as_json)
    outcome = execute(request)
    run_is_over()
    if outcome.error is not None:
        status = outcome.error.exit_status
        more = summary(outcome.result.metadata, outcome.result.folder)
        if not as_json:
            show(run_text(outcome.result.metadata, outcome.result.folder))
        if outcome.result.folder is not None:
            tell(f"astra-ns3: what was done so far is in {outcome.result.folder}")
        print_failure(str(outcome.error), type(outcome.error).__name__, status, as_json, more)
        return status
    _show(outcome, as_json)
    return 0


def _request(
    *,
    workload: str,
    system: str,
    network: str,
    output: str | None,
    hook: str | None,
    record: tuple[str, ...],
    limit_simulated_time: int | None,
    limit_wall_time: int | None,
    limit_memory: int | None,
    quiet: bool,
    scale: float,
    comm_scale: float,
    compute_scale: float,
    **options: Any,
) -> RunRequest:
    if record and output is None:
        raise InputError("--record needs an output folder: add --path DIR")
    comm_scale, compute_scale = joint_scales(scale, comm_scale, compute_scale)
    live = not quiet and sys.stderr.isatty()
    return RunRequest(
        workload=workload,
        system=system,
        network=network,
        output=output,
        on_built=None if hook is None else HookFile(hook),
        record=record,
        comm_scale=comm_scale,
        compute_scale=compute_scale,
        limits=Limits(limit_simulated_time, seconds(limit_wall_time), limit_memory),
        progress=LiveLine(sys.stderr) if live else None,
        **options,
    )


def _show(outcome: Outcome, as_json: bool) -> None:
    if as_json:
        print_json({**summary(outcome.result.metadata, outcome.result.folder), "exit_status": 0})
    else:
        show(run_text(outcome.result.metadata, outcome.result.folder))


def _run_seeds(request: RunRequest, seeds: int, as_json: bool) -> int:
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
