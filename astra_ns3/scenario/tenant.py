"""A tenant: who plays a workload of its own on some NPUs of a network."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from astra_ns3.frozen import dataclass, replace

if TYPE_CHECKING:
    from astra_ns3.config.compute_slowdown import ComputeSlowdown
    from astra_ns3.config.core.plain import Json
    from astra_ns3.config.scenario.placement import Placement
    from astra_ns3.config.system import SystemConfig
    from astra_ns3.scenario.traffic import Traffic
    from astra_ns3.workload.files.workload_formats import AnyWorkload

FilePath = str | os.PathLike[str]
LARGEST_SEED = 2**32 - 1
"""ns-3's seeds have 32 bits, and 0 is not one."""


@dataclass(frozen=True)
class After:
    """A condition for a job's start: the end of another ``job``, or so many of its ``passes``."""

    job: str
    passes: int | None = None


@dataclass(frozen=True)
class Restart:
    """A job's further tries: each begins so long after the transport of the one before has given up."""

    after_ps: int
    at_most: int


@dataclass(frozen=True)
class Tenant:
    """A workload and a system on some NPUs of a network.

    ``npus``: rank i of the tenant is NPU ``npus[i]`` of the network (None: all NPUs, in order). ``workload`` and
    ``system``: paths or models, as :func:`astra_ns3.run` takes them. ``start_ps``: when the tenant's programs begin.
    ``dimensions``: the tenant's logical grid, the innermost first (None: cut from the network's). ``seed``: of the
    tenant's random numbers (None: made of the run's seed and the name). ``report_npu``: the rank whose layers tables
    tell of. ``compute_slowdown``: what makes ranks compute slower. ``changes``: other values of keys of the two files.
    ``where``: the place in a scenario's file that names it, empty: none does. ``after``: what it waits for; then
    ``start_ps`` counts from there. ``end_ps``: when it is stopped (None: it isn't). ``passes``: :data:`FOREVER`: until
    all others have ended. ``traffic``: the tenant is other traffic, whose workload and system are made of it where the
    network is known. ``arrives``: at ``start_ps`` it begins to wait for NPUs, which its placement chooses once enough
    are free. ``restart``: it begins again when its transport has given up (None: it doesn't). ``job``: the name of the
    job of which it is a further try (None: it is the first); the tries of a job follow each other.
    ``priority``: in which its messages travel (None: in that of the network's transport).
    """

    name: str
    npus: Sequence[int] | Placement | None
    workload: FilePath | AnyWorkload
    system: FilePath | SystemConfig
    start_ps: int = 0
    passes: int = 1
    dimensions: Sequence[int] | None = None
    seed: int | None = None
    report_npu: int = 0
    compute_slowdown: FilePath | ComputeSlowdown | Mapping[str, object] | None = None
    changes: Mapping[str, Json] | None = None
    where: str = ""
    after: After | None = None
    end_ps: int | None = None
    traffic: Traffic | None = None
    arrives: bool = False
    restart: Restart | None = None
    job: str | None = None
    priority: int | None = None

    @property
    def job_name(self) -> str:
        """The name of its results, the same of all tries."""
        return self.job or self.name

    @property
    def place(self) -> str:
        """The words with which messages about the tenant begin."""
        return self.where or f"tenant '{self.job_name}'"

    @property
    def files(self) -> tuple[FilePath | AnyWorkload | SystemConfig, ...]:
        """Return the workload and the system, which may be files."""
        return () if self.traffic is not None else (self.workload, self.system)

    def seed_in(self, seed: int) -> int:
        """Return the tenant's seed in a run with ``seed``: one of its own, or that of the run mixed with the name."""
        if self.seed is not None:
            return self.seed
        digest = hashlib.sha256(f"{seed} {self.job_name}".encode()).digest()
        return int.from_bytes(digest[:8], "big") % LARGEST_SEED + 1


def with_tries(tenants: Iterable[Tenant]) -> Iterator[Tenant]:
    """Yield tenants, each followed by all tries that it may need; tries that are there already are made anew."""
    for tenant in tenants:
        if tenant.job is not None:
            continue
        yield tenant
        for number in range(tenant.restart.at_most if tenant.restart is not None else 0):
            yield replace(tenant, name=f"{tenant.name}, try {number + 2}", job=tenant.name)
