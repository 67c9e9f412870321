"""Writes what a study came to into its folder: tables, figures, the page, the file as it was played."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from astra_ns3.errors import InputError, ResultsNotSaved
from astra_ns3.experiments.tables import inert
from astra_ns3.studies.figures.kinds import written
from astra_ns3.studies.file import figure_file
from astra_ns3.studies.page import Picture, page
from astra_ns3.studies.result import StudyResult
from astra_ns3.whole_file import whole_file

if TYPE_CHECKING:
    import pandas as pd

STUDY_TABLE, STUDY_PARQUET, LAYER_TABLE, MEAN_TABLE = "study.csv", "study.parquet", "layers.csv", "means.csv"
STUDY_FILE, PAGE, FIGURES = "study.yaml", "index.html", "figures"


def write_study(result: StudyResult, command: str) -> None:
    """Write all of it; ``command``: what plays the study again. Raises ResultsNotSaved."""
    folder = result.folder
    try:
        (folder / FIGURES).mkdir(parents=True, exist_ok=True)
        put(folder / STUDY_TABLE, _csv(result.frame))
        put(folder / MEAN_TABLE, _csv(result.means))
        put(folder / LAYER_TABLE, _csv(result.layers))
        with whole_file(folder / STUDY_PARQUET) as partial:
            result.frame.to_parquet(partial, index=False)
        if text := result.expansion.study.text:
            put(folder / STUDY_FILE, text)
        put(folder / PAGE, page(result, _figures(result), command))
    except OSError as error:
        raise ResultsNotSaved(f"{folder}: cannot be written: {error.strerror or error}") from error
    except InputError as error:
        raise ResultsNotSaved(str(error)) from error


def _csv(frame: pd.DataFrame) -> str:
    """A table as text; what names columns and values may look like a formula to a spreadsheet, and stays text."""
    return str(frame.map(inert).rename(columns=inert).to_csv(index=False))


def _figures(result: StudyResult) -> list[Picture]:
    """Write each figure of each part as a file; what they are called, and as SVG."""
    pictures = []
    for part in result.expansion.parts:
        view = result.view(part)
        for name, figure in part.config.figures.items():
            paths = written(view, figure, result.folder / FIGURES, figure_file(part.name, name))
            svg = next(path for path in paths if path.suffix == ".svg")
            pictures.append(Picture(part.name, name, svg.read_text(encoding="utf-8")))
    return pictures


def put(path: Path, text: str) -> None:
    """Put the file in place whole."""
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8")
