"""The collectives that a workload can ask for, under the names of ASTRA-sim's text format."""

from __future__ import annotations

from enum import Enum


class CollectiveKind(str, Enum):
    """What a collective does to the data of its ranks."""

    ALL_REDUCE = "ALLREDUCE"
    ALL_TO_ALL = "ALLTOALL"
    ALL_GATHER = "ALLGATHER"
    REDUCE_SCATTER = "REDUCESCATTER"
