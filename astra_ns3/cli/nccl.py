"""``astra-ns3 nccl``: collectives as NCCL plays them, in nccl-tests' own tables."""

from __future__ import annotations

import json
from collections.abc import Callable

import click

from astra_ns3.cli.completion import files, words
from astra_ns3.cli.help import Command, CommandGroup, help_alone
from astra_ns3.cli.output import show
from astra_ns3.errors import located, refuse
from astra_ns3.nccl.servers import SERVERS
from astra_ns3.network.backends import ABILITIES
from astra_ns3.units import parse_bytes

_OPERATIONS = ("all_reduce", "all_gather", "reduce_scatter", "alltoall", "sendrecv")
_SUFFIXES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
Decorated = Callable[..., None]  # a command's function, whose words click gives by name

_Machine = tuple[str, int | None, str | None, str, tuple[str, ...], str]
"""What :func:`machine_of` takes, in its order."""


@click.group(
    "nccl",
    cls=CommandGroup,
    invoke_without_command=True,
    examples=(
        "astra-ns3 nccl all_reduce --servers 2xdgx-h100 -b 8 -e 8G -f 2",
        "astra-ns3 nccl alltoall --servers 4xdgx-h100 --nccl-version 2.26 --backend ns3 -b 1M -e 64M",
    ),
)
@click.pass_context
def nccl_group(context: click.Context) -> None:
    """Measure a collective as nccl-tests does, on simulated servers."""
    help_alone(context)


def _size(_context: click.Context, parameter: click.Parameter, value: str) -> int:
    """Sizes as nccl-tests takes them (8, 64K, 128M, 8G), and as all else here does (128MiB)."""
    number = value[:-1]
    if value[-1:].upper() in _SUFFIXES and number.isascii() and number.isdigit():
        return int(number) * _SUFFIXES[value[-1].upper()]
    with located(parameter.opts[0]):
        return parse_bytes(value)


def _of_machine(command: Decorated) -> Decorated:
    """The options that say which machine is measured."""
    options = (
        click.option(
            "--servers",
            required=True,
            metavar="NxSERVER",
            shell_complete=words(tuple(SERVERS)),
            help="How many of which ready server, as 2xdgx-h100.",
        ),
        click.option("--gpus", type=click.IntRange(1), help="GPUs of each server that take part.  [default: all]"),
        click.option(
            "-n",
            "--network",
            metavar="FILE",
            shell_complete=files(".yaml"),
            help="A network file instead of a ready one.",
        ),
        click.option("--nccl-version", default="2.30", show_default=True, help="Whose rules decide."),
        click.option(
            "--set", "changes", metavar="KEY=VALUE", multiple=True, help="A key of the table nccl, as NCCL_ALGO=Ring."
        ),
        click.option(
            "--backend", type=click.Choice(tuple(ABILITIES)), default="flow", show_default=True, help="What plays it."
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _operation(name: str) -> click.Command:
    @_of_machine
    @click.option("-b", "--begin", default="8", show_default=True, callback=_size, help="Smallest size.")
    @click.option("-e", "--end", default="1G", show_default=True, callback=_size, help="Largest size.")
    @click.option(
        "-f", "--factor", type=click.IntRange(2), default=2, show_default=True, help="From a size to the next one."
    )
    @click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Of what is left to chance.")
    @click.option("--json", "as_json", is_flag=True, help="Print a list of rows, with busbw in GB/s.")
    def command(
        begin: int,
        end: int,
        factor: int,
        seed: int,
        as_json: bool,
        servers: str,
        gpus: int | None,
        network: str | None,
        nccl_version: str,
        changes: tuple[str, ...],
        backend: str,
    ) -> None:
        sizes = _sizes(begin, end, factor)
        _measure(name, sizes, seed, as_json, (servers, gpus, network, nccl_version, changes, backend))

    command.__doc__ = f"Measure {name} at sizes from -b to -e."
    examples = (f"astra-ns3 nccl {name} --servers 2xdgx-h100 -b 1M -e 1G",)
    return click.command(name, cls=Command, short_help=f"Measure {name}.", examples=examples)(command)


def _sizes(begin: int, end: int, factor: int) -> list[int]:
    refuse(begin < 1, f"-b: found {begin}, expected at least 1 byte")
    refuse(end < begin, f"-e: found {end}, expected at least the smallest size, {begin}")
    sizes = [begin]
    while sizes[-1] * factor <= end:
        sizes.append(sizes[-1] * factor)
    return sizes


def _measure(name: str, sizes: list[int], seed: int, as_json: bool, machine: _Machine) -> None:
    from astra_ns3.experiments.nccl.machine import machine_of
    from astra_ns3.experiments.nccl.table import table_document, table_text

    found = machine_of(*machine)
    rows = found.bench(name, sizes, seed)
    if as_json:
        show(json.dumps(table_document(name, rows), indent=2))
    else:
        show(table_text(name, found.words, found.table.version, rows))


for _name in _OPERATIONS:
    nccl_group.add_command(_operation(_name))
