"""The help of a command: examples first, then what it does, then its options in groups."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from types import MappingProxyType
from typing import Any

import click
from click.core import augment_usage_errors

from astra_ns3.cli.output import prints_aside
from astra_ns3.errors import nearest

USAGE_STATUS = 2
_WIDTH = 78
_INDENT = "  "
_REST = "Messages and help"
_NO_GROUPS: Mapping[str, Sequence[str]] = MappingProxyType({})
_NO_OTHERS: Mapping[str, str] = MappingProxyType({})


class _WithExamples(click.Command):
    """``examples``: command lines that can be tried in the repository."""

    # Words and more are handed on as click has them.
    def __init__(self, *words: Any, examples: Sequence[str] = (), **more: Any) -> None:
        super().__init__(*words, **more)
        self.examples = tuple(examples)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The examples, and what click writes."""
        if self.examples:
            formatter.write("Examples:\n")
            for example in self.examples:
                formatter.write(f"{_folded(example)}\n")
            formatter.write("\n")
        super().format_help(ctx, formatter)


class Command(_WithExamples):
    """A command. ``groups``: names of parameters by the heading that they stand under, the others come last.

    ``others``: options of other commands, with what to do here instead.
    """

    # Words and more are handed on as click has them.
    def __init__(
        self,
        *words: Any,
        groups: Mapping[str, Sequence[str]] = _NO_GROUPS,
        others: Mapping[str, str] = _NO_OTHERS,
        **more: Any,
    ) -> None:
        super().__init__(*words, **more)
        self.groups, self.others = groups, others

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words; errors know the command, whose help is named, also where click doesn't tell them."""
        given = list(args)
        with augment_usage_errors(ctx):
            try:
                return super().parse_args(ctx, args)
            except click.NoSuchOption as error:
                if error.option_name not in self.others:
                    raise
                words = f"No such option '{error.option_name}': {self.others[error.option_name]}."
                raise click.UsageError(words) from error
            except click.MissingParameter as error:
                _, loose, _ = self.make_parser(ctx).parse_args(given)
                if not loose or any(isinstance(each, click.Argument) for each in self.params):
                    raise
                raise click.UsageError(f"{error.format_message()} '{loose[0]}' is behind no option.") from error

    def invoke(self, ctx: click.Context) -> int | None:
        """Run it; with `--json` what users' code prints goes to standard error."""
        with prints_aside() if ctx.params.get("as_json") else nullcontext():
            status: int | None = super().invoke(ctx)
        return status

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """A list of options for each group."""
        options = [parameter for parameter in self.get_params(ctx) if isinstance(parameter, click.Option)]
        records = {option.name: option.get_help_record(ctx) for option in options}
        shown = {name: record for name, record in records.items() if record is not None}
        of_groups = [(to, [shown.pop(name) for name in names if name in shown]) for to, names in self.groups.items()]
        for heading, rows in (*of_groups, (_REST if self.groups else "Options", list(shown.values()))):
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)


class CommandGroup(_WithExamples, click.Group):
    """A group of commands."""

    command_class = Command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the words call; an unknown one is refused with the nearest name."""
        name, names = args[0], self.list_commands(ctx)
        if name not in names and not name.startswith("-") and not ctx.resilient_parsing:
            listed = f"; there are {', '.join(names)}"
            ctx.fail(f"No such command '{name}'{nearest(name, names) or listed}")
        return super().resolve_command(ctx, args)


def help_alone(context: click.Context) -> None:
    """Print the help of a group that was called without a command, and exit."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(USAGE_STATUS)


def _folded(example: str) -> str:
    """A command line in lines that fit, broken before options."""
    lines = [_INDENT]
    for part in _parts(example):
        if len(lines[-1]) + len(part) + len(" \\") > _WIDTH and lines[-1].strip():
            lines[-1] += " \\"
            lines.append(f"{_INDENT}    {part}")
        else:
            lines[-1] += part if not lines[-1].strip() else f" {part}"
    return "\n".join(lines)


def _parts(example: str) -> list[str]:
    """Words of a command line, options together with their values."""
    found: list[str] = []
    for word in shlex.split(example):
        quoted = shlex.quote(word)
        if found and found[-1].startswith("-") and " " not in found[-1] and not word.startswith("-"):
            found[-1] += f" {quoted}"
        else:
            found.append(quoted)
    return found
