"""A study's tables: a row a point, and a row a layer of each point."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from astra_ns3.errors import InputError, wrong
from astra_ns3.experiments.result import Result
from astra_ns3.experiments.scenario_result import ScenarioResult, result_in
from astra_ns3.report.records import rows_of_layers
from astra_ns3.studies.expansion import Point
from astra_ns3.studies.figures.data import Row
from astra_ns3.studies.keys import as_text
from astra_ns3.studies.measures import MEASURES
from astra_ns3.studies.store import ADDRESS_LETTERS, Store
from astra_ns3.studies.task import PointOutcome
from astra_ns3.units import PS_PER_US

if TYPE_CHECKING:
    import pandas as pd
    from pandas.api.extensions import ExtensionArray

DONE, FAILED, NOT_PLAYED = "done", "failed", "not played"
_PASSES = {"fwd": "forward", "wg": "weight_gradient", "ig": "input_gradient"}


def point_folder(store: Path, address: str) -> Path:
    """Return the folder where the store keeps a point."""
    return Store(store).point_folder(address)


def study_rows(
    points: Sequence[Point], outcomes: Mapping[str, PointOutcome], store: Path, axes: Sequence[str]
) -> list[Row]:
    """A row a point: part, axes, seed, status, measures, folder, error. ``axes``: the columns of all parts."""
    rows = []
    for point in points:
        outcome = outcomes.get(point.address)
        # What one that stopped on its way had done by then is no result.
        measures = outcome.measures if outcome is not None and outcome.status == DONE else {}
        rows.append(
            {
                "part": point.part,
                **{axis: point.labels.get(axis) for axis in axes},
                "seed": point.seed,
                "status": NOT_PLAYED if outcome is None else outcome.status,
                **{name: measures.get(name) for name in MEASURES},
                "address": point.address[:ADDRESS_LETTERS],
                "error": None if outcome is None else outcome.message,
            }
        )
    return rows


def layer_rows(points: Sequence[Point], outcomes: Mapping[str, PointOutcome], store: Path) -> list[Row]:
    """A row a layer of each point that is done, of the reported NPU, all passes."""
    rows: list[Row] = []
    known: dict[str, list[Row]] = {}
    for point in points:
        outcome = outcomes.get(point.address)
        if outcome is None or outcome.status != DONE:
            continue
        if point.address not in known:
            known[point.address] = _layers_of_sound(point_folder(store, point.address))
        rows += [{**point.coordinates, **row} for row in known[point.address]]
    return rows


def _layers_of_sound(folder: Path) -> list[Row]:
    """The layers of a finished point. Raises InputError, with the way out, if its run is damaged."""
    try:
        return _layers_of(folder)
    except InputError as error:
        damage = str(error)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, csv.Error) as error:
        damage = f"{folder}: the run's files are damaged: {type(error).__name__}: {error}"
    raise wrong(f"{damage}; delete {folder}, and the next study plays the point again")


def _layers_of(folder: Path) -> list[Row]:
    """Return the layers of a run; those of several jobs have the job's name in front."""
    result = result_in(folder)
    if not isinstance(result, ScenarioResult):
        return layers_of_job(result, "")
    return [row for name, job in result.tenants.items() for row in layers_of_job(job, f"{name}: ")]


def layers_of_job(result: Result, before: str) -> list[Row]:
    """Return the layers of a job, with ``before`` in front of their names."""
    rows = []
    for row, exposed_ps in rows_of_layers(result):
        total = {word: float(row[f"{short} total comm"]) for short, word in _PASSES.items()}
        rows.append(
            {
                "layer": f"{before}{row['layer name']}",
                "compute_us": sum(float(row[f"{short} compute"]) for short in _PASSES),
                "exposed_us": exposed_ps / PS_PER_US,
                "communication_us": sum(total.values()),
                **{f"{word}_communication_us": value for word, value in total.items()},
            }
        )
    return rows


LAYER_COLUMNS = (
    "layer",
    "compute_us",
    "exposed_us",
    "communication_us",
    *(f"{word}_communication_us" for word in _PASSES.values()),
)


def framed(rows: Sequence[Row], columns: Sequence[str]) -> pd.DataFrame:
    """Rows as a DataFrame; whole numbers stay whole where some are missing, labels of several kinds become text."""
    import pandas as pd

    return pd.DataFrame({name: _column([row.get(name) for row in rows]) for name in columns})


def _column(values: list[Any]) -> ExtensionArray | list[str | None]:  # a study's own column
    import pandas as pd

    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return pd.array(values, dtype="boolean")
    if kinds == {int}:
        return pd.array(values, dtype="Int64" if None in values else "int64")
    if kinds and kinds <= {int, float}:
        return pd.array([None if value is None else float(value) for value in values], dtype="float64")
    if kinds and not kinds <= {str}:
        return [None if value is None else as_text(value) for value in values]
    return pd.array(values, dtype=object)
