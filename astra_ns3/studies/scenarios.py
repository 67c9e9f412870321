"""Points whose run is that of a scenario: its file with other values of keys, and the files of its jobs, all read.

The request holds no path of a scenario, a workload or a system: what a worker plays is what was read here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from astra_ns3.config.core.changing import changed
from astra_ns3.config.core.document import Document
from astra_ns3.config.core.model import validated
from astra_ns3.config.core.plain import Json
from astra_ns3.config.core.reading import read_text
from astra_ns3.config.core.yaml_document import parse_yaml
from astra_ns3.config.formats.kinds import SCENARIO as SCENARIO_FORMAT
from astra_ns3.config.formats.kinds import told_apart
from astra_ns3.config.network.analytical_network import AnalyticalNetwork
from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.config.scenario.file import ScenarioConfig, ScenarioFile
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import located, of_type, refuse
from astra_ns3.experiments.changes.documents import AnyConfig
from astra_ns3.experiments.scenario_request import tenants_of_file
from astra_ns3.frozen import replace
from astra_ns3.scenario.tenant import Tenant
from astra_ns3.studies.changes import Change
from astra_ns3.studies.sources import Sources

_NETWORK = ("network",)
_FILES_OF_JOB = ("workload", "system", "compute-slowdown", "compute_slowdown")
_FILES_OF_ARRIVALS = ("file", "system")
_ARRIVALS = "arrivals"


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
            jobless = not file.config.jobs and file.config.arrivals is None
            refuse(jobless, f"{path}: has no job, expected one at least in a study", self._place(chosen))
            self._made[key] = file, tuple(self._read(tenant) for tenant in tenants_of_file(file))
        return self._made[key]

    def _path(self, chosen: Change) -> str:
        words = f"key '{chosen.key}' is {chosen.value!r}, expected the path of a scenario's file"
        path = os.path.normpath(self._folder / of_type(chosen.value, str, words, self._place(chosen)))
        refuse(not os.path.lexists(path), f"key '{chosen.key}': {path}: no such file", self._place(chosen))
        return path

    def _file(self, path: str, changes: Sequence[Change]) -> ScenarioFile:
        with told_apart(path, SCENARIO_FORMAT):
            document = parse_yaml(read_text(path), path)
            validated(ScenarioConfig, document)  # what is wrong with the file itself is told with its lines
            data = _beside(document.data, Path(path).parent)
            if changes:
                with located(self._place(changes[0])):
                    settings = [change.setting._replace(value=self._placed(change)) for change in changes]
                    data, _ = changed(data, data, settings, self._folder)
            made = Document(path, data, document.lines)
            return ScenarioFile(validated(ScenarioConfig, made), made)

    def _placed(self, change: Change) -> Json:
        """A change's value, whose paths begin at the study's folder."""
        last = change.key.split(".")[-1]
        if last == _ARRIVALS:
            return _arrivals_beside(change.value, self._folder)
        files = _FILES_OF_ARRIVALS if _ARRIVALS in change.key.split(".") else (*_NETWORK, *_FILES_OF_JOB)
        if last in files and isinstance(change.value, str):
            return os.path.normpath(self._folder / change.value)
        return change.value

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


def _beside(data: object, folder: Path) -> dict[str, Json]:
    """Return the data of a scenario's file with its paths as seen from its folder."""
    found: dict[str, Json] = dict(data) if isinstance(data, Mapping) else {}
    if isinstance(found.get("network"), str):
        found["network"] = os.path.normpath(folder / str(found["network"]))
    jobs = found.get("jobs")
    if isinstance(jobs, list):
        found["jobs"] = [_files_beside(job, _FILES_OF_JOB, folder) for job in jobs]
    if _ARRIVALS in found:
        found[_ARRIVALS] = _arrivals_beside(found[_ARRIVALS], folder)
    return found


def _arrivals_beside(arrivals: Json, folder: Path) -> Json:
    """Return the keys of arrivals, also where a table stands alone, so that one of them may be changed."""
    keys = {"file": arrivals} if isinstance(arrivals, str) else arrivals
    return _files_beside(keys, _FILES_OF_ARRIVALS, folder)


def _files_beside(keys: Json, files: Sequence[str], folder: Path) -> Json:
    """Return a group of keys, those of which that name files as seen from a folder."""
    if not isinstance(keys, Mapping):
        return keys
    return {
        key: os.path.normpath(folder / value) if key in files and isinstance(value, str) else value
        for key, value in keys.items()
    }
