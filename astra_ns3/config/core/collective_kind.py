"""The collectives there are, and which of them ASTRA-sim's text workload can name."""

from __future__ import annotations

from enum import Enum

from astra_ns3.errors import unknown


class CollectiveKind(str, Enum):
    """Effect of a collective on the data of its ranks; broadcast, reduce and point-to-point start or end at rank 0."""

    ALL_REDUCE = "ALLREDUCE"
    ALL_TO_ALL = "ALLTOALL"
    ALL_GATHER = "ALLGATHER"
    REDUCE_SCATTER = "REDUCESCATTER"
    BROADCAST = "BROADCAST"
    REDUCE = "REDUCE"
    BARRIER = "BARRIER"
    POINT_TO_POINT = "POINTTOPOINT"


#: Those of all ranks that begin or end at one of them, so that ranks end at different times.
ROOTED = (CollectiveKind.BROADCAST, CollectiveKind.REDUCE)
#: Those that have a word in ASTRA-sim's text format.
TEXT_FORMAT_KINDS = (
    CollectiveKind.ALL_REDUCE,
    CollectiveKind.ALL_TO_ALL,
    CollectiveKind.ALL_GATHER,
    CollectiveKind.REDUCE_SCATTER,
)


def parse_kind(word: str) -> CollectiveKind:
    """The collective that ``word`` names: ``all_reduce``, ``all-reduce``, ``ALLREDUCE``, ...; raises InputError."""
    names = {kind.value: kind for kind in CollectiveKind}
    plain = "".join(letter for letter in word.upper() if letter not in "_- ")
    if plain not in names:
        raise unknown("collective", word, [kind.name.lower() for kind in CollectiveKind])
    return names[plain]
