"""What to run with several tenants on one network."""

from __future__ import annotations

from collections.abc import Iterable

from astra_ns3.config.compute_slowdown import ComputeSlowdown
from astra_ns3.config.core.model import shown
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import located, wrong
from astra_ns3.experiments.option import INPUTS, needed
from astra_ns3.experiments.request import RunRequest, check_run_name
from astra_ns3.frozen import dataclass, field, fields, replace
from astra_ns3.scenario.tenant import FilePath, Tenant
from astra_ns3.workload.files.workload_formats import AnyWorkload


@dataclass(frozen=True, kw_only=True)
class ScenarioRequest(RunRequest):
    """A run with several tenants: each says of itself what a run with one says in options of the same name.

    Here these fields are those of the first tenant. ``tenants`` is a tuple once the request is made.
    """

    tenants: Iterable[Tenant] = field(
        metadata=needed("each a Tenant(name, npus, workload, system, ...); no two have an NPU in common.", group=INPUTS)
    )
    workload: FilePath | AnyWorkload = field(init=False)
    system: FilePath | SystemConfig = field(init=False)
    passes: int = field(init=False, default=1)
    report_npu: int = field(init=False, default=0)
    compute_slowdown: FilePath | ComputeSlowdown | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        tenants = tuple(self.tenants) if isinstance(self.tenants, Iterable) else ()
        if not tenants or not all(isinstance(tenant, Tenant) for tenant in tenants):
            raise wrong(f"tenants is {shown(self.tenants)}, expected at least one Tenant in a list")
        object.__setattr__(self, "tenants", tenants)
        for name in ("workload", "system"):
            object.__setattr__(self, name, getattr(tenants[0], name))

    @property
    def parts(self) -> tuple[tuple[Tenant | None, RunRequest], ...]:
        """Each tenant with a request of its own."""
        shared = {one.name: getattr(self, one.name) for one in fields(RunRequest)}
        return tuple((tenant, _of(tenant, RunRequest(**shared))) for tenant in self.tenants)

    def check(self) -> None:
        """Raise InputError for the first argument that is out of range."""
        super().check()
        for tenant, (_, part) in zip(self.tenants, self.parts, strict=True):
            check_run_name(tenant.name)
            with located(f"tenant '{tenant.name}'"):
                part.check()


def _of(tenant: Tenant, shared: RunRequest) -> RunRequest:
    """Return what is asked of a tenant in a run."""
    return replace(
        shared,
        workload=tenant.workload,
        system=tenant.system,
        passes=tenant.passes,
        seed=tenant.seed_in(shared.seed),
        report_npu=tenant.report_npu,
        compute_slowdown=tenant.compute_slowdown,
        run_name=tenant.name,
    )
