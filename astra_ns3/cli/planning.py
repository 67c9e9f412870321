"""The options that plans and budgets share."""

from __future__ import annotations

import click

from astra_ns3.cli.completion import files, keys_of_files
from astra_ns3.units import PS_PER_SECOND, parse_time_ps

TEXTS = (".yaml", ".yml", ".json", ".txt")
NO_LIMIT = "none"

system_option = click.option(
    "-s",
    "--system",
    metavar="FILE",
    shell_complete=files(*TEXTS),
    help="System.  [default: rings in each dimension, one chunk, all-reduces by localBWAware]",
)
changes_option = click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="KEY=VALUE",
    shell_complete=keys_of_files,
    help="Another value of an option or of a key of a file, as workload.training.global_batch; may be repeated.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
quiet_option = click.option("--quiet", is_flag=True, help="No progress line.")


def seconds_of(words: str) -> float | None:
    """Return CPU time in seconds; None: no limit. Raises InputError for words that aren't a time."""
    return None if words == NO_LIMIT else parse_time_ps(words) / PS_PER_SECOND
