"""Keys of our files: a section for each group of keys, a row for each key with type, default and meaning."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from astra_ns3.config.compute_slowdown import ComputeSlowdown
from astra_ns3.config.core.model import ConfigModel
from astra_ns3.config.model.file import KINDS as MODELS
from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.config.plan_file import PlanConfig
from astra_ns3.config.prices import PricesConfig
from astra_ns3.config.scenario.file import ScenarioConfig
from astra_ns3.config.system import SystemConfig
from astra_ns3.config.transports.roce_control import RoceControl
from astra_ns3.studies.file import StudyConfig
from astra_ns3.transport.roce.control_sets import Line, in_force
from astra_ns3.units import exact_rate, exact_time
from reference_pages.attributes import words_of
from reference_pages.markdown import cell, code, plain, table

Model = type[BaseModel]
_SEVERAL = 2


class File(NamedTuple):
    """A kind of file: its title, the models of what it may hold, and the page that explains it."""

    title: str
    models: tuple[Model, ...]
    explained: str


FILES: Mapping[str, File] = {
    "network": File("Keys of a network file", (NetworkConfig,), "network-file"),
    "system": File("Keys of a system file", (SystemConfig,), "system-file"),
    "model": File("Keys of a model file", tuple(MODELS.values()), "models"),
    "scenario": File("Keys of a scenario's file", (ScenarioConfig,), "scenario"),
    "study": File("Keys of a study's file", (StudyConfig,), "studies"),
    "slowdown": File("Keys of a file of slowdowns", (ComputeSlowdown,), "compute"),
    "plan": File("Keys of a file of a plan", (PlanConfig,), "plan"),
    "prices": File("Keys of a file of prices", (PricesConfig,), "budget"),
}
"""By the beginning of the page's name."""


class Place(NamedTuple):
    """A group of keys, and where it stands: dotted, with ``[]`` for an entry of a list and ``NAME`` for any name."""

    path: str
    model: Model
    root: Model


def keys_page(name: str) -> str:
    """Return the page of a kind of file."""
    file = FILES[name]
    places = list(places_of(file))
    parts = [f"# {file.title}\n", f"Made from the code. [What they mean together](../{file.explained}.md).\n"]
    parts += ["`any.key` stands in the group `any`. `[]` is an entry of a list, and `NAME` a name of your choice.\n"]
    headings = _headings(places)
    first = {place.model: place for place in reversed(places)}
    for model, heading in headings.items():
        others = [each.path for each in places if each.model is model and each.path != first[model].path]
        parts.append(f"## {heading}\n\n{_section(model, others, headings)}")
    return "\n".join(parts)


def _headings(places: Sequence[Place]) -> Mapping[Model, str]:
    """Return a heading of its own for each group of keys, in the order of the page."""
    found: dict[Model, str] = {}
    for place in places:
        if place.model not in found:
            heading = _heading(place)
            found[place.model] = f"{heading} {_apart(place)}" if heading in found.values() else heading
    return found


def places_of(file: File) -> Iterator[Place]:
    """Yield each group of keys at each place where it may stand, the outermost first."""
    waiting = [Place("", model, model) for model in file.models]
    done: set[Model] = set()
    while waiting:
        place = waiting.pop(0)
        yield place
        if place.model in done:
            continue
        done.add(place.model)
        for name, field in place.model.model_fields.items():
            key = field.alias or name
            inside = _inside(field.annotation)
            waiting += [Place(_joined(place.path, key + way), model, place.root) for way, model in inside]


