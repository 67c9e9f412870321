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
    """A condition for a job's start: the end of another job, or so many of its passes."""

    job: str
    """The name of the other job."""
    passes: int | None = None
    """Passes of that job; None: all of them."""


@dataclass(frozen=True)
class Restart:
    """A job's further tries: each begins so long after the one before has failed.

    One fails when its transport gives up, and at each of ``fails_ps``, times of the run at which a device dies.
    """

    after_ps: int
    at_most: int
    fails_ps: tuple[int, ...] = ()


@dataclass(frozen=True)
class Tenant:
    """A workload and a system on some NPUs of a network."""

    name: str
    """The name of its results."""
    npus: Sequence[int] | Placement | None
    """The NPUs of the network: its rank i is NPU ``npus[i]``. None: all NPUs, in order."""
    workload: FilePath | AnyWorkload
    """A path or a model, as :func:`astra_ns3.run` takes it."""
    system: FilePath | SystemConfig
    """A path or a model, as :func:`astra_ns3.run` takes it."""
    start_ps: int = 0
    """When its programs begin. With ``after`` it counts from what is waited for."""
    passes: int = 1
    """How often it plays its workload; :data:`FOREVER`: until all others have ended."""
    dimensions: Sequence[int] | None = None
    """Its logical grid, the innermost dimension first. None: cut from the network's."""
    seed: int | None = None
    """The seed of its random numbers. None: made of the run's seed and its name."""
    report_npu: int = 0
    """The rank whose layers tables tell of."""
    compute_slowdown: FilePath | ComputeSlowdown | Mapping[str, object] | None = None
    """The file of slowdowns, by its ranks."""
    groups: FilePath | None = None
    """The file of the groups that its workload of graphs names. None: that of the run, if any."""
    changes: Mapping[str, Json] | None = None
    """Other values of keys of its two files."""
    where: str = ""
    """The place in a scenario's file that names it; empty: none does."""
    after: After | None = None
    """The job that it waits for."""
    end_ps: int | None = None
    """When it is stopped. None: it isn't."""
    traffic: Traffic | None = None
    """Other traffic that stands in the place of workload and system, which are made of it later."""
    arrives: bool = False
    """Whether it begins to wait for NPUs at ``start_ps``, which its placement chooses once enough are free."""
    restart: Restart | None = None
    """How it begins again when its transport has given up. None: it doesn't."""
    job: str | None = None
    """The name of the job of which it is a further try. None: it is the first."""
    priority: int | None = None
    """The priority of its messages. None: that of the network's transport."""

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
        return mixed_seed(seed, self.job_name)


def mixed_seed(seed: int, job: str) -> int:
    """Return the seed that follows from a run's for the job of a name."""
    digest = hashlib.sha256(f"{seed} {job}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % LARGEST_SEED + 1


def with_tries(tenants: Iterable[Tenant]) -> Iterator[Tenant]:
    """Yield tenants, each followed by all tries that it may need; tries that are there already are made anew."""
    for tenant in tenants:
        if tenant.job is not None:
            continue
        yield tenant
        for number in range(tenant.restart.at_most if tenant.restart is not None else 0):
            yield replace(tenant, name=f"{tenant.name}, try {number + 2}", job=tenant.name)
