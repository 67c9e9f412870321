"""The files of a plan: its table, the best choice as a model file, the frontier, and the study's own."""

from __future__ import annotations

import shlex

from astra_ns3.experiments.tables import Table
from astra_ns3.planning.frontier import frontier_figure
from astra_ns3.planning.plan import Plan
from astra_ns3.planning.result import COLUMNS, ranked_rows
from astra_ns3.report.figures import with_matplotlib
from astra_ns3.studies.run_study import put, write_study
from astra_ns3.workload.models.changes import write_model

TABLE, BEST, PICTURE = "plan.csv", "best.yaml", "frontier"
_WIDTH_INCHES = 7.0
_ENDINGS = (".png", ".svg")


def save_plan(plan: Plan) -> None:
    """Write all files; raises ResultsNotSaved or InputError."""
    folder = plan.request.folder
    write_study(plan.study, command_of(plan))
    rows = ranked_rows(plan)
    put(folder / TABLE, Table(TABLE, COLUMNS, [[row[name] for name in COLUMNS] for row in rows]).text())
    if plan.found.best is not None:
        write_model(plan.workload(plan.found.best), folder / BEST)
    if rows and with_matplotlib.is_installed():
        drawing = with_matplotlib.drawn(frontier_figure(plan, rows), _WIDTH_INCHES, plan.study.expansion.study.title)
        for ending in _ENDINGS:
            with_matplotlib.write(drawing, folder / f"{PICTURE}{ending}")


def command_of(plan: Plan) -> str:
    """Return the command that makes the plan again."""
    request = plan.request
    words = ["astra-ns3", "plan", str(request.model), "-n", str(request.network)]
    words += [] if request.system is None else ["-s", str(request.system)]
    return shlex.join([*words, "-o", str(request.folder)])
