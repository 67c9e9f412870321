"""A model beside the text of its loop: both expose the same time, or a warning says why they don't."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.many_networks import system_for
from support.models import model_of, small_gpt
from support.plans import one_switch

import astra_ns3
from astra_ns3.config.workload import Workload
from astra_ns3.units import PS_PER_NS
from astra_ns3.workload.models.as_loop import lost_as_loop, model_as_loop
from astra_ns3.workload.models.changes import changed
from astra_ns3.workload.models.workload import ModelWorkload

TABLE = "Layer,m,n,k\none,4096,1024,1024\ntwo,4096,1024,2048\nthree,4096,2048,1024\n"
NPUS = 4
ORDER = ("before those of a layer's input", "behind gradients of weights otherwise")
COMPUTE = {"device": "H100", "launch_overhead": 0, "overlap_slowdown": 1, "scale_up_efficiency": 1}
ROUNDED_PS = 100 * PS_PER_NS
"""The text has whole nanoseconds: up to one for each of fewer than 100 computations."""


def gemms(folder: Path, tensor: int) -> ModelWorkload:
    (folder / "table.csv").write_text(TABLE, encoding="utf-8")
    shape = {"table": str(folder / "table.csv")}
    return model_of({"kind": "gemms", "name": "table", "model": shape, "parallel": {"tensor": tensor}})


def model(name: str, folder: Path) -> ModelWorkload:
    degrees = {"copies": {}, "tensor": {"tensor": NPUS}, "overlapped": {"tensor": NPUS, "overlap_tensor": True}}
    if name == "table":
        return gemms(folder, NPUS)
    return small_gpt({"tied_embeddings": False}, degrees[name])


def exposed_ps(workload: ModelWorkload | Workload) -> int:
    """What an NPU doesn't compute for: the update, which the model alone has, isn't in it."""
    system, network = system_for(1), one_switch(NPUS, "50Gbps")
    result = astra_ns3.run(workload=workload, system=system, network=network, backend="analytical", isolated=False)
    found: int = result.metadata["exposed_ps"]
    return found


@pytest.mark.parametrize(
    ("name", "alike"), [("copies", False), ("tensor", False), ("overlapped", False), ("table", True)]
)
def test_a_text_exposes_what_the_model_does_or_a_warning_says_that_its_order_is_another(
    name: str, alike: bool, tmp_path: Path
) -> None:
    found = changed(model(name, tmp_path), {"compute": dict[str, Any](COMPUTE), "training.optimizer": "sgd"})
    told = [words for words in lost_as_loop(found, NPUS) if any(order in words for order in ORDER)]
    difference_ps = exposed_ps(found) - exposed_ps(model_as_loop(found, NPUS))
    assert (abs(difference_ps) <= ROUNDED_PS) == alike
    assert len(told) == (not alike)
