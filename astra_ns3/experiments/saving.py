"""From what a run left to its files: tables as text, run.json, all under their final names at once.

A run with several tenants has a folder for each, and one for their network; with one tenant there is one folder.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path

from astra_ns3.errors import InputError, ResultsNotSaved
from astra_ns3.experiments.astra_sim_tables import astra_sim_tables
from astra_ns3.experiments.description import Description
from astra_ns3.experiments.flow_tables import flow_tables
from astra_ns3.experiments.forecasting.foreseen import foreseen_tables
from astra_ns3.experiments.integrity import as_text, sealed
from astra_ns3.experiments.layer_table import LAYERS, write_layers
from astra_ns3.experiments.metadata import run_document, scenario_document
from astra_ns3.experiments.play import Played
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.result import Files, Result
from astra_ns3.experiments.run_tables import collective_table, jobs_table, npu_table, switch_table
from astra_ns3.experiments.scenario_result import ScenarioResult
from astra_ns3.experiments.store import RunFolder, tenant_folder
from astra_ns3.experiments.tables import Table
from astra_ns3.experiments.watch import Watch
from astra_ns3.frozen import replace
from astra_ns3.network.parquet import ParquetTables, reason_of
from astra_ns3.network.recorded import TableSink
from astra_ns3.network.records import RoleTimes, RunRecords
from astra_ns3.network.run_document import RunDocument
from astra_ns3.scenario.tenant_tables import SplitTables
from astra_ns3.scenario.times import Outcome, tries_of
from astra_ns3.whole_file import RUN_FILE


class Destination:
    """Where a run's files go: an output folder; without one, a temporary folder, and only if the backend records.

    ``directory``: the folder that is written to (None: there is none, or it is not open); ``tables`` takes the rows of
    recorded tables (None: nothing is recorded).
    """

    def __init__(self, output: Path | None, *, overwrite: bool) -> None:
        """Raises InputError if ``output`` can't be written; touches nothing."""
        self._folder = None if output is None else RunFolder(output, overwrite=overwrite)
        self._temporary: Path | None = None
        self.directory: Path | None = None
        self.tables: ParquetTables | None = None

    def open(self, *, records: bool) -> None:
        """Make the folder that is written to; ``records``: the backend may write tables."""
        if self._folder is not None:
            self.directory = self._folder.open()
        elif records:
            self.directory = self._temporary = Path(tempfile.mkdtemp(prefix="astra-ns3-"))
        self.tables = None if self.directory is None else ParquetTables(self.directory)

    def write_layers(self, roles: Sequence[RoleTimes], job: str | None) -> None:
        """Write layers.parquet, of a job if it is one of several; that it can't be written is noted, as of others."""
        assert self.directory is not None
        assert self.tables is not None
        try:
            write_layers(self.directory / LAYERS.file, roles, job)
        except OSError as error:
            self.tables.failed(LAYERS.file, reason_of(error))

    def recorded(self) -> list[str]:
        """Names of the files that the backend wrote."""
        try:
            return sorted(file.name for file in self.directory.iterdir()) if self.directory is not None else []
        except OSError:
            return []  # somebody has removed the folder; what can't be written there is told

    def finish(self, document: RunDocument, tables: Sequence[Table]) -> tuple[Result, ResultsNotSaved | None]:
        """Write ``tables`` and run.json, if there is an output folder, and return the result.

        What can't be written whole stays, as far as it fits, in the temporary folder, which the error names.
        """
        texts = {table.name: table.text() for table in tables}
        document["files"] = sorted({*texts, *self.recorded(), RUN_FILE})
        failures = dict(self.tables.failures) if self.tables is not None else {}
        if self._folder is None:
            error = ResultsNotSaved(_not_written(failures)) if failures else None
            return Result(document, self._handed_over(texts)), error
        staging = self._folder.staging
        for name, text in texts.items():
            try:
                (staging / name).write_text(text, encoding="utf-8")
            except OSError as error:
                failures[name] = reason_of(error)
        try:
            document = sealed(document, staging)
            (staging / RUN_FILE).write_text(as_text(document), encoding="utf-8")
        except OSError as error:
            failures[RUN_FILE] = reason_of(error)
        if not failures:
            try:
                final = self._folder.commit()
                return Result(document, Files(texts, final), final), None
            except InputError as error:
                return Result(document, Files(texts, staging)), ResultsNotSaved(str(error))
            except OSError as error:
                failures[str(self._folder.path)] = reason_of(error)
                staging = self._folder.staging
        self._folder.keep()
        kept = staging if staging.is_dir() else None
        place = "" if kept is None else f"; what could be written is in {kept}"
        return Result(document, Files(texts, kept), kept), ResultsNotSaved(_not_written(failures) + place)

    def discard(self) -> None:
        """Remove what was written and not finished; nothing else."""
        if self._folder is not None:
            self._folder.discard()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = None

    def _handed_over(self, texts: dict[str, str]) -> Files:
        """The files of a run without an output folder; the temporary one goes when nobody needs them any more."""
        files = Files(texts, self.directory)
        if self._temporary is not None:
            weakref.finalize(files, shutil.rmtree, self._temporary, ignore_errors=True)
            self._temporary = None
        return files


