"""``astra-ns3 plot``: pictures of runs from their folders."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import click

from astra_ns3.cli.completion import results, words
from astra_ns3.cli.help import Command
from astra_ns3.cli.output import folder_for, print_json, print_result, show
from astra_ns3.cli.overwriting import overwrite_option
from astra_ns3.config.core.plain import JsonObject
from astra_ns3.errors import InputError
from astra_ns3.report.alignment import aligned
from astra_ns3.whole_file import check_free

if TYPE_CHECKING:  # help and Tab do without
    from astra_ns3.experiments.result import Result
    from astra_ns3.report.pictures.kind import Kind


def _kinds() -> list[str]:
    from astra_ns3.report.pictures.kinds import IN_FILES

    return [kind.name for kind in IN_FILES]


@click.command(
    "plot",
    cls=Command,
    examples=("astra-ns3 plot results/micro", "astra-ns3 plot results/micro layers -o layers.svg --width double"),
    groups={
        "What is shown": ("select", "beside", "title", "no_title"),
        "Output": ("output", "width", "overwrite", "as_json"),
    },
)
@click.argument("folder", metavar="DIR", shell_complete=results)
@click.argument("kind", required=False, shell_complete=words(_kinds))
@click.option("-o", "--output", metavar="FILE", help="Where to write (.png, .svg, .pdf).  [default: KIND.png]")
@click.option(
    "--width",
    shell_complete=words(("column", "double")),
    default="column",
    show_default=True,
    help="'column' (3.3 inches), 'double' (7), or inches.",
)
@click.option("--select", multiple=True, metavar="NAME", help="A port, NPU, role or pair to show; may be repeated.")
@click.option(
    "--beside",
    multiple=True,
    shell_complete=results,
    metavar="DIR",
    help="Another run in the same axes; may be repeated.",
)
@click.option("--title", help="The title.  [default: the run's name and KIND]")
@click.option("--no-title", is_flag=True, help="No title.")
@overwrite_option
@click.option("--json", "as_json", is_flag=True, help="Print what was done, or can be, as JSON.")
def plot_command(
    folder: str,
    kind: str | None,
    output: str | None,
    width: str,
    select: tuple[str, ...],
    beside: tuple[str, ...],
    title: str | None,
    no_title: bool,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Draw a picture of the run in DIR, or list what can be drawn.

    KIND is layers, exposed, timeline, accounts, completion, slowdown, bandwidth, utilisation, queues, rates or memory.
    Without it, the list says what has to be recorded for those that can't be drawn.
    """
    from astra_ns3.experiments.integrity import blaming_damage
    from astra_ns3.experiments.result import Result
    from astra_ns3.report.figures.with_matplotlib import check_target, write
    from astra_ns3.report.pictures.kind import Choice, width_of
    from astra_ns3.report.pictures.kinds import kind_of

    if no_title and title is not None:
        raise click.UsageError("--no-title and --title exclude each other")
    wanted = None if kind is None else kind_of(kind)
    if wanted is None:
        if output or select or beside or title or no_title:
            raise click.UsageError("which picture? name a KIND behind DIR")
        with blaming_damage((folder,)):
            _list(Result.load(folder), as_json)
        return
    target = output or f"{wanted.name}.png"
    check_target(target)
    with blaming_damage((folder, *beside)):
        result, *others = (_loaded(each, wanted) for each in (folder, *beside))
        check_free(target, overwrite=overwrite)
        choice = Choice(width_of(width), select, "" if no_title else title, tuple(others))
        picture = wanted.drawn(result, choice)
        with folder_for(target):
            write(picture, target)
        advice = wanted.advice(result)
    document = {"kind": wanted.name, "written": target, "more_with": advice or None}
    print_result(document, f"written to {target}", advice and f"more is shown with {advice}", as_json=as_json)


def _loaded(folder: str, kind: Kind) -> Result:
    """Return the run in a folder; a scenario's, too, for what its jobs share."""
    from astra_ns3.experiments.result import Result
    from astra_ns3.experiments.scenario_result import ScenarioResult

    if kind.of_network:
        with suppress(InputError):  # it is one job's
            return ScenarioResult.load(folder)
    return Result.load(folder)


def _list(result: Result, as_json: bool) -> None:
    """Print the pictures that the run has records for."""
    from astra_ns3.report.pictures.kinds import IN_FILES

    suiting = [kind for kind in IN_FILES if kind.suits(result)]
    if as_json:
        kinds: list[JsonObject] = [
            {"kind": kind.name, "shows": kind.words, "needs": kind.missing(result) or None} for kind in suiting
        ]
        print_json({"kinds": kinds, "exit_status": 0})
        return
    can = [(kind.name, _words(kind.words, kind.advice(result))) for kind in suiting if not kind.missing(result)]
    cannot = [(kind.name, f"needs {kind.missing(result)}") for kind in suiting if kind.missing(result)]
    show(aligned(can))
    if cannot:
        show(f"not recorded:\n{aligned(cannot, indent='  ')}")
    others = [kind.name for kind in IN_FILES if not kind.suits(result)]
    if others:
        show(f"a list of flows has nothing for: {', '.join(others)}")


def _words(words: str, advice: str) -> str:
    return f"{words} (more with {advice})" if advice else words
