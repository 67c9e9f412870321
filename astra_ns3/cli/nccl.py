"""``astra-ns3 nccl``: collectives as NCCL plays them, in nccl-tests' own tables."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, TypedDict, TypeVar

import click

from astra_ns3.cli.completion import PICTURES, counted_words, files
from astra_ns3.cli.help import Command, CommandGroup, help_alone
from astra_ns3.cli.output import folder_for, log_warnings, show, show_logs, tell
from astra_ns3.cli.overwriting import overwrite_option
from astra_ns3.errors import InputError, ends_in, refuse, wrong
from astra_ns3.nccl.environment import HEEDED
from astra_ns3.nccl.servers import SERVERS, parse_servers
from astra_ns3.network.backends import ABILITIES
from astra_ns3.units import counted, parse_bytes
from astra_ns3.whole_file import check_free, whole_file

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from astra_ns3.experiments.nccl.machine import Machine
    from astra_ns3.nccl.logs import Log

_TUNED = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce")
_OPERATIONS = (*_TUNED, "alltoall", "sendrecv")
_SUFFIXES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"([0-9]{1,18}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})([KMGT])", re.IGNORECASE)
_LARGEST_SEED = 2**32 - 1
_MACHINE = ("servers", "gpus", "network", "nccl_version", "changes", "fit", "backend")
_LOGS = {"Machine": _MACHINE, "Output": ("seed", "output", "overwrite", "as_json")}
_Command = TypeVar("_Command", bound=Callable[..., None])


class _Others(TypedDict, total=False):
    """Options of a machine besides those that a log may tell."""

    network: str | None
    changes: tuple[str, ...]
    fit: str | None
    backend: str


class _Machine(_Others):
    """All options of a machine."""

    servers: str | None
    gpus: int | None
    nccl_version: str | None


_WHAT_IF = click.option("--what-if", is_flag=True, help="Play NCCL's other choices too; mark where one is faster.")


@click.group(
    "nccl",
    cls=CommandGroup,
    invoke_without_command=True,
    examples=(
        "astra-ns3 nccl all_reduce --servers 2xdgx-h100 -b 8 -e 8G -f 2",
        "astra-ns3 nccl compare all_reduce.log --servers 2xdgx-h100",
    ),
)
@click.pass_context
def nccl_group(context: click.Context) -> None:
    """Measure collectives as nccl-tests does, on simulated servers.

    `compare` sets a log beside the simulation, and `fit` finds host overheads and NIC efficiency from logs.
    """
    help_alone(context)


def _size(_context: click.Context, parameter: click.Parameter, value: str) -> int:
    """Sizes as nccl-tests takes them (8, 64K, 1.5G), cut to whole bytes, and as all else here does (128MiB)."""
    if found := _SIZE.fullmatch(value):
        return int(Fraction(found[1]) * _SUFFIXES[found[2].upper()])
    try:
        return parse_bytes(value)
    except InputError as error:
        # The nearest of its units may be another size.
        expected = "a size such as 8, 64K, 1.5G or 1T (powers of 1,024), 128MiB or 128MB"
        raise wrong(f"{parameter.opts[0]}: found '{value}', expected {expected}") from error


_NETWORK = click.option(
    "-n", "--network", metavar="FILE", shell_complete=files(".yaml"), help="A network file instead of a ready one."
)
_GPUS = click.option("--gpus", type=click.IntRange(1), help="GPUs of each server that take part.  [default: all]")
_SET = click.option(
    "--set", "changes", metavar="KEY=VALUE", multiple=True, help="A key of the table nccl, as NCCL_ALGO=Ring."
)
_BACKEND = click.option(
    "--backend", type=click.Choice(tuple(ABILITIES)), default="flow", show_default=True, help="What plays it."
)
_FIT = click.option(
    "--fit", metavar="FILE", shell_complete=files(".yaml"), help="Keys of the table nccl, as nccl fit -o wrote them."
)
_SEED = click.option(
    "--seed", type=click.IntRange(1, _LARGEST_SEED), default=1, show_default=True, help="Of what is left to chance."
)


def _servers(*, several: bool = False, of_file: bool = False) -> Callable[[_Command], _Command]:
    words_of_it = f"How many of which ready server, as 2xdgx-h100. Ready: {', '.join(SERVERS)}."
    words_of_it += " Once, or once for each LOG in order." if several else ""
    words_of_it += "  [default: those of the network file]" if of_file else "  [required]"
    return click.option(
        "--servers",
        metavar="NxSERVER",
        multiple=several,
        shell_complete=counted_words(tuple(SERVERS)),
        help=words_of_it,
    )


def _version(default: str) -> Callable[[_Command], _Command]:
    return click.option("--nccl-version", help=f"Whose rules decide.  [default: {default}]")


def _with(*options: Callable[[_Command], _Command]) -> Callable[[_Command], _Command]:
    """Options in this order in the help."""

    def decorate(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


_sizes_of = _with(
    click.option("-b", "--begin", default="8", show_default=True, callback=_size, help="Smallest size."),
    click.option("-e", "--end", default="1G", show_default=True, callback=_size, help="Largest size."),
    click.option(
        "-f", "--factor", type=click.IntRange(2), default=2, show_default=True, help="From a size to the next one."
    ),
)
_pairs_of = _with(
    click.option("--pairs", is_flag=True, help="Play the largest size between each two servers alone."),
    click.option(
        "-o",
        "--output",
        metavar="FILE",
        shell_complete=files(*PICTURES, ".html"),
        help="With --pairs: draw them (.png, .svg, .pdf, .html).",
    ),
)


def _operation(name: str) -> click.Command:
    tuned = name in _TUNED
    more = [_WHAT_IF] if tuned else []

    @_with(_servers(of_file=True), _GPUS, _NETWORK, _version("2.30"), _SET, _FIT, _BACKEND)
    @_sizes_of
    @_with(*more, _SEED)
    @_pairs_of
    @overwrite_option
    @click.option("--json", "as_json", is_flag=True, help="Print a list of rows, with busbw in GB/s.")
    def command(
        begin: int,
        end: int,
        factor: int,
        seed: int,
        pairs: bool,
        output: str | None,
        overwrite: bool,
        as_json: bool,
        what_if: bool = False,
        **machine: Unpack[_Machine],
    ) -> None:
        _check_together(pairs=pairs, what_if=what_if, output=output)
        sizes = _sizes(begin, end, factor)
        if pairs:
            _measure_pairs(name, sizes[-1], seed, output, overwrite, as_json, machine)
        else:
            _measure(name, sizes, seed, what_if, as_json, machine)

    command.__doc__ = f"Measure {name} at sizes from -b to -e."
    examples = (
        f"astra-ns3 nccl {name} --servers 2xdgx-h100 -b 1M -e 1G",
        f"astra-ns3 nccl {name} --servers 10xhgx-h100 --nccl-version 2.29 -b 4G -e 4G --what-if"
        if tuned
        else f"astra-ns3 nccl {name} --servers 4xhgx-h100 -e 64M --pairs -o pairs.png",
    )
    groups = {
        "Machine": _MACHINE,
        "Sizes": ("begin", "end", "factor"),
        "What is played": ("what_if", "pairs", "seed"),
        "Output": ("output", "overwrite", "as_json"),
    }
    return click.command(name, cls=Command, short_help=f"Measure {name}.", examples=examples, groups=groups)(command)


def _check_together(*, pairs: bool, what_if: bool, output: str | None) -> None:
    if output and not pairs:
        raise click.UsageError("-o draws pairs of servers; add --pairs")
    if pairs and what_if:
        raise click.UsageError("--pairs and --what-if exclude each other")


def _sizes(begin: int, end: int, factor: int) -> list[int]:
    refuse(begin < 1, f"-b: found {begin}, expected at least 1 byte")
    refuse(end < begin, f"-e: found {end}, expected at least the smallest size, {begin}")
    sizes = [begin]
    while sizes[-1] * factor <= end:
        sizes.append(sizes[-1] * factor)
    return sizes


def _measure(name: str, sizes: list[int], seed: int, others: bool, as_json: bool, machine: _Machine) -> None:
    from astra_ns3.experiments.nccl.bench import left_out, rounded_sizes
    from astra_ns3.experiments.nccl.machine import machine_of
    from astra_ns3.experiments.nccl.table import table_document, table_text
    from astra_ns3.experiments.nccl.what_if import choices_document, choices_text, doubts, what_if

    found = machine_of(**machine)
    played = rounded_sizes(name, sizes, found.network.npus)
    _warn([*found.warnings, *(f"--what-if: {words}" for words in doubts(found.network, found.backend) if others)])
    rows = found.bench(name, played, seed, tell)
    choices = what_if(found, name, rows, seed, tell) if others else []
    if as_json:
        document = table_document(name, rows)
        more = choices_document(choices) if others else [{} for _ in rows]
        show(json.dumps([{**row, **added} for row, added in zip(document, more, strict=True)], indent=2))
        return
    above = (found.ways(name), left_out(name, sizes, found.network.npus))
    show(table_text(name, found.words, found.table.version, rows, [words for words in above if words]))
    if others:
        show(choices_text(choices))


def _measure_pairs(
    name: str,
    size: int,
    seed: int,
    output: str | None,
    overwrite: bool,
    as_json: bool,
    machine: _Machine,
) -> None:
    from astra_ns3.experiments.nccl.machine import machine_of
    from astra_ns3.experiments.nccl.pairs import (
        check_pairs_file,
        measure_pairs,
        pairs_document,
        pairs_text,
        write_pairs,
    )

    if output:
        check_pairs_file(output)
        check_free(output, overwrite=overwrite)
    found = machine_of(**machine)
    _warn(found.warnings)
    pairs = measure_pairs(found, name, size, seed)
    if output:
        with folder_for(output):
            write_pairs(pairs, output)
    if as_json:
        show(json.dumps({**pairs_document(pairs), **({"written": output} if output else {})}, indent=2))
    else:
        show("\n".join([pairs_text(pairs), *([f"written to {output}"] if output else [])]))


@click.command(
    "compare",
    cls=Command,
    short_help="Compare a log of nccl-tests with what is played.",
    examples=(
        "astra-ns3 nccl compare all_reduce.log --servers 2xdgx-h100",
        "astra-ns3 nccl compare all_reduce.csv --servers 2xp5 --nccl-version 2.21 --fit fit.yaml",
    ),
    groups=_LOGS,
)
@click.argument("log", metavar="LOG", shell_complete=files(".log", ".txt", ".csv", ".out"))
@_with(_servers(of_file=True), _GPUS, _NETWORK, _version("the log's, else 2.30"), _SET, _FIT, _BACKEND, _SEED)
@click.option("--json", "as_json", is_flag=True, help="Print the rows and what they amount to as JSON.")
def compare_command(
    log: str,
    servers: str | None,
    gpus: int | None,
    nccl_version: str | None,
    seed: int,
    as_json: bool,
    **machine: Unpack[_Others],
) -> None:
    """Play the operation and sizes of LOG, and print measured times, ours and their ratio.

    LOG is what a program of nccl-tests printed, its rows as CSV, or a table of astra-ns3 nccl. Below the rows stand
    mean errors, which part of the time differs, and from which size on the ratio isn't within 0.8 to 1.25.
    """
    from astra_ns3.experiments.nccl.comparison import compare_with, comparison_document, comparison_text, warnings_of

    found = _measured(log, servers, gpus, nccl_version, machine)
    _warn(warnings_of(found))
    compared = compare_with(*found, seed)
    if as_json:
        show(json.dumps(comparison_document(compared), indent=2))
        return
    show(comparison_text(compared))


@click.command(
    "fit",
    cls=Command,
    short_help="Find host overheads and the NICs' efficiency from logs.",
    examples=(
        "astra-ns3 nccl fit all_reduce.log --servers 2xdgx-h100 -o fit.yaml",
        "astra-ns3 nccl fit n2.log n4.log --servers 2xp5 --servers 4xp5 --nccl-version 2.21",
    ),
    groups=_LOGS,
)
@click.argument("logs", metavar="LOG...", nargs=-1, required=True, shell_complete=files(".log", ".txt", ".csv", ".out"))
@_with(_servers(several=True), _GPUS, _version("each log's, else 2.30"), _SET, _BACKEND, _SEED)
@click.option("-o", "--output", metavar="FILE", help="Write the keys of the table nccl (.yaml), for --fit.")
@overwrite_option
@click.option("--json", "as_json", is_flag=True, help="Print the fit as JSON.")
def fit_command(
    logs: tuple[str, ...],
    servers: tuple[str, ...],
    gpus: int | None,
    nccl_version: str | None,
    seed: int,
    output: str | None,
    overwrite: bool,
    as_json: bool,
    **machine: Unpack[_Others],
) -> None:
    """Find one host overhead for each protocol, and one efficiency of the NICs, from LOGs of one kind of server.

    Both are medians over rows, with quartiles. What the logs can't tell is said. The errors of each log are printed
    without the fit and with it.
    """
    from astra_ns3.experiments.nccl.comparison import warnings_of, without_servers
    from astra_ns3.experiments.nccl.fit import fit_logs, logs_fit_document, logs_fit_text

    if not servers:
        raise without_servers(logs[0])
    if len(servers) not in (1, len(logs)):
        raise click.UsageError(
            f"--servers: found {counted(len(servers), 'time')}, expected once, or once for each of {len(logs)} logs"
        )
    if output:
        ends_in("a fit's file", output, (".yaml", ".yml"))
        check_free(output, overwrite=overwrite)
    each = servers * len(logs) if len(servers) == 1 else servers
    measured = [_measured(log, one, gpus, nccl_version, machine) for log, one in zip(logs, each, strict=True)]
    _warn(warnings_of(*measured))
    found = fit_logs(measured, seed)
    if output:
        with folder_for(output), whole_file(output) as partial:
            partial.write_text(found.text, encoding="utf-8")
    if as_json:
        show(json.dumps({**logs_fit_document(found), **({"written": output} if output else {})}, indent=2))
    else:
        show("\n".join([logs_fit_text(found), *([f"written to {output}"] if output else [])]))


def _warn(warnings: Iterable[str]) -> None:
    show_logs("warning")
    # nccl-tests' users set them so; a run must not hang on where it is started.
    unread = sorted(HEEDED & os.environ.keys())
    found = [f"not read of the environment: {', '.join(unread)}; give --set {unread[0]}=VALUE"] if unread else []
    log_warnings(*found, *warnings)


def _measured(
    path: str, servers: str | None, gpus: int | None, nccl_version: str | None, machine: _Others
) -> tuple[Log, Machine]:
    """Return a log, and the machine that it was measured on."""
    from astra_ns3.experiments.nccl.comparison import check_operation, gpus_of, without_servers
    from astra_ns3.experiments.nccl.machine import machine_of
    from astra_ns3.nccl.logs import read_log

    log = read_log(path)
    check_operation(log)
    version = nccl_version or (None if log.version is None else str(log.version))
    if servers is None and machine.get("network") is None:
        raise without_servers(path, ", or -n FILE for servers of a network file")
    if servers is not None:
        gpus = gpus_of(log, parse_servers(servers)[0], gpus)
    found = machine_of(servers, gpus, nccl_version=version, **machine)
    npus = found.network.npus
    refuse(log.ranks not in (None, npus), f"the log has {_ranks(log)}, expected the {npus} NPUs of -n", path)
    return log, found


def _ranks(log: Log) -> str:
    return counted(log.ranks or 0, "rank")


for _name in _OPERATIONS:
    nccl_group.add_command(_operation(_name))
nccl_group.add_command(compare_command)
nccl_group.add_command(fit_command)
