"""From what a run left to the folders of its tenants and of their network; with one tenant there is one folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from astra_ns3.errors import ResultsNotSaved
from astra_ns3.experiments.description import Description
from astra_ns3.experiments.metadata import scenario_document
from astra_ns3.experiments.play import Played
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.result import Result
from astra_ns3.experiments.run_tables import switch_table
from astra_ns3.experiments.saving import Destination, save
from astra_ns3.experiments.scenario_result import ScenarioResult
from astra_ns3.experiments.store import tenant_folder
from astra_ns3.experiments.tenants_table import tenants_table
from astra_ns3.experiments.watch import Watch
from astra_ns3.network.recorded import TableSink
from astra_ns3.scenario.tenant_tables import SplitTables


class Destinations:
    """Where a run's files go: ``network`` takes those of all, ``tenants`` those of each tenant, by its name.

    With one tenant that has all of the network there are no ``tenants``.
    """

    def __init__(self, request: RunRequest) -> None:
        """Raises InputError if a folder can't be written; touches nothing."""
        output = request.output_path
        self.network = Destination(output, overwrite=request.overwrite)
        self.tenants = {
            tenant.name: Destination(
                None if output is None else tenant_folder(output, tenant.name), overwrite=request.overwrite
            )
            for tenant, _ in request.parts
            if tenant is not None
        }
        self.tables: TableSink | None = None
        """Takes the rows of recorded tables; None: nothing is recorded."""

    @property
    def directory(self) -> Path | None:
        """The folder of the network's files; None: there is none, or it is not open."""
        return self.network.directory

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
        return save(request, descriptions[0], played, played.records[0], watch, destinations.network, warnings)
    results: dict[str, Result] = {}
    failures: list[ResultsNotSaved] = []
    parts = zip(request.parts, descriptions, played.records, destinations.tenants.items(), strict=True)
    for (_, part), description, records, (name, destination) in parts:
        own_warnings = list(description.warnings)
        results[name], failure = save(part, description, played, records, watch, destination, own_warnings)
        failures += [] if failure is None else [failure]
    document = scenario_document(request, descriptions, played, watch, warnings)
    tables = [tenants_table(document["tenants"]), switch_table(played.switch_ports)]
    whole, failure = destinations.network.finish(document, tables)
    failures += [] if failure is None else [failure]
    not_saved = ResultsNotSaved("; ".join(map(str, failures))) if failures else None
    return ScenarioResult.of(whole, results), not_saved
