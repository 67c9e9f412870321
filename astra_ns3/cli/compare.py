"""``astra-ns3 compare``: what differs between two runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from astra_ns3.cli.completion import listed, results
from astra_ns3.cli.help import Command
from astra_ns3.cli.output import print_result
from astra_ns3.errors import refuse
from astra_ns3.network.backends import ABILITIES
from astra_ns3.units import counted

if TYPE_CHECKING:  # help and Tab do without
    from astra_ns3.report.comparison.comparison import Comparison
    from astra_ns3.report.comparison.jobs import JobsComparison

_TWO = 2


@click.command(
    "compare",
    cls=Command,
    examples=(
        "astra-ns3 compare results/micro results/faster",
        "astra-ns3 compare --backends flow,ns3 -w inputs/workload/micro-all-reduce.txt"
        " -s inputs/system/flat.txt -n inputs/network/roce-16.yaml",
    ),
)
@click.argument("runs", metavar="A B", nargs=-1, shell_complete=results)
@click.option(
    "--backends",
    metavar="ONE,RIGHT",
    shell_complete=listed(ABILITIES),
    help="Instead of folders: play the files on both, and compare.",
)
@click.option("-w", "--workload", metavar="FILE", help="With --backends: a workload.")
@click.option("-s", "--system", metavar="FILE", help="With --backends: a system.")
@click.option("-n", "--network", metavar="FILE", help="With --backends: a network.")
@click.option("--scenario", metavar="FILE", help="With --backends: a scenario, instead of these three.")
@click.option("--set", "changes", metavar="KEY=VALUE", multiple=True, help="With --backends: as for the command run.")
@click.option("--scale", metavar="FACTOR", help="With --backends: as for the command run.")
@click.option("--groups", metavar="FILE", help="With --backends: as for the command run.")
@click.option("--json", "as_json", is_flag=True, help="Print all that differs as JSON.")
def compare_command(
    runs: tuple[str, ...],
    backends: str | None,
    workload: str | None,
    system: str | None,
    network: str | None,
    scenario: str | None,
    changes: tuple[str, ...],
    scale: str | None,
    groups: str | None,
    as_json: bool,
) -> None:
    """Print what differs between the runs in the folders A and B.

    Settings with both values, times and counters with their change, the largest first. With --backends: how far the
    first backend is off from the second on a case of yours, and the CPU seconds of both. Folders of scenarios are
    compared job by job.
    """
    from astra_ns3.experiments.integrity import blaming_damage
    from astra_ns3.experiments.two_backends import heading_text, play_on_both, row_text
    from astra_ns3.report.comparison.compare import OVER_SEEDS

    files = {"-w": workload, "-s": system, "-n": network}
    options = {"--scenario": scenario, **files, "--scale": scale, "--groups": groups}
    given = [(option, value) for option, value in options.items() if value]
    given += [("--set", change) for change in changes]
    if backends is not None:
        sound = not any((workload, system)) if scenario else all(files.values())
        refuse(bool(runs) or not sound, "--backends: expected -w, -s and -n, or --scenario, and no folders of runs")
        row = play_on_both([word for option in given for word in option], backends.split(","), Path(given[0][1]).name)
        print_result(row, f"{heading_text(row)}\n{row_text(row)}", as_json=as_json)
        return
    refuse(bool(given), f"{', '.join(option for option, _ in given)}: expected with --backends only")
    refuse(len(runs) != _TWO, f"found {counted(len(runs), 'folder', 'folders')}, expected two, A and B; {OVER_SEEDS}")
    with blaming_damage(runs):
        comparison = _compared(*runs)
        document, text = comparison.document(), comparison.text()
    print_result(document, text, as_json=as_json)


def _compared(a: str, b: str) -> Comparison | JobsComparison:
    """Return what differs between two runs, or between jobs of the same name in two scenarios."""
    from astra_ns3.experiments.result import Result
    from astra_ns3.experiments.scenario_result import ScenarioResult, result_in
    from astra_ns3.report.comparison.compare import compare
    from astra_ns3.report.comparison.jobs import compare_jobs

    scenarios = [each for each in map(result_in, (a, b)) if isinstance(each, ScenarioResult)]
    if len(scenarios) == _TWO:
        one, other = scenarios
        return compare_jobs(one, one.tenants, other, other.tenants)
    return compare(Result.load(a), Result.load(b))
