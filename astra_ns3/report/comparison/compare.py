"""The comparison itself: a function of two runs' records."""

from __future__ import annotations

from collections.abc import Iterator

from astra_ns3.config.core.plain import JsonObject
from astra_ns3.network.run_document import ThroughputDocument
from astra_ns3.report.comparison.algorithms import other_algorithms
from astra_ns3.report.comparison.comparison import Comparison
from astra_ns3.report.comparison.differences import ABSENT, Difference, Group, Setting, by_importance
from astra_ns3.report.comparison.quantities import ACCOUNTS, NOT_OF_ALL, Quantities, groups_for
from astra_ns3.report.comparison.settings import (
    INPUT_FILES,
    OF_SCENARIO,
    follows_from_seed,
    of_scenarios,
    settings,
    surroundings,
)
from astra_ns3.report.explanation.what_ifs import has_own_part
from astra_ns3.report.floor_text import below_floor, floor_words
from astra_ns3.report.records import place_of, stop_of
from astra_ns3.report.summary import hidden_rows
from astra_ns3.report.tables import Records, check_results, how_to_record, is_of_flows
from astra_ns3.units import PS_PER_SECOND, counted

OVER_SEEDS = "for the mean and deviation over seeds: astra-ns3 run --seeds N, or a study with seeds: N"
"""The note for whoever compares seeds one by one."""

_UNLIKE = (
    "accounts aren't compared: TCP's count the last segment of a message alone, and have a part of TCP's own, so their "
    "parts aren't those of RoCE"
)


def compare(a: Records, b: Records, names: tuple[str, str] = ("A", "B")) -> Comparison:
    """Return what differs between two results, in configuration and in what came out; the largest changes first.

    Notes call the runs by ``names``.

    Raises :class:`~astra_ns3.errors.InputError` if a table of theirs can't be read.
    """
    check_results(a, b)
    unlike = _differing(a, b)
    groups = []
    notes = list(_states((names[0], a), (names[1], b)))
    if _differ_in_seed_alone(unlike, a, b):
        notes.append(f"{names[0]} and {names[1]} differ in their seed alone: {OVER_SEEDS}")
    for name, quantities in groups_for(a, b).items():
        found_a, found_b = quantities(a), quantities(b)
        if name == ACCOUNTS and found_a and found_b and has_own_part(a.metadata) != has_own_part(b.metadata):
            notes.append(_UNLIKE)
            continue
        if found_a is None or found_b is None:
            if found_a is not found_b and name not in NOT_OF_ALL:
                lacks_a = found_a is None
                how = how_to_record(a if lacks_a else b, name)
                notes.append(f"only {names[lacks_a]} recorded {name}: run {names[not lacks_a]} again with {how}")
            continue
        groups.append(Group(name, by_importance(list(_differences(found_a, found_b)))))
    notes[:0] = _stops((names[0], a), (names[1], b), alike=not unlike and not any(each.differences for each in groups))
    both = a.folder is b.folder is None and place_of(a) == place_of(b)
    return Comparison(
        place_of(a) + both * " (1)",
        place_of(b) + both * " (2)",
        tuple(unlike),
        tuple(groups),
        tuple(notes),
        (a.metadata["report_npu"], b.metadata["report_npu"]),
        other_algorithms(a, b),
    )


def _differing(a: Records, b: Records) -> list[Setting]:
    keys_a, keys_b = (
        {**settings(run.metadata), "seed": run.chosen_seed, **surroundings(run.metadata, run.events)} for run in (a, b)
    )
    said_a, said_b = of_scenarios(a.scenario_keys, b.scenario_keys)
    found = differing({**keys_a, **said_a}, {**keys_b, **said_b})
    # What happens to the network is told part by part.
    told = (each for each in found if not each.key.startswith(f"{OF_SCENARIO}.events"))
    # Older results have no digests of files; of a file that one run names alone another key tells.
    return [each for each in told if not (each.key.startswith(INPUT_FILES) and ABSENT in (each.a, each.b))]


def differing(keys_a: JsonObject, keys_b: JsonObject) -> list[Setting]:
    """Return the keys with values that differ, the most important first."""
    pairs = {key: (keys_a.get(key, ABSENT), keys_b.get(key, ABSENT)) for key in {**keys_a, **keys_b}}
    found = [Setting(key, *values) for key, values in pairs.items() if values[0] != values[1]]
    return sorted(found, key=lambda setting: setting.rank)


def _differ_in_seed_alone(unlike: list[Setting], *runs: Records) -> bool:
    keys = [setting.key for setting in unlike]
    return "seed" in keys and all(follows_from_seed(key, run.metadata) for key in keys for run in runs)


def _differences(a: Quantities, b: Quantities) -> Iterator[Difference]:
    for name in {**a, **b}:
        unit = (a.get(name) or b[name])[0]
        yield Difference(name, unit, a[name][1] if name in a else None, b[name][1] if name in b else None)


def _states(*runs: tuple[str, Records]) -> Iterator[str]:
    """Yield what times don't tell: tries before a job's last, other samples, the floor, waits at the end, flows."""
    for name, run in runs:
        job = run.metadata.get("job") or {}
        if job.get("restarts"):
            done = counted((job["passes_done"] or 0) - job["resumed_passes"], "pass", "passes")
            tried = f"try {job['restarts'] + 1} of it, which did {done} of {run.metadata['passes']}"
            yield f"finish of {name} is that of the whole job, all else of {tried}"
        floor = below_floor(run.metadata)
        if floor is not None:
            yield f"{name} lies below the floor: {floor_words(floor)}"
        yield from (f"{when}, {name} {words}" for when, words in hidden_rows(run.metadata))
    trained = {name: _trained(found) for name, run in runs if (found := run.metadata.get("throughput"))}
    if len({*trained.values()}) > 1:
        a, b = (f"{name} trains on {words}" for name, words in trained.items())
        yield f"an iteration of {a}, one of {b}: compare what they train on in a second, not when they finish"
    of_flows = [name for name, run in runs if is_of_flows(run)]
    if len(of_flows) == 1:
        yield f"only {of_flows[0]} is of a list of flows"


def _trained(found: ThroughputDocument) -> str:
    """Return in words what an iteration trains on."""
    number = found["samples_per_iteration"]
    one, of, parts = found["sample"].partition(" of ")  # a pair of sentences is one, not several
    samples = f"{counted(number, one)}{of}{parts}"
    tokens = found["tokens_per_second"]
    iteration = round((tokens or 0) * found["iteration_ps"] / PS_PER_SECOND)
    return samples if tokens is None else f"{samples} of {iteration / number:,.0f} tokens"


def _stops(*runs: tuple[str, Records], alike: bool) -> Iterator[str]:
    """Yield which run was stopped before its end, and why; nothing of runs that are ``alike`` and stopped alike."""
    stops = {name: stop_of(run.metadata) for name, run in runs}
    if not alike or len({*stops.values()}) > 1:
        yield from (f"{name} did not come to its end: {why}" for name, why in stops.items() if why is not None)
