"""A model file with other values of some keys, and one written."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from astra_ns3.config.core.changing import Setting
from astra_ns3.config.core.changing import changed as made
from astra_ns3.config.core.document import Document
from astra_ns3.config.core.plain import Json, JsonObject
from astra_ns3.config.model.file import parse_model_file
from astra_ns3.errors import InputError, located, wrong
from astra_ns3.whole_file import whole_file
from astra_ns3.workload.models.keys_without_effect import without_effect_on_any
from astra_ns3.workload.models.workload import ModelWorkload
from astra_ns3.workload.training.schedules import SCHEDULES

# Keys that stand at the top of a file.
_FIRST = ("kind", "name", "model", "training")
_CHANGED = "(changed)"


def changed(workload: ModelWorkload, values: Mapping[str, Json]) -> ModelWorkload:
    """With ``values`` of keys like ``parallel.tensor``; raises InputError for keys or values that can't be."""
    given: JsonObject = workload.file.model_dump(mode="json", by_alias=True, exclude_unset=True)
    settings = [Setting(tuple(key.split(".")), value) for key, value in values.items()]
    with located(f"{workload.source} {_CHANGED}"):
        data, _ = made(given, workload.file.document(), settings, Path())
    try:
        return ModelWorkload(parse_model_file(Document(_CHANGED, data), SCHEDULES), workload.source)
    except InputError as error:
        raise wrong(f"{workload.source} {error}") from error


def model_yaml(workload: ModelWorkload) -> str:
    """A model file that says what a workload's says, defaults written out, but for keys that change nothing."""
    whole = _without_open_keys(workload.file.document())
    for key in without_effect_on_any(workload.file):
        group = whole
        *groups, last = key.split(".")
        for name in groups:
            group = group.get(name, {})
        group.pop(last, None)
    ordered = {key: whole[key] for key in (*_FIRST, *whole) if key in whole}
    text: str = yaml.safe_dump(ordered, sort_keys=False, allow_unicode=True, width=100)
    return text


def _without_open_keys(data: dict[str, Any]) -> dict[str, Any]:  # a model file's keys
    """Without those that have no value: what they mean follows from others."""
    return {
        key: _without_open_keys(value) if isinstance(value, dict) else value
        for key, value in data.items()
        if value is not None
    }


def write_model(workload: ModelWorkload, output: str | os.PathLike[str]) -> None:
    """Write a model file; raises InputError."""
    with whole_file(output) as partial:
        partial.write_text(model_yaml(workload), encoding="utf-8", newline="\n")
