"""``astra-ns3 compare``: what differs between two runs."""

from __future__ import annotations

import click

from astra_ns3.cli.completion import results
from astra_ns3.cli.help import Command
from astra_ns3.cli.output import print_result
from astra_ns3.errors import refuse
from astra_ns3.experiments.integrity import blaming_damage
from astra_ns3.experiments.result import Result
from astra_ns3.report.alignment import counted
from astra_ns3.report.comparison.compare import OVER_SEEDS, compare

_TWO = 2


@click.command(
    "compare",
    cls=Command,
    examples=("astra-ns3 compare results/dcqcn results/hpcc", "astra-ns3 compare results/dcqcn results/hpcc --json"),
)
@click.argument("runs", metavar="A B", nargs=-1, shell_complete=results)
@click.option("--json", "as_json", is_flag=True, help="Print all that differs as JSON.")
def compare_command(runs: tuple[str, ...], as_json: bool) -> None:
    """Print what differs between the runs in the folders A and B.

    Settings with both values, times and counters with their change, the largest first.
    """
    refuse(len(runs) != _TWO, f"found {counted(len(runs), 'run', 'runs')}, expected two, A and B; {OVER_SEEDS}")
    with blaming_damage(runs):
        a, b = map(Result.load, runs)
        comparison = compare(a, b)
        document, text = comparison.document(), comparison.text()
    print_result(document, text, as_json=as_json)
