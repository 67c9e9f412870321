"""Schedules that users write: MSCCL's XML, or our own columns as CSV or JSON. Proved before they are handed out."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from astra_ns3.collectives.msccl_run import msccl_schedule
from astra_ns3.collectives.msccl_xml import read_msccl
from astra_ns3.collectives.proof import ScheduleError, prove
from astra_ns3.collectives.schedule import Schedule, Tell, silent
from astra_ns3.collectives.schedule_columns import csv_schedule, csv_text, json_schedule, json_text
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.reading import read_text
from astra_ns3.errors import failing, refuse, wrong
from astra_ns3.frozen import dataclass, field
from astra_ns3.whole_file import whole_file

_SUFFIXES = (".xml", ".csv", ".json")


def load_schedule(path: str | os.PathLike[str], tell: Tell = silent) -> tuple[Schedule, CollectiveKind]:
    """The schedule of a file and the collective that it has been proved to do.

    ``.xml`` is MSCCL's format (:mod:`astra_ns3.collectives.msccl_xml` says which part of it), ``.csv`` and ``.json``
    hold the columns of a Schedule (:mod:`astra_ns3.collectives.schedule_columns`). Raises
    :class:`~astra_ns3.errors.InputError`, which names the file and the line or element.
    """
    source = os.fspath(path)
    suffix = _suffix(source)
    tell(f"reading {source}")
    text = read_text(path)
    if suffix == ".xml":
        program = read_msccl(text, source)
        schedule, kind = msccl_schedule(
            program, source, lambda run, runs: tell(f"trying {source}, order {run} of {runs}")
        )
    elif suffix == ".csv":
        schedule, kind = csv_schedule(text, source)
    else:
        schedule, kind = json_schedule(text, source)
    with failing(ScheduleError, f"this is no {kind.name.lower()}", source):
        prove(schedule, kind, tell=lambda play, plays: tell(f"proving {source}, order {play} of {plays}"))
    return schedule, kind


def load_schedule_cached(path: str, tell: Tell = silent) -> tuple[Schedule, CollectiveKind]:
    """As :func:`load_schedule`, once for each state of the file."""
    try:
        state = Path(path).stat()
    except OSError as error:
        raise wrong(f"{error.strerror or error}", path) from error
    return _load(_Version(path, state.st_mtime_ns, state.st_size, tell))


def save_schedule(schedule: Schedule, kind: CollectiveKind, path: str | os.PathLike[str]) -> None:
    """Write ``.csv`` or ``.json``, which :func:`load_schedule` reads again; raises InputError for what it refuses."""
    source = os.fspath(path)
    suffix = _suffix(source)
    refuse(suffix == ".xml", "schedules are written as .csv or .json", source)
    try:
        prove(schedule, kind)
    except ScheduleError as error:  # such as halvingDoubling, whose ranks gather other blocks than that of their number
        raise wrong(f"this is no {kind.name.lower()}: {error}; write another algorithm's, as ring", source) from error
    text = csv_text(schedule, kind) if suffix == ".csv" else json_text(schedule, kind)
    with whole_file(source) as partial:
        partial.write_text(text, encoding="utf-8")


@dataclass(frozen=True)
class _Version:
    """A state of a file; whoever is told of its proof plays no part in whether two are alike."""

    path: str
    modified_ns: int
    bytes: int
    tell: Tell = field(compare=False)


@lru_cache(maxsize=16)
def _load(version: _Version) -> tuple[Schedule, CollectiveKind]:
    return load_schedule(version.path, version.tell)


def _suffix(source: str) -> str:
    suffix = Path(source).suffix.lower()
    refuse(suffix not in _SUFFIXES, f"a schedule's file ends in {', '.join(_SUFFIXES)}, found '{suffix}'", source)
    return suffix