def _joined(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _inside(annotation: object, way: str = "") -> Iterator[tuple[str, Model]]:
    """Yield the groups that a type has in it, with how one comes to them."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield way, annotation
        return
    arguments = get_args(annotation)
    if getattr(annotation, "__origin__", None) is tuple:
        way += "[]"
    elif getattr(annotation, "__origin__", None) is dict:
        way += ".NAME"
    for each in arguments:
        yield from _inside(each, way)


def kind_of(model: Model) -> str:
    """Return the one word that ``kind`` has in a group; empty without one."""
    field = model.model_fields.get("kind")
    words = get_args(field.annotation) if field is not None else ()
    return str(words[0]) if len(words) == 1 else ""


def _heading(place: Place) -> str:
    kind = kind_of(place.model)
    if not place.path:
        return f"A file of kind `{kind}`" if kind else "The file"
    own = place.model.__name__.startswith("Own")
    return f"`{place.path}`" + (f" of kind `{kind}`" if kind else " of your own" if own else "")


def _apart(place: Place) -> str:
    """Return what tells a group from another one at the same place: the kind of the file, or its first key."""
    kind = kind_of(place.root)
    first, field = next(iter(place.model.model_fields.items()))
    return f"in a file of kind {code(kind)}" if kind else f"with {code(field.alias or first)}"


def _section(model: Model, others: list[str], headings: Mapping[Model, str]) -> str:
    lines = [plain(model.__doc__ or "") + "\n"]
    if others:
        lines.append(f"Also at {', '.join(code(path) for path in dict.fromkeys(others))}.\n")
    rows = []
    for name, field in model.model_fields.items():
        key, value, *others_of_row = row_of(model, name, field)
        rows.append((key, value.replace("group", _links(field, headings), 1), *others_of_row))
    return "\n".join(lines) + ("\n" + table(("Key", "Value", "Default", "Meaning"), rows) if rows else "")


def _links(field: FieldInfo, headings: Mapping[Model, str]) -> str:
    """Return links to the groups that a key may have; the bare word if it has none of its own."""
    models = dict.fromkeys(model for _, model in _inside(field.annotation))
    links = {model: f"(#{re.sub(r'[^a-z0-9_ -]', '', headings[model].lower()).replace(' ', '-')})" for model in models}
    if len(models) < _SEVERAL:
        return "".join(f"[group]{link}" for link in links.values()) or "group"
    return "group: " + ", ".join(f"[{_label(model, headings)}]{link}" for model, link in links.items())


def _label(model: Model, headings: Mapping[Model, str]) -> str:
    own = "your own" if model.__name__.startswith("Own") else headings[model].replace("`", "")
    return kind_of(model) or own


def row_of(model: Model, name: str, field: FieldInfo) -> tuple[str, str, str, str]:
    """Return key, type, default and meaning of a field."""
    whole = _schema_of(model)
    key = field.alias or name
    schema = _resolved(_properties(whole, model)[key], whole)
    words = words_of(model).get(name, "")
    if not words and kind_of(model) and name == "kind":
        words = f"The word that chooses this group: {code(kind_of(model))}."
    words = " ".join(filter(None, (words, _told_of_sets(model, name, field))))
    default = "absent" if field.is_required() and "Absent:" in words else _default(name, field, schema)
    return code(key), _type(name, schema, whole), default, cell(words)


_EXAMPLE = Line(rate_bps=10**11, round_trip_ps=5 * 10**6, payload_bytes=1000)
"""The line for which the words of ``parameters`` say that numbers are told."""


@cache
def _of_sets(model: Model) -> Mapping[str, Mapping[str, float]]:
    """Return the numbers of a congestion control by set and key, on one line; nothing for other groups."""
    if not issubclass(model, RoceControl) or "parameters" not in model.model_fields or not kind_of(model):
        return {}
    sets = get_args(model.model_fields["parameters"].annotation)
    controls = {name: model.model_validate({"kind": kind_of(model), "parameters": name}) for name in sets}
    return {name: in_force(control, _EXAMPLE).numbers for name, control in controls.items()}


def _told_of_sets(model: Model, name: str, field: FieldInfo) -> str:
    """Return the number that each set has for a key, sets with the same number together; empty for other keys."""
    names: dict[str, list[str]] = {}
    for of_set, numbers in _of_sets(model).items():
        number = numbers.get(field.alias or name)
        if number is not None:
            names.setdefault(_in_words(name, field, number), []).append(code(of_set))
    if len(names) == 1:
        return f"All sets: {next(iter(names))}."
    return "; ".join(f"{' and '.join(words)}: {number}" for number, words in names.items()) + "." * bool(names)


def _in_words(name: str, field: FieldInfo, number: float) -> str:
    if name.endswith("_ps"):
        return exact_time(int(number)) if number else "0"
    if name.endswith("_bps"):
        return exact_rate(int(number))
    if "bool" in str(field.annotation):
        return "on" if number else "off"
    return f"{number:g}" if number < 1 else f"{number:,.10g}"


@cache
def _schema_of(model: Model) -> Mapping[str, object]:
    return model.model_json_schema(by_alias=True)


def _properties(whole: Mapping[str, object], model: Model) -> Mapping[str, Mapping[str, object]]:
    """Return the keys of a group; a group that may stand as a word too is one of several."""
    for each in (whole, whole.get("$defs", {}).get(model.__name__, {}), *whole.get("anyOf", ())):
        if "properties" in each:
            return each["properties"]
    return {}


def _resolved(schema: Mapping[str, object], whole: Mapping[str, object]) -> Mapping[str, object]:
    if "$ref" not in schema:
        return schema
    return {**whole["$defs"][str(schema["$ref"]).rpartition("/")[2]], **schema}


_UNITS = {"_ps": "time", "_bytes": "size", "_bps": "rate", "_bytes_per_ns": "bytes per ns", "_ns": "ns", "_us": "us"}


def _type(name: str, schema: Mapping[str, object], whole: Mapping[str, object]) -> str:
    """Return the type in a few words: a unit, words to choose from, a number with its bounds."""
    unit = next((words for ending, words in _UNITS.items() if name.rstrip("_").endswith(ending)), "")
    if unit in ("time", "size", "rate") or name in ("bytes_", "local_repair_ps"):
        return unit or "size"
    found = list(dict.fromkeys(_kinds(schema, whole)))
    return " or ".join(found) + (f" ({unit})" if unit else "")


_NAMES = {"string": "text", "number": "number", "object": "group", "boolean": "on or off"}


def _kinds(schema: Mapping[str, object], whole: Mapping[str, object]) -> Iterator[str]:
    if "$ref" in schema:
        target = whole["$defs"][str(schema["$ref"]).rpartition("/")[2]]
        yield from _kinds(target, whole) if "enum" in target else ("group",)
    elif "anyOf" in schema or "oneOf" in schema:
        for branch in schema.get("anyOf") or schema["oneOf"]:
            yield from _kinds(branch, whole)
    elif "const" in schema:
        yield code(str(schema["const"]))
    elif "enum" in schema:
        yield ", ".join(code(str(word)) for word in schema["enum"])
    elif schema.get("type") == "array":
        inner = " or ".join(dict.fromkeys(_kinds(schema.get("items") or {}, whole)))
        yield f"list of {inner}" if inner else "list"
    elif schema.get("type") == "integer":
        yield "whole number" + _bounds(schema)
    elif schema.get("type") != "null":
        yield _NAMES.get(str(schema.get("type")), "value") + _bounds(schema)


def _bounds(schema: Mapping[str, object]) -> str:
    words = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "to", "exclusiveMaximum": "below"}
    given = [f"{word} {_number(schema[key])}" for key, word in words.items() if key in schema]
    given = [each for each in given if len(each) < len("to 1,000,000,000")]
    return f" {' '.join(given)}" if given else ""


def _number(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)


def _default(name: str, field: FieldInfo, schema: Mapping[str, object]) -> str:
    if field.is_required():
        return "needed"
    if "default" not in schema:
        return "empty"
    value = schema["default"]
    if value is None:
        return "absent"
    if isinstance(field.default, ConfigModel):
        kind = getattr(field.default, "kind", None)
        return code(str(kind)) if kind else "its defaults"
    if value in ([], {}, ""):
        return "empty"
    if isinstance(value, int) and name.endswith("_ps"):
        return code(exact_time(value))
    if isinstance(value, int) and name.endswith("_bps"):
        return code(exact_rate(value))
    if isinstance(value, bool):
        return "on" if value else "off"
    return code(value if isinstance(value, str) else json.dumps(value))


def undescribed(model: Model) -> list[str]:
    """Return the keys of a group that no words explain."""
    rows = [(name, row_of(model, name, field)) for name, field in model.model_fields.items()]
    return [f"{inspect.getmodule(model).__name__}.{model.__name__}.{name}" for name, row in rows if not row[3]]
