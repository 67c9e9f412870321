"""Roles: NPUs that run the same program share one, which is planned once for all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from astra_ns3.config.workload import Workload
from astra_ns3.errors import wrong
from astra_ns3.frozen import dataclass
from astra_ns3.system.communicator import Communicator
from astra_ns3.system.groups import Grid

EVERYBODY = "all"


@dataclass(frozen=True)
class Role:
    """``communicator``: its NPUs, each in its place; ``number``: of the role among all."""

    name: str
    communicator: Communicator
    number: int = 0

    @property
    def ranks(self) -> tuple[int, ...]:
        """Its NPUs."""
        return self.communicator.ranks


RolesOf = Callable[[Workload, Grid], Mapping[str, Sequence[int]]]
"""From a workload and the grid of NPUs to the NPUs of each role."""


def one_role(workload: Workload, grid: Grid) -> Mapping[str, Sequence[int]]:
    """All NPUs run the same program."""
    return {EVERYBODY: range(grid.npus)}


def make_roles(found: Mapping[str, Sequence[int]], npus: int) -> tuple[Role, ...]:
    """The roles that a loop gave; raises InputError unless each of ``npus`` NPUs has exactly one."""
    roles = tuple(Role(name, Communicator(ranks, name), number) for number, (name, ranks) in enumerate(found.items()))
    holders: dict[int, str] = {}
    for role in roles:
        for npu in role.ranks:
            if npu in holders:
                raise wrong(f"NPU {npu} has role '{holders[npu]}' and role '{role.name}', expected one")
            if npu >= npus:
                raise wrong(f"role '{role.name}' has NPU {npu}, there are {npus}, 0 to {npus - 1}")
            holders[npu] = role.name
    if len(holders) < npus:
        missing = next(npu for npu in range(npus) if npu not in holders)
        raise wrong(f"NPU {missing} has no role, expected one of {', '.join(found)}")
    return roles
