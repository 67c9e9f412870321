"""The page's tables of a training: what each kind of group exposed on each role, and memory by stage."""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.network.run_document import ExposedDocument, RoleDocument, RunDocument
from astra_ns3.report.alignment import percent
from astra_ns3.report.exposed_text import place_words
from astra_ns3.report.foreseen_text import stage_rows
from astra_ns3.report.page.markup import Markup, joined, table, tag, unbroken
from astra_ns3.report.pictures.shown import Shown
from astra_ns3.units import counted, format_time

_MOST_ROLES = 8


def exposed_by_group(runs: Sequence[Shown]) -> Markup:
    """A table of each run: rows are groups, columns the NPUs that stand for roles. Nothing where nothing is told."""
    parts = [_named(shown, runs, *_exposed(shown.run.metadata)) for shown in runs if _groups(shown.run.metadata)]
    return joined(parts)


def memory_by_stage(runs: Sequence[Shown]) -> Markup:
    """A table of each run of a model, with a row for each stage; nothing for other runs."""
    head = ("stage", "at most", "when", "parts")
    told = [(shown, stage_rows(shown.run.metadata)) for shown in runs]
    return joined([_named(shown, runs, table(head, rows, (1,))) for shown, rows in told if rows])


def _groups(metadata: RunDocument) -> Sequence[ExposedDocument]:
    return metadata.get("exposed_by_group", ())


def _exposed(metadata: RunDocument) -> tuple[Markup, Markup]:
    """The table, and how many roles have no column."""
    own: RoleDocument = {
        "role": f"NPU {metadata['report_npu']}",
        "npu": metadata["report_npu"],
        "groups": _groups(metadata),
    }
    roles = metadata.get("exposed_by_group_of_roles", [own])
    shown = roles[:_MOST_ROLES]
    times = [{each["group"]: each["exposed_ps"] for each in role["groups"]} for role in shown]
    sums = [sum(of_role.values()) for of_role in times]
    rows = [
        [place_words(group), *(_cell(of_role.get(group, 0), whole) for of_role, whole in zip(times, sums, strict=True))]
        for group in dict.fromkeys(group for of_role in times for group in of_role)
    ]
    head = ["group", *(f"{role['role']} (NPU {role['npu']})" if len(roles) > 1 else role["role"] for role in shown)]
    rows.append(["all", *(format_time(whole) for whole in sums)])
    more = len(roles) - len(shown)
    note = tag("p", f"and {counted(more, 'more role')} in run.json", class_="note") if more > 0 else Markup()
    return table(head, rows, range(1, len(head))), note


def _cell(time_ps: int, whole_ps: int) -> Markup:
    told = unbroken(format_time(time_ps))
    return joined([told, " ", tag("small", percent(time_ps, whole_ps))]) if time_ps else Markup("-")


def _named(shown: Shown, runs: Sequence[Shown], *content: object) -> Markup:
    return joined([tag("h3", shown.name) if len(runs) > 1 else "", *content])
