"""Names of scheduling policies as system files have them; a user's own is ``FILE.py:name``."""

from __future__ import annotations

from collections.abc import Callable

from astra_ns3.config.model import shown
from astra_ns3.errors import nearest
from astra_ns3.user_code import FORM, user_part

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


def policy_check(allowed: tuple[str, ...]) -> Callable[[object], object]:
    """A check that lets pass the names in ``allowed`` and a user's own."""

    def check(value: object) -> object:
        if value not in allowed and user_part(value) is None:
            hint = nearest(str(value), allowed)
            raise ValueError(f"found {shown(value)}, allowed: {', '.join(allowed)}, {FORM}{hint}")
        return value

    return check
