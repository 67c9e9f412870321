"""``astra-ns3 explain``: why a run took as long as it did."""

from __future__ import annotations

import click

from astra_ns3.cli.completion import results
from astra_ns3.cli.help import Command
from astra_ns3.cli.output import log_warnings, print_json, show, show_logs


@click.command(
    "explain",
    cls=Command,
    examples=("astra-ns3 explain results/micro", "astra-ns3 explain results/micro --iteration 0 --top 3 --json"),
)
@click.argument("folder", metavar="DIR", shell_complete=results)
@click.option("--iteration", type=click.IntRange(0), help="Explain one training pass.  [default: the whole run]")
@click.option("--collective", type=click.IntRange(0), help="Explain one collective, by its number in collectives.csv.")
@click.option("--top", type=click.IntRange(1), default=10, show_default=True, help="So many messages, links and NPUs.")
@click.option("--choices", is_flag=True, help="Play NCCL's other choices for collectives of the chain; minutes.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON, every link of the chain included.")
def explain_command(
    folder: str, iteration: int | None, collective: int | None, top: int, choices: bool, as_json: bool
) -> None:
    """Say why the run in DIR took as long as it did.

    Follows the chain of computations, waits and messages that determines its end. Records that tell most:
    --record timeline --record accounts.
    """
    from astra_ns3.errors import refuse
    from astra_ns3.experiments.integrity import blaming_damage
    from astra_ns3.experiments.nccl.choices_of_run import (
        HINT,
        choices_document,
        choices_of,
        choices_text,
        doubts_of,
        has_choices,
    )
    from astra_ns3.experiments.nccl.faster_lines import with_choices_anew
    from astra_ns3.experiments.result import Result
    from astra_ns3.report.explanation.explain import explain

    refuse(
        iteration is not None and collective is not None,
        "--iteration and --collective: found both, expected one of them",
    )
    with blaming_damage((folder,)):
        run = Result.load(folder)
        found = with_choices_anew(run, explain(run, iteration=iteration, collective=collective, top=top))
        played = choices_of(run, found) if choices else None
        hint = HINT if played is None and has_choices(run, found) else ""
    show_logs("warning")
    log_warnings(*(f"--choices: {words}" for words in doubts_of(run) if played))
    if as_json:
        print_json({**found.document(), **({} if played is None else {"choices": choices_document(played)})})
        return
    more = hint if played is None else choices_text(played)
    show("\n\n".join(filter(None, (found.text(), more))))
