"""``astra-ns3 explain``: why a run took as long as it did."""

from __future__ import annotations

import sys

import click

from astra_ns3.cli.completion import results
from astra_ns3.cli.help import Command
from astra_ns3.cli.output import print_json, show, show_logs
from astra_ns3.network.backends import ABILITIES


@click.command(
    "explain",
    cls=Command,
    examples=("astra-ns3 explain results/micro --play", "astra-ns3 explain results/micro --iteration 0 --top 3 --json"),
)
@click.argument("folder", metavar="DIR", shell_complete=results)
@click.option("--iteration", type=click.IntRange(0), help="Explain one training pass.  [default: the whole run]")
@click.option("--collective", type=click.IntRange(0), help="Explain one collective, by its number in collectives.csv.")
@click.option("--top", type=click.IntRange(1), default=10, show_default=True, help="So many messages, links and NPUs.")
@click.option("--play", is_flag=True, help="Play the run again, and with each change that may help: what each saves.")
@click.option(
    "--backend",
    metavar="NAME",
    help="With --play, the backend that plays; flow is quick.  [default: the run's]",
    shell_complete=lambda *_: [*ABILITIES],
)
@click.option("--choices", is_flag=True, help="Play NCCL's other choices for collectives of the chain; minutes.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON, every link of the chain included.")
def explain_command(
    folder: str,
    iteration: int | None,
    collective: int | None,
    top: int,
    play: bool,
    backend: str | None,
    choices: bool,
    as_json: bool,
) -> None:
    """Say why the run in DIR took as long as it did.

    Follows the chain of computations, waits and messages that determines its end. Records that tell most:
    --record timeline --record accounts.
    """
    from astra_ns3.cli.progress import LiveLine
    from astra_ns3.errors import refuse
    from astra_ns3.experiments.explaining import explain
    from astra_ns3.experiments.integrity import blaming_damage
    from astra_ns3.experiments.result import Result

    refuse(
        iteration is not None and collective is not None,
        "--iteration and --collective: found both, expected one of them",
    )
    refuse(backend is not None and not play, "--backend: needs --play")
    show_logs("warning")
    with blaming_damage((folder,)):
        run = Result.load(folder)
        progress = LiveLine(sys.stderr) if play and sys.stderr.isatty() else None
        found = explain(
            run,
            iteration=iteration,
            collective=collective,
            top=top,
            choices=choices,
            play=play,
            backend=backend,
            progress=progress,
        )
    if as_json:
        print_json(found.document())
    else:
        show(found.text())
