"""A connection matrix of htsim: ``Nodes N``, ``Connections M``, ``Triggers T``, then a line for each of them.

A connection is ``3->7 id 1 start 0 size 2000000`` (start in picoseconds, size in bytes), or begins by a trigger,
``3->7 id 2 trigger 1 size 2000000``; ``send_done_trigger`` and ``recv_done_trigger`` name one that hears of its end. A
trigger is ``trigger id 1 oneshot`` (the first end lets all go that wait), ``multishot`` (each end lets the next go) or
``barrier count 4`` (the fourth end lets all go). Source: Broadcom/csg-htsim, ``sim/datacenter/connection_matrix.cpp``
and ``sim/trigger.cpp``.

In uet-htsim (ultraethernet/uet-htsim, that file and ``main_uec.cpp``) a line with ``msg``, or ``msg 7``, is a message
on the connection of its ``id``, so that lines may have the same one. It plays such a matrix with ``-conn_reuse`` alone,
and starts are whole microseconds then. Lines of other ids have connections of their own.

*Model limits*: both kinds of end are the delivery here; ``prio`` and the number of a ``msg`` aren't used; failures are
left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from astra_ns3.config.flow_list import NO_GATE, FlowGates, FlowList, Places
from astra_ns3.errors import Where, nearest, wrong
from astra_ns3.units import PS_PER_US
from astra_ns3.workload.files.flows.columns import FlowColumns, lines_of, picoseconds, whole_number

FORMAT = "htsim connection matrix"
_COUNTS = ("Nodes", "Connections", "Triggers", "Failures")
_KINDS = ("oneshot", "multishot", "barrier")
_VALUES = ("id", "start", "size", "trigger", "send_done_trigger", "recv_done_trigger", "prio")
_MESSAGE = "msg"
_WORDS = (*_VALUES, _MESSAGE)
_ENDS = re.compile(r"([0-9]{1,10})->([0-9]{1,10})", re.ASCII)


def looks_like(head: list[list[str]]) -> bool:
    """Whether the words of a file's first lines are those of such a file."""
    first = head[0] if head else []
    return bool(first) and (
        (len(first) == 2 and first[0] in _COUNTS and first[1].isdigit()) or _ENDS.fullmatch(first[0]) is not None
    )


@dataclass
class _Trigger:
    kind: str = ""
    count: int = 0
    line: int = 0
    """Where it was first named."""
    members: list[int] = field(default_factory=list)


@dataclass
class _Matrix:
    columns: FlowColumns
    counts: dict[str, int] = field(default_factory=dict)
    triggers: dict[int, _Trigger] = field(default_factory=dict)
    started_by: list[int] = field(default_factory=list)
    """The trigger that each flow waits for; 0: none."""
    ids: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    """The line that has the id of a connection first, and its two ends, by the id."""
    id_of: list[int] = field(default_factory=list)
    """The id of each flow; below 0: none."""
    has_messages: bool = False
    """Whether some line is a message on a connection."""
    priorities: set[int] = field(default_factory=set)
    failures: int = 0
    declared: int = 0
    """Lines of triggers."""
    rounded: bool = False


def read(path: str) -> FlowList:
    """The flows of a file; raises InputError with file, lines and what was expected."""
    matrix = _Matrix(FlowColumns(path))
    number = 1
    for number, line in lines_of(path):
        words = line.split()
        try:
            _take(matrix, number, words)
        except ValueError as error:
            matrix.columns.complain(number, str(error))
    _check(matrix, path, number)
    waits_for, gates = _gates(matrix)
    return matrix.columns.finish(
        FORMAT,
        npus=matrix.counts.get("Nodes", 0),
        waits_for=None if waits_for is None else np.array(waits_for, dtype=np.int32),
        gates=gates,
        start_unit_ps=PS_PER_US if matrix.has_messages else 1,
        warnings=tuple(_warnings(matrix, path)),
        connections=_connections(matrix) if matrix.has_messages else None,
    )


def _take(matrix: _Matrix, number: int, words: list[str]) -> None:
    first = words[0]
    if _ENDS.fullmatch(first):
        _take_connection(matrix, number, words)
    elif first == "trigger":
        _take_trigger(matrix, number, words[1:])
    elif first == "failure":
        matrix.failures += 1
    elif first in _COUNTS and len(words) == 2:
        matrix.counts[first] = whole_number(words[1], first)
    else:
        allowed = (*_COUNTS, "trigger", "failure")
        raise ValueError(
            f"found '{first}', expected a connection such as 3->7, or one of {', '.join(allowed)}"
            f"{nearest(first, allowed)}"
        )


def _take_connection(matrix: _Matrix, number: int, words: list[str]) -> None:
    source, destination = (int(end) for end in words[0].split("->"))
    found, is_message = _values(words[1:])
    if "size" not in found:
        raise ValueError("has no size: a connection without end can't be played")
    if ("start" in found) == ("trigger" in found):
        raise ValueError("expected either a start or a trigger")
    numbers = {key: whole_number(word, key) for key, word in found.items() if key != "start"}
    start_ps, rounded = picoseconds(found.get("start", "0"), 1)
    if numbers["size"] == 0:
        raise ValueError("has size 0: a connection without end can't be played")
    if "id" in numbers:
        _check_id(matrix, numbers["id"], source, destination, is_message)
    matrix.columns.append(number, source, destination, numbers["size"], start_ps)
    matrix.rounded |= rounded
    matrix.has_messages |= is_message
    if "id" in numbers:
        matrix.ids.setdefault(numbers["id"], (number, source, destination))
    matrix.priorities.update({numbers["prio"]} if "prio" in numbers else ())
    flow = len(matrix.columns) - 1
    matrix.id_of.append(numbers.get("id", -1 - flow))
    matrix.started_by.append(numbers.get("trigger", 0))
    for key in ("trigger", "send_done_trigger", "recv_done_trigger"):
        if key in numbers:
            trigger = matrix.triggers.setdefault(numbers[key], _Trigger())
            trigger.line = trigger.line or number
            trigger.members += [] if key == "trigger" else [flow]


