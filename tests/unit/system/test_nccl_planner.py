"""Collectives as NCCL plays them: who plays each channel, and that all channels together bring what is promised."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracles.lane_play import most_under_way

from astra_ns3.config.core.collective_kind import ROOTED, CollectiveKind
from astra_ns3.config.nccl import NcclConfig
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.config.system import MOST_CHANNELS, SystemConfig
from astra_ns3.errors import InputError
from astra_ns3.experiments.nccl import servers_of_network
from astra_ns3.experiments.nccl.servers_of_network import lets_merge, with_servers
from astra_ns3.experiments.network_parts.packet_graph import Ground
from astra_ns3.experiments.network_parts.reduction import with_switches
from astra_ns3.frozen import replace
from astra_ns3.nccl.copying import work_of_pat
from astra_ns3.nccl.servers import server_named
from astra_ns3.scenario.scenario import Tenancy, tenancy_of
from astra_ns3.system.channels import groups_of
from astra_ns3.system.file import parse_system
from astra_ns3.system.groups import Grid
from astra_ns3.system.nccl.parts import Part, costs_of
from astra_ns3.system.nccl.planner import NcclPlanner
from astra_ns3.system.phases import Phase

KINDS = (
    CollectiveKind.ALL_REDUCE,
    CollectiveKind.REDUCE_SCATTER,
    CollectiveKind.ALL_GATHER,
    CollectiveKind.ALL_TO_ALL,
    CollectiveKind.BROADCAST,
    CollectiveKind.REDUCE,
)
LINK = {"rate": "400Gbps", "delay": "500ns"}
SWITCH = {"buffer": "64MiB", "pfc": {}}
REDUCING = {"link": {"rate": "3600Gbps", "delay": "250ns"}, "switch": {**SWITCH, "reduction": {}}}


def servers_network(nodes: int, npus: int, **keys: Any) -> NetworkConfig:
    topology = {
        "kind": "hierarchical",
        "nodes": nodes,
        "npus_per_node": npus,
        "scale_up": {"link": {"rate": "3600Gbps", "delay": "250ns"}, "switch": SWITCH},
        "scale_out": {"kind": "single-switch", "link": LINK, "switch": SWITCH},
        **keys,
    }
    return parse_network({"topology": topology, "transport": {"kind": "roce"}})


def _tenancy(network: NetworkConfig, npus: Sequence[int] | None = None) -> Tenancy:
    return tenancy_of("", npus, 0, None, network.dimensions, network.bandwidths)


def system_on(
    network: NetworkConfig, *, backend: str = "flow", npus: Sequence[int] | None = None, **table: Any
) -> SystemConfig:
    system = parse_system({"collectives": "nccl", "nccl": table})
    merges, tenancy = lets_merge(system, network, backend), _tenancy(network, npus)
    placed = with_servers(system, network, tenancy, merges=merges)
    return with_switches(placed, Ground(network, tenancy, backend, None))


def planner_of(system: SystemConfig, *sizes: int) -> NcclPlanner:
    assert system.nccl is not None
    return NcclPlanner(system.nccl, Grid(sizes), system.reduction_trees)


def phases_of(
    network: NetworkConfig, kind: CollectiveKind, bytes: int, *, backend: str = "flow", **table: Any
) -> list[Phase]:
    """Of a collective of all NPUs."""
    dimensions = tuple(range(len(network.dimensions)))
    planner = planner_of(system_on(network, backend=backend, **table), *network.dimensions)
    return [phase for (phase,) in planner.chunks(kind, bytes, dimensions)]


def sent_in_all(kind: CollectiveKind, servers: int, gpus: int, bytes: int) -> int:
    """What all ranks send together, whatever algorithm carries each byte no more than once to whom it is for.

    A message to another number in another server is sent twice: to the GPU with that number, and on.
    """
    ranks = servers * gpus
    relayed = (servers - 1) * (gpus - 1)
    return {
        CollectiveKind.ALL_REDUCE: 2 * (ranks - 1) * bytes,
        CollectiveKind.REDUCE_SCATTER: (ranks - 1) * bytes,
        CollectiveKind.ALL_GATHER: ranks * (ranks - 1) * bytes,
        CollectiveKind.ALL_TO_ALL: (ranks - 1 + relayed) * bytes,
        CollectiveKind.BROADCAST: (ranks - 1) * bytes,
        CollectiveKind.REDUCE: (ranks - 1) * bytes,
    }[kind]


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    sizes=st.sampled_from([(1, 2), (1, 8), (2, 4), (2, 8), (4, 8), (3, 4), (16, 2)]),
    bytes=st.integers(1, 1 << 28) | st.sampled_from([1 << power for power in range(3, 31)]),
    algorithms=st.sampled_from([None, "Ring", "Tree,Ring", "^NVLS,NVLSTree", "^Tree"]),
    protocol=st.sampled_from([None, "Simple", "LL", "^LL"]),
    channels=st.sampled_from(["each", "merged"]),
    version=st.sampled_from(["2.18", "2.21", "2.26", "2.28", "2.30"]),
)
@example(CollectiveKind.REDUCE_SCATTER, (1, 8), 1, None, "Simple", "each", "2.21")
@example(CollectiveKind.REDUCE_SCATTER, (1, 8), 1001, None, "Simple", "each", "2.21")
@example(CollectiveKind.ALL_GATHER, (1, 8), 1, None, "Simple", "each", "2.21")
def test_channels_are_played_by_all_and_carry_all_together(
    kind: CollectiveKind,
    sizes: tuple[int, int],
    bytes: int,
    algorithms: str | None,
    protocol: str | None,
    channels: str,
    version: str,
) -> None:
    network = servers_network(*sizes)
    given_keys = {"NCCL_ALGO": algorithms, "NCCL_PROTO": protocol}
    table = {key: value for key, value in given_keys.items() if value is not None}
    phases = phases_of(network, kind, bytes, version=version, channels=channels, **table)
    ranks = sizes[0] * sizes[1]
    assert 1 <= len(phases) <= MOST_CHANNELS
    # NVLS gathers by broadcasts, one for each rank's part; all others share the bytes of a rank among channels.
    broadcasts = kind is CollectiveKind.ALL_GATHER and {phase.kind for phase in phases} == {CollectiveKind.BROADCAST}
    expected = ranks * bytes if broadcasts else bytes
    if kind is CollectiveKind.ALL_TO_ALL:  # a rank's part for itself stays; each channel has a byte at least
        expected = max(bytes * (ranks - 1) // ranks, len(phases))
    assert expected <= sum(phase.bytes for phase in phases) <= expected + len(phases)
    if kind is not CollectiveKind.ALL_TO_ALL:
        assert sum(phase.bytes for phase in phases) == expected
    assert len({phase.queue for phase in phases}) == len(phases)  # each follows its own kind only
    carried, messages = 0, 0
    for phase in phases:
        schedule, channel = phase.schedule, phase.channel
        assert schedule is not None
        assert channel is not None
        assert schedule.ranks == ranks
        for group in groups_of(phase.dimensions, channel, Grid(network.dimensions)):
            assert sorted(group) == list(range(ranks))
        carried += schedule.all_bytes(phase.bytes)
        messages += schedule.messages
    # A block is rounded to whole bytes, one at least, and a signal is one.
    assert abs(carried - sent_in_all(kind, *sizes, bytes)) <= messages


@pytest.mark.parametrize("channels", ["each", "merged"])
@pytest.mark.parametrize("reducing", [False, True])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name.lower())
def test_few_bytes_need_no_signals_but_those_by_which_a_broadcast_or_a_reduce_ends(
    kind: CollectiveKind, reducing: bool, channels: str
) -> None:
    """Slots hold all of 64 bytes. In the chain of 4 ranks, each but the last one is told."""
    of = servers_network(1, 4, **({"scale_up": REDUCING} if reducing else {}))
    table: dict[str, Any] = {"NCCL_ALGO": "NVLS"} if reducing and kind in KINDS[:3] else {}
    expected = 3 if kind in (CollectiveKind.BROADCAST, CollectiveKind.REDUCE) else 0
    for phase in phases_of(of, kind, 64, channels=channels, **table):
        assert phase.schedule is not None
        assert np.count_nonzero(phase.schedule.block_count == 0) == expected


@pytest.mark.parametrize("channels", ["each", "merged"])
@pytest.mark.parametrize("kind", ROOTED, ids=lambda kind: kind.name.lower())
@pytest.mark.parametrize(("protocol", "slot"), [("LL", 32 << 10), ("LL128", 576_000), ("Simple", 512 << 10)])
def test_pieces_of_a_broadcast_s_and_a_reduce_s_chunks_fill_the_slots_that_chunks_fill(
    protocol: str, slot: int, kind: CollectiveKind, channels: str
) -> None:
    """A channel's part fills 12 slots; 4 GPUs. Signals tell of chunks, four on each edge, and of the end."""
    count = 24
    phases = phases_of(servers_network(1, 4), kind, 12 * slot * count, channels=channels, NCCL_PROTO=protocol)
    schedule, channel = phases[0].schedule, phases[0].channel
    assert schedule is not None
    assert channel is not None
    assert channel.channels * len(phases) == count
    chunk, piece = slot * channel.channels, phases[0].bytes / schedule.blocks
    assert 7 * chunk < most_under_way(schedule, 1, lazy=True) * piece <= 8 * chunk
    assert (piece < chunk / 2) is (protocol != "Simple")
    assert 3 * (4 + 1) <= np.count_nonzero(schedule.block_count == 0) <= 3 * (5 + 1)


