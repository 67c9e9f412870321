"""The grammar of algorithms' names: one of ours, ``directN``, ``one<Algorithm>``, ``file:PATH``, ``FILE.py:name``.

Which names there are says the look-up (:mod:`astra_ns3.collectives.lookup`).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from astra_ns3.user_code import UserPart, user_part

FILE_PREFIX = "file:"
"""Before the path of a schedule that the user wrote, or ``FILE.py:name``; in text it takes the rest of the line."""

_NAME = re.compile(r"(?P<flat>one(?=[A-Z]))?(?P<base>[A-Za-z]+?)(?P<window>0|[1-9][0-9]{0,8})?", re.ASCII)


class AlgorithmName(NamedTuple):
    """The parts of an algorithm's name; exactly one of ``base``, ``path`` and ``own`` is given.

    ``base``: the algorithm's name in the table, ``window``: how many messages at once, if the name says so.
    ``flat``: one group over all dimensions. ``path``: of a user's schedule. ``own``: a user's function.
    """

    base: str | None = None
    window: int | None = None
    flat: bool = False
    path: str | None = None
    own: UserPart | None = None


def parse_name(name: str) -> AlgorithmName:
    """Return the parts of ``name``; one that isn't written as any algorithm's is its own ``base``."""
    own = user_part(name)
    if own is not None:
        return AlgorithmName(own=own)
    if name.startswith(FILE_PREFIX):
        return AlgorithmName(path=name.removeprefix(FILE_PREFIX))
    match = _NAME.fullmatch(name)
    if match is None:
        return AlgorithmName(name)
    base, window = match["base"], match["window"]
    if match["flat"]:
        base = base[0].lower() + base[1:]
    return AlgorithmName(base, None if window is None else int(window), match["flat"] is not None)


def is_flat(name: str) -> bool:
    """Whether an algorithm is for one group over all dimensions (``oneRing``)."""
    return parse_name(name).flat


def split_names(text: str) -> list[str]:
    """``ring_direct3`` to one name for each dimension; a user's file takes the rest of the line."""
    names, prefix, path = text.partition(FILE_PREFIX)
    if not prefix:
        return text.split("_") if user_part(text) is None else [text]
    return [*names.removesuffix("_").split("_"), prefix + path] if names else [text]
