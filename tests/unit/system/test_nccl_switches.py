"""NCCL's collectives over switches that reduce: CollNet between servers, alone and behind NVLS.

Expected bytes are formulas by hand: what a server's GPUs add up goes out once, and what comes back is passed on once.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from typing import Any

import pytest

from astra_ns3.collectives.proof import prove
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import InputError
from astra_ns3.experiments.nccl.servers_of_network import with_servers
from astra_ns3.experiments.network_parts.packet_graph import Ground
from astra_ns3.experiments.network_parts.reduction import with_switches
from astra_ns3.scenario.scenario import tenancy_of
from astra_ns3.system.channels import groups_of
from astra_ns3.system.file import parse_system
from astra_ns3.system.groups import Grid
from astra_ns3.system.nccl.planner import NcclPlanner
from astra_ns3.system.phases import Phase

KIND = CollectiveKind
LINK = {"rate": "400Gbps", "delay": "500ns"}
SWITCH: dict[str, Any] = {"buffer": "64MiB", "pfc": {}}
REDUCING = {**SWITCH, "reduction": {}}
ON = {"NCCL_COLLNET_ENABLE": 1, "version": "2.28"}


def network(
    nodes: int, npus: int, *, inside: bool = True, between: bool = True, leaves: int = 0, **keys: Any
) -> NetworkConfig:
    """Servers on one switch, or on so many leaves of two spines."""
    switch = REDUCING if between else SWITCH
    out: dict[str, Any] = {"kind": "single-switch", "link": LINK, "switch": switch}
    if leaves:
        per_leaf = nodes * npus // leaves
        out = {**out, "kind": "leaf-spine", "leaves": leaves, "spines": 2, "hosts_per_leaf": per_leaf}
    topology = {
        "kind": "hierarchical",
        "nodes": nodes,
        "npus_per_node": npus,
        "scale_up": {"link": {"rate": "3600Gbps", "delay": "250ns"}, "switch": REDUCING if inside else SWITCH},
        "scale_out": out,
        **keys,
    }
    return parse_network({"topology": topology, "transport": {"kind": "roce"}})


def system_on(of: NetworkConfig, **table: Any) -> SystemConfig:
    tenancy = tenancy_of("", None, 0, None, of.dimensions, of.bandwidths)
    placed = with_servers(parse_system({"collectives": "nccl", "nccl": table}), of, tenancy, merges=True)
    return with_switches(placed, Ground(of, tenancy, "flow", None))


def planner_on(of: NetworkConfig, **table: Any) -> NcclPlanner:
    system = system_on(of, **table)
    assert system.nccl is not None
    return NcclPlanner(system.nccl, Grid(of.dimensions), system.reduction_trees)


def phases_on(of: NetworkConfig, kind: CollectiveKind, bytes: int, **table: Any) -> list[Phase]:
    dimensions = tuple(range(len(of.dimensions)))
    return [phase for (phase,) in planner_on(of, **table).chunks(kind, bytes, dimensions)]


def sent(of: NetworkConfig, phases: list[Phase]) -> dict[tuple[str, str], Fraction]:
    """The bytes of data from ``npu``, ``own`` (a server's switch) and ``net`` (one between servers) to each."""
    world, found = Grid(of.dimensions), defaultdict[tuple[str, str], Fraction](Fraction)
    for phase in phases:
        schedule, channel = phase.schedule, phase.channel
        assert schedule is not None
        assert channel is not None
        (group,) = groups_of(phase.dimensions, channel, world)
        ranks = schedule.ranks - schedule.helpers
        assert len(group) == schedule.ranks
        assert sorted(group[:ranks]) == list(range(of.npus))
        places = ["npu"] * ranks + ["own" if at >= 0 else "net" for at in channel.beside]
        for sender, receiver, count in zip(schedule.sender, schedule.receiver, schedule.block_count, strict=True):
            found[places[sender], places[receiver]] += Fraction(int(count) * phase.bytes, schedule.blocks)
    return {key: bytes for key, bytes in found.items() if bytes}


MIB = 1 << 20


@pytest.mark.parametrize("leaves", [0, 2, 4])
@pytest.mark.parametrize(("nodes", "npus"), [(2, 4), (4, 8)])
@pytest.mark.parametrize("algorithm", ["CollNetDirect", "CollNetChain", "NVLS"])
@pytest.mark.parametrize("kind", [KIND.ALL_REDUCE, KIND.REDUCE_SCATTER, KIND.ALL_GATHER])
def test_a_server_sends_out_its_sum_once_and_each_schedule_is_proved(
    kind: CollectiveKind, algorithm: str, nodes: int, npus: int, leaves: int
) -> None:
    if algorithm == "CollNetChain" and kind is not KIND.ALL_REDUCE:
        pytest.skip("CollNetChain is an all-reduce")
    of, size = network(nodes, npus, leaves=min(leaves, nodes)), 4 * MIB
    phases = phases_on(of, kind, size, NCCL_ALGO=algorithm, **ON)
    assert {phase.algorithm.split()[1] for phase in phases} == {algorithm}
    for phase in phases:
        assert phase.schedule is not None
        prove(phase.schedule, phase.kind, shuffles=1)
    whole = size * nodes * npus if kind is KIND.ALL_GATHER else size
    out = {KIND.ALL_REDUCE: nodes, KIND.REDUCE_SCATTER: nodes - 1, KIND.ALL_GATHER: 1}[kind] * whole
    back = {KIND.ALL_REDUCE: nodes, KIND.REDUCE_SCATTER: 1, KIND.ALL_GATHER: nodes - 1}[kind] * whole
    # In each server all but the heads hand their part to the heads, or get theirs from them.
    inside = (npus - 1) * nodes * whole
    ways = 2 if kind is KIND.ALL_REDUCE else 1
    expected = {("npu", "net"): out, ("net", "npu"): back}
    if algorithm != "NVLS":
        expected["npu", "npu"] = ways * inside
    elif kind is KIND.ALL_REDUCE:
        expected |= {("npu", "own"): inside + nodes * whole, ("own", "npu"): inside + nodes * whole}
    elif kind is KIND.REDUCE_SCATTER:
        expected |= {("npu", "own"): inside, ("own", "npu"): nodes * whole}
    else:
        expected |= {("npu", "own"): nodes * whole, ("own", "npu"): inside}
    found = sent(of, phases)
    found.pop(("net", "net"), None)  # between leaves and spines
    assert found == expected


def test_heads_of_other_numbers_have_other_roots() -> None:
    of = network(4, 8, leaves=2)
    phases = phases_on(of, KIND.ALL_REDUCE, 4 * MIB, NCCL_ALGO="CollNetDirect", **ON)
    tops = set()
    for phase in phases:
        assert phase.channel is not None
        assert phase.schedule is not None
        tops |= set(phase.channel.reducers[0])
    # Two leaves and both spines: half of the heads go by each spine.
    assert len(tops) == 4


def test_a_switch_between_servers_has_room_for_chunks_of_a_channel() -> None:
    """By signals a sender has as many chunks under way as a switch's buffer holds, and 8 at most."""
    firsts = []
    for buffer in ("64KiB", "256KiB", "16MiB"):
        reducing = {**SWITCH, "reduction": {"buffer": buffer, "piece": "64KiB"}}
        out = {"kind": "single-switch", "link": LINK, "switch": reducing}
        (phase, *_) = phases_on(
            network(2, 4, scale_out=out), KIND.ALL_REDUCE, 512 * MIB, NCCL_ALGO="CollNetDirect", **ON
        )
        schedule = phase.schedule
        assert schedule is not None
        ups = (schedule.sender == 1) & (schedule.block_count > 0)
        firsts.append(int((schedule.wait_step[ups] < 0).sum()))
    assert firsts == [1, 2, 8]


def test_nvls_of_a_server_goes_by_its_own_switch_where_all_switches_reduce() -> None:
    """A GPU hangs on its server's switch and, by its NIC, on the one between servers."""
    of = network(2, 4)
    (phase, *_) = phases_on(of, KIND.ALL_REDUCE, 4 * MIB, NCCL_ALGO="NVLSTree", version="2.28")
    assert phase.channel is not None
    assert len(phase.channel.reducers[0]) == 2
    assert sent(of, [phase]).keys() == {("npu", "own"), ("own", "npu"), ("npu", "npu")}


def test_collnet_needs_to_be_asked_for_and_switches_between_servers() -> None:
    for of, table in (
        (network(2, 4), {"version": "2.28"}),
        (network(2, 4, between=False), ON),
        (network(1, 8), ON),
    ):
        planner = planner_on(of, **table)
        every = tuple(range(len(of.dimensions)))
        assert not planner.communicator(every).in_network
        assert not {"CollNetDirect", "CollNetChain"} & {name for name, _ in planner.allowed(KIND.ALL_REDUCE, every)}
        words = r"NCCL_ALGO=CollNetChain leave no .*; CollNet needs NCCL_COLLNET_ENABLE=1 and switches between servers"
        with pytest.raises(InputError, match=words):
            phases_on(of, KIND.ALL_REDUCE, MIB, NCCL_ALGO="CollNetChain", **table)
    of = network(2, 4)
    assert planner_on(of, **ON).communicator((0, 1)).in_network


def test_groups_over_servers_have_trees_of_their_own() -> None:
    """GPUs of one number, over all servers, as data parallelism has them: one GPU of each server, and no chain."""
    of = network(4, 4, leaves=2)
    planner = planner_on(of, NCCL_ALGO="CollNetChain", **ON)
    ((phase,), *_) = planner.chunks(KIND.ALL_REDUCE, 4 * MIB, (1,))
    assert phase.channel is not None
    assert len(phase.channel.reducers) == 4
    assert phase.schedule is not None
    assert phase.schedule.ranks - phase.schedule.helpers == 4


def test_nvls_needs_switches_of_servers_that_reduce() -> None:
    """One that joins the NICs of several servers is none; a server's, if it is named, is missed in a warning."""
    every = (0, 1)
    for of, able in ((network(2, 4), True), (network(2, 4, inside=False), False)):
        names = {name for name, _ in planner_on(of, version="2.28").allowed(KIND.ALL_REDUCE, every)}
        assert ("NVLSTree" in names) is able
    warned = system_on(network(2, 4, inside=False), server="dgx-h100").warnings
    assert len(warned) == 1
    assert "the switches of server 'dgx-h100' add up (NVLS), those of the network don't" in warned[0]
    assert system_on(network(2, 4, inside=False), server="dgx-h100", NCCL_NVLS_ENABLE=0).warnings == ()
    assert system_on(network(2, 4), server="dgx-h100").warnings == ()


def test_switches_that_join_nobody_are_warned_of() -> None:
    words = ("key 'nccl': NCCL_COLLNET_ENABLE changes nothing: no switch that reduces joins several servers",)
    assert system_on(network(2, 4), **ON).warnings == ()
    assert system_on(network(2, 4, between=False), **ON).warnings == words
    assert system_on(network(2, 4, between=False, inside=False), **ON).warnings == words
    assert system_on(network(1, 4), **ON).warnings == words
    assert system_on(network(2, 4, between=False)).warnings == ()
