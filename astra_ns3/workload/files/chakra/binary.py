"""The messages of a trace file, each with its length before it, streamed in pieces of bounded size.

A file is opened anew for each piece: a job may have thousands, of which all are read side by side.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from astra_ns3.errors import failing, wrong

PIECE_BYTES = 16_384
"""A few hundred nodes, of each file that is being read."""
# Bytes of a length; no varint has more.
_LONGEST_LENGTH = 10


def read_pieces(path: str, start: int = 0) -> Iterator[tuple[int, list[bytes]]]:
    """Some messages at a time, with the byte of the file at which the first of them (its length) stands.

    Raises InputError with file and byte where the file ends within a message, or can't be read.
    """
    size = _size(path)
    offset, wanted = start, PIECE_BYTES
    while offset < size:
        content = _read(path, offset, wanted)
        found, used, missing = _split(content)
        if used:
            yield offset, found
            offset, wanted = offset + used, PIECE_BYTES
            continue
        if missing > size - offset or wanted > size - offset:
            raise wrong(
                f"byte {offset}: a message of {missing} bytes begins here, but only {size - offset} are left: "
                "the file was cut off, or isn't a Chakra trace",
                path,
            )
        wanted = max(missing, 2 * wanted)


def read_first(path: str) -> bytes:
    """The first message of a file; raises InputError if it is missing, empty, or no trace."""
    for _, found in read_pieces(path):
        return found[0]
    raise wrong("is empty, expected a Chakra trace", path)


def offset_of(path: str, number: int) -> int:
    """The byte at which message ``number`` of a file, counted from 0, begins."""
    for start, found in read_pieces(path):
        if number < len(found):
            return start + sum(
                len(message) + max(1, (len(message).bit_length() + 6) // 7) for message in found[:number]
            )
        number -= len(found)
    return _size(path)


def _split(content: bytes) -> tuple[list[bytes], int, int]:
    """Whole messages, the bytes they take, and, if there is none, how many bytes the first would take."""
    found: list[bytes] = []
    position, end = 0, len(content)
    while position < end:
        length, start = content[position], position + 1
        if length >= 128:
            length, start = _length(content, position)
        if start == 0 or start + length > end:
            return found, position, (start - position + length if start else 2 * end)
        found.append(content[start : start + length])
        position = start + length
    return found, position, 0


def _length(content: bytes, position: int) -> tuple[int, int]:
    """A length and where its message begins; 0 for the latter if the length isn't whole."""
    length = shift = 0
    for start, byte in enumerate(content[position : position + _LONGEST_LENGTH], start=position + 1):
        length |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return length, start
    return 0, 0


def _size(path: str) -> int:
    with failing((OSError, ValueError), "cannot be read", path):
        return Path(path).stat().st_size


def _read(path: str, offset: int, count: int) -> bytes:
    with failing((OSError, ValueError), "cannot be read", path):
        descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.pread(descriptor, count, offset)
    except OSError as error:
        raise wrong(f"cannot be read: {error.strerror}", path) from error
    finally:
        os.close(descriptor)
