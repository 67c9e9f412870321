"""Columns of the tables that a run and a study write."""

from __future__ import annotations

from collections.abc import Iterator

from astra_ns3.experiments.described.csv_tables import CSV_TABLES
from astra_ns3.experiments.layer_table import LAYERS
from astra_ns3.experiments.result import Frame, Result
from astra_ns3.experiments.run_tables import JOBS
from astra_ns3.network.recorded import (
    ACCOUNT_SERVED,
    CONNECTION_QUANTITIES,
    CONNECTIONS,
    OF_JOB,
    QUEUE_PAIR_QUANTITIES,
    QUEUE_PAIRS,
    RECORDED_TABLES,
    RecordedTable,
)
from astra_ns3.studies.measures import MEASURES
from reference_pages.markdown import cell, code, table

_BEGIN = """# Tables of a run

Made from the code. [How a run writes them, and what some numbers mean](../results.md).

Times in CSV files are microseconds with six decimals, exact to the picosecond. Times in Parquet files are picoseconds.
In a job's folder each table has a column `job` in front, the job's name.
"""


def tables_page() -> str:
    """Return the page: CSV files, recorded tables, a study's table."""
    return "\n".join([_BEGIN, *_csv(), *_recorded(), _study()])


def _csv() -> Iterator[str]:
    for file, about in CSV_TABLES.items():
        owner = "ScenarioResult" if file == JOBS else "Result"
        rows = [(code(column.name), column.unit, cell(column.words)) for column in about.columns]
        yield f"## `{file}` (`{owner}.{about.attribute}`)\n\n{cell(about.words)}\n\n{_table(rows)}"


def _recorded() -> Iterator[str]:
    for each in (*RECORDED_TABLES, LAYERS):
        columns = (OF_JOB, *each.columns) if each is ACCOUNT_SERVED else each.columns
        rows = [(code(column.name), column.unit, cell(column.words)) for column in columns]
        assert isinstance(vars(Result)[each.name], Frame)
        yield f"## `{each.file}` (`Result.{each.name}`)\n\n{_words(each)}\n\n{_table(rows)}{_quantities(each)}"


def _words(each: RecordedTable) -> str:
    words = cell(each.words.partition(", if `")[0].partition("; raises")[0])
    notes = f" {cell(each.notes)}" if each.notes else ""
    return f"{words[0].upper()}{words[1:]}. Written with {cell(each.asked)}.{notes}"


def _quantities(each: RecordedTable) -> str:
    words = {CONNECTIONS.name: CONNECTION_QUANTITIES, QUEUE_PAIRS.name: QUEUE_PAIR_QUANTITIES}.get(each.name)
    rows = [(code(name), cell(about)) for name, about in (words or {}).items()]
    return f"\n{table(('Quantity', 'Value'), rows)}" if rows else ""


def _study() -> str:
    rows = [(code(name), kind.unit, cell(kind.words)) for name, kind in MEASURES.items()]
    return (
        "## `study.csv` (`StudyResult.frame`)\n\nA row per point: `part`, the axes, `seed`, `status`, these measures, "
        f"`address`, `error`. A cell is empty where a run has no such number.\n\n{_table(rows)}"
    )


def _table(rows: list[tuple[str, str, str]]) -> str:
    return table(("Column", "Unit", "Meaning"), rows)
