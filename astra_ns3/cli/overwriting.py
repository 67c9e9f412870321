"""The option of commands that write one file."""

from __future__ import annotations

import click

overwrite_option = click.option("--overwrite", is_flag=True, help="Replace a file that exists.")
