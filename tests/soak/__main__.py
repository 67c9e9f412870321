"""``python -m soak``: plays random cases by seed, and prints those that end as they must not. See CONTRIBUTING.md."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from astra_ns3.errors import InputError
from soak.case import Case, case_of
from soak.cases import SCENARIOS, random_case
from soak.child import play_in_child, warm_up
from soak.fixed import FIXED, LARGE
from soak.play import REFUSED, Outcome
from soak.summary import Summary
from soak.traits import REFUSED as REFUSED_TRAITS
from soak.traits import traits_of
from soak.verdict import faults

LEAST_PAUSED = 0.55
_ENOUGH_RUNS = 50
_TOLD_EVERY = 50


@click.command()
@click.option("--first", default=1, help="The first seed.")
@click.option("--seeds", default=1000, help="How many.")
@click.option("--seed", type=int, help="This one alone, with its whole configuration and outcome.")
@click.option("--scenarios", default=SCENARIOS, help="The share of scenarios among random cases.")
@click.option("--fixed/--no-fixed", default=True, help="Play the fixed cases too.")
@click.option("--large", is_flag=True, help="Only the large cases: 128 hosts, minutes long each.")
@click.option("--report", type=click.Path(path_type=Path), help="Write the counts there, as JSON.")
@click.option("--case", "path", type=click.Path(exists=True, path_type=Path), help="A case from a file, as printed.")
def main(
    first: int,
    seeds: int,
    seed: int | None,
    scenarios: float,
    fixed: bool,
    large: bool,
    report: Path | None,
    path: Path | None,
) -> None:
    """Play random cases of every feature and audit each. Exit status 1 if one of them ends as it must not."""
    warm_up()
    if path is not None or seed is not None:
        case = case_of(path.read_text(encoding="utf-8")) if path is not None else random_case(int(seed or 0), scenarios)
        click.echo(case.document())
        sys.exit(_tell(case, *_played(case)))
    summary = Summary()
    cases: Iterable[Case] = LARGE
    if not large:
        cases = itertools.chain(FIXED if fixed else (), _random_cases(range(first, first + seeds), summary, scenarios))
    for number, case in enumerate(cases):
        outcome, found = _played(case)
        summary.add(traits_of(case), outcome, faulty=bool(found))
        if found:
            click.echo(case.document())
        if found or large:
            _tell(case, outcome, found)
        if number % _TOLD_EVERY == _TOLD_EVERY - 1:
            click.echo(f"{number + 1} played, {summary.faulty} with faults, {summary.seconds:.0f} s")
    for line in summary.lines():
        click.echo(line)
    if report is not None:
        report.write_text(json.dumps(summary.document()), encoding="utf-8")
    few = summary.runs >= _ENOUGH_RUNS and summary.paused_share < LEAST_PAUSED
    if few:
        click.echo(
            f"only {100 * summary.paused_share:.0f}% of the runs with PFC paused, expected {100 * LEAST_PAUSED:.0f}%"
        )
    sys.exit(1 if summary.faulty or few else 0)


def _random_cases(seeds: Iterable[int], summary: Summary, scenarios: float) -> Iterator[Case]:
    """The cases of these seeds; one that is no valid input is a fault."""
    for seed in seeds:
        try:
            yield random_case(seed, scenarios)
        except InputError as error:
            summary.add(REFUSED_TRAITS, Outcome(REFUSED, str(error)), faulty=True)
            click.echo(f"seed {seed}: FAULT refused: {error}")


def _played(case: Case) -> tuple[Outcome, list[str]]:
    outcome = play_in_child(case)
    return outcome, faults(traits_of(case), outcome)


def _tell(case: Case, outcome: Outcome, found: list[str]) -> int:
    click.echo(f"{case.name}: {outcome.end} {outcome.message} after {outcome.seconds:.2f} s, {outcome.pauses} pauses")
    if outcome.numbers is not None:
        click.echo(f"  {dict(outcome.numbers)}")
    for fault in found:
        click.echo(f"  FAULT {fault}")
    return 1 if found else 0


main()
