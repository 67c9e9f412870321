"""``astra-ns3 budget``: the bandwidth of each dimension that is best for workloads under a cost."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from astra_ns3.cli.completion import files, folders
from astra_ns3.cli.help import Command
from astra_ns3.cli.output import log_warnings, print_result, show_logs
from astra_ns3.cli.planning import TEXTS, changes_option, json_option, quiet_option, system_option
from astra_ns3.cli.signals import run_is_over
from astra_ns3.errors import wrong
from astra_ns3.planning.usual_limits import USUAL_BUDGET_SECONDS
from astra_ns3.units import PS_PER_SECOND, format_rate, parse_time_ps

if TYPE_CHECKING:  # help and Tab do without
    from astra_ns3.planning.budget.budget import Split

_WORKLOADS = (*TEXTS, ".csv", ".et")


@click.command(
    "budget",
    cls=Command,
    examples=(
        "astra-ns3 budget inputs/budgets/prices.yaml -n inputs/network/roce-nvswitch-clos-128.yaml "
        "-w inputs/workload/models/resnet-152.yaml",
        "astra-ns3 budget prices.yaml -n network.yaml -w one.yaml -w other.yaml --weights 3,1 --budget 2000000",
    ),
    groups={
        "What is played": ("workloads", "weights", "network", "system", "changes"),
        "How much": ("budget", "limit_wall_time"),
        "Output": ("output", "as_json", "quiet"),
    },
    others={"--overwrite": "a budget replaces the tables of an earlier one, whose runs stay; leave it out"},
)
@click.argument("prices", metavar="PRICES", shell_complete=files(".yaml", ".yml"))
@click.option(
    "-w",
    "--workload",
    "workloads",
    multiple=True,
    required=True,
    metavar="FILE",
    shell_complete=files(*_WORKLOADS),
    help="Workload; may be repeated.",
)
@click.option("--weights", metavar="N,N", help="Iterations of each workload that count together.  [default: 1 of each]")
@click.option("-n", "--network", required=True, metavar="FILE", shell_complete=files(*TEXTS), help="Network.")
@system_option
@changes_option
@click.option("--budget", metavar="COST", help="How much may be spent.  [default: as the prices say]")
@click.option(
    "--limit-wall-time",
    default=f"{USUAL_BUDGET_SECONDS:.0f}s",
    show_default=True,
    metavar="TIME",
    help="Begin no run after so long; none: until no split is better.",
)
@click.option(
    "-o", "--output", metavar="DIR", shell_complete=folders, help="Folder.  [default: results/budget-PRICES-NETWORK]"
)
@json_option
@quiet_option
def budget_command(
    prices: str,
    workloads: tuple[str, ...],
    weights: str | None,
    network: str,
    system: str | None,
    changes: tuple[str, ...],
    budget: str | None,
    limit_wall_time: str,
    output: str | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Find the best bandwidth of each dimension of a network under a cost.

    PRICES says what bandwidth, NPUs, NICs and switches cost, and how much may be spent. Splits are played on the
    flow-level network.
    """
    from astra_ns3.config.core.changing import settings_of
    from astra_ns3.planning.budget.budget import find_budget
    from astra_ns3.planning.budget.request import BudgetRequest
    from astra_ns3.planning.budget.result import document, warnings_of
    from astra_ns3.planning.budget.saving import check_folder, save_budget
    from astra_ns3.planning.budget.text import budget_text

    show_logs("error")
    limit = None if limit_wall_time == "none" else parse_time_ps(limit_wall_time) / PS_PER_SECOND
    weighted, amount = _weights(weights), None if budget is None else _amount(budget)
    request = BudgetRequest(prices, network, workloads, weighted, system, output, amount, settings_of(changes), limit)
    check_folder(request.folder, (prices, network, *workloads, system))
    found = find_budget(request, None if quiet or not sys.stderr.isatty() else _tell)
    run_is_over()
    if not quiet and sys.stderr.isatty():
        print(file=sys.stderr)
    save_budget(found)
    show_logs("warning")
    log_warnings(*warnings_of(found))
    print_result(document(found), budget_text(found), as_json=as_json)
    return 0


def _weights(words: str | None) -> list[float]:
    """Return the numbers between commas."""
    try:
        return [] if words is None else [float(word) for word in words.split(",")]
    except ValueError as error:
        raise wrong(f"--weights is '{words}', expected numbers with commas, such as 3,1") from error


def _amount(words: str) -> float:
    """Return how much may be spent."""
    try:
        return float(words)
    except ValueError as error:
        raise wrong(f"--budget is '{words}', expected an amount without a unit, such as 100000 or 1e5") from error


def _tell(played: int, split: Split) -> None:
    rates = ", ".join(format_rate(rate) for rate in split.rates)
    print(f"\r{played} played: {rates}: {split.seconds:.6g} s\033[K", end="", file=sys.stderr, flush=True)
