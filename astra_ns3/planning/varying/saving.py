"""The files of varied plans: a table, pictures, and the files of each plan in a folder of its own."""

from __future__ import annotations

from pathlib import Path

from astra_ns3.errors import ResultsNotSaved
from astra_ns3.experiments.tables import Table
from astra_ns3.planning.page import (
    ENDINGS,
    VARIED_PICTURE,
    Shown,
    Told,
    save_page,
    told_page,
)
from astra_ns3.planning.saving import save_plan
from astra_ns3.planning.varying.picture import varied_figure
from astra_ns3.planning.varying.result import COLUMNS, Cell, rows_of
from astra_ns3.planning.varying.text import head_of, table_of
from astra_ns3.planning.varying.varying import Varied
from astra_ns3.report.figures import with_matplotlib
from astra_ns3.studies.run_study import PAGE, put
from astra_ns3.whole_file import VARIED, VARIED_TABLE

_WIDTH_INCHES = 7.0


def save_varied(varied: Varied) -> None:
    """Write all files; raises ResultsNotSaved or InputError."""
    folder = varied.request.folder
    columns = [*(key.key for key in varied.keys), *COLUMNS]
    rows = [[_text(row[name]) for name in columns] for row in rows_of(varied)]
    model, network = (Path(each).stem for each in (varied.request.model, varied.request.network))
    title = f"Plans of {model} on clusters like {network}"
    head, lines = table_of(varied)
    told = Told(title, head_of(varied), "Best times and plans", (Shown("", head, lines),))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        save_page(folder, VARIED, told)  # first, since it marks the folder
        put(folder / VARIED_TABLE, Table(VARIED_TABLE, columns, rows).text())
    except OSError as error:
        raise ResultsNotSaved(f"{folder}: cannot be written: {error.strerror or error}") from error
    for point in varied.points:
        if point.plan is not None:
            save_plan(point.plan)
    if with_matplotlib.is_installed():
        drawing = with_matplotlib.drawn(varied_figure(varied), _WIDTH_INCHES, "")
        for ending in ENDINGS:
            with_matplotlib.write(drawing, folder / f"{VARIED_PICTURE}{ending}")
    put(folder / PAGE, told_page(folder) or "")


def _text(cell: Cell) -> str | int | None:
    return f"{cell:.12g}" if isinstance(cell, float) else cell
