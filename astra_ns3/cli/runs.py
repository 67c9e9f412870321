"""``astra-ns3 runs``: the runs of a folder as a list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from astra_ns3.cli.completion import folders, listed
from astra_ns3.cli.help import Command
from astra_ns3.cli.output import log_warnings, print_json, show, show_logs
from astra_ns3.config.core.plain import Json
from astra_ns3.errors import wrong
from astra_ns3.experiments.listing.columns import COLUMNS, NOTE, TOKENS, USUAL, Column, columns_of, plain, printable
from astra_ns3.experiments.tables import Table
from astra_ns3.report.alignment import table
from astra_ns3.units import counted

if TYPE_CHECKING:  # help and Tab do without
    from astra_ns3.experiments.listing.finding import Found, FoundRun

_FORMATS = ("table", "csv", "json")
_MOST_DAMAGED = 5


@click.command(
    "runs",
    cls=Command,
    examples=(
        "astra-ns3 runs results --sort finish",
        "astra-ns3 runs results --columns name,network.topology.link.rate,finish --where backend=ns3 "
        "--where 'finish<5ms' --format csv",
    ),
)
@click.argument("folder", metavar="[DIR]", default=".", shell_complete=folders)
@click.option(
    "--columns",
    metavar="NAMES",
    shell_complete=listed(COLUMNS),
    help=f"Separated by commas: {', '.join(COLUMNS)}, or any dotted key of run.json; with + in front besides the usual "
    f"ones.  [default: {', '.join(USUAL)}; {TOKENS} of models]",
)
@click.option(
    "--where",
    "conditions",
    multiple=True,
    metavar="COLUMN=VALUE",
    help="Only these runs; also !=, <, <=, > and >=, with units, such as finish<2ms; may be repeated.",
)
@click.option(
    "--sort",
    metavar="NAMES",
    shell_complete=listed(COLUMNS),
    help="Columns separated by commas, the first counts most; with - in front the largest first.  [default: folder]",
)
@click.option(
    "--format", "form", type=click.Choice(_FORMATS), default=_FORMATS[0], show_default=True, help="What is printed."
)
@click.option("--all", "every", is_flag=True, help="Earlier points of studies too, and helper runs of plans.")
def runs_command(
    folder: str, columns: str | None, conditions: tuple[str, ...], sort: str | None, form: str, every: bool
) -> None:
    """List the runs in DIR and below, with columns of your choice.

    A study's points are runs, too. Folders whose run can't be read are told at the end.
    """
    from astra_ns3.experiments.listing.choosing import in_order, wanted
    from astra_ns3.experiments.listing.finding import Found, find_runs

    show_logs("warning")
    there = find_runs(folder)
    found = there if every else Found(tuple(run for run in there.runs if not run.note), there.damaged)
    usual = [*USUAL, *[NOTE] * every]
    if any(COLUMNS[TOKENS].value(run) is not None for run in found.runs):
        usual.insert(usual.index("exposed") + 1, TOKENS)
    chosen = columns_of(_asked_for(columns, usual), found.runs)
    runs = in_order(wanted(found.runs, conditions), _names("sort", sort) if sort is not None else ())
    if form == "json":
        _print_json(chosen, runs, found)
    else:
        show(_text(chosen, runs, found, form))
    if noted := len(there.runs) - len(found.runs):
        log_warnings(_left_out(there.runs, noted))
    if found.damaged:
        log_warnings(_damaged(found))


def _asked_for(columns: str | None, usual: Sequence[str]) -> Sequence[str]:
    if columns is None:
        return usual
    besides = columns.startswith("+")
    names = _names("columns", columns.removeprefix("+"))
    return (*usual, *(name for name in names if name not in usual)) if besides else names


def _names(option: str, text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not all(name.removeprefix("-") for name in names):
        expected = f"expected names with commas between them, as {','.join(USUAL[:3])}"
        raise wrong(f"--{option} is '{text}', {expected}")
    return names


def _text(columns: Sequence[Column], runs: Sequence[FoundRun], found: Found, form: str) -> str:
    if form == "csv":
        rows = [[_cell(column.value(run)) for column in columns] for run in runs]
        return Table("runs.csv", [column.key for column in columns], rows).text().rstrip("\n")
    if not runs:
        return f"none of {counted(len(found.runs), 'run', 'runs')} fits" if found.runs else "no runs"
    return table([[column.heading for column in columns], *([column.shown(run) for column in columns] for run in runs)])


def _cell(value: Json) -> str | int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    return plain(value).encode("utf-8", "replace").decode()


def _print_json(columns: Sequence[Column], runs: Sequence[FoundRun], found: Found) -> None:
    damaged = [{"folder": folder, "error": why} for folder, why in found.damaged]
    rows = [{column.key: column.value(run) for column in columns} for run in runs]
    print_json({"runs": rows, "damaged": damaged, "exit_status": 0})


def _left_out(runs: Sequence[FoundRun], count: int) -> str:
    """One line."""
    kinds = Counter(run.note for run in runs if run.note)
    told = ", ".join(counted(number, note, f"{note}s") for note, number in sorted(kinds.items()))
    return f"{counted(count, 'run', 'runs')} left out ({told}); --all lists them"


def _damaged(found: Found) -> str:
    """One line."""
    told = "; ".join(f"{folder}: {why}" for folder, why in found.damaged[:_MOST_DAMAGED])
    more = "; ..." if found.damaged[_MOST_DAMAGED:] else ""
    count = counted(len(found.damaged), "folder", "folders")
    return printable(" ".join(f"{count} left out, whose run can't be read: {told}{more}".split()))
