"""The files and options of a run, as run.json keeps them, and the same request again."""

from __future__ import annotations

import os
from collections.abc import Mapping

from astra_ns3.config.core.plain import Json, JsonObject
from astra_ns3.errors import wrong
from astra_ns3.experiments.changes.files import FILES
from astra_ns3.experiments.option import options_of
from astra_ns3.experiments.options import Options
from astra_ns3.experiments.request import RunRequest
from astra_ns3.network.backends import ABILITIES
from astra_ns3.network.run_document import RunDocument
from astra_ns3.report.network_of import network_of
from astra_ns3.report.tables import Records
from astra_ns3.system.file import parse_system
from astra_ns3.user_code import FORM

_ELSEWHERE = ("passes", "scale", "comm_scale", "compute_scale", "backend", "report_npu")
"""Options that have a key of their own in run.json."""


def asked_document(request: RunRequest) -> JsonObject:
    """Return the files and the options of a run that aren't at their defaults; null: given as an object."""
    names = [one.name for one in options_of(Options) if one.name not in _ELSEWHERE]
    given = {name: getattr(request, name) for name in names if getattr(request, name) != getattr(RunRequest, name)}
    return {
        name: _plain(value) for name, value in [*((name, getattr(request, name)) for name in FILES), *given.items()]
    }


def _plain(value: object) -> Json:
    """Return what JSON can hold of an option; None of an object."""
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    if isinstance(value, Mapping):
        return {str(key): each for key, each in value.items()}
    return value if isinstance(value, (str, int, float)) else None


def asked_again(run: Records, backend: str | None = None) -> RunRequest:
    """Return the request that made a run, without records, output and limits; ``backend``: another one.

    Raises InputError if run.json doesn't tell all of it. Files are not read, so they may differ by now.
    """
    metadata = run.metadata
    _check(metadata)
    asked = dict(metadata["asked"])
    if asked["network"] is None:
        asked["network"] = network_of(metadata)
    if asked["system"] is None:
        keys = {key: value for key, value in metadata["system"].items() if value != []}  # of keys that no one gave
        asked["system"] = parse_system(keys)
    nameless = [name for name, value in asked.items() if value is None]
    if nameless:
        raise wrong(f"its {nameless[0]} was given as an object, which run.json doesn't hold")
    return RunRequest(
        **asked,
        passes=metadata["passes"],
        comm_scale=metadata["comm_scale"],
        compute_scale=metadata["compute_scale"],
        backend=metadata["backend"] if backend is None else backend,
        report_npu=metadata["report_npu"],
        seed=metadata["seed"],
        cores=int(metadata["timing"].get("cores", 1)),
    )


def _check(metadata: RunDocument) -> None:
    """Raise InputError for a run that can't be asked for again."""
    if "job" in metadata:
        raise wrong("it is a job of a scenario; change the scenario's files, and run it again")
    if metadata["stopped"] is not None:
        raise wrong("it was stopped before its end")
    if metadata["hook"]:
        raise wrong("a hook observed or changed it")
    if metadata["backend"] not in ABILITIES:
        raise wrong(f"its backend is an object of yours, expected {', '.join(ABILITIES)} or {FORM}")
    if "asked" not in metadata:
        raise wrong("an earlier version of this program made it, which didn't keep how; run it again")
