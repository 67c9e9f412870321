"""Scaling a workload as a whole, and the warning where its parts are scaled apart."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from support.fake_backend import FakeBackend
from support.small_run import NPUS, small_network, small_run, small_system, small_workload

import astra_ns3
from astra_ns3.config.workload import Workload
from astra_ns3.errors import InputError
from astra_ns3.experiments.inputs import Options, load_inputs
from astra_ns3.experiments.jobs.graphs import GraphJob
from astra_ns3.experiments.scaling import joint_scales, scaled_apart
from astra_ns3.experiments.validate import validate
from astra_ns3.workload.files.astra_sim import parse_workload
from astra_ns3.workload.files.chakra.trace import read_chakra

SILENT = parse_workload("MICRO\n1\nonly -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 1000 0\n", "silent.txt")
MICRO = parse_workload("MICRO\n1\nonly -1 0 NONE 0 0 NONE 0 1000 ALLREDUCE 1000 0\n", "micro.txt")
TRACE = Path(__file__).parents[3] / "inputs/workload/chakra/step"
ALONE = parse_workload("DATA\n1\nonly -1 1000 NONE 0 0 NONE 0 0 NONE 0 0\n", "alone.txt")


@pytest.mark.parametrize(("comm", "compute"), [(0.01, 1.0), (1.0, 0.01), (2.1, 1.0), (0.02, 0.05), (1.0, 0.0)])
def test_scaled_apart_is_warned_of(comm: float, compute: float) -> None:
    (warning,) = scaled_apart(small_workload(), comm, compute)
    assert warning.startswith(f"small.txt: communication is scaled by {comm:g} and computation by {compute:g}")
    assert "--scale" in warning


@pytest.mark.parametrize(("comm", "compute"), [(1.0, 1.0), (2.0, 1.0), (0.5, 1.0), (0.01, 0.01), (0.01, 0.02)])
def test_scaled_about_alike_is_not(comm: float, compute: float) -> None:
    assert scaled_apart(small_workload(), comm, compute) == []


@pytest.mark.parametrize("workload", [SILENT, MICRO, ALONE], ids=["no compute", "MICRO", "no communication"])
def test_nor_is_a_workload_that_has_one_of_the_two_only(workload: Workload) -> None:
    assert scaled_apart(workload, 0.01, 1.0) == []


def test_run_and_validate_pass_the_warning_on(caplog: pytest.LogCaptureFixture) -> None:
    files = (small_workload(), small_system(), small_network())
    assert "scaled by 0.01" in validate(*files, Options(comm_scale=0.01)).warnings[0]
    assert load_inputs(*files, Options(comm_scale=0.01, compute_scale=0.01)).warnings == ()
    with caplog.at_level(logging.WARNING):
        result = astra_ns3.run(**small_run(), comm_scale=0.01)
    assert "scaled by 0.01" in caplog.text
    assert "scaled by 0.01" in result.metadata["warnings"][0]


def test_graphs_send_by_one_factor_and_compute_by_the_other() -> None:
    """A tenth of the bytes is left, cut to whole ones, and half of each duration."""
    trace = read_chakra(TRACE)
    scaled = GraphJob(trace).scaled(0.1, 0.5).workload
    pairs = list(zip(trace.nodes(0), scaled.nodes(0), strict=True))
    bytes = [(old.bytes, new.bytes) for old, new in pairs if old.bytes]
    times = [(old.duration_ps, new.duration_ps) for old, new in pairs if old.duration_ps]
    assert bytes
    assert times
    assert all(new == max(int(old * 0.1), 1) for old, new in bytes)
    assert all(new == old // 2 for old, new in times)


def test_scale_multiplies_both_and_what_they_say() -> None:
    first = astra_ns3.run(**small_run(), scale=0.5, comm_scale=0.5)
    second = astra_ns3.run(**small_run() | {"backend": FakeBackend(NPUS)}, comm_scale=0.25, compute_scale=0.5)
    assert first.finish_ps == second.finish_ps
    scales = [first.metadata["comm_scale"], first.metadata["compute_scale"]]
    assert json.dumps(scales) == "[0.25, 0.5]"


@pytest.mark.parametrize("scale", [0, -1.0, float("nan"), float("inf"), "1", True])
def test_a_scale_that_means_nothing_is_refused(scale: object) -> None:
    with pytest.raises(InputError, match=r"scale is .*, expected a number above 0"):
        joint_scales(scale, 1.0, 1.0)  # type: ignore[arg-type]