@pytest.mark.parametrize("kind", ROOTED, ids=lambda kind: kind.name.lower())
@pytest.mark.parametrize("protocol", ["LL", "LL128"])
def test_a_broadcast_s_and_a_reduce_s_pieces_are_few(protocol: str, kind: CollectiveKind) -> None:
    """Latencies hide the copying of few bytes, and two GPUs fill no chain."""
    counts = {}
    for servers, gpus in ((1, 2), (2, 8), (16, 8)):
        for power in range(3, 34, 3):
            phases = phases_of(servers_network(servers, gpus), kind, 1 << power, NCCL_PROTO=protocol)
            counts[servers * gpus, power] = max(phase.schedule.blocks for phase in phases if phase.schedule)
    assert max(counts.values()) == 128
    assert max(counts[16, 3], counts[128, 3], counts[2, 18]) == 1
    assert all(counts[ranks, power - 3] <= counts[ranks, power] for ranks, power in counts if power > 12)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name.lower())
def test_merged_channels_are_as_fast_together_as_each_by_itself(kind: CollectiveKind) -> None:
    network, bytes = servers_network(1, 8), 1 << 24
    each, merged = (
        phases_of(network, kind, bytes, channels=which, NCCL_ALGO="Ring,Tree") for which in ("each", "merged")
    )
    assert len(merged) <= len(each)
    rates = [sum(phase.channel.costs.near_copy_bytes_per_ms for phase in of if phase.channel) for of in (each, merged)]
    assert rates[0] == pytest.approx(rates[1], rel=1e-4)
    assert sum(phase.channel.channels for phase in merged if phase.channel) == len(each)


