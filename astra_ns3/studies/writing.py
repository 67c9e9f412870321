"""Writes what a study came to into its folder."""

from __future__ import annotations

import os
from pathlib import Path

from astra_ns3.errors import ResultsNotSaved
from astra_ns3.studies.result import StudyResult

STUDY_TABLE, STUDY_PARQUET, LAYER_TABLE, STUDY_FILE = "study.csv", "study.parquet", "layers.csv", "study.yaml"


def write_study(result: StudyResult) -> None:
    """Write its tables, figures and page; raises ResultsNotSaved."""
    folder = result.folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _replace(folder / STUDY_TABLE, result.frame.to_csv(index=False))
        _replace(folder / LAYER_TABLE, result.layers.to_csv(index=False))
        partial = folder / f".{STUDY_PARQUET}.partial"
        result.frame.to_parquet(partial, index=False)
        partial.replace(folder / STUDY_PARQUET)
    except OSError as error:
        raise ResultsNotSaved(f"{folder}: cannot be written: {error.strerror or error}") from error


def _replace(path: Path, text: str) -> None:
    """Put the file in place whole."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
