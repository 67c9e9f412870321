"""Nodes of ``workload_graph``, the JSON that ASTRA-sim 2 takes too: a node's attributes stand beside its fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from astra_ns3.config.core.plain import Json, JsonObject
from astra_ns3.errors import InputError, nearest, wrong
from astra_ns3.units import PS_PER_US
from astra_ns3.workload.files.chakra import names
from astra_ns3.workload.files.chakra.attributes import READ
from astra_ns3.workload.files.chakra.schema import Message, messages

GRAPH = "workload_graph"
_NUMBER, _NAME, _TYPE, _RUNTIME = "Id", "Name", "NodeType", "runtime"
_DATA, _CONTROL = ("data_deps", "dataDeps"), ("ctrl_deps", "ctrlDeps")
_KEYS = (_NUMBER, _NAME, _TYPE, _RUNTIME, *_DATA, *_CONTROL, *READ)
# Chakra's own attributes that nothing here, and nothing in ASTRA-sim 2, looks at.
_OF_NO_MEANING = frozenset(
    ("inputs", "op_schema", "outputs", "rf_id", "scope", "start_time_micros", "tensor_loc", "tid")
)
_TRUTHS = {"true": True, "false": False, "1": True, "0": False}
_LARGEST_NUMBER = 2**64 - 1


def graph_message(found: Json, number: int, path: str) -> bytes:
    """Node ``number``, counted from 0, as a message of the binary form; raises InputError with file and node."""
    where = f"{path}: node {number + 1} of {GRAPH}"
    if not isinstance(found, dict) or found.get(_NUMBER) is None:
        raise wrong(f"is {_shown(found)}, expected an object with {_NUMBER}, {_NAME}, {_TYPE}, ...", where)
    try:
        return bytes(_message({key: value for key, value in found.items() if value is not None}).SerializeToString())
    except InputError as error:
        raise wrong(f"{where} ({_NUMBER} {_shown(found[_NUMBER])}): {error}") from error
    except ValueError as error:  # what has no UTF-8
        raise wrong(f"{' '.join(str(error).split())[:160]}", where) from error


def unread_keys(nodes: list[Json]) -> str | None:
    """The keys of a document's nodes that mean nothing, all in one line; None if there are none."""
    unread = Counter(
        key
        for node in nodes
        if isinstance(node, dict)
        for key in node
        if key not in _KEYS and key not in _OF_NO_MEANING
    )
    if not unread:
        return None
    shown = ", ".join(f"'{key}' ({count}{nearest(key, _KEYS).rstrip('?')})" for key, count in unread.items())
    return f"keys that mean nothing here: {shown[:400]}"


def _message(found: JsonObject) -> Message:
    node = messages().node(id=_whole(_NUMBER, found[_NUMBER]), name=str(found.get(_NAME, "")))
    node.type = _type(found.get(_TYPE, 0))
    for key in _DATA:
        node.data_deps.extend(_numbers(key, found.get(key, ())))
    for key in _CONTROL:
        node.ctrl_deps.extend(_numbers(key, found.get(key, ())))
    _add_runtime(node, found.get(_RUNTIME, 0))
    for name in READ:
        if name in found:
            _add_attribute(node, name, found[name])
    return node


def _add_runtime(node: Message, value: Json) -> None:
    """Microseconds; of one that isn't whole the rest counts too."""
    if isinstance(value, float) and 0 <= value < _LARGEST_NUMBER and not value.is_integer():
        node.attr.add(name="duration_ps", int64_val=round(value * PS_PER_US))
        value = int(value)
    node.duration_micros = _whole(_RUNTIME, value)


def _type(value: Json) -> int:
    if isinstance(value, str) and not value.isdigit():
        if value not in names.NODE_TYPES:
            hint = nearest(value, names.NODE_TYPES)
            raise wrong(f"{_TYPE} is '{value}', expected a number or {', '.join(names.NODE_TYPES)}{hint}")
        return names.NODE_TYPES.index(value)
    number = _whole(_TYPE, value)
    if number >= 2**31:
        raise wrong(f"{_TYPE} is {number}, expected at most {2**31 - 1}")
    return number


def _numbers(name: str, values: Json) -> Iterable[int]:
    if not isinstance(values, (list, tuple)):
        raise wrong(f"{name} is {_shown(values)}, expected a list of numbers of nodes")
    return [_whole(name, value) for value in values]


def _whole(name: str, value: Json) -> int:
    number = _number(value)
    if number is None or not 0 <= number <= _LARGEST_NUMBER:
        raise wrong(f"{name} is {_shown(value)}, expected a whole number from 0 to {_LARGEST_NUMBER}")
    return number


def _number(value: Json) -> int | None:
    """A whole number, also as text or as a float; None: it is none."""
    if isinstance(value, str) and len(value) <= 20 and value.isascii() and value.removeprefix("-").isdigit():
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _add_attribute(node: Message, name: str, value: Json) -> None:
    """The value as it stands there: what it must be is said where attributes are read, for all formats alike."""
    attribute = node.attr.add(name=name)
    if name == "involved_dim":
        attribute.bool_list.values.extend(_flags(name, value))
    elif isinstance(value, bool) or (name == "is_cpu_op" and str(value).lower() in _TRUTHS):
        attribute.bool_val = _TRUTHS[str(value).lower()]
    elif isinstance(value, str) and (name == "pg_name" or (name == "comm_type" and _number(value) is None)):
        attribute.string_val = value
    else:
        number = _number(value)
        if number is None or not -(2**63) <= number < 2**63:
            raise wrong(f"{name} is {_shown(value)}, expected a whole number")
        attribute.int64_val = number


def _flags(name: str, value: Json) -> list[bool]:
    """A list of true and false, or of 1 and 0, in whatever form; also the text of such a list."""
    flags = value.strip().strip("[]()").replace(",", " ").split() if isinstance(value, str) else value
    words = [str(flag).strip().lower() for flag in flags] if isinstance(flags, list) else [""]
    if any(word not in _TRUTHS for word in words):
        raise wrong(f"{name} is {_shown(value)}, expected a list of true and false")
    return [_TRUTHS[word] for word in words]


def _shown(value: Json) -> str:
    return repr(value)[:60]