def test_absent_words_play_each_channel_on_packets_and_flows_and_merge_elsewhere() -> None:
    network = servers_network(1, 8)
    counts = {
        name: len(phases_of(network, CollectiveKind.ALL_REDUCE, 1 << 24, backend=name, NCCL_ALGO="Ring"))
        for name in ("ns3", "flow", "analytical")
    }
    assert counts["ns3"] == counts["flow"] > counts["analytical"]


@pytest.mark.parametrize(
    ("words", "merged"), [({}, False), ({"channels": "each"}, False), ({"channels": "merged"}, True)]
)
def test_flows_merge_channels_only_if_asked(words: dict[str, str], merged: bool) -> None:
    phases = phases_of(servers_network(2, 8), CollectiveKind.ALL_REDUCE, 1 << 24, NCCL_ALGO="Ring", **words)
    assert ({phase.channel.channels for phase in phases if phase.channel} == {1}) is not merged


def test_nobody_plays_where_there_is_nothing_to_send_or_nobody_to_send_to() -> None:
    network = servers_network(2, 4)
    planner = planner_of(system_on(network), *network.dimensions)
    assert planner.chunks(CollectiveKind.ALL_REDUCE, 0, (0, 1)) == []
    assert planner.chunks(CollectiveKind.ALL_REDUCE, 1000, ()) == []


@pytest.mark.parametrize("kind", [*KINDS, CollectiveKind.BARRIER])
@pytest.mark.parametrize("size", [0, 4, 200_000, 30_000_000])
def test_the_name_is_that_of_what_is_played(kind: CollectiveKind, size: int) -> None:
    system, dimensions = system_on(servers_network(2, 4)), (0, 1)
    for (phase,) in planner_of(system, 4, 2).chunks(kind, size, dimensions):
        assert planner_of(system, 4, 2).name(kind, size, dimensions) == phase.algorithm


