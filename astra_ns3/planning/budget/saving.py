"""The files of a budget: its table, all that was played, the best networks, the system, and a picture."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import yaml

from astra_ns3.config.core.plain import Json
from astra_ns3.errors import ResultsNotSaved
from astra_ns3.experiments.changes.documents import given_of
from astra_ns3.experiments.tables import Table
from astra_ns3.planning.budget.budget import Budget, Split, with_rates
from astra_ns3.planning.budget.picture import rates_figure
from astra_ns3.planning.budget.result import cells_of, columns_of, splits_of
from astra_ns3.report.figures import with_matplotlib
from astra_ns3.studies.run_study import put
from astra_ns3.studies.store import Store
from astra_ns3.whole_file import check_not_read

TABLE, PLAYED, BEST, BEST_PER_COST, SYSTEM, PICTURE = (
    *("budget.csv", "played.csv"),
    *("network.yaml", "network-per-cost.yaml", "system.yaml", "rates"),
)
_STORE = "budget"
_ENDINGS = (".png", ".svg")
_WIDTH_INCHES = 5.0
_NAMES = (TABLE, PLAYED, BEST, BEST_PER_COST, SYSTEM, *(f"{PICTURE}{ending}" for ending in _ENDINGS))


def check_folder(folder: Path, inputs: Iterable[str | os.PathLike[str] | None] = ()) -> None:
    """Raise InputError for a folder with a file that would be written, which is an input, or of no earlier budget.

    The folder of a budget has both tables.
    """
    check_not_read(folder, _NAMES, inputs)
    Store(folder, _STORE).check_free(_NAMES, known=all((folder / name).is_file() for name in (TABLE, PLAYED)))


def save_budget(budget: Budget) -> None:
    """Write all files; raises ResultsNotSaved or InputError."""
    folder, columns = budget.request.folder, columns_of(budget)
    splits = splits_of(budget)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        rows = [[name, *_texts(split)] for name, split in splits.items()]
        put(folder / TABLE, Table(TABLE, ["split", *columns], rows).text())
        put(folder / PLAYED, Table(PLAYED, columns, [_texts(split) for split in budget.played]).text())
        put(folder / BEST, _network(budget, budget.fastest, folder))
        if budget.per_cost is not None:
            put(folder / BEST_PER_COST, _network(budget, budget.per_cost, folder))
        else:
            (folder / BEST_PER_COST).unlink(missing_ok=True)
        put(folder / SYSTEM, yaml.safe_dump(given_of(budget.request.system_config), sort_keys=False))
    except OSError as error:
        raise ResultsNotSaved(f"{folder}: cannot be written: {error.strerror or error}") from error
    if with_matplotlib.is_installed():
        drawing = with_matplotlib.drawn(rates_figure(splits), _WIDTH_INCHES, "Rates of an NPU")
        for ending in _ENDINGS:
            with_matplotlib.write(drawing, folder / f"{PICTURE}{ending}")


def files_of(budget: Budget) -> list[str]:
    """Return the names of the files that are there."""
    return [name for name in _NAMES if (budget.request.folder / name).is_file()]


def _texts(split: Split) -> list[str]:
    return [f"{cell:.12g}" for cell in cells_of(split)]


def _network(budget: Budget, split: Split, folder: Path) -> str:
    """Return a network file with the rates of a split; the path of a graph's file begins at the folder."""
    found = with_rates(budget.request.network_config, split.rates).document()
    topology = found["topology"]
    if topology["kind"] == "file":
        topology["path"] = os.path.relpath(topology["path"], folder)
    text: str = yaml.safe_dump(_said(found), sort_keys=False, width=100)
    return text


def _said(value: Json) -> Json:
    """Return plain data without keys that have no value."""
    if isinstance(value, dict):
        return {key: _said(each) for key, each in value.items() if each is not None}
    return [_said(each) for each in value] if isinstance(value, list) else value
