"""A point's name in the store: a digest of all that its results depend on.

That is the three files as they are in force, the options, the seed, the content of every file that users' code,
schedules and graphs stand in, the code that plays it, and the versions of what that stands on. Not: where files lie,
comments in them, what points and axes are called, limits, progress, output.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from astra_ns3.config.compute_slowdown import ComputeSlowdown
from astra_ns3.config.core.algorithm_names import FILE_PREFIX
from astra_ns3.config.core.plain import Json, JsonObject
from astra_ns3.config.scenario.file import ScenarioFile
from astra_ns3.config.system import SystemConfig
from astra_ns3.experiments.changes.documents import AnyConfig, document_of
from astra_ns3.experiments.changes.files import FILES
from astra_ns3.experiments.hooks import HookFile
from astra_ns3.experiments.option import Option, options_of
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.scenario_request import ScenarioRequest
from astra_ns3.experiments.versions import native_digest, versions
from astra_ns3.scenario.tenant import Tenant
from astra_ns3.studies.keys import FILE_OPTIONS
from astra_ns3.user_code import user_part
from astra_ns3.user_files import files_taken_in
from astra_ns3.workload.files.workload_formats import AnyWorkload

# Raised when the way changes in which addresses are made, so that old ones are never met.
_FORMAT = 1
_LABELS = ("output", "overwrite", "limits", "live", "progress", "isolated", "run_name", "on_built")
_VERSIONS = ("astra-ns3", "ns3", "cppyy", "numpy")
_ROOMS_WITHOUT_EFFECT = frozenset(("cli", "report", "studies"))
_PYTHON = ".py"
# The key that names a file in a group of this kind: a graph's.
_KEYS_OF_FILES = {"file": "path"}


# Where a workload's file lies, and what its warnings say of it.
_OF_PLACE = ("source", "warnings")
# Keys of a job that count with the content of what they name, or lead to.
_READ = {"workload", "system", "changes"}
_READ_ARRIVALS = {"file", "system"}


class _ReadTenant(NamedTuple):
    """A tenant's files, read."""

    workload: AnyWorkload
    system: SystemConfig