def test_groups_of_a_dimension_are_one_communicator_each() -> None:
    """NPUs of a node play inside it; those of the same place in each node are one GPU a server."""
    network = servers_network(2, 4)
    planner = planner_of(system_on(network, NCCL_ALGO="Ring"), 4, 2)
    grid = Grid((4, 2))
    expected = {(0,): [[0, 1, 2, 3], [4, 5, 6, 7]], (1,): [[0, 4], [1, 5], [2, 6], [3, 7]]}
    for dimensions, groups in expected.items():
        for (phase,) in planner.chunks(CollectiveKind.ALL_REDUCE, 1 << 20, dimensions):
            assert sorted(map(sorted, groups_of(phase.dimensions, phase.channel, grid))) == groups


def test_a_ring_leaves_each_server_once() -> None:
    """NPUs are numbered server after server, and so few messages of a ring go between servers as there are servers."""
    network = servers_network(4, 8)
    servers = system_on(network).servers
    assert servers == tuple(npu // 8 for npu in range(32))
    for phase in phases_of(network, CollectiveKind.ALL_REDUCE, 1 << 26, NCCL_ALGO="Ring", channels="each"):
        assert phase.channel is not None
        order = phase.channel.order
        crossings = sum(servers[a] != servers[b] for a, b in zip(order, order[1:] + order[:1], strict=True))
        assert crossings == 4


def test_a_tenant_s_npus_stand_in_their_servers() -> None:
    network = servers_network(3, 4)
    assert system_on(network, npus=range(4, 12)).servers == (1, 1, 1, 1, 2, 2, 2, 2)
    assert system_on(network, npus=[11, 0, 5]).servers == (2, 0, 1)


def test_another_system_stays_as_it_is() -> None:
    network = servers_network(2, 4)
    system = parse_system({"scheduling-policy": "LIFO", "preferred-dataset-splits": 1})
    assert with_servers(system, network, _tenancy(network), merges=True) is system
    assert not system.plays_nccl
    assert system.servers == ()


@pytest.mark.parametrize(("nodes", "npus"), [(1, 9), (2, 16)])
def test_a_server_with_fewer_gpus_than_a_node_has_npus_is_refused(nodes: int, npus: int) -> None:
    words = f"^server 'dgx-h100' has 8 GPUs, and the network puts {npus} NPUs in one; expected at most 8$"
    with pytest.raises(InputError, match=words):
        system_on(servers_network(nodes, npus), server="dgx-h100")


def test_servers_without_nics_can_t_be_several(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = replace(server_named("dgx-h100"), nics=())
    monkeypatch.setattr(servers_of_network, "server_named", lambda name: bare)
    words = "^server 'dgx-h100' has no NIC, and the network has 2 of them; expected one$"
    with pytest.raises(InputError, match=words):
        system_on(servers_network(2, 8), server="dgx-h100")
    assert set(system_on(servers_network(1, 8), server="dgx-h100").servers) == {0}


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"NCCL_ALGO": "PAT"}, "NCCL_ALGO=PAT .*no algorithm for AllReduce"),
        ({"NCCL_ALGO": "AllReduce:NVLSTree"}, "NCCL_ALGO=AllReduce:NVLSTree .*no algorithm for AllReduce"),
        ({"NCCL_ALGO": "NVLS", "NCCL_PROTO": "LL"}, "no algorithm for AllReduce"),
    ],
)
def test_lists_that_leave_nothing_are_refused(table: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words) as raised:
        phases_of(servers_network(1, 4), CollectiveKind.ALL_REDUCE, 1 << 20, **table)
    assert "\n" not in str(raised.value)


def test_a_message_of_each_to_the_next_is_the_size_of_nccl_tests_sendrecv() -> None:
    network, bytes = servers_network(2, 4), 1 << 20
    planner = planner_of(system_on(network), *network.dimensions)
    phases = planner.shift(bytes, (0, 1))
    carried = sum(phase.schedule.all_bytes(phase.bytes) for phase in phases if phase.schedule)
    assert carried == (8 + 2) * bytes  # the last GPU of each server hands its message to the first, which sends it


