"""The command line of the options that a request declares, and those that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import click
from click.core import ParameterSource

from astra_ns3.cli.completion import Complete, files, folders, keys_of_files, listed, words
from astra_ns3.cli.output import LOG_LEVELS
from astra_ns3.config.core.plain import Json
from astra_ns3.errors import InputError, wrong
from astra_ns3.experiments.changes.files import FILES
from astra_ns3.experiments.option import GROUPS as HEADINGS
from astra_ns3.experiments.option import INPUTS, SEEDS, Flag, Option, options_of
from astra_ns3.experiments.options import Options
from astra_ns3.experiments.request import RunRequest

SAID = (
    click.Option(["--json", "as_json"], is_flag=True, help="Print the summary as JSON, also after a failure."),
    click.Option(
        ["--log-level"],
        type=click.Choice(LOG_LEVELS, case_sensitive=False),
        default="warning",
        show_default=True,
        help="What is logged on standard error.",
    ),
)
"""How much is said."""
# Of ASTRA-sim 2's command lines: where it logs to.
_LOGS = (
    click.Option(["--logging-configuration"], hidden=True),
    click.Option(["--logging-folder"], hidden=True),
)


SCENARIO_ENDINGS = (".yaml", ".yml", ".json")
SCENARIO = click.Option(
    ["--scenario"],
    metavar="FILE",
    is_eager=True,
    shell_complete=files(*SCENARIO_ENDINGS),
    help="Jobs that share the network, and what happens in it meanwhile; instead of -w and -s.",
)
"""The one file of several jobs."""
OF_THE_NETWORK = {"--npus": "the network file says how many; --set network.topology.npus=N says it otherwise"}
"""Words that are taken for options of a run, with what to do."""


class _NeededAlone(click.Option):
    """An option that has to be given unless there is a scenario, which names the files of its jobs."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Say what needs the option; click has no place for a condition."""
        record = super().get_help_record(ctx)
        return record and (record[0], record[1].replace("[required]", "[required without --scenario]"))

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """Name what can take the option's place."""
        return f"{super().get_error_hint(ctx)}, or '--scenario'"

    def process_value(self, ctx: click.Context, value: Json) -> Json:
        """Let it be left out beside a scenario."""
        if isinstance(ctx.params.get("scenario"), str) and self.value_is_missing(value):
            return None
        found: Json = super().process_value(ctx, value)
        return found


def files_of(request: type[RunRequest]) -> list[Option]:
    """The files of a run: all that has no default."""
    return [option for option in options_of(request) if option.needed]


def input_parameters(request: type[RunRequest]) -> list[click.Parameter]:
    """The flags of the three files, of how they are scaled and meant, and of how much is said."""
    return [*_parameters(files_of(request)), SCENARIO, *_parameters(options_of(Options)), *_LOGS, *SAID]


def run_parameters(request: type[RunRequest], seeds: click.Option, *more: click.Option) -> list[click.Parameter]:
    """All flags of a run, ``seeds`` behind that of its seed, ``more`` at the end."""
    inputs = input_parameters(request)
    known = {parameter.name for parameter in inputs}
    others = [flag for flag in _parameters(options_of(request)) if flag.name not in known]
    place = 1 + [flag.name for flag in others].index("seed")
    return [*inputs, *others[:place], seeds, *others[place:], *more]


def without_effect(given: Mapping[str, Json]) -> Iterable[str]:
    """Yield a warning for options that do nothing here: ASTRA-sim 2 has them, so they are read."""
    logs = [name for option in _LOGS for name in option.opts if given[str(option.name)] is not None]
    if logs:
        yield f"without effect here: {', '.join(logs)} (log files of ASTRA-sim 2's; see --log-level)"


def _parameters(options: Iterable[Option]) -> list[click.Option]:
    return [_parameter(option, flag) for option in options for flag in option.flags]


