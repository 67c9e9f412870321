"""Names of collective algorithms as system files have them: one for each dimension, or a flat one for all."""

from __future__ import annotations

import re

from astra_ns3.config.model import shown
from astra_ns3.errors import nearest
from astra_ns3.user_code import FORM, user_part

ALGORITHMS = (
    "ring",
    "ringAnticlockwise",
    "biRing",
    "direct",
    "doubleBinaryTree",
    "halvingDoubling",
    "rabenseifner",
    "bruck",
)
"""Algorithms on one dimension; ``direct`` may end in a window, as in ``direct3``. Any of them with "one" before it, as
in ``oneRing``, is for one flat group over all dimensions, and stands alone."""

FILE_PREFIX = "file:"
"""Before the path of a schedule that the user wrote, or ``FILE.py:name``; in text it takes the rest of the line."""

_FLAT = re.compile(r"one[A-Z]")
_WINDOWED = re.compile(r"direct[1-9][0-9]{0,8}")


def algorithm_names(value: object) -> tuple[str, ...]:
    """``ring_direct3`` or a list to one name for each dimension, or ``oneRing`` for all; raises ValueError."""
    names = _split(value) if isinstance(value, str) else value
    if not isinstance(names, (list, tuple)) or not names:
        raise ValueError(f"found {shown(value)}, expected one algorithm for each dimension, joined by '_'")
    for name in names:
        if not isinstance(name, str) or not _is_algorithm(name):
            hint = nearest(str(name), (*ALGORITHMS, "oneRing", "oneDirect", "oneHalvingDoubling"))
            allowed = f"{', '.join(ALGORITHMS)}, direct<window>, one<Algorithm>, {FILE_PREFIX}PATH, {FORM}"
            raise ValueError(f"found {name!r}, allowed: {allowed}{hint}")
        if is_flat(name) and len(names) > 1:
            raise ValueError(f"found {shown(value)}, but {name!r} is for all dimensions and stands alone")
    return tuple(names)


def is_flat(algorithm: str) -> bool:
    """Whether an algorithm is for one group over all dimensions (``oneRing``)."""
    return _FLAT.match(algorithm) is not None and user_part(algorithm) is None


def _split(text: str) -> list[str]:
    names, prefix, path = text.partition(FILE_PREFIX)
    if not prefix:
        return text.split("_") if user_part(text) is None else [text]
    return [*names.removesuffix("_").split("_"), prefix + path] if names else [text]


def _is_algorithm(name: str) -> bool:
    if user_part(name) is not None:
        return True
    if name.startswith(FILE_PREFIX):
        return len(name) > len(FILE_PREFIX)
    plain = name[3].lower() + name[4:] if is_flat(name) else name
    return plain in ALGORITHMS or _WINDOWED.fullmatch(plain) is not None