def test_chunks_of_nvls_are_as_large_as_nccl_plays_them() -> None:
    """8 MiB on 8 GPUs: 64 KiB of each head and channel, cut to 32 below 8 loops; stages of 32 KiB take 18.3 us.

    A head's two chunks of all channels go through the switch in 64 pieces of 16 KiB; scatter and gather of a chunk are
    side by side but for one piece.
    """
    of = servers_network(1, 8, scale_up=REDUCING)
    phases = phases_of(of, CollectiveKind.ALL_REDUCE, 8 << 20, NCCL_ALGO="NVLS")
    assert len(phases) == 8
    for phase in phases:
        assert phase.channel is not None
        costs = phase.channel.costs
        assert phase.channel.channels == 16
        chunk_us = 1e3 * 16 * (32 << 10) / costs.near_copy_bytes_per_ms
        assert chunk_us == pytest.approx(4 + 4 * 2**20 / 293e3, rel=1e-4)
        assert costs.near_ps == pytest.approx(chunk_us / 2 * (2 - 1 / 32) * 1e6, rel=1e-4)


@pytest.mark.parametrize("bytes", [1, 2, 4, 7, 16, 32, 1024])
def test_a_kernel_s_step_takes_its_time_however_few_bytes_follow_it(bytes: int) -> None:
    """A step is a part of the rate at which pieces are copied: a piece of one byte has a rate of 0.36 bytes in a us."""
    work = work_of_pat(server_named("dgx-h100"), bytes)
    costs = costs_of(NcclConfig(), Part(0, 1, bytes, (0, 1)), work, "Simple")
    for rate in (costs.near_copy_bytes_per_ms, costs.far_copy_bytes_per_ms):
        assert 1e3 * bytes / rate == pytest.approx(2.8 + bytes * 1.5 / 20e3, rel=0.002)


@pytest.mark.parametrize("bytes", [8, 16, 28, 64, 512])
def test_a_chunk_of_nvls_takes_a_step_at_least(bytes: int) -> None:
    for phase in phases_of(
        servers_network(1, 8, scale_up=REDUCING), CollectiveKind.ALL_REDUCE, bytes, NCCL_ALGO="NVLS"
    ):
        assert phase.channel is not None
        assert phase.schedule is not None
        pieces = phase.bytes * phase.schedule.block_count / phase.schedule.blocks
        assert 4.0 <= 1e3 * max(pieces.max(), 1) / phase.channel.costs.near_copy_bytes_per_ms < 5.2


@pytest.mark.parametrize(("npus", "rate"), [(1, 12.42e6), (8, 15.2e6)])
def test_a_kernel_that_only_sends_or_receives_copies_more(npus: int, rate: float) -> None:
    """With one GPU a server each receives from another server what it sends to the next; with 8 none does both."""
    network = servers_network(10, npus)
    planner = planner_of(system_on(network, version="2.29"), *network.dimensions)
    for phase in planner.shift(64 << 20, tuple(range(len(network.dimensions)))):
        assert phase.channel is not None
        assert phase.channel.costs.far_copy_bytes_per_ms == pytest.approx(rate, rel=0.005)


@pytest.mark.parametrize(
    ("sizes", "version", "receivers"),
    [
        ((8, 1), "2.30", [1, 3, 6, 2, 7, 5, 4]),
        ((1, 8), "2.26", [1, 3, 6, 2, 7, 5, 4]),
        ((1, 8), "2.30", [1, 2, 3, 4, 5, 6, 7]),
        ((2, 4), "2.30", [1, 2, 3, 4, 5, 6, 7]),
        ((4, 2), "2.30", [1, 2, 3, 6, 7, 4, 5]),  # servers 1, 3, 2 on
    ],
)
def test_peers_are_met_in_nccl_s_order(sizes: tuple[int, int], version: str, receivers: list[int]) -> None:
    """Whom rank 0 sends to, by itself or by a gate, in the order of rounds; 8 KiB go in one message each."""
    phases = phases_of(servers_network(*sizes), CollectiveKind.ALL_TO_ALL, 8 << 10, version=version, NCCL_PXN_DISABLE=1)
    met = {peer: turn for turn, peer in enumerate(receivers, 1)}
    for phase in phases:
        assert phase.schedule is not None
        found = phase.schedule.sent_by(0).receiver.tolist()
        assert found == sorted(found, key=met.__getitem__)
    all_met = [peer for phase in phases if phase.schedule for peer in phase.schedule.sent_by(0).receiver.tolist()]
    assert sorted(all_met) == sorted(receivers)