def _values(words: list[str]) -> tuple[dict[str, str], bool]:
    """The words of a connection by their keys, and whether it is a message; raises ValueError in words."""
    found: dict[str, str] = {}
    is_message = False
    places = iter(range(len(words)))
    for place in places:
        key = words[place]
        following = words[place + 1] if place + 1 < len(words) else ""
        if key == _MESSAGE:
            is_message = True
            if following.isdigit():  # its number, which may be left out
                next(places)
        elif key in _VALUES:
            found[key] = following
            next(places, None)
        else:
            raise ValueError(f"unknown word '{key}'; allowed: {', '.join(_WORDS)}{nearest(key, _WORDS)}")
    return found, is_message


def _check_id(matrix: _Matrix, number: int, source: int, destination: int, is_message: bool) -> None:
    """Raise ValueError unless an id is new, or that of the connection of which a line is a message."""
    if number not in matrix.ids:
        return
    line, *ends = matrix.ids[number]
    if not is_message:
        raise ValueError(f"has id {number}, as line {line}; expected another, or '{_MESSAGE}' for a message on it")
    if ends != [source, destination]:
        raise ValueError(f"is a message on connection {number}, which line {line} says goes {ends[0]}->{ends[1]}")


def _take_trigger(matrix: _Matrix, number: int, words: list[str]) -> None:
    found: dict[str, int] = {}
    kinds = [word for word in words if word in _KINDS]
    rest = iter(word for word in words if word not in _KINDS)
    for key in rest:
        if key not in ("id", "count"):
            raise ValueError(f"unknown word '{key}'; allowed: id, count, {', '.join(_KINDS)}")
        found[key] = whole_number(next(rest, ""), key)
    if found.get("id", 0) < 1 or len(kinds) != 1:
        raise ValueError(f"a trigger has an id from 1 and one of {', '.join(_KINDS)}")
    trigger = matrix.triggers.setdefault(found["id"], _Trigger())
    if trigger.kind:
        raise ValueError(f"trigger {found['id']} stands here a second time")
    if kinds == ["barrier"] and found.get("count", 0) < 1:
        raise ValueError(f"trigger {found['id']} is a barrier without a count")
    trigger.kind, trigger.count, trigger.line = kinds[0], found.get("count", 1), trigger.line or number
    matrix.declared += 1


def _check(matrix: _Matrix, path: str, last: int) -> None:
    """Raise InputError for all that is wrong with the lines, and for what is wrong with the whole."""
    for number, trigger in matrix.triggers.items():
        if not trigger.kind:
            matrix.columns.complain(trigger.line, f"trigger {number} is named and stands nowhere")
    matrix.columns.check()
    for what, count in (
        ("Connections", len(matrix.columns)),
        ("Triggers", matrix.declared),
        ("Failures", matrix.failures),
    ):
        if matrix.counts.get(what, count) != count:
            raise wrong(f"ends after {count} {what.lower()}, its head says {matrix.counts[what]}", Where(path, last))


def _gates(matrix: _Matrix) -> tuple[list[int] | None, FlowGates | None]:
    """The gate of each flow, and the gates: the triggers that flows wait for."""
    used = {trigger: index for index, trigger in enumerate(sorted(set(matrix.started_by) - {0}))}
    if not used:
        return None, None
    triggers = [matrix.triggers[number] for number in used]
    gates = FlowGates.of(
        [trigger.members for trigger in triggers],
        [trigger.count if trigger.kind == "barrier" else 1 for trigger in triggers],
        [trigger.kind == "multishot" for trigger in triggers],
    )
    return [used.get(trigger, NO_GATE) for trigger in matrix.started_by], gates


def _connections(matrix: _Matrix) -> Places:
    """Return which of its two nodes' connections each flow takes: one for each id."""
    numbers: dict[tuple[int, int], dict[int, int]] = {}
    known = (numbers.setdefault(ends, {}) for ends in matrix.columns.ends())
    found = [own.setdefault(number, len(own)) for own, number in zip(known, matrix.id_of, strict=True)]
    return np.array(found, dtype=np.int32)


def _warnings(matrix: _Matrix, path: str) -> list[str]:
    found = []
    if matrix.failures:
        what = "failure is" if matrix.failures == 1 else f"{matrix.failures} failures are"
        found.append(f"{path}: its {what} left out; a network file's changes can say them")
    if len(matrix.priorities) > 1:
        found.append(f"{path}: has connections of several priorities; all take the transport's priority")
    if matrix.rounded:
        finest = "a microsecond, in which htsim counts with 'msg'," if matrix.has_messages else "a picosecond"
        found.append(f"{path}: some starts are finer than {finest} and were rounded")
    return found
