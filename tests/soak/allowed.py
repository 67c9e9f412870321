"""Keys that a document of a user's lacks and may have, drawn from the schema of its file with values that fit."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel

from astra_ns3.config.model.devices import DEVICES
from astra_ns3.errors import AstraNs3Error
from soak.draw import Draw

Schema = Mapping[str, Any]
Place = tuple[dict[str, Any], str, Schema]
_QUANTITY = re.compile(r"([0-9.]+)(\D+)")
_FACTORS = (0.01, 0.2, 1, 3, 100)
_WORDS: Mapping[str, tuple[Any, ...]] = {
    "device": tuple(DEVICES),
    "sizes": ("web-search", "hadoop", "4KB", "64KB"),
    "cut": ("hosts", "racks"),
    "npus": ([0, 1], ["0-3"], [1]),
    "after": ("job 0",),
}
"""Values of keys whose schema says only that they are words."""


def with_more(
    draw: Draw, model: type[BaseModel], document: dict[str, Any], keys: int, check: Callable[[dict[str, Any]], object]
) -> dict[str, Any]:
    """Return a document with so many keys more; one that ``check`` refuses is left out again."""
    for _ in range(keys):
        longer = copy.deepcopy(document)
        places = [place for place in _places(_schema(model), _schema(model), longer) if place[1] not in _UNWANTED]
        if not places:
            break
        group, key, schema = draw.pick(*places)
        value = _value(draw, _schema(model), key, schema)
        if value is None:
            continue
        group[key] = value
        try:
            check(longer)
        except AstraNs3Error:
            continue
        document = longer
    return document


_UNWANTED = (
    "name",
    "path",
    "file",
    "kind",
    "workload",
    "system",
    "network",
    "format",
    "python",
    "cache",
    "table",
    "round_robin",
)


@cache
def _schema(model: type[BaseModel]) -> Schema:
    return model.model_json_schema(by_alias=True)


def _places(root: Schema, schema: Schema, document: Any) -> Iterator[Place]:
    """Yield each key that a group of the document lacks: the group, the key, and the schema of its value."""
    fitting = [each for each in _options(root, schema) if _fits(root, each, document)]
    for option in fitting[:1]:
        if isinstance(document, list):
            for each in document:
                yield from _places(root, option.get("items", {}), each)
        for key, inner in option.get("properties", {}).items() if isinstance(document, dict) else ():
            if key in document:
                yield from _places(root, inner, document[key])
            else:
                yield document, key, inner


def _options(root: Schema, schema: Schema) -> Iterator[Schema]:
    """Yield what a value may be, without null; examples of a choice belong to each of its options."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    several = schema.get("oneOf", schema.get("anyOf"))
    if several is None or "examples" in schema:
        yield schema
        return
    for each in several:
        yield from (option for option in _options(root, each) if option.get("type") != "null")


def _fits(root: Schema, schema: Schema, document: Any) -> bool:
    if isinstance(document, list):
        return schema.get("type") == "array"
    keys = schema.get("properties", {})
    if not isinstance(document, dict) or not document.keys() <= keys.keys():
        return False
    kinds = {key: inner["const"] for key, inner in keys.items() if "const" in inner}
    return all(document.get(key, keys[key].get("default")) == kind for key, kind in kinds.items())


def _value(draw: Draw, root: Schema, key: str, schema: Schema) -> Any:
    """Return a value that the schema allows, or None if it says too little."""
    options = list(_options(root, schema))
    option = draw.pick(*options) if options else {}
    kind = option.get("type")
    if key in _WORDS:
        return draw.pick(*_WORDS[key])
    if "const" in option:
        return option["const"]
    if "enum" in option:
        return draw.pick(*option["enum"])
    examples = option.get("examples", schema.get("examples"))
    if examples:
        return _like(draw, draw.pick(*examples))
    if kind == "boolean":
        return draw.chance(0.5)
    if kind in ("integer", "number"):
        return _number(draw, option)
    if kind == "array":
        return [each for each in [_value(draw, root, key, option.get("items", {}))] if each is not None]
    if kind == "object":
        return _group(draw, root, option)
    return None


def _group(draw: Draw, root: Schema, schema: Schema) -> dict[str, Any]:
    needed = schema.get("required", [])
    chosen = [key for key in schema.get("properties", {}) if key in needed or key == "kind" or draw.chance(0.4)]
    found = {key: _value(draw, root, key, schema["properties"][key]) for key in chosen}
    return {key: each for key, each in found.items() if each is not None}


def _like(draw: Draw, example: Any) -> Any:
    """Return an example, a quantity with another number."""
    match = _QUANTITY.fullmatch(example) if isinstance(example, str) else None
    if match is None:
        return example
    number = max(1, round(float(match[1]) * draw.pick(*_FACTORS)))
    return f"{number}{match[2]}"


def _number(draw: Draw, schema: Schema) -> float:
    whole = schema["type"] == "integer"
    low: float = schema.get("minimum", schema.get("exclusiveMinimum", 0))
    high: float = schema.get("maximum", schema.get("exclusiveMaximum", 1e6))
    found: float = draw.pick(low, low + 1, low + 3) if whole else draw.pick(0.05, 0.5, 1.0, 2.0)
    return min(max(found, low), high)
