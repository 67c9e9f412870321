"""A file's document reads back to what it was, whatever words, switches and groups the file has."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any, Literal, get_args, get_origin

import pytest
import yaml
from support.many_networks import network_files
from support.models import model_of
from support.studies import INPUTS

from astra_ns3.config.core.model import ConfigModel, kinds_of
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.errors import InputError
from astra_ns3.system.file import parse_system

Path = tuple[str, ...]
DEEPEST = 6


def loaded(*parts: str) -> Any:
    return yaml.safe_load(INPUTS.joinpath(*parts).read_text(encoding="utf-8"))


SOME_NETWORKS = ("hier", "rail-only-16", "torus-4x4", "roce-lossy")
FILES: dict[str, tuple[Callable[[Any], Any], list[Any]]] = {
    "networks": (
        parse_network,
        [network_files()[name] for name in SOME_NETWORKS],
    ),
    "systems": (parse_system, [loaded("system", "flat.yaml"), {"collectives": "nccl"}]),
    "models": (
        lambda data: model_of(data).file,
        [loaded("workload", "models", f"{name}.yaml") for name in ("mixtral-8x7b", "resnet-50", "dlrm-hoti-2020")],
    ),
}


def choices(group: type[ConfigModel], path: Path = ()) -> Iterator[tuple[Path, object]]:
    """Yield each word, switch and empty group that a key below a group may be, with the key's path."""
    for name, field in group.model_fields.items():
        key = (*path, field.alias or name)
        for kind in kinds_of(field.annotation):
            if get_origin(kind) is Literal:
                yield from ((key, word) for word in get_args(kind))
            elif kind is bool:
                yield from ((key, switch) for switch in (False, True))
            elif isinstance(kind, type) and issubclass(kind, ConfigModel) and len(path) < DEEPEST:
                yield key, {}
                yield from choices(kind, key)


def with_key(data: Any, path: Path, value: object) -> Any:
    """The data with another value at a path, whose groups are made if they aren't there."""
    found = deepcopy(data)
    at = found
    for key in path[:-1]:
        if not isinstance(at.get(key), dict):
            at[key] = {}
        at = at[key]
    at[path[-1]] = value
    return found


@pytest.mark.parametrize("name", FILES)
def test_a_document_with_any_word_of_a_key_reads_back(name: str) -> None:
    parse, files = FILES[name]
    wrong, seen = [], set[tuple[Path, str]]()
    for data in files:
        config = parse(data)
        for path, value in choices(type(config)):
            if (path, str(value)) in seen:
                continue
            try:
                changed = parse(with_key(data, path, value))
            except InputError:
                continue  # not beside the file's other keys
            seen.add((path, str(value)))
            try:
                again = parse(json.loads(json.dumps(changed.document())))
            except InputError as error:
                wrong.append(f"{'.'.join(path)}: {value}: {error}")
            else:
                wrong += [f"{'.'.join(path)}: {value}: another one"] * (again != changed)
    assert len(seen) > 15
    assert wrong == []