def values(options: Iterable[Option], said: Mapping[str, Json]) -> dict[str, Any]:  # a type for each option
    """Return the value of each option that has flags, from the words of a command line."""
    found: dict[str, Any] = {}  # a type for each option
    for option in options:
        given = [said[_place(flag)] for flag in option.flags]
        if given and option.made is None:
            (found[option.name],) = given
        elif option.made is not None and any(word not in (None, ()) for word in given):
            found[option.name] = option.made(*given)
    return found


def those_of(options: Iterable[Option], said: Mapping[str, Json]) -> list[Option]:
    """Return the options that a command has flags of."""
    return [option for option in options if option.flags and all(_place(flag) in said for flag in option.flags)]


def _parameter(option: Option, flag: Flag) -> click.Option:
    kind: Any = option.kind  # a type or a click.ParamType: click types them as Any itself
    if flag.quantity is not None:
        kind = _quantity(flag.quantity)
    more: dict[str, Any] = {}  # for click, a None that is given is one
    if option.made is None and not option.many and option.default is not None:
        more = {"default": option.default, "show_default": option.kind is not bool}
    if flag.valued:
        more = {"default": option.default, "is_flag": False, "flag_value": "true", "type": click.BOOL}
    else:
        more |= {"type": None if option.kind is bool else kind, "is_flag": True if option.kind is bool else None}
    made = _NeededAlone if option.needed else click.Option
    return made(
        [*flag.names.split(), _place(flag)],
        multiple=option.many or flag.many,
        shell_complete=_completed(flag),
        required=option.needed,
        metavar=flag.metavar,
        help=flag.help,
        **more,
    )


def _completed(flag: Flag) -> Complete | None:
    """Return what completes the flag's word in a shell; None: click's own way does."""
    if flag.folder:
        return folders
    if flag.keys:
        return keys_of_files
    if flag.endings is not None:
        return files(*flag.endings)
    if flag.listed:
        return listed(flag.suggested() if callable(flag.suggested) else flag.suggested)
    return words(flag.suggested) if flag.suggested else None


def check_beside_scenario(context: click.Context, own: Iterable[Option], request: type[RunRequest]) -> None:
    """Raise InputError for an option that each job of a scenario says of itself; ``own``: those of the scenario."""
    from astra_ns3.config.scenario.file import JobConfig

    shared = {option.name for option in own}
    for option in (option for option in options_of(request) if option.name not in shared):
        for flag in option.flags:
            if context.get_parameter_source(_place(flag)) is ParameterSource.COMMANDLINE:
                word = next(name for name in flag.names.split() if name.startswith("--"))
                in_file = option.name in (*FILES, *JobConfig.model_fields)
                where = (
                    "the scenario's file, which says it of each" if in_file else f"Python as Tenant({option.name}=...)"
                )
                raise wrong(f"{word} is of one job, expected it in {where}")


def groups_of(parameters: Iterable[click.Parameter], request: type[RunRequest]) -> dict[str, list[str]]:
    """Return the headings that a command's options stand under, each with the names of its parameters."""
    headings = {_place(flag): option.group for option in options_of(request) for flag in option.flags}
    headings |= {"seeds": SEEDS, "scenario": INPUTS}
    found: dict[str, list[str]] = {heading: [] for heading in HEADINGS}
    for name in (str(parameter.name) for parameter in parameters):
        if headings.get(name):
            found[headings[name]].append(name)
    return found


def _place(flag: Flag) -> str:
    """Under which name a flag's word is handed over."""
    return flag.names.split()[-1].lstrip("-").replace("-", "_")


def _quantity(read: Callable[[str | int], int]) -> Callable[[str | int], int]:
    """Reads a number with a unit, above 0."""

    def quantity(text: str | int) -> int:
        try:
            number = read(text)
        except InputError as error:
            raise click.BadParameter(str(error)) from error
        if number <= 0:
            raise click.BadParameter(f"'{text}' is not above 0")
        return number

    return quantity
