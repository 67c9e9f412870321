"""The programs of all NPUs, one for each role: what a driver plays, and what is found out before it does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property

from astra_ns3.config.workload import PassKind
from astra_ns3.network.records import Label
from astra_ns3.playing.programs.operations import Program
from astra_ns3.playing.programs.roles import Role
from astra_ns3.system.groups import Grid
from astra_ns3.workload.grids.grid_cut import GridCut

# A first pass, and one that stands for all others: no loop of ours tells them apart.
_DIFFERENT_PASSES = 2


class RolePrograms(ABC):
    """``passes`` passes of a workload on all NPUs. Frozen; InputError is raised by whatever finds what can't be."""

    passes: int
    dimensions: tuple[int, ...]
    """NPUs along each of the network's, before a cut."""

    @property
    @abstractmethod
    def source(self) -> str:
        """The file it came from."""

    @property
    @abstractmethod
    def layer_names(self) -> tuple[str, ...]:
        """Names of layers, by the number that a label has."""

    @property
    def steps(self) -> int:
        """In how many steps NPU 0's progress in a pass is told: each layer's forward and backward pass."""
        return 2 * len(self.layer_names)

    def step_of(self, label: Label) -> int:
        """Number of these steps before the one that NPU 0 computes under a label."""
        if not isinstance(label.layer, int):
            return 0
        return label.layer if label.part == PassKind.FORWARD else self.steps - 1 - label.layer

    def stands_with(self, layer: int | str) -> Mapping[str, PassKind]:
        """The parts of a layer, no passes themselves, that stand in a pass's columns of ASTRA-sim's tables."""
        return {}

    @property
    def updates_ps(self) -> tuple[int, ...]:
        """Time from the end of each layer's collectives until they count as done."""
        return (0,) * len(self.layer_names)

    @property
    def reactive(self) -> bool:
        """Whether what is issued may depend on time, so that nothing can be said of it before."""
        return False

    @property
    def passes_alike(self) -> bool:
        """Whether what the second pass does, all later ones do."""
        return True

    @property
    def played_passes(self) -> int:
        """How many passes show what all of them do."""
        return min(self.passes, _DIFFERENT_PASSES) if self.passes_alike else self.passes

    def times(self, label: Label) -> int:
        """For how many passes a played one stands: the last for all that are not."""
        played = self.played_passes
        return 1 if label.iteration < played - 1 else self.passes - played + 1

    @property
    def written_down(self) -> bool:
        """Whether a program may be run once for all NPUs of its role: it never asks what is done by now."""
        return not self.reactive

    @property
    @abstractmethod
    def cut(self) -> GridCut:
        """The network's dimensions as the programs see them."""

    @cached_property
    def grid(self) -> Grid:
        """The grid of NPUs with the dimensions of the cut."""
        return Grid(self.cut.dimensions)

    @property
    @abstractmethod
    def roles(self) -> tuple[Role, ...]:
        """Every role, in an order of their own; each NPU has one."""

    @cached_property
    def role_of(self) -> list[Role]:
        """The role of each NPU."""
        held = {npu: role for role in self.roles for npu in role.ranks}
        return [held[npu] for npu in range(self.grid.npus)]

    @cached_property
    def roles_by_name(self) -> dict[str, Role]:
        """Every role by its name."""
        return {role.name: role for role in self.roles}

    @abstractmethod
    def scaled(self, comm_scale: float, compute_scale: float) -> RolePrograms:
        """Every size times ``comm_scale``, every compute time times ``compute_scale``."""

    def resumed(self, passes: int) -> RolePrograms:
        """Return the programs after so many passes, which a checkpoint has; without checkpoints there are none."""
        raise NotImplementedError

    @abstractmethod
    def program(self, role: Role, passes: int | None = None) -> Program:
        """A new run through the program of a role, in so many passes (None: all)."""
