"""Chakra's traces as JSON: the messages one after the other, as Chakra's jsonizer writes them, or ``workload_graph``.

Both become the messages of the binary form, so that there is one place which says what they mean.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from astra_ns3.errors import InputError, nearest
from astra_ns3.workload.files.chakra import names
from astra_ns3.workload.files.chakra.attributes import READ
from astra_ns3.workload.files.chakra.schema import messages

_GRAPH = "workload_graph"
_GRAPH_KEYS = ("Id", "Name", "NodeType", "runtime", "ctrlDeps", "ctrl_deps", "data_deps", "dataDeps")


def json_messages(path: str) -> Iterator[bytes]:
    """Metadata and nodes as messages of the binary form; raises InputError with file, line and what is wrong."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    for number, (line, found) in enumerate(_objects(text, path)):
        place = f"{path}:{line}"
        if not isinstance(found, dict):
            raise InputError(f"{place}: expected an object, a node of a Chakra trace")
        if number == 0:
            if isinstance(found.get(_GRAPH), list):
                yield b""
                for node in found[_GRAPH]:
                    yield _of_graph(node, path)
                return
            _check_first(found, path)
            yield _parsed(messages().metadata(), found, place)
        else:
            yield _parsed(messages().node(), _numbered(found, place), place)


def _objects(text: str, path: str) -> Iterator[tuple[int, Any]]:
    """One JSON value after the other, each with the line it begins in."""
    decoder, place, line, counted = json.JSONDecoder(), 0, 1, 0
    while True:
        while place < len(text) and text[place] in " \t\r\n":
            place += 1
        if place >= len(text):
            return
        line, counted = line + text.count("\n", counted, place), place
        try:
            found, place = decoder.raw_decode(text, place)
        except json.JSONDecodeError as error:
            raise InputError(f"{path}:{error.lineno}: is not JSON: {error.msg}") from error
        except ValueError as error:
            raise InputError(f"{path}:{line}: has a number of too many digits") from error
        except RecursionError as error:
            raise InputError(f"{path}:{line}: is nested too deeply to be a Chakra trace") from error
        yield line, found


def _check_first(found: dict[str, Any], path: str) -> None:
    if "schema" in found and "nodes" in found:
        raise InputError(
            f"{path}: is PyTorch's own execution trace (schema {str(found['schema'])[:30]}), which has no times; "
            "chakra_trace_link and chakra_converter make a Chakra trace of it and the profiler's"
        )
    if unknown := [key for key in found if key not in ("version", "attr")]:
        raise InputError(
            f"{path}: begins with the key '{unknown[0][:40]}', expected version, attr or {_GRAPH}, as in Chakra's JSON"
        )


def _numbered(found: dict[str, Any], place: str) -> dict[str, Any]:
    """A node with its type as a number."""
    word = found.get("type", 0)
    if not isinstance(word, str):
        return found
    if word not in names.NODE_TYPES:
        hint = nearest(word, names.NODE_TYPES)
        raise InputError(f"{place}: node type '{word[:40]}' is not one of {', '.join(names.NODE_TYPES)}{hint}")
    return {**found, "type": names.NODE_TYPES.index(word)}


def _parsed(message: Any, found: dict[str, Any], place: str) -> bytes:
    from google.protobuf import json_format

    try:
        json_format.ParseDict(found, message, ignore_unknown_fields=True)
    except json_format.ParseError as error:
        raise InputError(f"{place}: is no node of a Chakra trace: {' '.join(str(error).split())[:160]}") from error
    return bytes(message.SerializeToString())


def _of_graph(found: Any, path: str) -> bytes:
    """A node of ``workload_graph``, whose attributes stand beside its fields."""
    if not isinstance(found, dict) or "Id" not in found:
        raise InputError(f"{path}: a node of {_GRAPH} has no Id")
    place = f"{path}: node {str(found['Id'])[:20]}"
    node = messages().node()
    try:
        node.id, node.name = found["Id"], found.get("Name", "")
        node.type, node.duration_micros = found.get("NodeType", 0), found.get("runtime", 0)
        node.data_deps.extend(found.get("data_deps", found.get("dataDeps", ())))
        node.ctrl_deps.extend(found.get("ctrl_deps", found.get("ctrlDeps", ())))
        for name, value in found.items():
            if name in READ:
                _add_attribute(node, name, value)
            elif name not in _GRAPH_KEYS:
                node.attr.add(name=name, string_val=str(value))
    except (TypeError, ValueError) as error:
        raise InputError(f"{place}: {' '.join(str(error).split())[:160]}") from error
    return bytes(node.SerializeToString())


def _add_attribute(node: Any, name: str, value: Any) -> None:
    attribute = node.attr.add(name=name)
    if isinstance(value, bool):
        attribute.bool_val = value
    elif isinstance(value, int):
        attribute.int64_val = value
    elif isinstance(value, list):
        attribute.bool_list.values.extend(bool(flag) for flag in value)
    else:
        attribute.string_val = str(value)
