"""``astra-ns3 example``: the examples, to try and to change."""

from __future__ import annotations

from pathlib import Path

import click

from astra_ns3.cli.completion import folders
from astra_ns3.cli.help import Command
from astra_ns3.cli.output import show


@click.command("example", cls=Command, examples=("astra-ns3 example mine", "astra-ns3 example inputs"))
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path), shell_complete=folders)
def example_command(folder: Path) -> None:
    """Copy the examples into DIR: workloads, systems, networks, hooks, parts of your own.

    Prints a command that runs one of them.
    """
    from astra_ns3.experiments.examples import EXAMPLE, copy_examples

    files = copy_examples(folder)
    words = " ".join(f"-{flag} {folder / name}" for flag, name in zip("wsn", EXAMPLE, strict=True))
    show(f"{len(files)} files in {folder}; try\n    astra-ns3 run {words} -o results/example")
