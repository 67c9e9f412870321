"""A model's training written as Chakra's traces ends when the training itself does."""

from __future__ import annotations

from math import prod
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from support.many_networks import system_for

import astra_ns3
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.playing.converting.conversion import Unrolling, convert
from astra_ns3.playing.converting.unrolled import UnrolledLoop
from astra_ns3.playing.training.making import training_programs
from astra_ns3.workload.files.chakra.trace import read_chakra
from astra_ns3.workload.models.workload import ModelWorkload, read_model

MODEL = """kind: transformer
name: small
model: {{layers: 4, hidden: 64, heads: 4, vocabulary: 1000, tied_embeddings: on{model}}}
training: {{sequence: 64, micro_batch: 1, micro_batches: 2}}
compute: {{device: A100-80GB, overlap_slowdown: 1}}
parallel: {{{parallel}}}
"""
A_NANOSECOND_US = 0.001
EXPERTS = ", experts: {count: 4, active: 2, feed_forward: 64}"
CASES = [
    ("tensor: 2, sequence: on, pipeline: 2", "", (2, 2, 2)),
    ("tensor: 2, pipeline: 2, schedule: gpipe", "", (2, 2, 2)),
    ("pipeline: 2, schedule: interleaved, virtual_stages: 2, zero: 1", "", (4, 2)),
    ("pipeline: 4, schedule: zero-bubble, zero: 2", "", (2, 4)),
    ("context: 2, zero: 3", "", (2, 4)),
    ("expert: 4, tensor: 2", EXPERTS, (2, 4)),
    ("servers: 2", "", (8,)),
    ("data: 2, pipeline: 4, zero: 3, prefetch: 2, keep_gathered: on", "", (2, 4)),
    ("context: 2, pipeline: 2, schedule: zero-bubble, zero: 3, overlap: off", "", (2, 2, 2)),
    *(
        (f"pipeline: 2, schedule: {schedule}, zero: {zero}, overlap: {overlap}, bucket: 64KB", "", (4, 2))
        for schedule in ("1f1b", "gpipe", "zero-bubble", "interleaved, virtual_stages: 2")
        for zero, overlap in ((0, "on"), (0, "off"), (1, "off"), (2, "off"), (2, "on"), (3, "on"))
    ),
]


def _finish_us(workload: object, dimensions: tuple[int, ...], passes: int = 1) -> npt.NDArray[np.float64]:
    """Of every NPU."""
    wires = {"link": {"rate": "100Gbps", "delay": "500ns"}, "switch": {"buffer": "1GB"}}
    star = {"kind": "single-switch", "npus": prod(dimensions), "dimensions": list(dimensions), **wires}
    result = astra_ns3.run(
        workload=workload,  # type: ignore[arg-type]
        system=system_for(len(dimensions)),
        network=parse_network({"topology": star}),
        backend="analytical",
        passes=passes,
    )
    return np.array(result.npus["finish_us"], dtype=np.float64)


@pytest.mark.parametrize(("parallel", "experts", "dimensions"), CASES, ids=[case[0] for case in CASES])
def test_a_training_as_chakras_traces_ends_when_the_training_does(
    parallel: str, experts: str, dimensions: tuple[int, ...], tmp_path: Path
) -> None:
    model = _model(tmp_path, MODEL.format(model=experts, parallel=parallel))
    output = str(tmp_path / "job.et")
    convert(model, "chakra", output, Unrolling(dimensions, 2))
    groups = tmp_path / "job.groups.json"
    trace = read_chakra(tmp_path / "job", groups if groups.exists() else None)
    apart_us = np.abs(_finish_us(trace, dimensions) - _finish_us(model, dimensions, passes=2))
    assert apart_us.max() <= A_NANOSECOND_US


def test_groups_inside_a_dimension_take_longer_as_traces_and_a_warning_says_so(tmp_path: Path) -> None:
    """Gradients, which the loop sends beside sums of tensor groups, wait with these in the graph's one queue."""
    model = _model(tmp_path, MODEL.format(model="", parallel="tensor: 2, sequence: on"))
    warnings = convert(model, "chakra", str(tmp_path / "job"), Unrolling((8,))).warnings
    trace = read_chakra(tmp_path / "job", tmp_path / "job.groups.json")
    assert _finish_us(trace, (8,)).max() > 1.1 * _finish_us(model, (8,)).max()
    (warning,) = (each for each in warnings if "end inside a dimension" in each)
    assert warning.endswith("so the graph may take longer; on a network of 2x4 it has the loop's queues")
    convert(model, "chakra", str(tmp_path / "cut"), Unrolling((2, 4)))
    cut = read_chakra(tmp_path / "cut", None)
    assert np.abs(_finish_us(cut, (2, 4)) - _finish_us(model, (2, 4))).max() <= A_NANOSECOND_US


def _model(folder: Path, text: str) -> ModelWorkload:
    path = folder / "model.yaml"
    path.write_text(text, encoding="utf-8")
    return read_model(path)


def test_communicators_of_the_same_npus_stay_several(tmp_path: Path) -> None:
    """Experts over all of a gradient group: NCCL has kernels for each of the two."""
    path = tmp_path / "model.yaml"
    path.write_text(MODEL.format(model=EXPERTS, parallel="expert: 4"), encoding="utf-8")
    model = read_model(path)
    graphs = UnrolledLoop(training_programs(model.plan(4), model.clock(), 1, [4]), "LIFO")
    assert [*graphs.groups.values()] == [(0, 1, 2, 3)] * 2
    groups = {node.collective: node.group for node in graphs.nodes(0) if node.collective is not None}
    assert groups[CollectiveKind.ALL_TO_ALL] != groups[CollectiveKind.ALL_REDUCE]
