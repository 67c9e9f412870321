"""Commands and their options, as their own help has them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from astra_ns3.cli.commands import COMMANDS, load_command
from astra_ns3.cli.main import cli
from astra_ns3.experiments.option import options_of
from astra_ns3.experiments.request import RunRequest
from reference_pages.markdown import cell, code, table

_BEGIN = """# Commands and options

Made from the code: what `--help` of each command says, and of options of a run what Python's help says.
[How they are used](../cli.md).
"""


def commands_page() -> str:
    """Return the page: a section for each command."""
    return "\n".join([_BEGIN, *(_section(name, command) for name, command in commands())])


def commands() -> Iterator[tuple[str, click.Command]]:
    """Yield every command with its name, the program itself first, those of a group behind it."""
    yield "astra-ns3", cli
    for name, (place, _) in COMMANDS.items():
        yield from _with_inner(f"astra-ns3 {name}", load_command(place))


def _with_inner(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    for inner, each in getattr(command, "commands", {}).items():
        yield from _with_inner(f"{name} {inner}", each)


def _section(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=name)
    usage = command.get_usage(context).removeprefix("Usage: ")
    words = re.sub(r"\n\s*\n.*", "", (command.help or "").strip(), flags=re.DOTALL).replace("\b", "")
    rows = [_row(parameter, context) for parameter in command.params if isinstance(parameter, click.Option)]
    rows = [row for row in rows if row is not None]
    inner = [code(each) for each in getattr(command, "list_commands", lambda _: ())(context)]
    parts = [f"## {name}\n", f"    {' '.join(usage.split())}\n", f"{cell(words)}\n" if words else ""]
    if inner:
        parts.append(f"Commands: {', '.join(inner)}.\n")
    if rows:
        parts.append(table(("Option", "Value", "Default", "Meaning"), rows))
    return "\n".join(part for part in parts if part)


def _row(option: click.Option, context: click.Context) -> tuple[str, str, str, str] | None:
    if option.hidden:
        return None
    names = ", ".join(code(each) for each in (*option.opts, *option.secondary_opts))
    value = "" if option.is_flag else option.make_metavar(context) if _takes_context(option) else option.make_metavar()
    shown = option.default
    default = (
        "" if shown in (None, False, ()) or callable(shown) or "UNSET" in repr(shown).upper() else code(str(shown))
    )
    return names, code(value), default, cell(_words(option))


def _words(option: click.Option) -> str:
    """Return what an option says of itself; an option of a run says more where there is room."""
    for one in options_of(RunRequest):
        if [flag.names.split() for flag in one.flags] == [option.opts] and len(one.words) > len(option.help or ""):
            return f"{one.words[0].upper()}{one.words[1:]}"
    return option.help or ""


def _takes_context(option: click.Option) -> bool:
    """Return whether this version of click makes the word for a value with a context (from 8.2 on)."""
    return "ctx" in option.make_metavar.__code__.co_varnames