def test_each_channel_carries_a_part_of_the_messages_of_its_rounds() -> None:
    """2 x 8 GPUs, NCCL 2.29: the rounds of the own server have channels 0 to 3, the others 8 to 11, by hand."""
    network = servers_network(2, 8)
    phases = phases_of(network, CollectiveKind.ALL_TO_ALL, 1 << 26, version="2.29", channels="each")
    assert [phase.queue for phase in phases] == [0, 1, 2, 3, 8, 9, 10, 11]
    for phase in phases:
        assert phase.schedule is not None
        sent = phase.schedule.sent_by(0)
        to_others = sent.receiver >= 8
        if phase.queue < 4:
            assert not to_others.any()
            assert set(sent.receiver.tolist()) == set(range(1, 8))
            assert phase.bytes == pytest.approx((1 << 26) * 7 / 16 / 4, abs=1)
        else:
            # One direct message and seven to gates; as a gate it sends the others' to GPU 0 of the other server.
            assert set(sent.receiver[to_others].tolist()) == {8}
            assert set(sent.receiver[~to_others & (sent.block_count > 0)].tolist()) == set(range(1, 8))
            assert phase.bytes == pytest.approx((1 << 26) * 8 / 16 / 4, abs=1)


def test_channels_of_the_same_rounds_are_merged() -> None:
    network = servers_network(2, 8)
    each, merged = (
        phases_of(network, CollectiveKind.ALL_TO_ALL, 1 << 26, version="2.29", channels=which)
        for which in ("each", "merged")
    )
    assert [phase.channel.channels for phase in merged if phase.channel] == [4, 4]
    assert sum(phase.bytes for phase in each) == sum(phase.bytes for phase in merged)


@pytest.mark.parametrize(
    ("sizes", "table"), [((2, 8), {"NCCL_PXN_DISABLE": 1}), ((8, 1), {}), ((1, 8), {}), ((2, 8), {"server": "h20"})]
)
def test_messages_are_relayed_only_with_pxn(sizes: tuple[int, int], table: dict[str, Any]) -> None:
    network = servers_network(*sizes)
    relays = "server" in table
    for phase in phases_of(network, CollectiveKind.ALL_TO_ALL, 1 << 20, **table):
        schedule = phase.schedule
        assert schedule is not None
        far = (schedule.sender // 8 != schedule.receiver // 8) if sizes[1] == 8 else np.zeros(schedule.messages, bool)
        same_place = schedule.sender % 8 == schedule.receiver % 8
        assert bool((far & ~same_place).any()) is (sizes == (2, 8) and not relays and bool(far.any()))


@pytest.mark.parametrize("kind", [CollectiveKind.ALL_GATHER, CollectiveKind.REDUCE_SCATTER])
@pytest.mark.parametrize(("servers", "steps"), [(2, 1), (5, 4), (8, 3), (10, 4), (16, 4)])
def test_pat_takes_few_messages_after_each_other(kind: CollectiveKind, servers: int, steps: int) -> None:
    """Few bytes: a message a step, log2 steps; of 5 servers NCCL has 2 trees at once, below half of the servers."""
    for phase in phases_of(servers_network(servers, 1), kind, 4096, version="2.26", NCCL_ALGO="PAT"):
        assert phase.schedule is not None
        assert phase.algorithm.startswith("nccl PAT Simple")
        assert phase.schedule.kept_rows == steps


def test_wire_bytes_are_those_of_a_protocol_s_flags() -> None:
    """LL: a flag of 4 bytes behind each 4; LL128: 8 in 128; and a NIC that reaches half its rate has twice as many."""
    network = servers_network(2, 4)
    for protocol, efficiency in product(("LL", "LL128", "Simple"), (1.0, 0.5)):
        table: dict[str, Any] = {"NCCL_ALGO": "Ring", "NCCL_PROTO": protocol, "nic-efficiency": efficiency}
        (phase, *_) = phases_of(network, CollectiveKind.ALL_REDUCE, 1 << 20, **table)
        assert phase.channel is not None
        costs = phase.channel.costs
        wire = {"LL": 2000, "LL128": 128 * 1000 / 120, "Simple": 1000}[protocol]
        assert costs.near_wire_per_mille == round(wire)
        assert costs.far_wire_per_mille == round(wire / efficiency)


def test_the_host_s_overhead_delays_messages_between_servers() -> None:
    network = servers_network(2, 4)
    starts = []
    for overhead in (0, 12.5):
        table: dict[str, Any] = {"host-overhead": overhead}
        (phase, *_) = phases_of(network, CollectiveKind.ALL_REDUCE, 1 << 20, **table)
        assert phase.channel is not None
        starts.append(phase.channel.costs.far_ps)
    assert starts[1] - starts[0] == 12_500_000
