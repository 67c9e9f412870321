"""The base of all configuration models: frozen, unknown keys refused, errors as one line with file, line and key."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, ClassVar, TypeVar, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainSerializer,
    Strict,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, ErrorDetails, PydanticCustomError, core_schema

from astra_ns3.config.core.document import Document, KeyPath
from astra_ns3.config.core.mistakes import MEANT, UNKNOWN_KEYS, document_path, every_error
from astra_ns3.errors import InputError, nearest, some_of, wrong
from astra_ns3.units import exact_time, parse_bytes, parse_memory, parse_rate, parse_time_ps

_LONGEST_SHOWN = 60
_MOST_TOLD = 10
# Of all mistakes but the first, only the nearest of the allowed words is told.
_ALLOWED = re.compile(r"[;,] allowed: .*?(?=; did you mean|$)")
_DEEPEST = 3
"""So many levels of groups below one are searched for a key that stands in the wrong place."""
FOLDER = "folder"
"""The folder of the document that is being read, in the context of validators."""
Keys = dict[str, object]
"""The content of a group of keys."""


class ConfigModel(BaseModel):
    """A frozen group of keys. In files a key is the field's alias: its name without the unit."""

    model_config = ConfigDict(frozen=True, defer_build=True, extra="forbid", allow_inf_nan=False)

    also_read: ClassVar[tuple[str, ...]] = ()
    """Keys that :meth:`prepare` reads besides the fields."""

    @classmethod
    def prepare(cls, data: Keys) -> Keys:
        """Hook: change or refuse keys before they are checked against the fields."""
        return data

    @model_validator(mode="before")
    @classmethod
    def _known_keys_only(cls, data: object) -> object:
        if isinstance(data, cls):
            return data
        if not isinstance(data, Mapping):
            raise _no_group(shown(data), cls.model_fields)
        prepared = cls.prepare({str(key): value for key, value in data.items()})
        allowed = [field.alias or name for name, field in cls.model_fields.items()]
        unknown = [key for key in prepared if key not in allowed]
        if unknown:
            known = [*allowed, *cls.also_read]
            others = f", so {'is' if len(unknown) == 2 else 'are'} {_listed(unknown[1:])}" if unknown[1:] else ""
            words = f"unknown key{others}; allowed: {', '.join(known)}{cls._nearest_of(unknown, known, prepared)}"
            context = {"key": unknown[0], "message": words, UNKNOWN_KEYS: unknown}
            raise PydanticCustomError("key", "{message}", context)
        for key, field in zip(allowed, cls.model_fields.values(), strict=True):
            for path, found in _no_numbers(field.annotation, prepared.get(key)):
                raise key_error((key, *path), f"found {shown(found)}, expected a number")
        return prepared

    @classmethod
    def _nearest_of(cls, unknown: Sequence[str], allowed: Sequence[str], data: Mapping[str, object]) -> str:
        """``nearest`` of one key, its namesake inside, a key in it, or the only that is missing; of several each."""
        known = sorted(cls._keys_inside(_DEEPEST, data), key=lambda name: name.count("."))
        inside = {name.rpartition(".")[2]: name for name in reversed(known)}
        groups = ((key, group) for key in unknown if isinstance(group := data[key], Mapping))
        inside |= {key: inner for key, group in groups for inner in group if inner in allowed}
        meant = {
            key: f"'{inside[key]}'" if key in inside else nearest(key, allowed)[len(MEANT) : -1]
            for key in unknown[:_MOST_TOLD]
        }
        missing = [name for field, name in zip(cls.model_fields.values(), allowed, strict=False) if field.is_required()]
        missing = [name for name in missing if name not in data and name != "kind"]
        if len(unknown) == len(missing) == 1 and not meant[unknown[0]]:
            return f"{MEANT}'{missing[0]}', which is missing?"
        said = ", ".join(word if unknown[1:] == [] else f"{word} for '{key}'" for key, word in meant.items() if word)
        return f"{MEANT}{said}?" if said else ""

    @classmethod
    def _keys_inside(cls, depth: int, data: Mapping[str, object]) -> Iterator[str]:
        """Yield the keys of the groups in this one by their paths; where ``data`` names a kind, of its group alone."""
        for name, field in cls.model_fields.items() if depth else ():
            inside = given if isinstance(given := data.get(field.alias or name), Mapping) else {}
            for kind in kinds_of(field.annotation):
                if isinstance(kind, type) and issubclass(kind, ConfigModel) and kind._may_be(inside.get("kind")):
                    keys = (
                        *(inner.alias or word for word, inner in kind.model_fields.items()),
                        *kind._keys_inside(depth - 1, inside),
                    )
                    yield from (f"{field.alias or name}.{key}" for key in keys)

    @classmethod
    def _may_be(cls, kind: object) -> bool:
        """Whether a group whose key ``kind`` has this value, or that hasn't one, may be one of these."""
        return (
            kind is None
            or "kind" not in (known := cls.model_fields)
            or kind in (get_args(known["kind"].annotation) or [kind])
        )

    def document(self) -> dict[str, Any]:  # each kind of file has keys and types of its own
        """Plain data with the keys and units of a file; reading it back gives an equal model."""
        return self.model_dump(mode="json", by_alias=True)


