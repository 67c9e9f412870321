"""How a collective's data are cut in chunks."""

from __future__ import annotations

from itertools import pairwise


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
