"""Tables of a job among several without the columns that name jobs, to be compared with those of a run by itself."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from astra_ns3.experiments.result import Result


def rows_of(job: Result, name: str) -> list[dict[str, str]]:
    """Rows of a CSV file, each of which must name the job."""
    rows = job.rows(name)
    assert {row.pop("job") for row in rows} <= {job.metadata["run_name"]}
    return rows


def frame_of(frame: pd.DataFrame) -> pd.DataFrame:
    """A table, whose column ``job`` must be there."""
    assert frame.columns[0] == "job"
    return frame.drop(columns=["job", "of_job"], errors="ignore")


def text_of(file: Path, job: str) -> str:
    """The text of a CSV file without its first column, which must name the job."""
    lines = file.read_text("utf-8").splitlines(keepends=True)
    first = [line.split(",", 1) for line in lines]
    assert [before for before, _ in first] == ["job", *[job] * (len(lines) - 1)]
    return "".join(rest for _, rest in first)