def _no_numbers(annotation: object, value: object, path: KeyPath = ()) -> Iterator[tuple[KeyPath, bool]]:
    """Yield each true or false of ``value`` where a field's type has a number, and its place; YAML means no 1 by it."""
    kinds = kinds_of(annotation)
    if isinstance(value, bool):
        if float in kinds and bool not in kinds:
            yield path, value
    elif isinstance(value, (list, tuple)):
        for position, entry in enumerate(value):
            for kind in (kind for kind in kinds if get_origin(kind) is tuple):
                yield from _no_numbers(get_args(kind)[0], entry, (*path, position))


def kinds_of(annotation: object) -> list[object]:
    """Return the types that a field may have, without what is noted on them."""
    if get_origin(annotation) is Annotated:
        return kinds_of(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return [kind for part in get_args(annotation) for kind in kinds_of(part)]
    return [annotation]


def _may_be_left_out(model: type[ConfigModel], path: KeyPath) -> bool:
    """Whether the key at a path may be null, in any group that it may belong to."""
    kinds: list[object] = [model]
    for part in path:
        groups = (kind for kind in kinds if isinstance(kind, type) and issubclass(kind, ConfigModel))
        fields = (
            field for group in groups for name, field in group.model_fields.items() if part == (field.alias or name)
        )
        kinds = [kind for field in fields for kind in kinds_of(field.annotation)]
    return NoneType in kinds


def _listed(keys: Sequence[str]) -> str:
    """Return the first keys in quotes, and how many more there are; one key is told already."""
    most = _MOST_TOLD - 1
    told = ", ".join(f"'{key}'" for key in keys[:most])
    return f"{told} and {len(keys) - most:,} more" if keys[most:] else told


Model = TypeVar("Model", bound=ConfigModel)
_Given = TypeVar("_Given")
_Parsed = TypeVar("_Parsed")


def key_error(key: str | KeyPath, message: str) -> PydanticCustomError:
    """An error that belongs to ``key`` of the group being validated, or to a key of a group in it, by its path."""
    return PydanticCustomError("key", "{message}", {"key": key, "message": message})


def refuse_key(condition: bool, key: str | KeyPath, words: str) -> None:
    """Raise :func:`key_error` if ``condition`` holds; the words are made even if it doesn't."""
    if condition:
        raise key_error(key, words)


def _no_group(found: str, fields: Mapping[str, FieldInfo]) -> PydanticCustomError:
    """Return the error of something that stands in the place of a group of keys."""
    keys = some_of(field.alias or name for name, field in fields.items())
    keys += "" if any(field.is_required() for field in fields.values()) else "; {} takes the defaults"
    words = {"found": {"True": "true (on)", "False": "false (off)"}.get(found, found), "keys": keys}
    return PydanticCustomError("not_a_group", "found {found}, expected keys and values: {keys}", words)


def checked(check: Callable[[Model], None]) -> Callable[[Model], Model]:
    """Return the validator of a whole group that only checks it, and raises :func:`key_error`."""

    def validator(group: Model) -> Model:
        check(group)
        return group

    return validator


def shown(value: object) -> str:
    """``value`` as a person wrote it, shortened."""
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."


def validated(model: type[Model], document: Document, context: Mapping[str, object] = MappingProxyType({})) -> Model:
    """The model that the document describes; paths in it are as seen from its folder. ``context``: for its validators.

    Raises InputError, a line: the first thing that is wrong (file, line, key, what was found, what is allowed), and in
    brackets all others that can be told apart from it.
    """
    context = {FOLDER: Path(document.source).parent, **context}
    try:
        return model.model_validate(document.data, context=context)
    except ValidationError as error:
        problems = [_problem(details, document, model) for details in every_error(model, document, error, context)]
    problems.sort(key=lambda problem: (problem[1].endswith(" is missing"), problem[0]))  # a misspelt key tells more
    others = [text.removeprefix(f"{document.source}:").strip() for _, text in problems[1:]]
    short = [_ALLOWED.sub("", re.sub(r"^(?=\d+: )", "line ", other)) for other in others[:_MOST_TOLD]]
    told = "; ".join(short)
    left = "; ..." if others[_MOST_TOLD:] else ""
    raise wrong(f"{problems[0][1]} (and {len(others)} more: {told}{left})" if others else problems[0][1])


def _problem(details: ErrorDetails, document: Document, model: type[ConfigModel]) -> tuple[int, str]:
    """Line and message of one pydantic error."""
    path = document_path(details, document.data)
    where, dotted = document.where(path), ".".join(str(part) for part in path)
    if details["type"] in ("missing", "union_tag_not_found"):
        missing = dotted if details["type"] == "missing" else f"{dotted}.kind"
        return document.line(path), f"{where}: key '{missing}' is missing"
    about, said = f"key '{dotted}': " if dotted else "", _explanation(details)
    if details["type"] == "not_a_group" and details["input"] is False and _may_be_left_out(model, path):
        said += "; null leaves the key out"
    if UNKNOWN_KEYS in details.get("ctx", {}):  # the keys that are meant, such that they can be pasted
        words, meant, keys = said.partition(MEANT)
        before = "".join(f"{part}." for part in path[:-1])
        said = words + meant + re.sub(r"'([^']+')", lambda key: f"'{before}{key[1]}", keys)
    return document.line(path), f"{where}: {about}{said}"


def _explanation(details: ErrorDetails) -> str:
    kind, context, found = details["type"], details.get("ctx", {}), shown(details["input"])
    if kind == "value_error":
        return str(context["error"])
    if kind in ("key", "not_a_group"):
        return details["msg"]
    if kind in ("literal_error", "union_tag_invalid"):
        allowed = re.findall(r"'([^']+)'", str(context.get("expected") or context.get("expected_tags")))
        word = context.get("tag", details["input"])
        return f"found {shown(word)}, allowed: {', '.join(allowed)}{nearest(str(word), allowed)}"
    if kind in ("too_short", "too_long"):
        return f"found {found}, expected {_entries(kind, context)}"
    if kind in ("bool_type", "bool_parsing"):
        return f"found {found}, expected on or off"
    if kind == "model_attributes_type":  # of a group whose kind tells which one it is
        return f"found {found}, expected keys and values"
    expected = details["msg"].replace("Input should be", "expected").replace("a valid tuple", "a list")
    return f"found {found}, {expected}"


def _entries(kind: str, context: Mapping[str, int]) -> str:
    """How many a list may have, in words."""
    most = kind == "too_long"
    count = context["max_length" if most else "min_length"]
    return f"at {'most' if most else 'least'} {'one entry' if count == 1 else f'{count} entries'}"


def as_value_error(parse: Callable[[_Given], _Parsed]) -> Callable[[_Given], _Parsed]:
    """``parse`` whose InputError pydantic sees as a ValueError, so that it adds the key."""

    def checked(value: _Given) -> _Parsed:
        try:
            return parse(value)
        except InputError as error:
            raise ValueError(str(error)) from error

    return checked


class OrName:
    """Annotation of a group that may stand as one word too: ``transport: roce`` is ``transport: {kind: roce}``."""

    def __get_pydantic_core_schema__(self, source: type, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self._expanded, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [{"type": "string"}, handler(schema)]}

    @staticmethod
    def _expanded(value: object) -> object:
        return {"kind": value} if isinstance(value, str) else value


def kind_of(value: object, default: str | None = None) -> str | None:
    """Return the ``kind`` of a group of keys, or of a model."""
    if isinstance(value, Mapping):
        return str(value["kind"]) if "kind" in value else default
    return getattr(value, "kind", default)


def _text_or_number(example: str) -> WithJsonSchema:
    return WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 0}], "examples": [example]})


