"""The command ``astra-ns3``: its entry point, and every way out of it.

Exit status: 0 done, 2 bad input, 3 stalled, 4 a limit reached, 5 ns-3 failed, 6 the results could not be written,
7 points of a study failed, 130 interrupted.
"""

from __future__ import annotations

import errno
import sys
import traceback
from collections.abc import Sequence

import click

from astra_ns3.cli.commands import Commands
from astra_ns3.cli.help import USAGE_STATUS, help_alone
from astra_ns3.cli.output import output_failed, print_failure
from astra_ns3.errors import AstraNs3Error, InputError, Interrupted, ResultsNotSaved, shorten

_NAME = "astra-ns3"
_FAULT_STATUS = 1
_JSON_OPTION = "--json"
# What a path of the user's may be, wherever it is first looked at.
_OUT_OF_REACH = (errno.EACCES, errno.EPERM, errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR)


def _print_versions(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if not wanted or context.resilient_parsing:
        return
    from astra_ns3.experiments.versions import versions

    for name, version in versions().items():
        click.echo(f"{name} {version}")
    context.exit()


@click.group(
    name=_NAME,
    cls=Commands,
    examples=(
        "astra-ns3 example mine",
        "astra-ns3 run -w mine/workload/micro-all-reduce.txt -s mine/system/flat.txt -n mine/network/roce-16.yaml",
    ),
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit status: 0 done, 2 bad input, 3 stalled, 4 a limit reached, 5 ns-3 failed, 6 the results could not be "
    "written, 7 points of a study failed, 130 interrupted.",
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_versions,
    help="Print the versions of this program, of ns-3 and of the packages that it uses.",
)
@click.pass_context
def cli(context: click.Context) -> None:
    """Play a distributed training loop over a packet-level network."""
    help_alone(context)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its status."""
    sys.exit(status_of(list(sys.argv[1:] if arguments is None else arguments)))


def status_of(words: list[str]) -> int:
    """Run the command line and return its exit status."""
    as_json = _JSON_OPTION in words
    try:
        return _status_of(words, as_json)
    except ResultsNotSaved as error:  # nowhere to print
        print_failure(str(error), type(error).__name__, error.exit_status, as_json=False)
        return error.exit_status


def _status_of(words: list[str], as_json: bool) -> int:
    try:
        outcome = cli.main(args=words, prog_name=_NAME, standalone_mode=False)
    except click.ClickException as error:
        where = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else _NAME
        print_failure(f"{shorten(error.format_message())} (see '{where} --help')", "InputError", USAGE_STATUS, as_json)
        return USAGE_STATUS
    except OSError as error:
        if error.filename is None:
            raise output_failed(error) from error  # what click printed: help, say
        if error.errno not in _OUT_OF_REACH:
            raise
        print_failure(f"{error.filename}: {error.strerror}", "InputError", InputError.exit_status, as_json)
        return InputError.exit_status
    except SystemExit:
        return 0  # so click ends when the reader of its output has gone, as with `| head`
    except AstraNs3Error as error:
        print_failure(
            str(error).replace("use overwrite=True", "use --overwrite"),
            type(error).__name__,
            error.exit_status,
            as_json,
        )
        return error.exit_status
    except (KeyboardInterrupt, click.Abort):
        print_failure("interrupted", "Interrupted", Interrupted.exit_status, as_json)
        return Interrupted.exit_status
    except Exception as error:
        traceback.print_exc()
        said = f"{type(error).__name__}: {error} (a fault of this program, or of code of yours: see the lines above)"
        print_failure(said, type(error).__name__, _FAULT_STATUS, as_json)
        return _FAULT_STATUS
    return outcome if isinstance(outcome, int) else 0
