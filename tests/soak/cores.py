"""Whether a run writes the same files on two cores as on one, byte for byte: ``python -m soak.cores``."""

from __future__ import annotations

import logging
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import click

from astra_ns3.errors import AstraNs3Error
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.run import execute
from soak.case import Case, write_files
from soak.files import contents, differing, writing
from soak.requests import request_of

SHARE = 0.05
"""Of the soak's bytes."""
_TOLD_EVERY = 50
_REFUSED = "played on one core"
"""How the warning begins that a run can't use more."""


@click.command()
@click.option("--first", default=1, help="The first seed.")
@click.option("--runs", default=1000, help="How many that use the cores.")
@click.option("--cores", default=2, help="Beside one.")
def main(first: int, runs: int, cores: int) -> None:
    """Play random runs on one core and on more, with every record. Exit status 1 if a file differs."""
    logging.disable(logging.WARNING)
    played = shared = faulty = 0
    for seed, case in writing(first):
        found, on_many = compared(case, cores)
        played, shared, faulty = played + 1, shared + on_many, faulty + bool(found)
        for fault in found:
            click.echo(f"seed {seed}: {fault}")
        if played % _TOLD_EVERY == 0 or shared == runs:
            click.echo(f"{played} runs, {shared} of them on {cores} cores, {faulty} with other files; seed {seed}")
        if shared == runs:
            break
    sys.exit(1 if faulty else 0)


def compared(case: Case, cores: int) -> tuple[list[str], bool]:
    """What differs between one core and many; and whether threads shared the second run."""
    with tempfile.TemporaryDirectory(prefix="astra-ns3-cores-") as name:
        folder = Path(name)
        write_files(case, folder)
        request = request_of(case, folder, share=SHARE)
        ends = []
        for count in (1, cores):
            ends.append(_end(replace(request, cores=count), folder / str(count)))
        if ends[0] != ends[1]:
            return [f"ends: {ends[0] or 'well'} and {ends[1] or 'well'}"], False
        one, many = contents(folder / "1"), contents(folder / str(cores))
        refusals = [warning for warning in many["run.json: warnings"] if warning.startswith(_REFUSED)]
        many["run.json: warnings"] = [each for each in many["run.json: warnings"] if each not in refusals]
        return differing(one, many), not refusals


def _end(request: RunRequest, output: Path) -> str:
    """Play a run into a folder; what ended it before its time, if anything."""
    try:
        execute(replace(request, output=output, record=("all",), isolated=False))
    except AstraNs3Error as error:
        return str(error)
    return ""


if __name__ == "__main__":
    main()
