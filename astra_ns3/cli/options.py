"""Options that commands share, and the words they accept: sizes and times with a unit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from astra_ns3.cli.output import LOG_LEVELS
from astra_ns3.errors import InputError
from astra_ns3.units import PS_PER_SECOND, parse_bytes, parse_time_ps

_Function = TypeVar("_Function", bound=Callable[..., Any])


def time_ps(text: str | int) -> int:
    """A time with a unit, above 0, in picoseconds."""
    return _quantity(text, parse_time_ps)


def size_bytes(text: str | int) -> int:
    """A size, above 0, in bytes."""
    return _quantity(text, parse_bytes)


def _quantity(text: str | int, parse: Callable[[str | int], int]) -> int:
    try:
        number = parse(text)
    except InputError as error:
        raise click.BadParameter(str(error)) from error
    if number <= 0:
        raise click.BadParameter(f"'{text}' is not above 0")
    return number


def seconds(limit_ps: int | None) -> float | None:
    """Picoseconds, in seconds."""
    return None if limit_ps is None else limit_ps / PS_PER_SECOND


def input_options(function: _Function) -> _Function:
    """The three files, how they are scaled and meant, and how much is said."""
    decorators = [
        click.option("-w", "--workload", "--workload-configuration", required=True, metavar="FILE", help="Workload."),
        click.option("-s", "--system", "--system-configuration", required=True, metavar="FILE", help="System."),
        click.option("-n", "--network", "--network-configuration", required=True, metavar="FILE", help="Network."),
        click.option("-p", "--passes", "--num-passes", type=int, default=1, show_default=True, help="Training passes."),
        click.option(
            "--scale", type=float, default=1.0, show_default=True, help="Multiplies every size and compute time."
        ),
        click.option("--comm-scale", type=float, default=1.0, show_default=True, help="Multiplies every size."),
        click.option("--compute-scale", type=float, default=1.0, show_default=True, help="Multiplies compute times."),
        click.option("--backend", default="ns3", show_default=True, help="ns3, analytical or analytical-queues."),
        click.option(
            "--compat", default="none", show_default=True, help="Whose rules: none (ours), astra-sim-1.0, ..."
        ),
        click.option(
            "--num-queues-per-dim",
            "num_queues_per_dimension",
            type=int,
            help="Queues of each dimension that phases take in turns.",
        ),
        click.option(
            "--injection-scale", type=float, default=1.0, show_default=True, help="Multiplies the endpoint delay."
        ),
        click.option(
            "--rendezvous-protocol", "rendezvous", is_flag=True, help="Receivers invite messages (analytical only)."
        ),
        click.option("--scheduling-policy", help="Instead of the system file's: LIFO, FIFO or FILE.py:name."),
        click.option("--intra-dimension-scheduling", help="Instead of the system file's; or FILE.py:name."),
        click.option("--inter-dimension-scheduling", help="Instead of the system file's; or FILE.py:name."),
        click.option("--congestion-control", metavar="NAME", help="RoCE's, instead of the file's; or FILE.hpp:Class."),
        click.option(
            "--report-npu",
            type=int,
            default=0,
            show_default=True,
            metavar="N",
            help="Whose times EndToEnd.csv and detailed.csv tell of.",
        ),
        click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON, also after a failure."),
        click.option(
            "--log-level",
            type=click.Choice(LOG_LEVELS, case_sensitive=False),
            default="warning",
            show_default=True,
            help="What is logged on standard error.",
        ),
    ]
    for decorator in reversed(decorators):
        function = decorator(function)
    return function
