"""Takes Chakra's traces apart without protobuf's classes or our schema.

Numbers of fields, and which of them is what, as published: mlcommons/chakra, schema/protobuf/et_def.proto (Node,
AttributeProto, GlobalMetadata); the wire format as in protobuf's own description of its encoding.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

_VARINT, _EIGHT, _LENGTH, _FOUR = 0, 1, 2, 5
_INT64, _BOOL, _BOOLS, _STRING = 9, 27, 28, 29
VALUES = {_INT64: "int64_val", _BOOL: "bool_val", _BOOLS: "bool_list", _STRING: "string_val"}
"""Those fields of an attribute's value that the writer uses."""


class WireNode(NamedTuple):
    """A node as its bytes have it; ``attributes``: name, field of the value, value, in their order."""

    id: int = 0
    name: str = ""
    type: int = 0
    control: tuple[int, ...] = ()
    data: tuple[int, ...] = ()
    duration_us: int = 0
    attributes: tuple[tuple[str, str, object], ...] = ()


def messages(content: bytes) -> list[bytes]:
    """The messages of a file, each with its length before it."""
    found, place = [], 0
    while place < len(content):
        length, place = _varint(content, place)
        assert place + length <= len(content)
        found.append(content[place : place + length])
        place += length
    return found


def version(message: bytes) -> str:
    """What the first message of a file says."""
    ((number, value),) = _fields(message)
    assert number == 1
    assert isinstance(value, bytes)
    return value.decode()


def node(message: bytes) -> WireNode:
    """Any other message."""
    found = WireNode()
    for number, value in _fields(message):
        if isinstance(value, bytes):
            if number == 2:
                found = found._replace(name=value.decode())
            elif number in (4, 5):
                numbers = tuple(_varints(value))
                found = found._replace(control=numbers) if number == 4 else found._replace(data=numbers)
            else:
                assert number == 10
                found = found._replace(attributes=(*found.attributes, _attribute(value)))
        else:
            field = {1: "id", 3: "type", 7: "duration_us"}[number]
            found = found._replace(**{field: value})  # type: ignore[arg-type]
    return found


def _attribute(content: bytes) -> tuple[str, str, object]:
    (first, name), (number, value) = _fields(content)
    assert first == 1
    assert isinstance(name, bytes)
    if number == _BOOLS:
        assert isinstance(value, bytes)
        parts = [tuple(map(bool, part)) for field, part in _fields(value) if field == 1 and isinstance(part, bytes)]
        return name.decode(), VALUES[number], parts[0] if parts else ()
    if number == _INT64:
        assert isinstance(value, int)
        return name.decode(), VALUES[number], value - 2**64 if value >= 2**63 else value
    return name.decode(), VALUES[number], value.decode() if isinstance(value, bytes) else bool(value)


def _fields(content: bytes) -> Iterator[tuple[int, int | bytes]]:
    place = 0
    while place < len(content):
        tag, place = _varint(content, place)
        number, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            value, place = _varint(content, place)
            yield number, value
            continue
        length = {_EIGHT: 8, _FOUR: 4}.get(kind, 0)
        if kind == _LENGTH:
            length, place = _varint(content, place)
        assert place + length <= len(content)
        yield number, content[place : place + length]
        place += length


def _varints(content: bytes) -> Iterator[int]:
    place = 0
    while place < len(content):
        value, place = _varint(content, place)
        yield value


def _varint(content: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[place]
        value, shift, place = value | (byte & 127) << shift, shift + 7, place + 1
        if byte < 128:
            return value, place
