"""NCCL plans for the GPUs that a group has in each server, as if the server had no others."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.seated_gpus import SERVERS as NODES
from support.seated_gpus import network_of

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.nccl import NcclConfig
from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.experiments.inputs import Options, load_inputs
from astra_ns3.nccl.graphs import graph_of
from astra_ns3.nccl.links import links_of
from astra_ns3.nccl.orders import nics_of_gpus
from astra_ns3.nccl.server import beginning_with
from astra_ns3.nccl.servers import SERVERS, server_named
from astra_ns3.system.file import parse_system
from astra_ns3.system.groups import Grid
from astra_ns3.system.nccl.planner import NcclPlanner
from astra_ns3.system.phases import Phase
from astra_ns3.workload.files.astra_sim import parse_workload

MIB = 1 << 20


def planner_of(network: NetworkConfig, sizes: tuple[int, ...], **table: Any) -> NcclPlanner:
    """The planner of all NPUs of a network, cut into dimensions."""
    inputs = load_inputs(
        parse_workload("DATA\n1\nonly -1 1 NONE 0 1 NONE 0 1 NONE 0 0\n"),
        parse_system({"collectives": "nccl", "nccl": table}),
        network,
        Options(backend="flow"),
    )
    assert inputs.system.nccl is not None
    return NcclPlanner(inputs.system.nccl, Grid(sizes), inputs.system.reduction_trees)


@pytest.mark.parametrize("kind", [CollectiveKind.ALL_REDUCE, CollectiveKind.ALL_TO_ALL, CollectiveKind.BROADCAST])
@pytest.mark.parametrize("tensor", [2, 4])
def test_groups_over_a_dimension_have_the_plan_of_their_gpus(kind: CollectiveKind, tensor: int) -> None:
    """GPUs 0, 2, 4, 6 and 1, 3, 5, 7: for NCCL these are servers of 4 GPUs, and of 2 if every fourth is in a group."""
    of_server = 8 // tensor
    planner = planner_of(network_of(8, 4), (tensor, of_server, NODES))
    alone = planner_of(network_of(of_server, of_server), (of_server, NODES))
    found = [phase for (phase,) in planner.chunks(kind, MIB, (1, 2))]
    same = [phase for (phase,) in alone.chunks(kind, MIB, (0, 1))]
    assert [*map(_what_is_played, found)] == [*map(_what_is_played, same)]
    assert not planner.unlike_groups


def _what_is_played(phase: Phase) -> tuple[object, ...]:
    schedule, channel = phase.schedule, phase.channel
    assert schedule is not None
    assert channel is not None
    return phase.algorithm, phase.bytes, [*schedule.sender], [*schedule.receiver], channel.order, channel.channels


@pytest.mark.parametrize("server", ["p4d", "dgx-1v", "dgx-a100", "a100-slingshot", "dgx-h100"])
def test_the_first_gpus_have_the_plan_of_the_server_as_it_is(server: str) -> None:
    gpus = server_named(server).gpus
    planner = planner_of(network_of(gpus, gpus), (gpus, NODES), server=server)
    assert planner.communicator((0, 1)).server is server_named(server)
    assert planner.communicator((0,)).server is server_named(server)


def test_pairs_of_gpus_have_their_own_nvlinks() -> None:
    """On a DGX-1, one NVLink of 20 GB/s joins GPUs 0 and 1, and two join 0 and 3; 1 and 4 have none between them."""
    inside = {"version": "2.21", "server": "dgx-1v"}
    table = parse_system({"collectives": "nccl", "nccl": inside}).nccl
    assert table is not None

    def of(*gpus: int) -> NcclPlanner:
        placed = table.placed(server_named("dgx-1v"), (0,) * len(gpus), merges=True, gpus=gpus)
        return NcclPlanner(placed, Grid((len(gpus),)))

    widths = {}
    for gpus in ((0, 1), (1, 0), (4, 5), (0, 3), (6, 7)):
        graph = graph_of(of(*gpus).communicator((0,)), "ring")
        widths[gpus] = graph.channels * graph.bw_intra
    assert widths[0, 1] == widths[1, 0] == widths[4, 5] == 20
    assert widths[0, 3] == widths[6, 7] == 40
    assert not links_of(of(1, 4).communicator((0,))).pairs
    assert of(4, 5, 6, 7).communicator((0,)).server != of(0, 1, 2, 3).communicator((0,)).server
    four = [graph_of(of(*gpus).communicator((0,)), "ring") for gpus in ((0, 1, 2, 3), (4, 5, 6, 7))]
    assert four[0] == four[1]


@given(st.data())
def test_each_nic_and_nvlink_stays_with_its_gpus(data: st.DataObject) -> None:
    server = data.draw(st.sampled_from([each for each in SERVERS.values() if each.gpus <= 16]))
    gpus = tuple(data.draw(st.lists(st.integers(0, server.gpus - 1), min_size=1, unique=True)))
    found = beginning_with(server, gpus)
    for (one, first), (other, second) in product(enumerate(gpus), repeat=2):
        shared = [nic.gbits_per_s for nic in server.nics if {first, second} <= {*nic.near}]
        assert [nic.gbits_per_s for nic in found.nics if {one, other} <= {*nic.near}] == shared
        links = [count for a, b, count in server.pairs if {a, b} == {first, second}]
        assert [count for a, b, count in found.pairs if {a, b} == {one, other}] == links


@pytest.mark.parametrize("server", ["p4d", "dgx-a100", "dgx-h100", "dgx-1v"])
def test_gpus_send_by_nics_next_to_them_and_share_them_evenly(server: str) -> None:
    whole = server_named(server)
    for gpus in ((0, 2, 4, 6), (0, 1, 2), (1, 6, 7), (0, 2, 3), (5,), tuple(range(8))):
        table = NcclConfig().placed(whole, (0,) * len(gpus) + (1,) * len(gpus), merges=True, gpus=gpus * 2)
        nics = nics_of_gpus(NcclPlanner(table, Grid((2 * len(gpus),))).communicator((0,)))
        own = [
            {place for place, other in enumerate(gpus) if _near(server, gpu) == _near(server, other)} for gpu in gpus
        ]
        for place, nic in enumerate(nics):
            users = {other for other, of_other in enumerate(nics) if of_other == nic}
            assert users <= own[place]
            assert len(users) <= -(-len(own[place]) // len(_near(server, gpus[place])))


def _near(server: str, gpu: int) -> list[int]:
    return [number for number, nic in enumerate(server_named(server).nics) if gpu in nic.near]


@pytest.mark.parametrize(
    ("gpus", "nics", "tensor", "told"),
    [(6, 2, 2, True), (6, 3, 2, False), (6, 3, 3, False), (8, 4, 2, False), (8, 2, 4, False), (6, 2, 6, False)],
)
def test_groups_that_differ_in_their_nics_are_told(
    gpus: int, nics: int, tensor: int, *, told: bool, tmp_path: Path
) -> None:
    """GPUs 0 to 2 share a NIC: of 0, 2, 4 two are next to the first NIC, of 1, 3, 5 one is."""
    file = tmp_path / "system.yaml"
    file.write_text("collectives: nccl\n", encoding="utf-8")
    loop = "HYBRID_TRANSFORMER model_parallel_NPU_group: {}\n1\nonly -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 1000000 0\n"
    found = load_inputs(parse_workload(loop.format(tensor)), file, network_of(gpus, nics), Options(backend="flow"))
    words = [each for each in found.warnings if "NCCL's groups" in each]
    assert bool(words) == told
    assert all(each.startswith(f"{file}: NCCL's groups of {gpus // tensor * 4} NPUs: ") for each in words)
    assert all(each.endswith("may take too long, up to as many times as GPUs share a NIC") for each in words)
