"""Finds the runs in a folder and all below it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from astra_ns3.config.core.json_reading import reading_json
from astra_ns3.config.core.plain import Json
from astra_ns3.errors import InputError, refuse
from astra_ns3.experiments.listing.points import PointNotes
from astra_ns3.experiments.metadata import FORMAT_VERSION
from astra_ns3.experiments.replacing import whole_run
from astra_ns3.experiments.store import FORMAT, SCENARIO_FORMAT, SEEDS_FORMAT
from astra_ns3.frozen import dataclass
from astra_ns3.whole_file import RUN_FILE


@dataclass(frozen=True)
class FoundRun:
    """The content of a run.json, and in which folder it stands, as seen from where the search began.

    ``note``: why a point is no run of its own; empty for all others.
    """

    folder: str
    metadata: Mapping[str, Json]
    note: str = ""


@dataclass(frozen=True)
class Found:
    """The runs in the order of their folders; ``damaged``: folders that can't be read, each with the reason."""

    runs: tuple[FoundRun, ...]
    damaged: tuple[tuple[str, str], ...]


def find_runs(root: str | os.PathLike[str]) -> Found:
    """Return the runs of ``root`` and of all folders below that aren't hidden; links aren't followed.

    Raises InputError if ``root`` is no folder.
    """
    top = Path(root)
    refuse(not top.is_dir(), "is not a folder" if top.exists() else "no such folder", top)
    runs: list[FoundRun] = []
    damaged: list[tuple[str, str]] = []
    notes = PointNotes()

    def unreadable(error: OSError) -> None:
        damaged.append((os.path.relpath(error.filename or top, top), error.strerror or str(error)))

    for folder, below, _ in os.walk(top, onerror=unreadable):
        below[:] = sorted(name for name in below if not name.startswith("."))
        file = whole_run(Path(folder)) / RUN_FILE
        if not os.path.lexists(file):
            continue
        name = os.path.relpath(folder, top)
        try:
            document = _read(file)
            note = notes.of(file)
        except (InputError, OSError, ValueError) as error:
            damaged.append((name, getattr(error, "strerror", None) or str(error)))
            continue
        if document.get("format") == FORMAT:
            runs.append(FoundRun(name, document, note))
    return Found(tuple(runs), tuple(sorted(damaged)))


def _read(file: Path) -> Mapping[str, Json]:
    """Return the content of a run.json, also of one of several seeds or jobs, which have folders of their own.

    Raises InputError, OSError and ValueError for what is no run's.
    """
    if not file.is_file():
        raise ValueError(f"{RUN_FILE} is no file")
    text = file.read_text(encoding="utf-8")
    with reading_json(RUN_FILE):
        metadata = json.loads(text)
    if not isinstance(metadata, dict) or metadata.get("format") not in (FORMAT, SEEDS_FORMAT, SCENARIO_FORMAT):
        raise ValueError(f"{RUN_FILE} was not written by this program")
    if metadata["format"] == FORMAT and metadata.get("format_version") != FORMAT_VERSION:
        raise ValueError(f"{RUN_FILE} has format_version {metadata.get('format_version')!r}, not {FORMAT_VERSION}")
    return metadata
