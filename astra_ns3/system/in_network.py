"""Phases that switches reduce: the trees of each group over some dimensions, and the schedule that it plays on them.

Groups may lie unlike in the network, so each has a schedule of its own; those of one shape share it.
"""

from __future__ import annotations

from collections.abc import Iterator

from astra_ns3.collectives.in_network import IN_NETWORK, in_network_schedule, pooled_schedule
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.config.core.algorithm_names import parse_name
from astra_ns3.config.core.reduction import ReductionTrees
from astra_ns3.config.core.storage import StorageHosts
from astra_ns3.errors import required, wrong
from astra_ns3.system.groups import Grid
from astra_ns3.system.phases import Phase


def in_network_plays(
    phase: Phase, grid: Grid, trees: ReductionTrees | None, storage: StorageHosts | None
) -> Iterator[tuple[Schedule, tuple[int, ...]]]:
    """Yield for each group over a phase's dimensions its schedule and its players: NPUs, a pool, then reducers.

    A group's pool is the storage host of its first NPU.

    Raises InputError for a collective that the algorithm can't do, if nobody has told the trees, or if they don't fit.
    """
    algorithm = str(parse_name(phase.algorithm).base)
    if phase.kind not in IN_NETWORK[algorithm]:
        able = ", ".join(name for name, kinds in IN_NETWORK.items() if phase.kind in kinds)
        words = f"algorithm '{algorithm}' can't do it; of switches {able} can"
        raise wrong(
            words if able else "switches can't reduce it; expected an algorithm of NPUs", phase.kind.name.lower()
        )
    if trees is None:
        raise wrong("needs the packets of a network whose switches reduce, on backend ns3 or flow", algorithm)
    for number, ranks in enumerate(grid.cosets(phase.dimensions)):
        if phase.pool is None:
            joining = trees.joining(ranks, number, algorithm=algorithm)
            schedule = in_network_schedule(phase.kind, algorithm, joining, phase.bytes)
            yield schedule, trees.players(ranks, joining)
        else:
            pool = required(storage, "stores to storage hosts, of which nobody has told the system").of(ranks[0])
            joining = trees.joining(ranks, number, algorithm=algorithm, pool=pool)
            yield pooled_schedule(joining, phase.bytes, phase.pool), trees.players((*ranks, pool), joining)
