"""``astra-ns3 generate``: workloads made by chance, or of a model's numbers, written as files."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import click

from astra_ns3.cli.completion import words
from astra_ns3.cli.generate_workload import generate_workload
from astra_ns3.cli.help import CommandGroup, help_alone
from astra_ns3.cli.output import folder_for, print_result, tell
from astra_ns3.cli.overwriting import overwrite_option
from astra_ns3.config.flow_list import FlowList
from astra_ns3.errors import InputError
from astra_ns3.units import counted, format_bytes, format_time, parse_rate, parse_time_ps
from astra_ns3.whole_file import check_free
from astra_ns3.workload.files.flows.writing import WRITERS, write_flows
from astra_ns3.workload.generators import flows as generators
from astra_ns3.workload.generators.flow_sizes import DISTRIBUTIONS, FlowSizes, flow_sizes

_Command = Callable[..., None]
Read = TypeVar("Read")


def _read_by(read: Callable[[str], Read]) -> Callable[[str], Read]:
    """The type of an option that one of our functions reads."""

    def value(text: str) -> Read:
        try:
            return read(text)
        except InputError as error:
            raise click.BadParameter(str(error)) from error

    return value


_TIME = _read_by(parse_time_ps)


def _shared(command: _Command) -> _Command:
    """The options of every kind of list."""
    for option in (
        click.option("-o", "--output", metavar="FILE", required=True, help="Where to write."),
        overwrite_option,
        click.option(
            "--format",
            "written_as",
            type=click.Choice(tuple(WRITERS)),
            default="csv",
            show_default=True,
            help="Our CSV, HPCC's flow.txt, or htsim's connection matrix.",
        ),
        click.option(
            "--seed", type=click.IntRange(0), default=1, show_default=True, help="Seed of all random numbers."
        ),
        click.option(
            "--sizes",
            type=_read_by(flow_sizes),
            shell_complete=words(tuple(DISTRIBUTIONS), endings=()),
            required=True,
            metavar="SIZES",
            help=f"Of flows: {', '.join(DISTRIBUTIONS)}, one size such as 100KB, or a file of sizes and percentages.",
        ),
        click.option("--npus", type=click.IntRange(2), required=True, help="How many NPUs there are."),
        click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON."),
    ):
        command = option(command)
    return command


_RATE = click.option(
    "--rate", type=_read_by(parse_rate), required=True, metavar="RATE", help="Of an NPU's link, such as 100Gbps."
)
_DURATION = click.option("--duration", type=_TIME, required=True, metavar="TIME", help="In which flows start.")
_INTERVAL = click.option(
    "--interval", type=_TIME, default="0s", metavar="TIME", show_default=True, help="From one to the next."
)


# Examples of lists of flows.
_FLOWS = (
    "astra-ns3 generate flows poisson --npus 16 --sizes web-search --rate 100Gbps --load 0.5 --duration 1ms "
    "-o flows.csv",
    "astra-ns3 generate flows incast --npus 16 --sizes 64KB --senders 8 --bursts 10 --interval 100us -o incast.csv",
)
_OF_FLOWS = {
    "Flows": (
        "npus",
        "sizes",
        "seed",
        "rate",
        "load",
        "rack_npus",
        "rack_local",
        "duration",
        "on",
        "off",
        "senders",
        "bursts",
        "rounds",
        "interval",
    ),
    "Output": ("output", "written_as", "overwrite", "as_json"),
}


@click.group(
    "generate",
    cls=CommandGroup,
    invoke_without_command=True,
    examples=(
        _FLOWS[0],
        "astra-ns3 generate workload inputs/workload/models/llama-3-8b.yaml --dimensions 8x4 -o traces/llama",
    ),
)
@click.pass_context
def generate_group(context: click.Context) -> None:
    """Make a workload: random flows, or the training of a model file.

    The same words and seed make the same file.
    """
    help_alone(context)


generate_group.add_command(generate_workload)


@generate_group.group("flows", cls=CommandGroup, invoke_without_command=True, examples=_FLOWS)
@click.pass_context
def generate_flows(context: click.Context) -> None:
    """Make a list of flows."""
    help_alone(context)


@generate_flows.command(
    "poisson",
    short_help="Flows from all NPUs to any others, at a load.",
    groups=_OF_FLOWS,
    examples=(
        _FLOWS[0],
        "astra-ns3 generate flows poisson --npus 32 --sizes 1MB --rate 400Gbps --load 0.3 --duration 200us "
        "-o p.cm --format htsim",
    ),
)
@_shared
@_RATE
@_DURATION
@click.option("--load", type=float, required=True, help="Share of the rate that flows take on average, such as 0.5.")
@click.option("--rack-npus", type=click.IntRange(1), help="NPUs of a rack, for --rack-local.")
@click.option("--rack-local", type=float, help="Share of flows that stay in the rack; without it, as chance has it.")
def generate_poisson(
    npus: int,
    sizes: FlowSizes,
    rate: int,
    duration: int,
    load: float,
    seed: int,
    rack_npus: int | None,
    rack_local: float | None,
    **rest: Any,  # for _written
) -> None:
    """Flows from all NPUs to any others, at random times, at a load."""
    made = generators.poisson(
        npus,
        sizes,
        load=load,
        rate_bps=rate,
        duration_ps=duration,
        seed=seed,
        rack_npus=rack_npus,
        rack_local=rack_local,
    )
    if load > 1:
        tell(f"astra-ns3: warning: load {load:g} is more than links carry: queues grow until the last flow starts")
    _written(made, npus, rate, **rest)


@generate_flows.command(
    "incast",
    short_help="Bursts of many NPUs to one.",
    groups=_OF_FLOWS,
    examples=("astra-ns3 generate flows incast --npus 16 --sizes 64KB --senders 15 -o incast.csv", _FLOWS[1]),
)
@_shared
@_INTERVAL
@click.option("--senders", type=click.IntRange(1), required=True, help="To one receiver at once.")
@click.option("--bursts", type=click.IntRange(1), default=1, show_default=True, help="How many.")
def generate_incast(
    npus: int,
    sizes: FlowSizes,
    senders: int,
    bursts: int,
    interval: int,
    seed: int,
    **rest: Any,  # for _written
) -> None:
    """Bursts in which many NPUs begin at once to send to one, all drawn anew each time."""
    made = generators.incast(npus, sizes, senders=senders, bursts=bursts, interval_ps=interval, seed=seed)
    _written(made, npus, None, **rest)


@generate_flows.command(
    "permutation",
    groups=_OF_FLOWS,
    examples=(
        "astra-ns3 generate flows permutation --npus 16 --sizes 2MB -o permutation.csv",
        "astra-ns3 generate flows permutation --npus 16 --sizes 2MB --rounds 4 --interval 1ms --seed 7 -o rounds.csv",
    ),
)
@_shared
@_INTERVAL
@click.option("--rounds", type=click.IntRange(1), default=1, show_default=True, help="How many.")
# rest: for _written
def generate_permutation(npus: int, sizes: FlowSizes, rounds: int, interval: int, seed: int, **rest: Any) -> None:
    """Rounds in which every NPU sends one flow and gets one."""
    made = generators.permutation(npus, sizes, rounds=rounds, interval_ps=interval, seed=seed)
    _written(made, npus, None, **rest)


@generate_flows.command(
    "on-off",
    short_help="NPUs that send for a while and are quiet for a while.",
    groups=_OF_FLOWS,
    examples=(
        "astra-ns3 generate flows on-off --npus 16 --sizes 100KB --rate 100Gbps --on 50us --off 50us "
        "--duration 1ms -o on-off.csv",
        "astra-ns3 generate flows on-off --npus 8 --sizes 1MB --rate 25Gbps --on 1ms --off 3ms "
        "--duration 9ms --seed 2 -o other.csv",
    ),
)
@_shared
@_RATE
@_DURATION
@click.option("--on", type=_TIME, required=True, metavar="TIME", help="For how long an NPU sends, on average.")
@click.option("--off", type=_TIME, required=True, metavar="TIME", help="For how long it doesn't, on average.")
def generate_on_off(
    npus: int,
    sizes: FlowSizes,
    rate: int,
    duration: int,
    on: int,
    off: int,
    seed: int,
    **rest: Any,  # for _written
) -> None:
    """NPUs that send flow after flow to one other for a while, are quiet for a while, and choose another."""
    made = generators.on_off(npus, sizes, rate_bps=rate, on_ps=on, off_ps=off, duration_ps=duration, seed=seed)
    _written(made, npus, rate, **rest)


@generate_flows.command(
    "constant",
    short_help="NPUs that send at a constant rate.",
    groups=_OF_FLOWS,
    examples=(
        "astra-ns3 generate flows constant --npus 16 --sizes 1MB --rate 20Gbps --duration 1ms -o constant.csv",
        "astra-ns3 generate flows constant --npus 8 --sizes 64KB --rate 5Gbps --duration 1ms --seed 2 -o other.csv",
    ),
)
@_shared
@_RATE
@_DURATION
def generate_constant(
    npus: int,
    sizes: FlowSizes,
    rate: int,
    duration: int,
    seed: int,
    output: str,
    written_as: str,
    overwrite: bool,
    as_json: bool,
) -> None:
    """NPUs that send flow after flow to one other, as the rate takes their bytes."""
    made = generators.constant(npus, sizes, rate_bps=rate, duration_ps=duration, seed=seed)
    _written(made, npus, rate, output=output, written_as=written_as, overwrite=overwrite, as_json=as_json)


def _written(
    flows: FlowList, npus: int, rate_bps: int | None, *, output: str, written_as: str, overwrite: bool, as_json: bool
) -> None:
    check_free(output, overwrite=overwrite)
    with folder_for(output):
        write_flows(flows, output, written_as)
    load = math.inf if rate_bps is None else generators.offered_load(flows, npus, rate_bps)
    size, last_ps = int(flows.sizes_bytes.sum()), int(flows.starts_ps.max())
    told = {"written": output, "flows": len(flows), "bytes": size, "last_start_ps": last_ps}
    at = f", load {load:.3g}" if math.isfinite(load) else ""
    print_result(
        {**told, "load": load if math.isfinite(load) else None},
        f"written to {output}: {counted(len(flows), 'flow')}, {format_bytes(size)}, "
        f"the last at {format_time(last_ps)}{at}",
        as_json=as_json,
    )