def _not_written(failures: dict[str, str]) -> str:
    """Which files could not be written, and why."""
    reasons = dict.fromkeys(failures.values())
    listed = (f"{', '.join(name for name in failures if failures[name] == reason)}: {reason}" for reason in reasons)
    return f"not saved: {'; '.join(listed)}"


def save(
    request: RunRequest,
    description: Description,
    played: Played,
    records: RunRecords,
    outcome: Outcome,
    watch: Watch,
    destination: Destination,
    warnings: list[str],
) -> tuple[Result, ResultsNotSaved | None]:
    """Write the files of a run, or of a tenant, and return it, with why they could not be written, if so.

    ``records``, ``outcome``: what of ``played`` is the tenant's. Ports are all tenants', and not among its files.
    """
    tables = [
        *astra_sim_tables(records, request.run_name),
        npu_table(records),
        collective_table(records),
        *([switch_table(played.switch_ports)] if description.tenant is None else []),
        *flow_tables(records.flows),
        *foreseen_tables(description.foreseen),
    ]
    job = None if description.tenant is None else description.tenant["name"]
    if job is not None:
        tables = [table.of_job(job) for table in tables]
    if "layers" in request.record:
        destination.write_layers(records.roles, job)
    document = run_document(request, description, played, records, outcome, watch, warnings)
    return destination.finish(document, tables)


class Destinations:
    """Where a run's files go: ``network`` takes those of all, ``tenants`` those of each tenant, by its name.

    Tries of a job have one folder in the end, that of the last that was needed. With one tenant that has all of the
    network there are no ``tenants``.
    """

    def __init__(self, request: RunRequest) -> None:
        """Raises InputError if a folder can't be written; touches nothing."""
        output = request.output_path
        self.network = Destination(output, overwrite=request.overwrite)
        self.tenants = {
            tenant.name: Destination(
                None if output is None else tenant_folder(output, tenant.job_name), overwrite=request.overwrite
            )
            for tenant, _ in request.parts
            if tenant is not None
        }
        self.tables: TableSink | None = None
        """Takes the rows of recorded tables; None: nothing is recorded."""

    def open(self, *, records: bool) -> None:
        """Make the folders that are written to; ``records``: tables may be written."""
        own: dict[str, TableSink] = {}
        for name, tenant in self.tenants.items():
            tenant.open(records=records)
            if tenant.tables is not None:
                own[name] = tenant.tables
        self.network.open(records=records)
        self.tables = self.network.tables
        if self.tables is not None and own:
            self.tables = SplitTables(self.tables, own)

    def discard(self) -> None:
        """Remove what was written and not finished; nothing else."""
        for each in (*self.tenants.values(), self.network):
            each.discard()


def save_all(
    request: RunRequest,
    descriptions: Sequence[Description],
    played: Played,
    watch: Watch,
    destinations: Destinations,
    warnings: list[str],
) -> tuple[Result, ResultsNotSaved | None]:
    """Write the run's files and return it, with why they could not be written, if so.

    The network's run.json comes last: with it all tenants' files are there.
    """
    if not destinations.tenants:
        (records,), (outcome,) = played.records, played.outcomes
        return save(request, descriptions[0], played, records, outcome, watch, destinations.network, warnings)
    results: dict[str, Result] = {}
    failures: list[ResultsNotSaved] = []
    folders = list(destinations.tenants.values())
    for tries in tries_of([tenant for tenant, _ in request.parts], played.outcomes):
        number = tries.last
        description, (tenant, part) = descriptions[number], request.parts[number]
        own = played.records[number], tries.outcome(tenant, played.outcomes)
        own_warnings = [*description.warnings, *played.warnings_of.get(number, ())]
        alone = replace(played, floor=played.floors.get(number))
        result, failure = save(part, description, alone, *own, watch, folders[number], own_warnings)
        results[part.run_name] = result
        failures += [] if failure is None else [failure]
    document = scenario_document(request, descriptions, played, watch, warnings)
    tables = [jobs_table(document["jobs"]), switch_table(played.switch_ports)]
    whole, failure = destinations.network.finish(document, tables)
    failures += [] if failure is None else [failure]
    not_saved = ResultsNotSaved("; ".join(map(str, failures))) if failures else None
    return ScenarioResult.of(whole, results), not_saved
