"""Points whose run is that of a scenario: its file with other values of keys, and the files of its jobs, all read.

The request holds no path of a scenario, a workload or a system: what a worker plays is what was read here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from astra_ns3.config.formats.kinds import SCENARIO as SCENARIO_FORMAT
from astra_ns3.config.formats.kinds import told_apart
from astra_ns3.config.network.analytical_network import AnalyticalNetwork
from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.config.scenario.file import ScenarioFile, read_scenario
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import located, of_type, refuse
from astra_ns3.experiments.changes.documents import AnyConfig
from astra_ns3.experiments.changes.scenario import changed_scenario
from astra_ns3.experiments.scenario_request import tenants_of_file
from astra_ns3.frozen import replace
from astra_ns3.scenario.tenant import Tenant
from astra_ns3.studies.changes import Change
from astra_ns3.studies.sources import Sources


class Scenarios:
    """Reads scenarios' files and makes changes to them, and remembers both; ``sources`` reads the files of jobs."""

    def __init__(self, study: str, folder: Path, sources: Sources) -> None:
        """``study``: its file, for messages; ``folder``: where its paths begin."""
        self._study = study
        self._folder = folder
        self._sources = sources
        self._made: dict[str, tuple[ScenarioFile, tuple[Tenant, ...]]] = {}

    def get(self, chosen: Change, changes: Sequence[Change]) -> tuple[ScenarioFile, tuple[Tenant, ...]]:
        """Return a scenario after changes, and its jobs with what their files say.

        Raises InputError: file, line and key.
        """
        path = self._path(chosen)
        key = json.dumps([path, {change.meaning: change.value for change in changes}], sort_keys=True)
        if key not in self._made:
            file = self._file(path, changes)
            config = file.config
            nobody = not (config.jobs or config.traffic or config.arrivals)
            refuse(nobody, f"{path}: has no job, no arrivals and no traffic, expected some", self._place(chosen))
            self._made[key] = file, tuple(self._read(tenant) for tenant in tenants_of_file(file))
        return self._made[key]

    def _path(self, chosen: Change) -> str:
        words = f"key '{chosen.key}' is {chosen.value!r}, expected the path of a scenario's file"
        path = os.path.normpath(self._folder / of_type(chosen.value, str, words, self._place(chosen)))
        refuse(not os.path.lexists(path), f"key '{chosen.key}': {path}: no such file", self._place(chosen))
        return path

    def _file(self, path: str, changes: Sequence[Change]) -> ScenarioFile:
        file = read_scenario(path)  # what is wrong with the file itself is told with its lines
        if not changes:
            return file
        with told_apart(path, SCENARIO_FORMAT):
            settings = [change.setting for change in changes]
            return changed_scenario(file, settings, self._folder, self._place(changes[0]))

    def _read(self, tenant: Tenant) -> Tenant:
        """Return a job with the content of its files, after the changes that the scenario makes; traffic has none."""
        if tenant.traffic is not None:
            return tenant
        with located(tenant.place):
            workload, system = self._of_job(tenant, "workload"), self._of_job(tenant, "system")
        assert isinstance(system, SystemConfig)
        assert not isinstance(workload, (SystemConfig, NetworkConfig, AnalyticalNetwork))
        return replace(tenant, workload=workload, system=system, changes=None)

    def _of_job(self, tenant: Tenant, kind: str) -> AnyConfig:
        own = [Change(key, value) for key, value in (tenant.changes or {}).items() if key.startswith(f"{kind}.")]
        return self._sources.get(kind, Change(kind, getattr(tenant, kind)), own).config

    def _place(self, change: Change) -> str:
        return f"{self._study}:{change.line}" if change.line else self._study
