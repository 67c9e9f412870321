"""Choices that a model's file takes and its planning refuses: they are left out of a plan, and counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from support.models import model_of
from support.plans import Case, one_switch, rings, servers, small_llama

from astra_ns3.errors import InputError
from astra_ns3.planning.plan import Bounded, bounds_of
from astra_ns3.planning.request import PlanRequest
from astra_ns3.planning.text import left_out_text
from astra_ns3.workload.models.changes import changed
from astra_ns3.workload.models.workload import ModelWorkload

NPUS = 4
EXPERTS = {"count": 4, "active": 2, "feed_forward": 256}
DLRM = {
    "bottom": [16],
    "top": [32, 1],
    "tables": 8,
    "rows": 1000,
    "embedding": 16,
    "dense_features": 16,
    "placement": "table",
    "pooling": 4,
}


def by_file(folder: Path) -> dict[str, Any]:
    """Experts that tokens of four places choose, as a file has them."""
    rows = [f"{source},{expert},1" for source in range(4) for expert in range(4)]
    (folder / "routing.csv").write_text("\n".join(["source,expert,tokens", *rows]), encoding="utf-8")
    return {"experts": {**EXPERTS, "routing": str(folder / "routing.csv")}}


def measured(folder: Path) -> dict[str, Any]:
    """Times of products that were measured for half a batch's rows and more, and are taken nowhere else."""
    rows = [f"matmul,{m},{n},{k},1000" for m in (64, 4096) for n in (32, 4096) for k in (128, 4096)]
    (folder / "times.csv").write_text("\n".join(["kind,m,n,k,time_ns", *rows]), encoding="utf-8")
    return {"kind": "table", "file": str(folder / "times.csv"), "device": "H100", "extrapolate": False}


def workload_of(name: str, folder: Path) -> ModelWorkload:
    if name == "overlap":
        return small_llama(parallel={"overlap_tensor": True})
    if name == "nodes":
        experts = {**EXPERTS, "routing": "zipf", "node_limit": 1, "npus_per_node": 2}
        return small_llama({"layers": 1, "experts": experts}, samples=2)
    if name == "times":
        return small_llama(compute=measured(folder))
    return small_llama({"layers": 1, **by_file(folder)}, samples=4, parallel={"expert": NPUS})


def test_a_model_whose_layers_no_pipeline_takes_has_no_plan_with_stages() -> None:
    dlrm = model_of({"kind": "dlrm", "name": "small", "model": DLRM, "training": {"micro_batch": 16}})
    case = Case(dlrm, rings(), one_switch(NPUS))
    space = case.space
    assert {each.cell.degrees.pipeline for each in case.choices(space)} == {1}
    assert all(is_played(changed(space.workload, each.keys)) for each in case.choices(space))


def is_played(workload: ModelWorkload) -> bool:
    """Whether a run would take it: its plan, and the time of all that it computes."""
    try:
        plan, clock = workload.plan(NPUS), workload.clock()
        return all(clock.time_ps(operation) >= 0 for operation in plan.operations())
    except InputError:
        return False


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("overlap", "parallel.overlap_tensor is on"),
        ("nodes", "npus_per_node is 2"),
        ("routing", "source is '1'"),
        ("times", "measured"),
    ],
)
def test_choices_that_no_run_would_take_are_left_out_and_counted(name: str, why: str, tmp_path: Path) -> None:
    case = Case(workload_of(name, tmp_path), rings(), one_switch(NPUS))
    space = case.space
    played = {each.name for each in case.choices(space) if is_played(changed(space.workload, each.keys))}
    for file, data in (("model", space.workload.file.document()), ("network", case.network.document())):
        (tmp_path / f"{file}.yaml").write_text(yaml.safe_dump(data), encoding="utf-8")
    found = bounds_of(PlanRequest(tmp_path / "model.yaml", tmp_path / "network.yaml"), space)
    assert {each.choice.name for each in found.bounds} == played
    assert sum(found.left_out.values()) == len(case.choices(space)) - len(played) > 0
    assert why in left_out_text(found.left_out)


def test_degrees_that_fit_in_no_dimension_are_left_out_and_counted(tmp_path: Path) -> None:
    """On three servers of four a pipeline of two has stages of six NPUs: a server and a half."""
    model = small_llama(samples=12)
    for file, data in (("model", model.file.document()), ("network", servers(3, 4).document())):
        (tmp_path / f"{file}.yaml").write_text(yaml.safe_dump(data), encoding="utf-8")
    request = PlanRequest(tmp_path / "model.yaml", tmp_path / "network.yaml")
    bounded = Bounded()
    found = bounded.bounds(request, bounded.space(request))
    assert "data 12, zero 1, micro-batch 1" in {each.choice.name for each in found.bounds}
    assert {each.choice.cell.degrees.pipeline for each in found.bounds} == {1, 3}
    assert sum(found.left_out.values()) > 0
    assert all("don't fit dimensions of 4x3" in why for why in found.left_out)


def test_plans_change_degrees_and_not_the_kernel_of_attention(tmp_path: Path) -> None:
    """A ring of contexts keeps no scores, so it would be fast by that alone where the file's kernel keeps them."""
    for fused, held in ((False, {}), (True, {}), (False, {"parallel.context": 2})):
        model = small_llama({"fused_attention": fused})
        for file, data in (("model", model.file.document()), ("network", one_switch(NPUS).document())):
            (tmp_path / f"{file}.yaml").write_text(yaml.safe_dump(data), encoding="utf-8")
        request = PlanRequest(tmp_path / "model.yaml", tmp_path / "network.yaml", held=held)
        bounded = Bounded()
        found = bounded.bounds(request, bounded.space(request))
        contexts = {each.choice.cell.degrees.context for each in found.bounds}
        assert contexts == ({2} if held else {1, 2, 4} if fused else {1})
        assert ("a ring's attention keeps no scores" in " ".join(found.left_out)) == (not fused and not held)


@pytest.mark.parametrize("fused", [False, True])
def test_a_ring_over_context_that_the_file_has_itself_can_be_played(fused: bool, tmp_path: Path) -> None:
    """Its kernel is the file's own, while that of the same degrees with another stage of ZeRO would be another's."""
    model = small_llama({"fused_attention": fused}, parallel={"context": 2, "zero": 1})
    for file, data in (("model", model.file.document()), ("network", one_switch(NPUS).document())):
        (tmp_path / f"{file}.yaml").write_text(yaml.safe_dump(data), encoding="utf-8")
    request = PlanRequest(tmp_path / "model.yaml", tmp_path / "network.yaml")
    bounded = Bounded()
    found = bounded.bounds(request, bounded.space(request))
    rings = [each.choice.name for each in found.bounds if each.choice.cell.degrees.context > 1]
    assert "context 2, data 2, zero 1, micro-batch 1" in rings
    assert (len(rings) == 1) == (not fused)
    assert found.own_why == ""
