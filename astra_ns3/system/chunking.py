"""How a collective's data are cut in chunks."""

from __future__ import annotations

from itertools import pairwise


def chunk_sizes(bytes: int, splits: int) -> list[int]:
    """Sizes of ``min(splits, bytes)`` chunks that differ by at most a byte; chunk c begins at floor(c*bytes/chunks).

    None is empty. (ASTRA-sim cuts floor(bytes/splits) and leaves a remainder to an extra, smaller chunk.)
    """
    chunks = min(splits, bytes)
    bounds = [chunk * bytes // chunks for chunk in range(chunks + 1)] if chunks else [0]
    return [end - begin for begin, end in pairwise(bounds)]
