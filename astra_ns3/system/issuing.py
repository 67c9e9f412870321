"""Makes collectives: the first NPU to issue one makes it for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from astra_ns3.config.core.compatibility import Compatibility
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import wrong
from astra_ns3.network.api import NetworkBackend
from astra_ns3.network.instance import pack_instance
from astra_ns3.system.collective_planner import Chunk, CollectivePlanner, system_and_grid_of
from astra_ns3.system.communicator import Communicator
from astra_ns3.system.groups import Grid
from astra_ns3.system.launches import LaunchTable, ScheduleNumbers
from astra_ns3.system.own_policies import find_policy
from astra_ns3.system.phases import Phase
from astra_ns3.system.policies import POLICIES, USUAL_POLICIES
from astra_ns3.system.request import CollectiveRequest
from astra_ns3.system.task import Collective, Task


class _Plans(NamedTuple):
    """The planners of one communicator's collectives; ``roles``: its members', none if they all have the same.

    ``groups``: the members in each group over some dimensions.
    """

    config: SystemConfig
    grid: Grid
    planner: CollectivePlanner
    table: LaunchTable
    roles: frozenset[int]
    groups: Callable[[frozenset[int]], Sequence[Sequence[int]]]


class CollectiveMaker:
    """Gives collectives their priority, chunks and phases, in program order of each communicator. Raises InputError.

    ``roles``: the number of each NPU's role; None: all have the same.
    """

    def __init__(
        self,
        network: NetworkBackend,
        config: SystemConfig,
        grid: Grid,
        compatibility: Compatibility,
        schedules: ScheduleNumbers,
        roles: Sequence[int] | None = None,
    ) -> None:
        self._network = network
        self._config = config
        self._grid = grid
        self._compatibility = compatibility
        self._roles = roles
        self._schedules = schedules
        self._plans: dict[Communicator | None, _Plans] = {}
        self._kernels: dict[tuple[Communicator | None, tuple[int, ...]], int] = {}
        self._usual_policy = find_policy(config.scheduling_policy, USUAL_POLICIES)
        self._counter = 0

    def prepare(self, request: CollectiveRequest) -> None:
        """Hand schedules and groups of a collective over, ahead of the run and without an effect on what follows."""
        plans = self._plans_of(request.communicator)
        planner = CollectivePlanner(plans.config, plans.grid, self._compatibility, self._grid.npus)
        for chunk in planner.chunks(request, time_ps=0):
            for phase in chunk:
                plans.table.launch(phase)

    def make(self, index: int, request: CollectiveRequest, now_ps: int) -> Collective:
        """The collective number ``index``; without data or partners it has no tasks, but even so uses up a priority."""
        plans = self._plans_of(request.communicator)
        priority = self._priority(request)
        chunks = plans.planner.chunks(request, now_ps)
        phases = chunks[0] if chunks else ()
        dimensions = frozenset(d for phase in phases for d in phase.dimensions)
        ranks = plans.grid.ranks_in(dimensions)
        collective = Collective(
            index,
            request,
            "_".join(phase.algorithm for phase in phases),
            ranks,
            plans.groups(dimensions) if 1 < ranks < plans.grid.npus else (),
        )
        first_tasks = [
            self._first_task(plans, collective, number, chunk, priority) for number, chunk in enumerate(chunks)
        ]
        collective.start(first_tasks, self._grid.npus, plans.roles)
        return collective

    def _plans_of(self, communicator: Communicator | None) -> _Plans:
        if communicator not in self._plans:
            rules = self._compatibility
            config, grid = system_and_grid_of(self._config, self._grid, communicator, rules)
            is_part = grid.npus < self._grid.npus
            planner = CollectivePlanner(config, grid, rules, self._grid.npus)
            table = LaunchTable(self._network, config, grid, rules, self._schedules, is_part=is_part)
            roles = self._roles_in(communicator)
            several = roles if len(roles) > 1 else frozenset()
            self._plans[communicator] = _Plans(config, grid, planner, table, several, cache(grid.cosets))
        return self._plans[communicator]

    def _roles_in(self, communicator: Communicator | None) -> frozenset[int]:
        if self._roles is None:
            return frozenset()
        return frozenset(self._roles if communicator is None else (self._roles[npu] for npu in communicator.ranks))

    def _priority(self, request: CollectiveRequest) -> int:
        if isinstance(request.policy, int):
            return request.policy
        policy = self._usual_policy if request.policy is None else find_policy(request.policy, POLICIES)
        answer = policy(self._counter, request)
        if not isinstance(answer, tuple) or len(answer) != 2 or not all(isinstance(part, int) for part in answer):
            raise wrong(
                f"policy '{request.policy or self._config.scheduling_policy}' gave {answer!r}, "
                "expected a priority and the counter after it"
            )
        priority, self._counter = answer
        return priority

    def _first_task(self, plans: _Plans, collective: Collective, number: int, chunk: Chunk, priority: int) -> Task:
        """The chunk's phases as a chain of tasks, built from its end."""
        following: Task | None = None
        for place in reversed(range(len(chunk))):
            phase = chunk[place]
            launch = plans.table.launch(phase)
            following = Task(
                instance=pack_instance(collective.index, number, place),
                queue=self._queue(collective.request.communicator, phase),
                priority=priority,
                kind=phase.kind,
                bytes=max(phase.bytes, phase.left_bytes),
                phase=place,
                phases_left=len(chunk) - 1 - place,
                launch=launch,
                following=following,
                collective=collective,
            )
        assert following is not None
        return following

    def _queue(self, communicator: Communicator | None, phase: Phase) -> int:
        """The number of a phase's queue: a dimension's, or in NCCL a channel's of its communicator's own kernels.

        The groups over the same dimensions are disjoint communicators of NCCL, so that they may share a number.
        """
        number = phase.dimensions[0]
        if self._config.plays_nccl:
            number = self._kernels.setdefault((communicator, phase.dimensions), len(self._kernels))
        return number * self._config.num_queues_per_dimension + phase.queue