class Addresses:
    """Makes addresses; what points have in common is read once."""

    def __init__(self) -> None:
        """Read the digests of this program at once."""
        self._program: JsonObject = {
            "format": _FORMAT,
            "code": code_digest(),
            "native": native_digest(),
            "versions": _versions(),
        }
        self._configs: dict[int, tuple[AnyConfig, str, dict[str, str]]] = {}
        self._files: dict[str, dict[str, str]] = {}
        self._taken: dict[str, str] = {}

    def of(self, request: RunRequest) -> tuple[str, dict[str, str]]:
        """The address of a run whose files are read, and the SHA-256 of each file of users' that it holds, by path.

        Raises InputError if a file of users' code is missing.
        """
        self._taken = {}
        options = {
            one.name: self._option(one, getattr(request, one.name))
            for one in options_of(RunRequest)
            if one.name not in (*FILES, *_LABELS)
        }
        hook = request.on_built
        content: JsonObject = {
            **self._program,
            "files": {name: self._config(getattr(request, name)) for name in _files_of(request)},
            **({"scenario": self._scenario(request)} if isinstance(request, ScenarioRequest) else {}),
            "options": options,
            "hook": self._stripped(hook.path) if isinstance(hook, HookFile) else None,
        }
        return _digest(content), self._taken

    def _scenario(self, request: ScenarioRequest) -> JsonObject:
        """Return a scenario's file, with the content of its jobs' files."""
        file = request.scenario
        assert isinstance(file, ScenarioFile)
        said = file.config.model_dump(
            mode="json",
            by_alias=True,
            exclude={"network": True, "jobs": {"__all__": _READ}, "arrivals": _READ_ARRIVALS},
        )
        jobs = [[self._config(tenant.workload), self._config(tenant.system)] for tenant in _read(request.tenants)]
        sizes = [self._content(each.sizes) for each in file.config.traffic if Path(each.sizes).is_file()]
        arrived: list[Json] = [
            [each.name, each.start_ps, each.passes, list(each.dimensions or ())]
            for each in request.tenants
            if each.arrives
        ]
        return {"file": self._stripped(said), "jobs": jobs, "arrived": arrived, "sizes": sizes}

    def _option(self, option: Option, value: Any) -> Json:  # each option has a type of its own
        """An option's value, or the content of the file that it names."""
        if isinstance(value, ComputeSlowdown):
            return value.document()
        if option.name in FILE_OPTIONS and value is not None:
            return self._content(os.fspath(value))
        # 1 and 1.0 are one scale.
        return self._stripped(float(value) if option.kind is float and isinstance(value, int) else value)

    def _config(self, config: AnyConfig) -> str:
        known = self._configs.get(id(config))
        if known is None:
            document = document_of(config)
            for name in _OF_PLACE:
                document.pop(name, None)
            before, self._taken = self._taken, {}
            known = self._configs[id(config)] = (config, _digest(self._stripped(document)), self._taken)
            self._taken = before
        self._taken.update(known[2])
        return known[1]

    def _stripped(self, value: Json) -> Json:
        """``value`` with the content of a file in the place of its path."""
        if isinstance(value, Mapping):
            key = _KEYS_OF_FILES.get(str(value.get("kind")))
            return {
                name: self._content(each)
                if name == key and isinstance(each, str)
                else self._parameters(each)
                if name == "parameters" and user_part(value.get("kind")) is not None
                else self._stripped(each)
                for name, each in value.items()
            }
        if isinstance(value, (list, tuple)):
            return [self._stripped(each) for each in value]
        if not isinstance(value, str):
            return value
        part = user_part(value, compiled=True)
        if part is not None:
            return [self._content(part.file), part.name]
        if value.startswith(FILE_PREFIX):
            return [FILE_PREFIX, Path(value).suffix, self._content(value.removeprefix(FILE_PREFIX))]
        if Path(value).is_absolute() and _is_file(value):  # a table, counts or placement that a model file names
            return self._content(value)
        return [self._content(value), "on_built"] if value.endswith(_PYTHON) else value

    def _parameters(self, value: Json) -> Json:
        """Return the parameters of an own topology: words that are paths of files count with the content."""
        if isinstance(value, Mapping):
            return {name: self._parameters(each) for name, each in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._parameters(each) for each in value]
        if isinstance(value, str) and value and _is_file(value):
            return ["" if Path(value).is_absolute() else value, self._content(value)]
        return self._stripped(value)

    def _content(self, path: str) -> str:
        """Digest of a file and of those beside it that it takes in."""
        if path not in self._files:
            taken = files_taken_in(Path(path))
            self._files[path] = {str(file): hashlib.sha256(content).hexdigest() for file, content in taken.items()}
        found = self._files[path]
        self._taken.update(found)
        return _digest(list(found.values()))


def _files_of(request: RunRequest) -> Sequence[str]:
    """Return which files a run has; traffic alone has a network only."""
    traffic_alone = isinstance(request, ScenarioRequest) and all(each.traffic is not None for each in request.tenants)
    return ("network",) if traffic_alone else FILES


def _read(tenants: Iterable[Tenant]) -> Iterator[_ReadTenant]:
    """Yield tenants whose files were read; other traffic has none."""
    for tenant in tenants:
        if tenant.traffic is not None:
            continue
        workload, system = tenant.workload, tenant.system
        assert not isinstance(workload, (str, os.PathLike))
        assert not isinstance(system, (str, os.PathLike))
        yield _ReadTenant(workload, system)


def _is_file(path: str) -> bool:
    with suppress(OSError, ValueError):
        return Path(path).is_file()
    return False


@cache
def code_digest() -> str:
    """Return the digest of the Python code that plays runs: all rooms but those that only show or distribute."""
    package = Path(__file__).parents[1]
    files = sorted(path.relative_to(package) for path in package.rglob("*.py"))
    counted = [file for file in files if len(file.parts) > 1 and file.parts[0] not in _ROOMS_WITHOUT_EFFECT]
    counted += [file for file in files if len(file.parts) == 1]
    content = [[file.as_posix(), hashlib.sha256((package / file).read_bytes()).hexdigest()] for file in counted]
    return _digest(content)


def _versions() -> dict[str, str]:
    found = versions()
    return {name: found.get(name, "") for name in _VERSIONS}


def _digest(content: Json) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
