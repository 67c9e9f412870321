"""Makes collectives: the first NPU to issue one makes it for all."""

from __future__ import annotations

from astra_ns3.config.compatibility import Compatibility
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import InputError
from astra_ns3.network.api import NetworkBackend
from astra_ns3.network.instance import pack_instance
from astra_ns3.system.groups import Grid
from astra_ns3.system.launches import Launch, LaunchTable
from astra_ns3.system.own_policies import find_policy
from astra_ns3.system.plan import Chunk, CollectivePlanner, PlannedPhase
from astra_ns3.system.policies import POLICIES
from astra_ns3.system.request import CollectiveRequest
from astra_ns3.system.task import Collective, Task


class CollectiveMaker:
    """Gives collectives their priority, chunks and phases, in program order. Raises InputError."""

    def __init__(self, network: NetworkBackend, config: SystemConfig, grid: Grid, compatibility: Compatibility) -> None:
        self._config = config
        self._grid = grid
        self._compatibility = compatibility
        self._planner = CollectivePlanner(config, grid, compatibility)
        self._table = LaunchTable(network, config, grid, compatibility)
        self._usual_policy = find_policy(config.scheduling_policy, POLICIES)
        self._counter = 0

    def prepare(self, request: CollectiveRequest) -> None:
        """Hand schedules and groups of a collective over, ahead of the run and without an effect on what follows."""
        planner = CollectivePlanner(self._config, self._grid, self._compatibility)
        for chunk in planner.chunks(request, time_ps=0):
            for planned in chunk:
                self._launch(planned)

    def make(self, index: int, request: CollectiveRequest, now_ps: int) -> Collective | None:
        """The collective number ``index``; None without data or partners, but even so it uses up a priority."""
        priority = self._priority(request)
        chunks = self._planner.chunks(request, now_ps)
        if not chunks:
            return None
        phases = chunks[0]
        collective = Collective(
            index,
            request,
            algorithm="_".join(planned.phase.algorithm for planned in phases),
            group_ranks=self._grid.ranks_in({d for planned in phases for d in planned.phase.dimensions}),
        )
        first_tasks = [self._first_task(collective, number, chunk, priority) for number, chunk in enumerate(chunks)]
        collective.start(first_tasks, self._grid.ranks)
        return collective

    def _priority(self, request: CollectiveRequest) -> int:
        if isinstance(request.policy, int):
            return request.policy
        policy = self._usual_policy if request.policy is None else find_policy(request.policy, POLICIES)
        answer = policy(self._counter, request)
        if not isinstance(answer, tuple) or len(answer) != 2 or not all(isinstance(part, int) for part in answer):
            raise InputError(
                f"policy '{request.policy or self._config.scheduling_policy}' gave {answer!r}, "
                "expected a priority and the counter after it"
            )
        priority, self._counter = answer
        return priority

    def _first_task(self, collective: Collective, number: int, chunk: Chunk, priority: int) -> Task:
        """The chunk's phases as a chain of tasks, built from its end."""
        following: Task | None = None
        for place in reversed(range(len(chunk))):
            planned = chunk[place]
            phase = planned.phase
            launch = self._launch(planned)
            following = Task(
                instance=pack_instance(collective.index, number, place),
                queue=launch.dimension * self._config.num_queues_per_dimension + planned.queue,
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

    def _launch(self, planned: PlannedPhase) -> Launch:
        return self._table.launch(planned.phase, planned.turn, anticlockwise=planned.anticlockwise)
