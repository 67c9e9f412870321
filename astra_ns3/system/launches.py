"""From a phase to what is handed to the network; each schedule and group is handed over once."""

from __future__ import annotations

import re
from dataclasses import dataclass

from astra_ns3.collectives.registry import lookup, variants
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.collectives.schedule_files import Tell, silent
from astra_ns3.collectives.volume import rank_costs
from astra_ns3.config.compatibility import Compatibility
from astra_ns3.config.system import SystemConfig
from astra_ns3.network.api import NetworkBackend
from astra_ns3.system.groups import Grid, GroupTable
from astra_ns3.system.planner import Phase
from astra_ns3.units import PS_PER_NS

_WINDOW = re.compile(r"(?i:(one)?direct)([0-9]+)")
# Halving and doubling cuts its data in two again and again, so the parts don't all shrink to floor(bytes / ranks).
_CUTS_IN_RANKS = re.compile(r"(?i:(one)?(ring|direct))")


@dataclass(frozen=True, eq=False)
class Launch:
    """One phase of one chunk. Of NPU 0, for the records: ``overhead_ps``, the endpoint and reduction delays in it;
    ``steps``, in how many it receives; ``sent_bytes``, what it sends. ``groups``: the group of each rank."""

    dimension: int
    schedule: int
    groups: list[int]
    bytes: int
    overhead_ps: int
    steps: int
    sent_bytes: int


class LaunchTable:
    """The launches of all phases that occur."""

    def __init__(self, network: NetworkBackend, config: SystemConfig, grid: Grid, compatibility: Compatibility) -> None:
        self._network = network
        self._config = config
        self._grid = grid
        self._truncates = compatibility.truncate_messages
        self._groups = GroupTable(network, grid)
        self._schedules: dict[int, tuple[Schedule, int]] = {}
        self._launches: dict[tuple[Phase, int, bool], Launch] = {}

    def launch(self, phase: Phase, turn: int, *, anticlockwise: bool) -> Launch:
        """The launch of a phase; ``turn``: which of the schedules between which chunks alternate."""
        key = phase, turn, anticlockwise
        launch = self._launches.get(key)
        if launch is None:
            launch = self._launches[key] = self._build(phase, turn, anticlockwise)
        return launch

    def _build(self, phase: Phase, turn: int, anticlockwise: bool) -> Launch:
        ranks = self._grid.ranks_in(phase.dimensions)
        schedule = schedule_of(phase, ranks, turn, anticlockwise=anticlockwise)
        bytes = phase.bytes
        if self._truncates and _CUTS_IN_RANKS.match(phase.algorithm):
            bytes = max(bytes - bytes % ranks, 1)
        costs = rank_costs(schedule, 0, bytes, self._config.reduction_bytes_per_ns)
        overhead_ns = (costs.receive_steps + 1) * self._config.scaled_endpoint_delay_ns + costs.reduction_ns
        return Launch(
            phase.dimensions[0],
            self._register(schedule),
            self._groups.of_ranks(phase.dimensions),
            bytes,
            overhead_ns * PS_PER_NS,
            costs.receive_steps,
            costs.sent_bytes,
        )

    def _register(self, schedule: Schedule) -> int:
        # The schedule is kept beside its number, since a dead one's id may be used again.
        if id(schedule) not in self._schedules:
            self._schedules[id(schedule)] = schedule, self._network.register_schedule(schedule)
        return self._schedules[id(schedule)][1]


def schedule_of(phase: Phase, ranks: int, turn: int, *, anticlockwise: bool = False, tell: Tell = silent) -> Schedule:
    """The schedule that a group of ``ranks`` plays in a phase; raises InputError. ``tell``: see :func:`lookup`."""
    return lookup(phase.kind, _fitting(phase.algorithm, ranks), ranks, turn, anticlockwise=anticlockwise, tell=tell)


def turns(phase: Phase) -> int:
    """Between how many schedules the chunks of a phase take turns."""
    return variants(phase.kind, phase.algorithm)


def _fitting(algorithm: str, ranks: int) -> str:
    """A window wider than the other ranks is none."""
    match = _WINDOW.fullmatch(algorithm)
    return algorithm[: match.start(2)] if match and int(match[2]) >= ranks else algorithm
