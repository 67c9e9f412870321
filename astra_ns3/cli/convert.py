"""``astra-ns3 convert``: a workload from one format to another."""

from __future__ import annotations

import re
from math import prod
from typing import TYPE_CHECKING

import click

from astra_ns3.cli.completion import files
from astra_ns3.cli.help import Command
from astra_ns3.cli.output import folder_for, print_result, tell
from astra_ns3.cli.overwriting import overwrite_option
from astra_ns3.errors import refuse
from astra_ns3.playing.converting.targets import TARGETS
from astra_ns3.units import counted
from astra_ns3.whole_file import check_free

if TYPE_CHECKING:  # help and Tab do without
    from astra_ns3.playing.converting.conversion import Converted
    from astra_ns3.workload.files.workload_formats import AnyWorkload

_FIRST_TRACE = ".0.et"
_MOST_NPUS = 2**24
MOST_PASSES = 1_000_000
"""Each is written out."""
_DIMENSIONS = re.compile(r"[1-9][0-9]{0,6}(x[1-9][0-9]{0,6})*")


@click.command(
    "convert",
    cls=Command,
    examples=(
        "astra-ns3 convert inputs/workload/DLRM_HybridParallel.txt dlrm --dimensions 2x4",
        "astra-ns3 convert inputs/workload/flows-16.csv flows.cm --to htsim",
    ),
    groups={
        "What a loop becomes": ("dimensions", "passes", "scheduling_policy"),
        "Files and formats": ("output", "target", "groups", "overwrite", "as_json"),
    },
)
@click.argument("source", metavar="IN", shell_complete=files())
@click.argument("place", metavar="OUT", required=False, shell_complete=files())
@click.option("-o", "--output", metavar="OUT", shell_complete=files(), help="The same as OUT behind IN.")
@click.option(
    "--to",
    "target",
    type=click.Choice(TARGETS),
    default="chakra",
    show_default=True,
    help="Chakra's traces (OUT.<rank>.et, or .json), ASTRA-sim's or SimAI's text, a model file, flows: our CSV, "
    "HPCC's, htsim's.",
)
@click.option(
    "--dimensions",
    metavar="SIZES",
    help="Of a loop that becomes a graph, or one rank's trace SimAI's text: NPUs along each, such as 8 or 2x4.",
)
@click.option("--passes", type=click.IntRange(1, MOST_PASSES), default=1, show_default=True, help="Of such a loop.")
@click.option(
    "--scheduling-policy",
    type=click.Choice(("LIFO", "FIFO")),
    default="LIFO",
    show_default=True,
    help="Of the system that such a loop is played on.",
)
@click.option(
    "--groups", metavar="FILE", shell_complete=files(".json"), help="Communicators of a Chakra trace, ASTRA-sim's JSON."
)
@overwrite_option
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
def convert_command(
    source: str,
    place: str | None,
    output: str | None,
    target: str,
    dimensions: str | None,
    passes: int,
    scheduling_policy: str,
    groups: str | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Write the workload IN in another format.

    A prefix or folder of Chakra's traces is one workload."""
    from astra_ns3.playing.converting.conversion import Unrolling, check_unrolling, convert

    refuse(place is not None and output is not None, f"OUT is '{place}' and '{output}', expected one", "--output")
    output = place or output
    if not output:
        raise click.UsageError("OUT is missing: expected where to write, as in convert IN OUT")
    workload = read(source, groups, keep_groups=True)
    unrolling = Unrolling(sizes_of(dimensions), passes, scheduling_policy)
    check_unrolling(workload, target, unrolling)
    check_workload_free(workload, target, output, overwrite=overwrite)
    with folder_for(output):
        converted = convert(workload, target, output, unrolling)
    tell_of(converted, as_json=as_json)


def check_workload_free(workload: AnyWorkload, target: str, output: str, *, overwrite: bool) -> None:
    """Raise InputError if files would be replaced that aren't to be."""
    from astra_ns3.playing.converting.conversion import files_there

    for path in files_there(workload, target, output):
        check_free(path, overwrite=overwrite)


def tell_of(converted: Converted, *, as_json: bool) -> None:
    """Tell which files were written, and print the warnings of the conversion."""
    for warning in converted.warnings:
        tell(f"astra-ns3: warning: {warning}")
    more = f" and {counted(len(converted.files) - 1, 'more file')}" if len(converted.files) > 1 else ""
    prefix = converted.files[0].removesuffix(_FIRST_TRACE)
    played = f"; -w {prefix} plays them" if more and prefix != converted.files[0] else ""
    print_result(
        {"files": list(converted.files), "warnings": list(converted.warnings)},
        f"written to {converted.files[0]}{more}: {converted.holds}{played}",
        as_json=as_json,
    )


def read(source: str, groups: str | None, *, keep_groups: bool = False) -> AnyWorkload:
    """A workload, of Chakra's with its communicators, with ``keep_groups`` those of one rank too; raises InputError."""
    from astra_ns3.workload.files.chakra.trace import ChakraTrace, read_chakra
    from astra_ns3.workload.files.workload_formats import read_workload

    workload = read_workload(source)
    if isinstance(workload, ChakraTrace):
        return read_chakra(source, groups, keep_groups=keep_groups)
    refuse(groups is not None, f"isn't a Chakra trace, so --groups {groups} has no meaning", source)
    return workload


def sizes_of(text: str | None) -> tuple[int, ...] | None:
    """NPUs along each dimension, of ``2x4``; raises InputError."""
    if text is None:
        return None
    refuse(not _DIMENSIONS.fullmatch(text), f"--dimensions is '{text}', expected numbers of NPUs such as 8 or 2x4")
    sizes = tuple(map(int, text.split("x")))
    refuse(
        prod(sizes) > _MOST_NPUS,
        f"--dimensions is '{text}', which makes {prod(sizes):,} NPUs, expected at most {_MOST_NPUS:,}",
    )
    return sizes
