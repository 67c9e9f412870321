"""The fields of many nodes at once, each field a list: one message of protobuf's instead of one for each node.

The nodes of a piece, without the lengths before them, stand one after the other with a separator before each. Packed
bytes are a message themselves, ``NodeColumns`` of ``chakra.proto``: what was one value in a node is a list there.
Marks, which separators have in each field, tell where in each list a node begins.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple, TypeVar

from astra_ns3.workload.files.chakra.schema import messages

Entry = TypeVar("Entry", int, bytes)
_NUMBER_MARK = (1 << 64) - 1
_TYPE_MARK = -1
# No name is this, for it isn't UTF-8, and no attribute.
_BYTES_MARK = b"\xff"


class Columns(NamedTuple):
    """An entry for each node in each list; defaults where a node says nothing."""

    numbers: list[int]
    names: list[bytes]
    types: list[int]
    control: list[tuple[int, ...]]
    data: list[tuple[int, ...]]
    durations_us: list[int]
    attributes: list[tuple[bytes, ...]]


class _Mixed(Exception):
    """A field has more or fewer marks than there are nodes."""


def read_columns(contents: list[bytes]) -> Columns | None:
    """The fields of the nodes that these messages are; None if they have to be looked at one by one.

    That is where one of them is none, where its end is missing, or where what a node says looks like a mark.
    """
    count = len(contents)
    try:
        message = messages().node_columns.FromString(_separator().join((b"", *contents)))
    except messages().decode_error:
        return None
    try:
        return Columns(
            _single(message.id[:], _NUMBER_MARK, 0, count),
            _single(message.name[:], _BYTES_MARK, b"", count),
            _single(message.type[:], _TYPE_MARK, 0, count),
            _several(message.ctrl_deps[:], _NUMBER_MARK, count),
            _several(message.data_deps[:], _NUMBER_MARK, count),
            _single(message.duration_micros[:], _NUMBER_MARK, 0, count),
            _several(message.attr[:], _BYTES_MARK, count),
        )
    except _Mixed:
        return None


@cache
def _separator() -> bytes:
    number, text = [_NUMBER_MARK], [_BYTES_MARK]
    message = messages().node_columns(
        id=number, name=text, type=[_TYPE_MARK], ctrl_deps=number, data_deps=number, duration_micros=number, attr=text
    )
    return bytes(message.SerializeToString())


def _single(column: list[Entry], mark: Entry, default: Entry, count: int) -> list[Entry]:
    """The last value after each mark, as protobuf has it, or the default."""
    if column.count(mark) != count:
        raise _Mixed
    if len(column) == 2 * count and column[::2].count(mark) == count:
        return column[1::2]
    values, place = [default] * count, -1
    for value in column:
        if value == mark:
            place += 1
        else:
            values[place] = value
    return values


def _several(column: list[Entry], mark: Entry, count: int) -> list[tuple[Entry, ...]]:
    """All values after each mark."""
    if len(column) == count and column.count(mark) == count:
        return [()] * count
    column.append(mark)
    values, start, find = [], 1, column.index
    try:
        for _ in range(count):
            end = find(mark, start)
            values.append(tuple(column[start:end]))
            start = end + 1
    except ValueError as error:
        raise _Mixed from error
    if start != len(column):
        raise _Mixed
    return values
