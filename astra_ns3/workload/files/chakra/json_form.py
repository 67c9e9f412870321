"""Chakra's traces as JSON: the messages one after the other, as Chakra's jsonizer writes them, or ``workload_graph``.

Both become the messages of the binary form, so that there is one place which says what they mean.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from astra_ns3.config.core.json_reading import each_once, reading_json
from astra_ns3.config.core.plain import Json, JsonObject
from astra_ns3.errors import InputError, Where, check_known, nearest, wrong
from astra_ns3.workload.files.chakra import names
from astra_ns3.workload.files.chakra.json_graph import GRAPH, graph_message, unread_keys
from astra_ns3.workload.files.chakra.schema import Message, messages

_MOST_SHOWN = 8


def json_messages(path: str) -> Iterator[bytes]:
    """Metadata and nodes as messages of the binary form; raises InputError with file, line and what is wrong."""
    objects = _objects(_text(path), path)
    for number, (line, found) in enumerate(objects):
        where = f"{path}:{line}"
        if not isinstance(found, dict):
            raise wrong("expected an object, a node of a Chakra trace", where)
        if number == 0:
            if GRAPH in found:
                yield from _of_graph(found, path)
                _expect_end(objects, path)
                return
            _check_first(found, path)
            yield _parsed(messages().metadata(), found, where)
        else:
            yield _parsed_node(found, where, path)


def json_warnings(path: str) -> list[str]:
    """Warnings for the user of such a file, each one line; raises InputError if it is none at all."""
    _, first = next(_objects(_text(path), path), (0, None))
    nodes = first.get(GRAPH) if isinstance(first, dict) else None
    keys = unread_keys(nodes) if isinstance(nodes, list) else None
    return [] if keys is None else [f"{path}: {keys}"]


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise wrong("is not UTF-8 text", path) from error
    except OSError as error:
        raise wrong(f"cannot be read: {error.strerror}", path) from error


def _of_graph(document: JsonObject, path: str) -> Iterator[bytes]:
    nodes = document[GRAPH]
    if not isinstance(nodes, list):
        raise wrong(f"{GRAPH} is {nodes!s}, expected a list of nodes", path)
    yield b""
    for number, node in enumerate(nodes):
        yield graph_message(node, number, path)


def _expect_end(objects: Iterator[tuple[int, Json]], path: str) -> None:
    for line, _ in objects:
        raise wrong(f"something follows {GRAPH}, expected the end of the file", Where(path, line))


def _objects(text: str, path: str) -> Iterator[tuple[int, Json]]:
    """One JSON value after the other, each with the line it begins in."""
    decoder, position, line, counted = json.JSONDecoder(object_pairs_hook=each_once), 0, 1, 0
    while True:
        while position < len(text) and text[position] in " \t\r\n":
            position += 1
        if position >= len(text):
            return
        line, counted = line + text.count("\n", counted, position), position
        with reading_json(path, line):
            found, position = decoder.raw_decode(text, position)
        yield line, found


def _check_first(found: JsonObject, path: str) -> None:
    if "schema" in found and "nodes" in found:
        raise wrong(
            f"is PyTorch's own execution trace (schema {str(found['schema'])[:30]}), which has no times; "
            "chakra_trace_link and chakra_converter make a Chakra trace of it and the profiler's",
            path,
        )
    if unknown := [key for key in found if key not in ("version", "attr")]:
        raise wrong(f"begins with the key '{unknown[0]}', expected version, attr or {GRAPH}, as in Chakra's JSON", path)


def _numbered(found: JsonObject, where: str) -> JsonObject:
    """A node with its type as a number."""
    word = found.get("type", 0)
    if not isinstance(word, str):
        return found
    check_known("node type", word, names.NODE_TYPES, where)
    return {**found, "type": names.NODE_TYPES.index(word)}


def _parsed_node(found: JsonObject, where: str, path: str) -> bytes:
    try:
        return _parsed(messages().node(), _numbered(found, where), where)
    except InputError as error:
        if unknown := _unknown_keys(path):
            raise unknown from error
        raise


def _parsed(message: Message, found: JsonObject, where: str) -> bytes:
    from google.protobuf import json_format

    try:
        json_format.ParseDict(found, message)
    except json_format.ParseError as error:
        raise wrong(f"is no node of a Chakra trace: {' '.join(str(error).split())[:160]}", where) from error
    return bytes(message.SerializeToString())


def _unknown_keys(path: str) -> InputError | None:
    """All keys of a file's nodes that Chakra's have not, at once; None if there are none."""
    counts: Counter[str] = Counter()
    hints: dict[str, str] = {}
    first = 0
    for line, found in list(_objects(_text(path), path))[1:]:
        for key, hint in _unknown(found, messages().node.DESCRIPTOR):
            first = first or line
            counts[key] += 1
            hints[key] = hint
    if not counts:
        return None
    shown = ", ".join(f"'{key}' ({count}{hints[key]})" for key, count in counts.most_common(_MOST_SHOWN))
    return wrong(f"keys that no node of Chakra's has: {shown}", Where(path, first))


def _unknown(found: Json, descriptor: Message, above: str = "") -> Iterator[tuple[str, str]]:
    """The unknown keys of an object and of those in it, each with the nearest that there is."""
    if not isinstance(found, dict):
        return
    fields = {name: field for field in descriptor.fields for name in (field.name, field.json_name)}
    for key, value in found.items():
        if key not in fields:
            yield above + key, nearest(key, fields).rstrip("?")
        elif fields[key].message_type is not None:
            for part in value if isinstance(value, list) else [value]:
                yield from _unknown(part, fields[key].message_type, f"{above}{key}.")
