"""The files that a run writes, to be set beside those of another."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

from astra_ns3.experiments.metadata import VARYING_KEYS
from soak.case import Case
from soak.cases import random_case


def writing(first: int = 1) -> Iterator[tuple[int, Case]]:
    """The soak's cases that a user could ask for, without those that need a C++ compiler; their seeds."""
    for seed in count(first):
        case = random_case(seed)
        if case.job["kind"] != "collective" and ".hpp" not in case.document():
            yield seed, case


def contents(folder: Path) -> dict[str, Any]:
    """Every file byte for byte, run.json key by key without wall times, memory and versions."""
    found: dict[str, Any] = {file.name: file.read_bytes() for file in folder.iterdir() if file.name != "run.json"}
    document = json.loads((folder / "run.json").read_text())
    found |= {f"run.json: {key}": value for key, value in document.items() if key not in VARYING_KEYS}
    return found


def differing(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    """The files and keys that only one has, or that aren't equal."""
    return [key for key in sorted({*first, *second}) if first.get(key) != second.get(key)]