# Bounds are annotated_types, never a shared Field(): pydantic 2.7 to 2.10 write the default of one field into it, so
# that another field of the same type gets that default too.
Bytes = Annotated[int, BeforeValidator(as_value_error(parse_bytes)), _text_or_number("500KB")]
PositiveBytes = Annotated[int, Gt(0), BeforeValidator(as_value_error(parse_bytes)), _text_or_number("0.5MB")]
MemoryBytes = Annotated[int, Gt(0), BeforeValidator(as_value_error(parse_memory)), _text_or_number("80GB")]
RateBps = Annotated[int, Gt(0), BeforeValidator(as_value_error(parse_rate)), _text_or_number("100Gbps")]
TimePs = Annotated[
    int,
    BeforeValidator(as_value_error(parse_time_ps)),
    PlainSerializer(exact_time, return_type=str),
    WithJsonSchema({"type": "string", "examples": ["500ns"]}),
]
PositiveTimePs = Annotated[TimePs, Gt(0)]
Count = Annotated[int, Strict(), Ge(1)]
Listed = Annotated[int, Strict(), Ge(1), Le(100_000)]
"""How many there are of something that is worked out one by one."""
Number = Annotated[int, Strict(), Ge(0)]
OnOff = Annotated[bool, Strict()]
"""A switch that is on or off in YAML."""
