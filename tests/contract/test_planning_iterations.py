"""Second iterations of plans: each is what two runs differ by, and a faster one is told and written down."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.plans import copies_alone

import astra_ns3
from astra_ns3.network.run_document import StopDocument
from astra_ns3.planning.plan import Plan, make_plan
from astra_ns3.planning.request import AXIS, NEXT_PART, PASSES_AXIS
from astra_ns3.planning.result import document, faster_next, known_next, ranked_rows
from astra_ns3.planning.saving import save_plan, told_of
from astra_ns3.planning.search import Played
from astra_ns3.planning.text import plan_text
from astra_ns3.studies.result import StudyResult

US = {"us": 1.0, "ms": 1000.0}
SHOWN_DIGITS = 5e-4
"""Times are shown with four digits."""


def _check_why(plan: Plan) -> None:
    """What the second plan of a page loses and wins adds up to how much longer it takes; equal plans have no table."""
    rows = ranked_rows(plan)
    first = told_of(plan, rows).tables[0]
    if rows[0]["time_us"] == rows[1]["time_us"]:
        assert first.title == "Plans that were played"
        return
    shown = [line[1].split() for line in first.lines]
    more_us = [float(number) * US[unit] for number, unit in shown]
    within = SHOWN_DIGITS * sum(map(abs, more_us))
    assert min(more_us) < 0
    assert sum(more_us) == pytest.approx(rows[1]["time_us"] - rows[0]["time_us"], abs=within)


@pytest.mark.parametrize(("rate", "faster_stage"), [("400Gbps", 2), ("100Gbps", None)])
def test_a_plan_tells_the_time_of_second_iterations_and_writes_the_model_of_a_faster_one(
    tmp_path: Path, rate: str, faster_stage: int | None
) -> None:
    plan = make_plan(copies_alone(tmp_path, rate))
    next_ps = known_next(plan)
    assert plan.found.best in next_ps
    assert len(next_ps) > 1
    request = plan.request
    for choice, time_ps in next_ps.items():
        files: Any = {"workload": plan.workload(choice), "system": request.system_config, "network": request.network}
        one, two = (astra_ns3.run(**files, backend="flow", passes=passes).finish_ps for passes in (1, 2))
        assert time_ps == two - one
    save_plan(plan)
    faster, text = faster_next(plan), plan_text(plan)
    assert (None if faster is None else faster.zero) == faster_stage
    assert (f"from the second iteration on, {'' if faster is None else faster.name} is faster: " in text) == (
        faster is not None
    )
    assert ("its file is best-next.yaml" in text) == (faster is not None)
    assert (request.folder / "best-next.yaml").is_file() == ("best-next.yaml" in text) == (faster is not None)
    _check_why(plan)
    rows = {row["plan"]: row["next_us"] for row in ranked_rows(plan)}
    shown = {each.name: time_ps for each, time_ps in next_ps.items() if each in plan.found.ranked}
    assert {name: rows[name] for name in shown} == {name: time_ps / 1e6 for name, time_ps in shown.items()}
    fastest = faster or plan.found.best
    assert fastest is not None
    said: Any = document(plan)["next_iterations"]
    assert said[0]["plan"] == fastest.name
    assert [each["next_us"] for each in said] == sorted(each["next_us"] for each in said)


def test_a_failed_run_of_the_best_s_second_iteration_is_told_with_its_reason(tmp_path: Path) -> None:
    plan = make_plan(copies_alone(tmp_path, "400Gbps"))
    best, following, study = plan.found.best, plan.following, plan.study
    assert best is not None
    assert following is not None
    assert "more --cpu-time" not in plan_text(plan)
    (address,) = (
        point.address
        for point in study.expansion.points
        if point.part == NEXT_PART and (point.labels[AXIS], point.labels[PASSES_AXIS]) == (best.name, 2)
    )
    error = StopDocument(kind="LimitReached", message="no memory is left", exit_status=4)
    failed = replace(study.outcomes[address], status="failed", error=error)
    outcomes = {**study.outcomes, address: failed}
    told = replace(
        plan,
        following=replace(following, played={**following.played, best: Played(None, 1.0)}),
        study=StudyResult(study.expansion, outcomes, study.folder),
    )
    text = plan_text(told)
    assert "the second of the best isn't known: its run of 2 iterations failed: no memory is left" in text
    assert "more --cpu-time" not in text
