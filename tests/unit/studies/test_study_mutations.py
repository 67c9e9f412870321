"""Studies with keys and values put where they don't belong: each is a study, or refused in one line."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

from support.studies import INPUTS, study_of

from astra_ns3.errors import InputError
from astra_ns3.studies.expansion import expand
from astra_ns3.studies.file import read_study

CASES = 400
SEED = 1
VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 1.5, float("nan"), "", "one", "a b", [], [[]], [["one"]], [None], [1, 1], [{}], [{"a": 1}]),
    *({}, {"a": 1}, {"a": {"b": [1]}}, {1: 2}, {None: None}, {"": 1}, 10**30, "x.py:f"),
)
STUDY: dict[str, Any] = {
    **study_of(
        {"workload": str(INPUTS / "workload/models/llama-3-8b.yaml"), "workload.model.layers": 2},
        one={
            "axes": {"size": {"one": {"passes": 1}, "two": {"passes": 2}}, "comm_scale": [0.5, 1]},
            "combine": "product",
            "figures": {"it": {"kind": "bars", "x": "size", "y": "finish_us", "relative_to": {"size": "one"}}},
        },
    ),
    "seeds": 1,
    "limits": {"wall_time": "10min"},
    "names": {"comm_scale": "much"},
    "presets": {"laptop": {"base": {"scale": 0.5}, "parts": {"one": {"axes": {"size": ["one"]}, "seeds": [1]}}}},
}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all that stands in a study."""
    for key, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*path, key)
        yield from places(each, (*path, key))


def mutated(draw: random.Random) -> dict[str, Any]:
    """The study with one place replaced, removed, or a key added beside it."""
    study = copy.deepcopy(STUDY)
    *path, last = draw.choice(list(places(study)))
    group: Any = study
    for key in path:
        group = group[key]
    if draw.random() < 0.15:
        del group[last]
    elif isinstance(group, dict) and draw.random() < 0.2:
        group[draw.choice((1, None, True, "seeds", "axes", "network.", "workload.model"))] = draw.choice(VALUES)
    else:
        group[last] = copy.deepcopy(draw.choice(VALUES))
    return study


def test_a_mutated_study_is_a_study_or_refused_in_one_line() -> None:
    refused = []
    for case in range(CASES):
        study = mutated(random.Random(f"{SEED} {case}"))
        try:
            assert expand(read_study(study)).points
        except InputError as error:
            refused.append(str(error))
    assert [words for words in refused if "\n" in words] == []
    assert 0 < len(refused) < CASES
