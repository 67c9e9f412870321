"""What a case asks for, as a set of features: each key of its documents with its word, whatever file the key is of.

No list of keys stands here: a key that a draw begins to use is a feature from then on.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import yaml

from soak import models
from soak.case import CONFIG_FILE, Case
from soak.requests import is_list

_UNTOLD = ("text", "name", "path", "flows", "npus", "run_name", "sender", "receiver", "priorities", "weights", "id")
"""Keys whose values are names and numbers that say nothing of what is asked for."""
_WORD = re.compile(r"[A-Za-z^][\w.,;:^/-]{0,40}")
_PORT = re.compile(r"(host|switch)[0-9]+(:[0-9]+)?")
_OF_ROWS = ("forward", "input gradient", "weight gradient")


def features_of(case: Case) -> frozenset[str]:
    """Return the features of a case: ``room: group.key``, with ``=word`` if the value is a word, a switch, 0 or 1."""
    found = set(_of_document("network", {"network": case.network}))
    job = dict(case.job)
    found |= {f"job: {job['kind']}", *_of_document("system", {"system": job.pop("system", {})})}
    found |= set(_of_document("run", {"run": job.pop("options", {})}))
    for text in _texts(job):
        found |= set(_of_workload(text))
    found |= set(_of_document("job", {"job": job}))
    for name, text in case.files.items():
        found |= set(_of_file(name, text))
    return frozenset(found)


def room_of(feature: str) -> str:
    """Return the room that a feature is of."""
    return feature.partition(": ")[0]


def _of_document(room: str, document: Mapping[str, Any]) -> Iterator[str]:
    """Yield a feature for each key, and one for each that has several values in the document."""
    values = defaultdict(set)
    for key, value in _leaves("", "", document):
        values[key].add(value)
        is_word = isinstance(value, str) and _WORD.fullmatch(value) and not _PORT.fullmatch(value)
        told = is_word or isinstance(value, bool) or value in (0, 1)
        yield f"{room}: {key}={value}" if told else f"{room}: {key}"
    yield from (f"{room}: {key} unlike" for key, each in values.items() if len(each) > 1)


def _leaves(group: str, key: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield each value that is no group, by ``group.key``; the group is the key that the value's own key stands in."""
    if isinstance(value, Mapping):
        for inner, each in value.items():
            if inner not in _UNTOLD:
                yield from _leaves(key, str(inner), each)
        if not value:
            yield f"{group}.{key}", True
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _leaves(group, key, each)
        if len(value) > 1:
            yield f"{group}.{key} several", True
    else:
        yield f"{group}.{key}", value


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from (each for key, each in value.items() if key == "text")
        value = list(value.values())
    for each in value if isinstance(value, list) else ():
        yield from _texts(each)


def _of_workload(text: str) -> Iterator[str]:
    if text.startswith(models.WORD):
        yield from _of_document("model", {"model": yaml.safe_load(text)})
        return
    if is_list(text):
        yield "job: list of flows"
        return
    header, _, *rows = text.splitlines()
    loop, *words = header.split()
    yield f"loop: {loop}"
    yield from (f"loop: {key}{'=1' if each in '01' else ''}" for key, each in pairwise(words) if key.endswith(":"))
    yield from ["loop: layers several"] if len(rows) > 1 else []
    for row in rows:
        _, _, *cells = row.split()
        for number, name in enumerate(_OF_ROWS):
            compute, kind, _ = cells[3 * number : 3 * number + 3]
            yield f"loop: {name} {kind}"
            yield from ["loop: computes"] if compute != "0" else []
        yield from (f"loop: policy {policy}" for policy in cells[10:])


def _of_file(name: str, text: str) -> Iterator[str]:
    if name == CONFIG_FILE:
        pairs = (line.split(" ", 1) for line in text.splitlines())
        yield from _of_document("config.txt", {"config": {key: float(value) for key, value in pairs if value in "01"}})
    elif name.endswith((".json", ".yaml")):
        yield from _of_document(name, {name: yaml.safe_load(text)})
    else:
        yield f"network: {name}"


def features_of_result(document: Mapping[str, Any]) -> frozenset[str]:
    """Return what came of a run by its run.json: each number of its counters and jobs that isn't 0."""
    told = {key: document.get(key) for key in ("statistics", "jobs", "stopped", "waits", "floor")}
    return frozenset(each for each in _of_document("result", told) if not each.endswith(("=0", "=0.0", "=None")))
