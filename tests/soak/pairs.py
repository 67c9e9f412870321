"""Choose the runs that are pinned: few, in which as many pairs of features as can be meet (a covering array).

``python -m soak.pairs`` describes many cases without playing them, plays those that add most pairs, and orders them by
the pairs that they add for their time, where what came of a run counts, too. ``make test`` plays the first ones, and
``make test-slow`` all. Choose anew when draws have changed, and then write the pins.
"""

from __future__ import annotations

import heapq
import json
import logging
import os
import resource
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, islice
from typing import Any

import click
import numpy as np
from support.command import load_once

from astra_ns3.errors import InputError
from soak.features import features_of, features_of_result, room_of
from soak.pinned import PINNED, kind_and_seed, told_of
from soak.varied import varied_case

Features = frozenset[str]
SAME_ROOM = 3.0
"""The weight of a pair of features of one room; any other's is 1."""
MOST_SECONDS = 1.5
"""Of CPU; a run that takes longer isn't pinned."""
_DEADLINE_SECONDS = 60
_LEAST_CASES = 2
"""A pair that fewer cases have, such as of two rare words, isn't counted."""


class Pairs:
    """The pairs of features that no chosen run has yet."""

    def __init__(self, features: Sequence[str]) -> None:
        self._number = {name: number for number, name in enumerate(sorted(features))}
        rooms = np.array([room_of(name) for name in self._number])
        self._left = np.triu(np.where(rooms[:, None] == rooms[None, :], SAME_ROOM, 1.0), 1)

    def gain(self, features: Features) -> float:
        """Return the weight of the pairs that these features would cover."""
        return float(self._left[self._places(features)].sum())

    def cover(self, features: Features) -> None:
        """Take these features' pairs away."""
        self._left[self._places(features)] = 0

    def _places(self, features: Features) -> tuple[Any, ...]:
        numbers = sorted(self._number[name] for name in features if name in self._number)
        return np.ix_(numbers, numbers)


def best_first(
    cases: Mapping[int, Features], costs: Mapping[int, float], accept: Callable[[int], bool] = lambda seed: True
) -> Iterator[int]:
    """Yield the seeds that are accepted, each time the one that covers most new pairs for its cost."""
    pairs = Pairs(sorted({name for features in cases.values() for name in features}))
    waiting = [(-pairs.gain(features) / costs.get(seed, 1.0), seed) for seed, features in cases.items()]
    heapq.heapify(waiting)
    while waiting:
        seed = heapq.heappop(waiting)[1]
        gain = pairs.gain(cases[seed]) / costs.get(seed, 1.0)
        if waiting and -gain > waiting[0][0]:
            heapq.heappush(waiting, (-gain, seed))
            continue
        if accept(seed):
            pairs.cover(cases[seed])
            yield seed


def described(first: int, seeds: int) -> dict[int, Features]:
    """Return what each case asks for, by its seed."""
    found = {}
    for seed in range(first, first + seeds):
        try:
            case = varied_case(seed)
        except InputError:
            continue
        if case is not None:
            found[seed] = features_of(case)
    return found


def played(seed: int) -> tuple[str, float, Features] | None:
    """Play a case in a child; return its kind, its CPU time, and features of what came of it; None if it is no pin."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (_DEADLINE_SECONDS, _DEADLINE_SECONDS))
            signal.alarm(5 * _DEADLINE_SECONDS)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            os.write(writer, json.dumps(_play(seed)).encode())
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    _, status = os.waitpid(pid, 0)
    if status:
        click.echo(f"seed {seed}: FAULT status {status}", err=True)
        return None
    kind, seconds, features = json.loads(answer)
    return (kind, seconds, frozenset(features)) if seconds <= MOST_SECONDS else None


def _play(seed: int) -> tuple[str, float, list[str]]:
    case = varied_case(seed)
    assert case is not None
    begun = time.process_time()
    told = told_of(case)
    seconds = float("inf") if "error" in told else time.process_time() - begun
    return case.job["kind"], seconds, sorted(features_of_result(told["run.json"])) if seconds <= MOST_SECONDS else []


def shares(cases: Mapping[int, Features], chosen: Sequence[Features]) -> tuple[float, float]:
    """Return the shares of features and of pairs that the chosen have, of those that several cases have."""
    return _share(cases, chosen, 1), _share(cases, chosen, 2)


def _share(cases: Mapping[int, Features], chosen: Sequence[Features], size: int) -> float:
    counts: dict[tuple[str, ...], int] = {}
    for features in cases.values():
        for each in combinations(sorted(features), size):
            counts[each] = counts.get(each, 0) + 1
    there = {each for each, count in counts.items() if count >= _LEAST_CASES}
    had = {each for features in chosen for each in combinations(sorted(features), size)}
    return len(there & had) / max(1, len(there))


@click.command()
@click.option("--seeds", default=6000, help="How many cases are described.")
@click.option("--runs", default=150, help="How many are chosen.")
@click.option("--told", is_flag=True, help="Choose none; say what the pinned runs cover.")
def main(seeds: int, runs: int, told: bool) -> None:
    """Choose the runs to pin anew; then ``python -m soak.pinned`` writes their pins."""
    logging.disable(logging.WARNING)
    cases = described(1, seeds)
    if not told:
        order = _chosen(cases, runs)
        PINNED.write_text(json.dumps({key: {} for key in order}, indent=0), encoding="utf-8")
    pinned = [kind_and_seed(name)[1] for name in json.loads(PINNED.read_text(encoding="utf-8"))]
    for count in (len(pinned), len(pinned) // 3):
        one, two = shares(cases, [features for seed in pinned[:count] for features in described(seed, 1).values()])
        click.echo(f"the first {count} runs have {100 * one:.1f}% of the features and {100 * two:.1f}% of the pairs")


def _chosen(cases: Mapping[int, Features], runs: int) -> list[str]:
    """Return the names of so many runs, the best for its time first."""
    load_once()
    found: dict[int, tuple[str, float, Features]] = {}

    def is_pin(seed: int) -> bool:
        one_more = played(seed)
        if one_more is not None:
            kind, seconds, features = one_more
            found[seed] = kind, seconds, features | cases[seed]
        return one_more is not None

    list(islice(best_first(cases, {}, is_pin), runs))
    costs = {seed: seconds for seed, (_, seconds, _) in found.items()}
    order = best_first({seed: features for seed, (_, _, features) in found.items()}, costs)
    return [f"{found[seed][0]} {seed}" for seed in order]


if __name__ == "__main__":
    main()
