"""Chakra's traces written byte by byte, from what the wire format of protobuf is; no class of protobuf's is used."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from pathlib import Path

VARINT_FIELDS = {"int32": 7, "int64": 9, "uint32": 11, "uint64": 13, "bool": 27}
ZIGZAG_FIELDS = {"sint32": 15, "sint64": 17}
FIXED_FIELDS = {"fixed32": (19, "<I"), "fixed64": (21, "<Q"), "sfixed32": (23, "<i"), "sfixed64": (25, "<q")}
REAL_FIELDS = {"double": (3, "<d"), "float": (5, "<f")}
INTEGER_KINDS = (*VARINT_FIELDS, *ZIGZAG_FIELDS, *FIXED_FIELDS)

COMPUTE, SEND, RECEIVE, COLLECTIVE = 4, 5, 6, 7


def varint(number: int) -> bytes:
    number &= 2**64 - 1
    content = bytearray()
    while number > 127:
        content.append(number & 127 | 128)
        number >>= 7
    return bytes([*content, number])


def field(number: int, value: int | bytes) -> bytes:
    """A number, or bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def attribute(name: str, value: object, kind: str = "int64") -> bytes:
    """An attribute; text, flags and numbers, these of whatever kind."""
    if isinstance(value, str):
        content = field(29, value.encode())
    elif isinstance(value, (list, tuple)):
        content = field(28, field(1, bytes(bool(flag) for flag in value)))
    elif isinstance(value, bool):
        content = field(27, int(value))
    elif kind in FIXED_FIELDS or kind in REAL_FIELDS:
        number, form = {**FIXED_FIELDS, **REAL_FIELDS}[kind]
        packed = struct.pack(form, value)
        content = varint(number << 3 | (1 if len(packed) == 8 else 5)) + packed
    elif kind in ZIGZAG_FIELDS:
        assert isinstance(value, int)
        content = field(ZIGZAG_FIELDS[kind], 2 * value if value >= 0 else -2 * value - 1)
    else:
        assert isinstance(value, int)
        content = field(VARINT_FIELDS[kind], value)
    return field(1, name.encode()) + content


def node(
    number: int,
    type_: int,
    parents: Sequence[int] = (),
    *,
    control: Sequence[int] = (),
    duration_us: int = 0,
    name: str | None = None,
    kind: str = "int64",
    attributes: Iterable[tuple[str, object]] = (),
    **more: object,
) -> bytes:
    """A node; numbers of ``more`` are attributes of that kind, packed lists of parents as protobuf 3 writes them."""
    content = field(1, number) if number else b""
    content += field(2, (f"n{number}" if name is None else name).encode()) + (field(3, type_) if type_ else b"")
    content += field(4, b"".join(map(varint, control))) if control else b""
    content += field(5, b"".join(map(varint, parents))) if parents else b""
    content += field(7, duration_us) if duration_us else b""
    for key, value in (*attributes, *more.items()):
        content += field(10, attribute(key, value, kind))
    return content


def metadata(version: str = "0.0.4") -> bytes:
    return field(1, version.encode()) if version else b""


def trace(nodes: Iterable[bytes], version: str = "0.0.4") -> bytes:
    """The content of a file."""
    return b"".join(varint(len(message)) + message for message in (metadata(version), *nodes))


def write_traces(folder: Path, ranks: Sequence[Iterable[bytes]], name: str = "job") -> Path:
    """A file for each rank; the prefix, as ASTRA-sim takes it."""
    folder.mkdir(parents=True, exist_ok=True)
    for rank, nodes in enumerate(ranks):
        (folder / f"{name}.{rank}.et").write_bytes(trace(nodes))
    return folder / name
