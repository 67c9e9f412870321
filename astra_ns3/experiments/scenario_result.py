"""The result of a run with several tenants: the network's tables, and a result for each tenant."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from astra_ns3.errors import InputError
from astra_ns3.experiments.result import Files, Frame, Result, jobs_of, saved
from astra_ns3.experiments.run_tables import JOBS
from astra_ns3.experiments.store import SCENARIO_FORMAT, tenant_folder
from astra_ns3.network.run_document import RunDocument
from astra_ns3.whole_file import RUN_FILE


def result_in(folder: str | os.PathLike[str]) -> Result:
    """Return the run that a folder holds, of one job or of several; raises InputError if it holds none."""
    try:
        return ScenarioResult.load(folder)
    except InputError:
        return Result.load(folder)


class ScenarioResult(Result):
    """A result of :func:`astra_ns3.run_scenario`; :meth:`load` reads one back from its folder.

    Its own tables are those of the network, and ``tenants_table``. Tables of what a tenant did are the tenant's, as
    ``result.tenants["a"].collectives``; their ranks and times are the tenant's own.
    """

    tenants_table = Frame(JOBS)

    def __init__(self, metadata: RunDocument, files: Files, folder: Path | None, tenants: Mapping[str, Result]) -> None:
        """``tenants``: the result of each, by its name."""
        super().__init__(metadata, files, folder)
        self._tenants = {name: tenant.beside(self) for name, tenant in tenants.items()}

    @classmethod
    def of(cls, network: Result, tenants: Mapping[str, Result]) -> ScenarioResult:
        """Return the result of a run whose network's files are in ``network``."""
        return cls(network._metadata, network._files, network.folder, tenants)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> ScenarioResult:
        """Read the run with several tenants that ``folder`` holds; raises InputError if it holds none."""
        path = Path(folder)
        metadata, files = saved(path, SCENARIO_FORMAT)
        names = jobs_of(metadata, path / RUN_FILE)
        return cls(metadata, files, path, {name: Result.load(tenant_folder(path, name)) for name in names})

    @property
    def tenants(self) -> Mapping[str, Result]:
        """The result of each tenant, by its name."""
        return MappingProxyType(self._tenants)
