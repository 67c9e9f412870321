"""The studies of congestion control and of transports expand under both presets, to the points that they promise."""

from __future__ import annotations

from pathlib import Path

import pytest

from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.config.topology.nodes import Hierarchical
from astra_ns3.config.topology.switched import LeafSpine
from astra_ns3.studies.expansion import Expansion, Point, expand
from astra_ns3.studies.file import read_study

FOLDER = Path(__file__).parents[3] / "inputs" / "studies"
CONTROLS = {"none", "static-window", "dcqcn", "timely", "dctcp", "hpcc", "hpcc-pint", "swift"}


def _expanded(name: str, preset: str) -> Expansion:
    return expand(read_study(FOLDER / f"{name}.yaml"), preset)


def _network(point: Point) -> NetworkConfig:
    network = point.request.network
    assert isinstance(network, NetworkConfig)
    return network


def _npus(expansion: Expansion) -> set[int]:
    return {_network(point).topology.npu_count() for point in expansion.points}


@pytest.mark.parametrize("name", ["roce", "transport"])
@pytest.mark.parametrize(("preset", "npus"), [("laptop", 32), ("paper", 128)])
def test_every_point_is_read_and_has_the_size_of_the_preset(name: str, preset: str, npus: int) -> None:
    expansion = _expanded(name, preset)
    assert _npus(expansion) == {npus}
    assert not expansion.warnings


def test_the_matrix_of_transports_has_36_combinations() -> None:
    points = [point for point in _expanded("transport", "laptop").points if point.part == "matrix"]
    combinations = {tuple(sorted(point.labels.items(), key=str)) for point in points}
    assert len(combinations) == 36
    assert len({point.address for point in points}) == len(points) == 36 * len({point.seed for point in points})


def test_every_control_meets_every_workload_and_every_platform() -> None:
    points = _expanded("roce", "laptop").points
    for part, axis, values in (
        ("workloads", "workload", {"all-reduce", "all-to-all", "DLRM", "ResNet-50", "BERT-large"}),
        ("platforms", "platform", {"switch", "clos", "nvswitch-clos"}),
    ):
        met = {(point.labels["control"], point.labels[axis]) for point in points if point.part == part}
        assert met == {(control, value) for control in CONTROLS for value in values}


def test_the_parts_that_draw_at_random_have_several_seeds() -> None:
    for name, parts in (("roce", ("routing", "starts")), ("transport", ("matrix", "jitter", "queue-pairs", "loss"))):
        points = _expanded(name, "laptop").points
        for part in parts:
            assert len({point.seed for point in points if point.part == part}) > 1, part


def test_all_platforms_of_a_preset_are_equally_oversubscribed() -> None:
    for preset in ("laptop", "paper"):
        for point in _expanded("roce", preset).points:
            if point.part != "oversubscription" and point.labels.get("platform") != "switch":
                topology = _network(point).topology
                fabric = topology.scale_out if isinstance(topology, Hierarchical) else topology
                assert isinstance(fabric, LeafSpine)
                assert fabric.hosts_per_leaf == 2 * fabric.spines, point.name
