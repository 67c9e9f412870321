"""The files of a plan: its table, the best choice as a model file, the frontier, and the study's own."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import yaml

from astra_ns3.config.core.changing import setting_text
from astra_ns3.experiments.changes.documents import given_of
from astra_ns3.experiments.tables import Table
from astra_ns3.planning.frontier import frontier_figure
from astra_ns3.planning.page import (
    BEST,
    ENDINGS,
    NEXT,
    PLAN,
    PLAN_PICTURE,
    SYSTEM,
    Shown,
    Told,
    save_page,
    sections,
)
from astra_ns3.planning.plan import Plan
from astra_ns3.planning.request import PlanRequest
from astra_ns3.planning.result import COLUMNS, faster_next, losses, ranked_rows
from astra_ns3.planning.text import head_of, page_table_of
from astra_ns3.report.exposed_text import place_words
from astra_ns3.report.figures import with_matplotlib
from astra_ns3.studies.figures.data import Row
from astra_ns3.studies.run_study import put, write_study
from astra_ns3.units import format_time
from astra_ns3.whole_file import PLAN_TABLE
from astra_ns3.workload.models.changes import model_yaml

_WIDTH_INCHES = 7.0


def save_plan(plan: Plan) -> None:
    """Write all files; raises ResultsNotSaved or InputError."""
    folder, rows = plan.request.folder, ranked_rows(plan)
    put(folder / PLAN_TABLE, Table(PLAN_TABLE, COLUMNS, [[row[name] for name in COLUMNS] for row in rows]).text())
    if plan.found.best is not None:
        put(folder / BEST, model_yaml(plan.workload(plan.found.best)))
        (folder / NEXT).unlink(missing_ok=True)
        if (other := faster_next(plan)) is not None:
            put(folder / NEXT, model_yaml(plan.workload(other)))
        (folder / SYSTEM).unlink(missing_ok=True)
        if (system := plan.request.system_config) is not None:
            put(folder / SYSTEM, yaml.safe_dump(given_of(system), sort_keys=False))
    if rows and with_matplotlib.is_installed():
        drawing = with_matplotlib.drawn(frontier_figure(plan, rows), _WIDTH_INCHES, plan.study.expansion.study.title)
        for ending in ENDINGS:
            with_matplotlib.write(drawing, folder / f"{PLAN_PICTURE}{ending}")
    told = told_of(plan, rows)
    save_page(folder, PLAN, told)
    write_study(plan.study, told.command, sections(told, folder / f"{PLAN_PICTURE}.svg"), kind="plan")


def told_of(plan: Plan, rows: Sequence[Row]) -> Told:
    """Return what the page of a plan tells."""
    title = plan.study.expansion.study.title
    tables = []
    if lost := losses(plan):
        head = ["NPU 0 of the second best", "longer than the best"]
        lines = [
            [place_words(each.what), f"{'-' if each.more_ps < 0 else ''}{format_time(abs(each.more_ps))}"]
            for each in lost
        ]
        tables.append(Shown("Why the best is the best", head, lines))
    if rows:
        tables.append(Shown("Plans that were played", *page_table_of(rows)))
    return Told(title, head_of(plan), "Time against memory", tables, command_of(plan.request))


def command_of(request: PlanRequest) -> str:
    """Return the command that makes the plan again."""
    words = ["astra-ns3", "plan", str(request.model), "-n", str(request.network)]
    words += [] if request.system is None else ["-s", str(request.system)]
    words += [] if request.samples is None else ["--samples", str(request.samples)]
    for option, values in (("--hold", request.held), ("--set", request.changes)):
        words += [word for key, value in values.items() for word in (option, setting_text(key, value))]
    usual = PlanRequest(request.model, request.network)
    for option, name in (("--cpu-time", "cpu_seconds"), ("--packets-cpu-time", "packet_seconds")):
        seconds = getattr(request, name)
        words += [] if seconds == getattr(usual, name) else [option, "none" if seconds is None else f"{seconds:.12g}s"]
    words += [] if request.packets is None else ["--packets", str(request.packets)]
    return shlex.join([*words, "-o", str(request.folder)])
