"""Who runs what: the roles of a workload's training loop on a grid of NPUs, and the program of each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from astra_ns3.config.core.forever import FOREVER
from astra_ns3.config.workload import Workload
from astra_ns3.frozen import dataclass, replace
from astra_ns3.playing.loops.group_communicators import GroupCommunicators
from astra_ns3.playing.loops.loops import PLAYED_LOOPS, Loop, loop_of
from astra_ns3.playing.loops.steps import Steps
from astra_ns3.playing.programs.operations import Program
from astra_ns3.playing.programs.role_programs import RolePrograms
from astra_ns3.playing.programs.roles import Role, make_roles
from astra_ns3.units import PS_PER_NS
from astra_ns3.workload.loops.parallelism import Parallelism, parallelism_of


@dataclass(frozen=True)
class Programs(RolePrograms):
    """The programs of ``passes`` passes of a workload; ``dimensions``: NPUs along each, before a cut.

    Raises InputError. ``loop``: instead of the workload's own.
    """

    workload: Workload
    passes: int
    dimensions: tuple[int, ...]
    loop: Loop
    exposed_until_first_end: bool = False

    @classmethod
    def of(
        cls,
        workload: Workload,
        passes: int,
        dimensions: Sequence[int],
        loop: Loop | None = None,
        *,
        exposed_until_first_end: bool = False,
    ) -> Programs:
        """The programs of a workload's own loop, or of another one."""
        return cls(workload, passes, tuple(dimensions), loop or loop_of(workload, passes), exposed_until_first_end)

    @property
    def source(self) -> str:
        """The workload's file."""
        return self.workload.source

    @property
    def layer_names(self) -> tuple[str, ...]:
        """Names of the workload's layers."""
        return tuple(layer.name for layer in self.workload.layers)

    @property
    def updates_ps(self) -> tuple[int, ...]:
        """Update times of the workload's layers."""
        return tuple(layer.update_ns * PS_PER_NS for layer in self.workload.layers)

    @property
    def reactive(self) -> bool:
        """As the loop."""
        return self.loop.reactive

    @property
    def passes_alike(self) -> bool:
        """As the loop's."""
        return self.loop.passes_alike

    @property
    def written_down(self) -> bool:
        """A user's loop isn't: what it raises, it raises where it is."""
        return self.loop is PLAYED_LOOPS.get(self.workload.loop) and not self.exposed_until_first_end

    @cached_property
    def cut(self) -> Parallelism:
        """The dimensions as the loop sees them, and over which of them each pass goes."""
        return parallelism_of(self.workload, self.dimensions)

    @cached_property
    def _groups(self) -> GroupCommunicators | None:
        return None if self.cut.groups is None else GroupCommunicators(self.cut.groups)

    @cached_property
    def roles(self) -> tuple[Role, ...]:
        """Every role, in the order in which the loop names them."""
        return make_roles(self.loop.roles(self.workload, self.grid), self.grid.npus)

    def scaled(self, comm_scale: float, compute_scale: float) -> Programs:
        """The programs of the scaled workload."""
        return replace(self, workload=self.workload.scaled(comm_scale, compute_scale))

    def program(self, role: Role, passes: int | None = None) -> Program:
        """A new run through the program of a role, in so many passes (None: all)."""
        steps = Steps(
            self.workload,
            self.passes if passes is None else passes,
            self.cut.layers,
            self.roles_by_name,
            groups=self._groups,
            exposed_until_first_end=self.exposed_until_first_end,
            endless=self.passes == FOREVER,
        )
        return self.loop.program(steps, role)
