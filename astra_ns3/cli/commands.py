"""The commands by name, each with the module that has it: loaded when it is used, so that help and Tab come at once."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from importlib import import_module

import click
from click.shell_completion import CompletionItem

from astra_ns3.cli.help import CommandGroup

COMMANDS: Mapping[str, tuple[str, str]] = {
    "run": ("run:run_command", "Run a workload on a system and a network, or several that share one."),
    "plan": ("plan:plan_command", "Find the best way to cut a model over the NPUs of a network."),
    "budget": ("budget:budget_command", "Find the best bandwidth of each dimension of a network under a cost."),
    "study": ("study:study_command", "Play the many runs of a study's file, and draw its figures."),
    "validate": ("validate:validate_command", "Check the three files and say how large their run would be."),
    "generate": ("generate:generate_group", "Make a workload: random flows, or the training of a model file."),
    "convert": ("convert:convert_command", "Write the workload IN in another format."),
    "show": ("show:show_group", "Look at what a run is made of."),
    "example": (
        "example:example_command",
        "Copy the examples into DIR: workloads, systems, networks, hooks, parts of your own.",
    ),
    "runs": ("runs:runs_command", "List the runs in DIR and below, with columns of your choice."),
    "plot": ("plot:plot_command", "Draw a picture of the run in DIR, or list what can be drawn."),
    "timeline": ("timeline:timeline_command", "Write the run in DIR as a trace that Perfetto opens."),
    "explain": ("explain:explain_command", "Say why the run in DIR took as long as it did."),
    "compare": ("compare:compare_command", "Print what differs between the runs in the folders A and B."),
    "nccl": ("nccl:nccl_group", "Measure collectives as nccl-tests does, on simulated servers."),
    "report": (
        "report:report_command",
        "Write one HTML page about the runs or the jobs of scenarios in folders, or about the plans in one.",
    ),
}
"""Name -> where in this folder it is, and the first line of its help."""


class Commands(CommandGroup):
    """A group whose commands are those of :data:`COMMANDS`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command, loaded if it is to be used; None if there is none of that name."""
        return load_command(COMMANDS[cmd_name][0]) if cmd_name in COMMANDS else None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return what may follow, in a shell."""
        names = [CompletionItem(name, help=words) for name, (_, words) in COMMANDS.items()]
        return [item for item in names if item.value.startswith(incomplete)] + click.Command.shell_complete(
            self, ctx, incomplete
        )

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list in the help."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, words) for name, (_, words) in COMMANDS.items()])


def load_command(where: str) -> click.Command:
    """The command that stands at ``module:name`` in this folder."""
    module, _, name = where.partition(":")
    command: click.Command = getattr(import_module(f"astra_ns3.cli.{module}"), name)
    if not gc.isenabled():  # in a process of our own: see the entry point
        gc.freeze()
        gc.enable()
    return command
