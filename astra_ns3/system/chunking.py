"""The ways to cut a collective's data in chunks."""

from __future__ import annotations

from itertools import pairwise

from astra_ns3.config.core.collective_kind import CollectiveKind


def chunk_sizes(bytes: int, splits: int, *, truncate: bool = False) -> list[int]:
    """Sizes of ``min(splits, bytes)`` chunks that differ by at most a byte; chunk c begins at floor(c*bytes/chunks).

    None is empty. With ``truncate`` they are floor(bytes/splits), at least a byte, and what is left over makes one
    more, smaller chunk, as in ASTRA-sim 1.0 (which never ends on fewer bytes than splits).
    """
    if truncate:
        size = max(bytes // splits, 1)
        return [min(size, bytes - begin) for begin in range(0, bytes, size)]
    chunks = min(splits, bytes)
    bounds = [chunk * bytes // chunks for chunk in range(chunks + 1)] if chunks else [0]
    return [end - begin for begin, end in pairwise(bounds)]


def chunks_of_one_size(kind: CollectiveKind, bytes: int, splits: int, npus: int) -> list[int]:
    """Sizes of chunks as ASTRA-sim 2 cuts them: all alike, so that they may add up to more than ``bytes``.

    A chunk is floor(bytes / splits), but of an all-gather at least a byte (ASTRA-sim 2 never ends then), and of others
    at least a byte for each of all ``npus``: then there are ``splits`` chunks, of nothing too.
    """
    size = bytes // splits
    if kind is CollectiveKind.ALL_GATHER:
        size = max(size, 1)
    elif size < npus:
        return [npus] * splits
    return [size] * -(-bytes // size)
