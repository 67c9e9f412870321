"""From what a run left to its files: tables as text, run.json, all under their final names at once."""

from __future__ import annotations

import json
import shutil
import tempfile
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from astra_ns3.config.network_file import AnyNetwork
from astra_ns3.errors import InputError
from astra_ns3.experiments.astra_sim_tables import astra_sim_tables
from astra_ns3.experiments.inputs import Inputs
from astra_ns3.experiments.metadata import run_document
from astra_ns3.experiments.own_tables import collective_table, npu_table, switch_table
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.result import Files, Result
from astra_ns3.experiments.session import Played
from astra_ns3.experiments.store import RUN_FILE, RunFolder
from astra_ns3.experiments.watch import Watch
from astra_ns3.network.records import RecorderOptions


class Destination:
    """Where a run's files go: an output folder; without one, a temporary folder, and only if the backend records."""

    def __init__(self, output: Path | None, *, overwrite: bool) -> None:
        """Raises InputError if ``output`` can't be written; touches nothing."""
        self._folder = None if output is None else RunFolder(output, overwrite=overwrite)
        self._temporary: Path | None = None
        self._directory: Path | None = None

    def open(self, network: AnyNetwork, record: Iterable[str]) -> RecorderOptions:
        """Make the folder that is written to, and say so to the backend."""
        wanted = tuple(record)
        if self._folder is not None:
            self._directory = self._folder.open()
        elif wanted or network.observe.anything:
            self._directory = self._temporary = Path(tempfile.mkdtemp(prefix="astra-ns3-"))
        return RecorderOptions(self._directory, flows="flows" in wanted)

    def recorded(self) -> list[str]:
        """Names of the files that the backend wrote."""
        return sorted(file.name for file in self._directory.iterdir()) if self._directory is not None else []

    def finish(self, document: dict[str, Any], texts: dict[str, str]) -> Result:
        """Write ``texts`` and run.json, if there is an output folder, and return the result."""
        if self._folder is None:
            return Result(document, self._handed_over(texts))
        staging = self._folder.staging
        try:
            for name, text in {**texts, RUN_FILE: json.dumps(document, indent=2) + "\n"}.items():
                (staging / name).write_text(text, encoding="utf-8")
            final = self._folder.commit()
        except OSError as error:
            raise InputError(f"{self._folder.path}: cannot write the results: {error.strerror}") from error
        return Result(document, Files(texts, final), final)

    def discard(self) -> None:
        """Remove what was written and not finished; nothing else."""
        if self._folder is not None:
            self._folder.discard()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = None

    def _handed_over(self, texts: dict[str, str]) -> Files:
        """The files of a run without an output folder; the temporary one goes when nobody needs them any more."""
        files = Files(texts, self._directory)
        if self._temporary is not None:
            weakref.finalize(files, shutil.rmtree, self._temporary, ignore_errors=True)
            self._temporary = None
        return files


def save(
    request: RunRequest, inputs: Inputs, played: Played, watch: Watch, destination: Destination, warnings: list[str]
) -> Result:
    """Write the run's files and return it."""
    tables = [
        *astra_sim_tables(played.records, request.run_name),
        npu_table(played.records),
        collective_table(played.records),
        switch_table(played.switch_ports),
    ]
    texts = {table.name: table.text() for table in tables}
    document = run_document(request, inputs, played, watch, warnings)
    document["files"] = sorted({*texts, *destination.recorded(), RUN_FILE})
    return destination.finish(document, texts)
