"""Whether relations hold between random runs, whatever the model: ``python -m soak.related``.

A relation changes a random run in a way whose effect is known without playing it: with all rates twice as high and all
times half as long, say, the run takes half as long.
"""

from __future__ import annotations

import logging
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path

import click

from astra_ns3.errors import InputError
from soak.changed import changed_after, changed_before, restored_before
from soak.composed import halves, iterations, jobs_apart, other_seats, ring_alone, same_as_a_job
from soak.idle_keys import idle_keys
from soak.relations import Found, NotPlayed, as_graph, better, converted, doubled, other_units, written_again
from soak.scaled import in_another_order, scaled, scaled_scenario

RELATIONS: Mapping[str, Callable[[int, Path], Found]] = {
    each.__name__.replace("_", "-"): each
    for each in (
        *(scaled, scaled_scenario, other_units, as_graph, better, doubled),
        *(written_again, converted, same_as_a_job, jobs_apart, other_seats, in_another_order),
        *(iterations, halves, ring_alone, idle_keys),
        *(changed_before, restored_before, changed_after),
    )
}
_MOST_SEEDS = 20
"""For a pair."""


def related(name: str, first: int, pairs: int) -> Iterator[tuple[int, list[str]]]:
    """Yield so many seeds, and what is wrong with a relation between the runs of each; fewer if most can't tell."""
    found = ((seed, _compared(name, seed)) for seed in range(first, first + _MOST_SEEDS * pairs))
    return islice(((seed, problems) for seed, problems in found if problems is not None), pairs)


def _compared(name: str, seed: int) -> Found:
    with tempfile.TemporaryDirectory(prefix="astra-ns3-related-") as folder:
        try:
            return RELATIONS[name](seed, Path(folder))
        except (InputError, NotPlayed):
            return None


@click.command()
@click.option("--first", default=1, help="The first seed.")
@click.option("--runs", default=50, help="How many pairs of each relation.")
@click.option("--relation", "names", multiple=True, type=click.Choice([*RELATIONS]), default=[*RELATIONS], help="All.")
def main(first: int, runs: int, names: tuple[str, ...]) -> None:
    """Play pairs of random runs. Exit status 1 if a relation doesn't hold between two."""
    logging.disable(logging.WARNING)
    any_fault = False
    for name in names:
        pairs = faulty = 0
        for seed, problems in related(name, first, runs):
            pairs, faulty = pairs + 1, faulty + bool(problems)
            for problem in problems:
                click.echo(f"{name}, seed {seed}: FAULT {problem}")
        click.echo(f"{name}: {pairs} pairs, {faulty} with faults")
        any_fault |= faulty > 0
    sys.exit(any_fault)


if __name__ == "__main__":
    main()
