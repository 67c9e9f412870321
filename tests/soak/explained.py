"""Whether a run can be explained whole: nothing on its critical path that isn't followed, and times that add up.

``python -m soak.explained`` plays random runs of all kinds of workloads for this alone, a quarter of them and more with
NPUs that take no time for a message: there many things happen at one picosecond.
"""

from __future__ import annotations

import logging
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import click
from oracles.causal_chain import CausalChain
from oracles.group_durations import problems_of_groups

from astra_ns3.errors import InputError
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.result import Result
from astra_ns3.experiments.run import Outcome, execute
from astra_ns3.report.explanation.parts import OTHER, Segment
from astra_ns3.report.explanation.path import critical_path, path_of_collective
from astra_ns3.report.explanation.run_tables import Tables
from soak.case import Case, write_files
from soak.cases import random_case
from soak.draw import Draw
from soak.requests import request_of

COLLECTIVES = 5
"""So many of a run are explained by themselves."""


def problems_of_explanation(result: Result) -> list[str]:
    """What is wrong with the explanation of a run with its timeline that came to its end, each one line."""
    metadata = result.metadata
    found = []
    for by, rows in (("layer", metadata["exposed_by_layer"]), ("group", metadata["exposed_by_group"])):
        together_ps = sum(each["exposed_ps"] for each in rows)
        if together_ps != metadata["exposed_ps"]:
            found.append(f"exposed by {by} makes {together_ps} ps, and in all it is {metadata['exposed_ps']}")
    if not metadata["finish_ps"]:
        return found
    tables = Tables(result)
    whole = critical_path(tables)
    found += [f"the run: {problem}" for problem in _holes(whole)]
    found += CausalChain(result).problems(whole)
    for iteration in tables.iterations_there():
        found += [f"iteration {iteration}: {problem}" for problem in _holes(critical_path(tables, iteration))]
    of_messages = set(result.phases["collective"])  # an access to remote memory has none
    numbers = [number for number in result.collectives["collective"].tolist() if number in of_messages]
    for number in numbers[-COLLECTIVES:]:
        found += [f"collective {number}: {problem}" for problem in _holes(path_of_collective(tables, number))]
    return found


def _holes(chain: tuple[Segment, ...]) -> Iterator[str]:
    lost_ps = sum(link.time_ps for link in chain if link.kind == OTHER)
    if lost_ps:
        yield f"{lost_ps} ps of the chain are not followed"
    if any(before.end_ps != after.start_ps for before, after in pairwise(chain)):
        yield "the chain has a hole"


def run_to_explain(seed: int, folder: Path, *, share: float) -> RunRequest | None:
    """A random run with its timeline; None if the seed's case isn't one. ``share``: of the soak's bytes."""
    case = case_to_explain(seed, random_case(seed))
    if case is None:
        return None
    write_files(case, folder)
    return replace(request_of(case, folder, share=share), isolated=False)


def case_to_explain(seed: int, case: Case) -> Case | None:
    """A case with more that the system may be asked for, on any backend; None if it plays no loop or model."""
    if case.job["kind"] != "workload" or ".hpp" in case.document():
        return None
    draw = Draw(f"explained {seed}")
    system = case.job["system"] | draw.some(0.1, **{"start-jitter": draw.pick(3, 90), "injection-scale": 0.5})
    if draw.chance(0.25):
        system["endpoint-delay"] = 0
    options: dict[str, Any] = case.job["options"]
    if options["compat"] == "none" and draw.chance(0.3):
        options = options | {"compat": draw.pick("simai", "astra-sim-1.0", "astra-sim-2")}
    messages = draw.pick(("flows",), ("flows",), ("flows",), ("accounts",))
    backend = draw.pick("ns3", "ns3", "analytical", "analytical-queues")
    system |= draw.some(0.5, **{"reduction-bytes-per-ns": draw.pick(20, 1000)})  # so that messages differ in their cost
    options = {**options, "record": ("timeline", *messages), "backend": _able(case, backend)}
    return replace(case, job={**case.job, "system": system, "options": options})


def _able(case: Case, backend: str) -> str:
    """The analytical networks know neither changes nor topologies without dimensions of their own."""
    return backend if case.network.get("topology", {}).get("kind") != "file" else "ns3"


def explained(seed: int, folder: Path, *, share: float) -> tuple[RunRequest, list[str]] | None:
    """A random run and what is wrong with its explanation; None if the seed has none, it is refused or didn't end."""
    try:
        request = run_to_explain(seed, folder, share=share)
        if request is None:
            return None
        request = replace(request, output=folder / "explained")
        outcome = _played(request)
    except InputError:
        return None
    if outcome.error is not None:
        return None
    of_groups = problems_of_groups(outcome.result) if "flows" in request.record else ()
    return request, [*problems_of_explanation(outcome.result), *of_groups]


def _played(request: RunRequest) -> Outcome:
    """Play a run; on packets if its network has no analytical counterpart."""
    try:
        return execute(request)
    except InputError:
        return execute(replace(request, backend="ns3"))


@click.command()
@click.option("--first", default=1, help="The first seed.")
@click.option("--runs", default=1000, help="How many runs.")
@click.option("--share", default=0.1, help="Of the bytes that the soak sends.")
def main(first: int, runs: int, share: float) -> None:
    """Explain random runs. Exit status 1 if one of them has anything that isn't followed or doesn't add up."""
    logging.disable(logging.WARNING)
    played, faulty, without_delay = 0, 0, 0
    kinds: Counter[str] = Counter()
    for seed in count(first):
        if played == runs:
            break
        with tempfile.TemporaryDirectory(prefix="astra-ns3-explained-") as name:
            found = explained(seed, Path(name), share=share)
        if found is None:
            continue
        request, problems = found
        played += 1
        faulty += bool(problems)
        without_delay += not request.system.endpoint_delay_ns  # type: ignore[union-attr]
        kinds[f"{type(request.workload).__name__}, {request.compat}"] += 1
        for problem in problems:
            click.echo(f"seed {seed}: FAULT {problem}")
    click.echo(f"{played} runs, {without_delay} of them without an endpoint delay, {faulty} with faults")
    for kind, number in kinds.most_common():
        click.echo(f"  {number} {kind}")
    sys.exit(1 if faulty else 0)


if __name__ == "__main__":
    main()
