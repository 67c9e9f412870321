"""Names of scheduling policies as system files have them; a user's own is a function in a file of his."""

from __future__ import annotations

import re
from collections.abc import Callable

from astra_ns3.config.model import shown
from astra_ns3.errors import nearest

#: Which collective goes first.
SCHEDULING = ("LIFO", "FIFO")
#: Which chunk of one dimension goes first; several names may mean the same.
INTRA_DIMENSION = ("FIFO", "RG", "SCF", "smallestFirst", "lessRemainingPhaseFirst")
#: In which order a chunk goes through the dimensions.
INTER_DIMENSION = (
    "ascending",
    "baseline",
    "roundRobin",
    "themis",
    "offlineGreedy",
    "themisFlex",
    "offlineGreedyFlex",
)

_OWN = re.compile(r"(?:file:)?(.+\.py):([A-Za-z_][A-Za-z0-9_]*)")


def own_policy(name: str) -> tuple[str, str] | None:
    """Path and function of ``PATH.py:FUNCTION`` (or ``file:PATH.py:FUNCTION``); None for the name of a built-in."""
    match = _OWN.fullmatch(name)
    return (match[1], match[2]) if match else None


def policy_check(allowed: tuple[str, ...]) -> Callable[[object], object]:
    """A check that lets pass the names in ``allowed`` and a user's own."""

    def check(value: object) -> object:
        if value not in allowed and not (isinstance(value, str) and own_policy(value)):
            hint = nearest(str(value), allowed)
            raise ValueError(f"found {shown(value)}, allowed: {', '.join(allowed)}, PATH.py:FUNCTION{hint}")
        return value

    return check
