"""What to run, checked before anything is read or built."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from astra_ns3.config.core.model import shown
from astra_ns3.config.network.file import AnyNetwork
from astra_ns3.config.system import SystemConfig
from astra_ns3.config.workload import Workload
from astra_ns3.errors import InputError, nearest
from astra_ns3.experiments.inputs import FilePath, Options
from astra_ns3.experiments.progress import ProgressSink
from astra_ns3.experiments.validate import check_passes
from astra_ns3.network.api import Limits, NetworkBackend
from astra_ns3.network.registry import Factory, check_backend_name, check_factory, check_given, takes

LARGEST_SEED = 2**32 - 1
"""ns-3's seeds have 32 bits, and 0 is not one."""
RECORDABLE = ("flows", "layers")
_LONGEST_NAME = 100
_LONGEST_ENDING = "_dimension_utilization.csv"
_LONGEST_FILE_NAME_BYTES = 240
"""File systems take 255; some bytes are for the names that files have while they are put in place."""


@dataclass(frozen=True)
class RunRequest:
    """Everything about one run; :func:`astra_ns3.run` explains the fields."""

    workload: FilePath | Workload
    system: FilePath | SystemConfig
    network: FilePath | AnyNetwork
    backend: str | NetworkBackend | Factory = "ns3"
    passes: int = 1
    comm_scale: float = 1.0
    compute_scale: float = 1.0
    seed: int = 1
    output: FilePath | None = None
    on_built: Callable[..., Any] | None = None
    limits: Limits = field(default_factory=Limits)
    run_name: str = "run"
    record: tuple[str, ...] = ()
    overwrite: bool = False
    progress: ProgressSink | None = None
    compat: str = "none"
    num_queues_per_dimension: int | None = None
    injection_scale: float = 1.0
    rendezvous: bool = False
    scheduling_policy: str | None = None
    intra_dimension_scheduling: str | None = None
    inter_dimension_scheduling: str | None = None
    congestion_control: str | None = None
    report_npu: int = 0
    isolated: bool = False
    process_ends: bool = False
    """The process ends right after this run, so the simulation's memory need not be freed."""

    @property
    def options(self) -> Options:
        """What the options say of the three files."""
        same = {option.name: getattr(self, option.name) for option in fields(Options) if option.name != "backend"}
        return Options(backend=self.backend_name, **same)

    @property
    def output_path(self) -> Path | None:
        """The output folder, if one was named."""
        return None if self.output is None else Path(self.output)

    @property
    def backend_name(self) -> str:
        """The backend's name, or that of its type."""
        if isinstance(self.backend, str):
            return self.backend
        return getattr(self.backend, "__name__", type(self.backend).__name__)

    def check(self) -> None:
        """Raise InputError for the first argument that is out of range."""
        check_passes(self.passes)
        if isinstance(self.backend, str):
            check_backend_name(self.backend)
        elif callable(self.backend):
            check_factory(self.backend)
        elif not hasattr(self.backend, "npus"):
            raise InputError(
                f"backend is {shown(self.backend)}, expected a name, a NetworkBackend or a function that makes one"
            )
        else:
            check_given(self.backend)
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or not 1 <= self.seed <= LARGEST_SEED:
            raise InputError(f"seed is {self.seed!r}, expected a whole number from 1 to {LARGEST_SEED}")
        for name, scale in (("comm-scale", self.comm_scale), ("compute-scale", self.compute_scale)):
            if isinstance(scale, bool) or not isinstance(scale, (int, float)):
                raise InputError(f"{name} is {scale!r}, expected a number")
        self.options.check()
        for name, flag in (("overwrite", self.overwrite), ("isolated", self.isolated)):
            if not isinstance(flag, bool):
                raise InputError(f"{name} is {flag!r}, expected True or False")
        if not isinstance(self.limits, Limits):
            raise InputError(f"limits is {self.limits!r}, expected a Limits")
        if self.on_built is not None and not callable(self.on_built):
            raise InputError(f"on_built is {self.on_built!r}, expected a function")
        if self.on_built is not None and isinstance(self.backend, str) and not takes(self.on_built, 1):
            raise InputError(
                f"on_built is {shown(self.on_built)}, which can't be called with one argument, the context"
            )
        for call in ("update", "finish") if self.progress is not None else ():
            if not callable(getattr(self.progress, call, None)):
                raise InputError(f"progress is {shown(self.progress)}, which is no ProgressSink: it has no {call}")
        for what in self.record:
            if not isinstance(what, str) or what not in RECORDABLE:
                raise InputError(
                    f"record '{what}' is not one of {', '.join(RECORDABLE)}{nearest(str(what), RECORDABLE)}"
                )
        _check_output(self.output)
        _check_run_name(self.run_name)
        _check_limits(self.limits)


def _check_output(output: object) -> None:
    named = os.fspath(output) if isinstance(output, (str, os.PathLike)) else ""
    if output is not None and (not isinstance(named, str) or not named or "\0" in named):
        raise InputError(f"output is {output!r}, expected the path of a folder")


def _check_run_name(name: str) -> None:
    """It becomes part of a file's name and a cell of a table."""
    if isinstance(name, str) and len(os.fsencode(f"{name}{_LONGEST_ENDING}")) > _LONGEST_FILE_NAME_BYTES:
        most = _LONGEST_FILE_NAME_BYTES - len(_LONGEST_ENDING)
        raise InputError(f"run name {name!r} has {len(os.fsencode(name))} bytes, more than {most}: it names a file")
    plain = isinstance(name, str) and 0 < len(name) <= _LONGEST_NAME and name.isprintable()
    if not plain or "/" in name or name.startswith("."):
        raise InputError(
            f"run name {name!r} is not 1 to {_LONGEST_NAME} printable characters without '/' and without '.' in front"
        )


def _check_limits(limits: Limits) -> None:
    for name, limit in (
        ("simulated time", limits.simulated_ps),
        ("wall time", limits.wall_seconds),
        ("memory", limits.memory_bytes),
    ):
        if isinstance(limit, bool) or not isinstance(limit, (int, float, type(None))):
            raise InputError(f"the limit on {name} is {limit!r}, expected a number")
        if limit is not None and not limit > 0:
            raise InputError(f"the limit on {name} is {limit}, expected more than 0")
