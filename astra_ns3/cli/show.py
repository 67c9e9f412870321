"""``astra-ns3 show``: looks at things without a run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from astra_ns3.cli.completion import words
from astra_ns3.cli.help import CommandGroup, help_alone
from astra_ns3.cli.output import print_result
from astra_ns3.cli.overwriting import overwrite_option
from astra_ns3.cli.show_network import show_network
from astra_ns3.cli.show_scenario import show_scenario
from astra_ns3.cli.show_workload import show_workload
from astra_ns3.config.core.algorithm_names import FILE_PREFIX
from astra_ns3.config.core.collective_kind import CollectiveKind, parse_kind
from astra_ns3.errors import InputError, nearest, wrong
from astra_ns3.report.saving_figure import SUFFIXES
from astra_ns3.whole_file import check_free

if TYPE_CHECKING:  # help and Tab do without
    from astra_ns3.collectives.schedule import Schedule

_DEFAULT_RANKS = 8
_COLUMN_SUFFIXES = (".csv", ".json")


def _algorithms() -> list[str]:
    from astra_ns3.collectives.algorithms import ALGORITHMS

    return list(ALGORITHMS)


@click.group(
    "show",
    cls=CommandGroup,
    invoke_without_command=True,
    examples=(
        "astra-ns3 show network inputs/network/leaf-spine-32.yaml",
        "astra-ns3 show workload inputs/workload/models/llama-3-8b.yaml",
    ),
)
@click.pass_context
def show_group(context: click.Context) -> None:
    """Look at what a run is made of."""
    help_alone(context)


show_group.add_command(show_network)
show_group.add_command(show_workload)
show_group.add_command(show_scenario)


@show_group.command(
    "collective",
    short_help="Draw the schedule of an algorithm and count its messages.",
    examples=(
        "astra-ns3 show collective ring --ranks 8",
        "astra-ns3 show collective bruck -k all_to_all -n 11 -o bruck.svg",
    ),
)
@click.argument("name", shell_complete=words(_algorithms))
@click.option(
    "-k",
    "--kind",
    shell_complete=words(tuple(kind.name.lower() for kind in CollectiveKind)),
    help="The collective, as all_reduce.  [default: the first that NAME can do]",
)
@click.option("-n", "--ranks", type=click.IntRange(1), help="Number of ranks.  [default: 8, or the file's]")
@click.option("--variant", type=click.IntRange(0), default=0, show_default=True, help="Which of NAME's variants.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Where to write: a picture (.png, .svg, .pdf), or the columns (.csv, .json).  [default: NAME-KIND-RANKS.png]",
)
@click.option("--no-figure", is_flag=True, help="Print the counts and write nothing.")
@overwrite_option
@click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON.")
def show_collective(
    name: str,
    kind: str | None,
    ranks: int | None,
    variant: int,
    output: str | None,
    no_figure: bool,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Draw the schedule of the algorithm NAME and print how many messages it has.

    NAME is an algorithm as system files name it (ring, direct3, doubleBinaryTree, ...), or file:PATH for a schedule of
    your own, or FILE.py:name for a function of yours that gives one; these are proved first.
    """
    from astra_ns3.collectives.lookup import lookup
    from astra_ns3.collectives.own_algorithms import first_own_kind
    from astra_ns3.collectives.schedule_files import load_schedule
    from astra_ns3.report.schedule_text import schedule_counts, schedule_text
    from astra_ns3.user_code import user_part

    if no_figure and output:
        raise click.UsageError("--no-figure and --output exclude each other")
    wanted = None if kind is None else parse_kind(kind)
    own = user_part(name)
    if own is not None:
        wanted = wanted or first_own_kind(own, ranks or _DEFAULT_RANKS)
    elif name.startswith(FILE_PREFIX):
        schedule, promised = load_schedule(name.removeprefix(FILE_PREFIX))
        wanted, ranks = wanted or promised, ranks or schedule.ranks
    wanted = wanted or _first_kind(name)
    schedule = lookup(wanted, name, ranks or _DEFAULT_RANKS, variant)
    counts = schedule_counts(schedule, wanted)
    if not no_figure:
        counts["written"] = output or _default_output(name, wanted, schedule.ranks)
        check_free(counts["written"], overwrite=overwrite)
        _write(schedule, wanted, counts["written"])
    written = "" if no_figure else f"written to {counts['written']}"
    print_result(counts, schedule_text(counts), written, as_json=as_json)


def _write(schedule: Schedule, kind: CollectiveKind, target: str) -> None:
    from astra_ns3.collectives.schedule_files import save_schedule
    from astra_ns3.report.schedule_figure import draw_schedule

    if target.endswith(SUFFIXES):
        draw_schedule(schedule, target)
    elif target.endswith(_COLUMN_SUFFIXES):
        save_schedule(schedule, kind, target)
    else:
        raise wrong(f"a file to write ends in {', '.join((*SUFFIXES, *_COLUMN_SUFFIXES))}", target)


def _first_kind(name: str) -> CollectiveKind:
    """The first collective that an algorithm can do."""
    from astra_ns3.collectives.lookup import lookup, pairs

    for kind in CollectiveKind:
        try:
            lookup(kind, name, 1)
        except InputError:
            continue
        return kind
    known = list(dict.fromkeys(able for _, able in pairs()))
    raise wrong(f"no algorithm '{name}'; there are {', '.join(known)}{nearest(name, known)}")


def _default_output(name: str, kind: CollectiveKind, ranks: int) -> str:
    plain = re.sub(r"\W+", "-", name.removeprefix(FILE_PREFIX)).strip("-")
    return f"{plain}-{kind.name.lower()}-{ranks}.png"
