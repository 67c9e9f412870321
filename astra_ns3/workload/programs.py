"""Who runs what: the roles of a workload's training loop on a grid of NPUs, and the program of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from astra_ns3.config.workload import Workload
from astra_ns3.system.groups import Grid
from astra_ns3.workload.loops import Loop, loop_of
from astra_ns3.workload.operations import Program
from astra_ns3.workload.parallelism import Parallelism, parallelism_of
from astra_ns3.workload.roles import Role, make_roles
from astra_ns3.workload.steps import Steps


@dataclass(frozen=True)
class Programs:
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

    @cached_property
    def parallelism(self) -> Parallelism:
        """The dimensions as the loop sees them."""
        return parallelism_of(self.workload, self.dimensions)

    @cached_property
    def grid(self) -> Grid:
        """The NPUs, after a cut."""
        return Grid(self.parallelism.dimensions)

    @cached_property
    def roles(self) -> tuple[Role, ...]:
        """Every role, in the order in which the loop names them."""
        return make_roles(self.loop.roles(self.workload, self.grid), self.grid.npus)

    @cached_property
    def role_of(self) -> list[Role]:
        """The role of each NPU."""
        held = {npu: role for role in self.roles for npu in role.ranks}
        return [held[npu] for npu in range(self.grid.npus)]

    @cached_property
    def _by_name(self) -> dict[str, Role]:
        return {role.name: role for role in self.roles}

    def program(self, role: Role, passes: int | None = None) -> Program:
        """A new run through the program of a role, in so many passes (None: all)."""
        steps = Steps(
            self.workload,
            self.passes if passes is None else passes,
            self.parallelism.layers,
            self._by_name,
            groups=self.parallelism.groups,
            exposed_until_first_end=self.exposed_until_first_end,
        )
        return self.loop.program(steps, role)
