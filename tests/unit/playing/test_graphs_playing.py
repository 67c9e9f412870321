"""Graphs are played by our rules; a message takes one microsecond here, whatever its size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.longest_path import longest_ps
from support.graphs.small_graphs import US, Played, collective, compute, mark, receive, send, system_of

from astra_ns3.config.compute_slowdown import slowdown_of
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.compatibility import OURS, preset
from astra_ns3.config.formats.remote_memory import RemoteMemory
from astra_ns3.config.graph_workload import GraphNode, NodeKind
from astra_ns3.errors import InputError, ProgramMismatch, SimulationStalled
from astra_ns3.network.records import Chain
from astra_ns3.playing.graphs.memory_accesses import MemoryAccesses
from astra_ns3.playing.graphs.window import FinishedNodes, Window

ASTRA_SIM_2 = preset("astra-sim-2")
RING_OF_2_US = 2.0
"""An all-reduce of two NPUs by ring: two messages one after the other."""


def test_a_node_begins_when_its_parents_have_ended_wherever_they_stand_in_the_file() -> None:
    played = Played((compute(3, 5, 1, 2), compute(1, 10), compute(2, 20, 1)))
    assert played.times == {(0, 1): (0, 10), (0, 2): (10, 30), (0, 3): (30, 35)}


def test_of_ready_computations_the_higher_priority_goes_first_and_of_equals_the_lower_id() -> None:
    graph = compute(4, 1), compute(2, 1), compute(9, 1, priority=1), compute(3, 1)
    assert [number for (_, number), _ in sorted(Played(graph).times.items(), key=lambda item: item[1])] == [9, 2, 3, 4]
    by_number = Played(graph, rules=ASTRA_SIM_2).times
    assert [number for (_, number), _ in sorted(by_number.items(), key=lambda item: item[1])] == [2, 3, 4, 9]


def test_of_waiting_collectives_the_one_whose_node_has_the_higher_priority_runs_first_however_late_it_came() -> None:
    """One runs at a time: node 1 first, and meanwhile node 4 is issued, 1 us after nodes 2 and 5."""
    graph = (
        collective(1, 64, priority=9),
        collective(2, 64, priority=1),
        compute(3, 1),
        collective(4, 64, 3, priority=5),
        collective(5, 64),
    )
    played = Played(graph, graph, system=system_of(active_chunks_per_dimension=1))
    ends = {number: played.times[0, number][1] for number in (1, 4, 2, 5)}
    assert ends == {1: RING_OF_2_US, 4: 2 * RING_OF_2_US, 2: 3 * RING_OF_2_US, 5: 4 * RING_OF_2_US}


def test_host_and_device_compute_at_the_same_time_and_only_the_device_counts_as_computing() -> None:
    played = Played((compute(1, 10), compute(2, 30, on_host=True), compute(3, 10, on_host=True)))
    assert played.times == {(0, 1): (0, 10), (0, 2): (0, 30), (0, 3): (30, 40)}
    npu = played.records.npus[0]
    assert (npu.finish_ps, npu.compute_ps, npu.exposed_ps) == (40 * US, 10 * US, 30 * US)


def test_the_longest_chain_goes_over_messages_and_collectives_of_three_ranks() -> None:
    """NPU 0 computes for 10 us and sends; NPU 1, after that and its own 4 us, for 20 us; then all meet; NPU 2 for 5 us.

    NPU 2's other 33 us come before and after nothing of that, and its device plays them beside it.
    """
    graphs = (
        (compute(1, 10), send(2, 1, 64, 1), collective(3, 64, 2), compute(4, 1, 3)),
        (compute(1, 4), receive(2, 0, 64), compute(3, 20, 1, 2), collective(4, 64, 3)),
        (compute(1, 3), collective(2, 64, 1), compute(3, 5, 2), compute(4, 15), compute(5, 15, 4)),
    )
    played = Played(*graphs)
    assert played.driver.chain == Chain(35 * US, 2, "the longest chain of computations, which ends on NPU {}")
    assert played.records.finish_ps > 35 * US
    # ASTRA-sim 2 doesn't compare what meets, so each chain stays on its NPU.
    assert Played(*graphs, rules=ASTRA_SIM_2).driver.chain[:2] == (30 * US, 2)


@given(seed=st.integers(0, 10_000))
def test_the_longest_chain_of_random_graphs_is_the_longest_path_through_them(seed: int) -> None:
    """Collectives of all, in one order, messages and computations of the host and the device, each after some before.

    Without messages' time and places for computations a run would take as long, so no run takes less. What slows NPUs
    leaves hosts as they are.
    """
    draw = Random(seed)
    stragglers: list[dict[str, Any]] = [{"npus": npu, "factor": draw.choice([0.5, 1, 3])} for npu in range(3)]
    stragglers += draw.choice([[], [{"factor": 2, "until": "5us"}], [{"factor": 0.5, "from": "9us"}]])
    brief = min(stragglers[3]["factor"], 1) if stragglers[3:] else 1
    graphs: list[list[GraphNode]] = [[], [], []]
    before: dict[Any, set[Any]] = {}
    took_ps: dict[Any, int] = {}

    def add(npu: int, node: GraphNode) -> None:
        graphs[npu].append(node)
        before[npu, node.number] = {(npu, parent) for parent in node.parents}
        factor = 1 if node.on_host else stragglers[npu]["factor"] * brief
        took_ps[npu, node.number] = int((node.duration_ps or 0) * factor)

    for number in range(draw.randint(1, 12)):
        parents = [tuple(draw.sample(range(number), min(number, draw.randint(0, 2)))) for _ in graphs]
        kind = draw.choice(["compute", "compute", "message", "collective"])
        if kind == "collective":
            # Each begins after the one before it, so that all are issued in one order.
            last = tuple(node.number for node in graphs[0] if node.kind is NodeKind.COLLECTIVE)[-1:]
            for npu, own in enumerate(parents):
                add(npu, collective(number, 64, *dict.fromkeys((*own, *last))))
            before["all", number] = {(npu, number) for npu in range(3)}
            continue
        ends = draw.sample(range(3), 2) if kind == "message" else []
        for npu, own in enumerate(parents):
            if ends and npu == ends[0]:
                add(npu, send(number, ends[1], 64, *own, tag=number))
            elif ends and npu == ends[1]:
                add(npu, receive(number, ends[0], 64, *own, tag=number))
            else:
                add(npu, compute(number, draw.randint(0, 20), *own, on_host=draw.random() < 0.3))
        if ends:
            before["there", number] = {(npu, number) for npu in ends}
    # What comes after a collective or a receive comes after all that it waits for.
    kinds = {(npu, node.number): node.kind for npu, graph in enumerate(graphs) for node in graph}
    for node, comes_after in before.items():
        for parent in list(comes_after) if isinstance(node[0], int) else ():
            where = {NodeKind.COLLECTIVE: "all", NodeKind.RECEIVE: "there"}.get(kinds[parent])
            if where is not None:
                comes_after.add((where, parent[1]))
    played = Played(*map(tuple, graphs), slowdown=slowdown_of({"stragglers": stragglers}))
    alone_ps = [
        sum(took_ps[npu, node.number] for node in graph if node.kind is NodeKind.COMPUTE and not node.on_host)
        for npu, graph in enumerate(graphs)
    ]
    expected_ps = max(longest_ps(before, took_ps), *alone_ps)
    assert played.driver.chain.time_ps == expected_ps <= played.records.finish_ps


def test_a_parent_that_the_trace_lacks_counts_as_finished() -> None:
    assert Played((compute(1, 10, 77), compute(2, 5, 1, 78))).times == {(0, 1): (0, 10), (0, 2): (10, 15)}


def test_what_takes_no_time_frees_its_children_at_once() -> None:
    graph = mark(1), mark(2, 1), compute(3, 10, 2), compute(4, 0, 3), compute(5, 1, 4)
    assert Played(graph).times[0, 5] == (10, 11)


def test_what_a_mark_frees_is_looked_at_when_another_node_ends_in_astra_sim_2() -> None:
    graph = compute(1, 10, on_host=True), mark(2), compute(3, 5, 2)
    assert Played(graph).times[0, 3] == (0, 5)
    assert Played(graph, rules=ASTRA_SIM_2).times[0, 3] == (10, 15)
    assert Played((mark(2), compute(3, 5, 2)), rules=ASTRA_SIM_2).times[0, 3] == (0, 5)  # where none would end


def test_all_that_marks_free_one_after_the_other_waits_for_the_same_end_in_astra_sim_2() -> None:
    graph = compute(1, 10, on_host=True), mark(2), compute(3, 5, 2), mark(4), compute(5, 7, 4), mark(6, 4)
    times = Played((*graph, compute(7, 2, 6)), rules=ASTRA_SIM_2).times
    assert times == {(0, 1): (0, 10), (0, 3): (10, 15), (0, 5): (15, 22), (0, 7): (22, 24)}
    ours = Played((*graph, compute(7, 2, 6))).times
    assert ours == {(0, 1): (0, 10), (0, 3): (0, 5), (0, 5): (5, 12), (0, 7): (12, 14)}


def test_what_a_collective_that_is_done_at_once_frees_is_not_overlooked_in_astra_sim_2() -> None:
    rules = replace(ASTRA_SIM_2, empty_collectives_are_played=False)
    graph = compute(1, 10, on_host=True), collective(2, 0), compute(3, 5, 2)
    assert Played(graph, graph, rules=rules).times[0, 3] == (0, 5)


def test_collectives_of_different_groups_overlap_and_one_at_a_time_in_astra_sim_2() -> None:
    groups = {"1": (0, 1), "2": (0, 2), "3": (1, 3), "4": (2, 3)}
    graphs = tuple(
        (collective(1, 64, group=row), collective(2, 64, group=column))
        for row, column in (("1", "2"), ("1", "3"), ("4", "2"), ("4", "3"))
    )
    assert Played(*graphs, groups=groups).records.finish_ps == RING_OF_2_US * US
    one_at_a_time = Played(*graphs, groups=groups, rules=replace(OURS, nodes_of_graphs_by_number=True))
    assert one_at_a_time.records.finish_ps == 2 * RING_OF_2_US * US


def test_npus_that_come_to_collectives_in_other_orders_end() -> None:
    a, b = collective(1, 64), collective(2, 128)
    one, other = (a, b._replace(parents=(1,))), (b, a._replace(parents=(2,)))
    with pytest.raises(SimulationStalled, match=r"NPU 0: node 1 \('x1'\) waits for all_reduce of 64 bytes"):
        Played(one, other)  # these wait for each other, whatever the rules
    assert Played((a, b), other).records.complete
    assert Played(one, (a, b)).records.complete


def test_members_play_different_collectives_whose_messages_are_alike_in_astra_sim_2() -> None:
    scatter = collective(1, 64, collective=CollectiveKind.REDUCE_SCATTER)  # sends 32 bytes
    gather, longer = collective(1, 32, collective=CollectiveKind.ALL_GATHER), collective(1, 64)
    rules = replace(ASTRA_SIM_2, chunks_of_one_size=False)
    played = Played((scatter, compute(2, 1, 1)), (gather, compute(2, 1, 1)), rules=rules)
    assert played.times[0, 1] == played.times[1, 1] == (0, 1)
    with pytest.raises(ProgramMismatch, match="NPU 1 issues ALLREDUCE of 64 bytes"):
        Played((scatter,), (longer,), rules=rules)


def test_a_send_takes_no_place_of_a_collective() -> None:
    graphs = (send(1, 1, 8), collective(2, 64)), (receive(1, 0, 8), collective(2, 64))
    played = Played(*graphs)
    assert played.times[0, 2] == (0, RING_OF_2_US)
    assert played.times[1, 1] == (0, 1)


def test_a_send_of_astra_sim_2_ends_at_its_arrival_and_a_late_receive_at_once() -> None:
    played = Played(
        (send(1, 1, 8), send(2, 1, 8)), (compute(1, 5), receive(2, 0, 8, 1), receive(3, 0, 8)), rules=ASTRA_SIM_2
    )
    assert played.times == {(0, 1): (0, 1), (0, 2): (1, 2), (1, 3): (0, 1), (1, 1): (0, 5), (1, 2): (5, 5)}


def test_a_message_to_oneself_takes_no_time_whichever_end_is_first() -> None:
    graph = receive(1, 0, 8), compute(2, 5), send(3, 0, 8, 2), send(4, 0, 8, tag=1), receive(5, 0, 8, 4, tag=1)
    assert Played(graph).times == {(0, 1): (0, 5), (0, 2): (0, 5), (0, 3): (5, 5), (0, 4): (0, 0), (0, 5): (0, 0)}


def test_of_receives_from_oneself_with_one_tag_the_first_gets_the_first_message() -> None:
    played = Played(
        (receive(1, 0, 8), receive(2, 0, 8), compute(3, 5), send(4, 0, 8, 3), compute(5, 5, 4), send(6, 0, 8, 5))
    )
    assert (played.times[0, 1], played.times[0, 2]) == ((0, 5), (0, 10))


def test_a_collective_with_nothing_to_do_is_done_at_once() -> None:
    alone, empty, nowhere = collective(1, 64, group="1"), collective(2, 0), collective(3, 8, dimensions=(False,))
    graph = alone, empty, nowhere, compute(4, 1, 1, 2, 3)
    played = Played(graph, graph[1:], groups={"1": (0,)})
    assert played.times[0, 4] == (0, 1)


def test_the_roofline_takes_the_lower_of_peak_and_what_memory_feeds() -> None:
    system = system_of(roofline_enabled=1, local_mem_bw=100, peak_perf=1)  # 100 bytes a ns; 1000 operations a ns
    fed = compute(1, 7, operations=2_000_000, tensor_bytes=1_000_000)  # 2 operations a byte: 200 a ns
    peak = compute(2, 7, operations=2_000_000, tensor_bytes=1_000)
    unknown = compute(3, 7, operations=5)
    assert Played((fed,), system=system).times[0, 1] == (0, 10)
    assert Played((peak,), system=system).times[0, 2] == (0, 2)
    assert Played((unknown,), system=system).times[0, 3] == (0, 7)
    with pytest.raises(InputError, match=r"node 3 \('c3'\) gives no tensor_size, which the roofline needs"):
        Played((unknown,), system=system, rules=ASTRA_SIM_2)


def test_memory_takes_its_duration_or_its_bytes_and_overlaps_computing() -> None:
    load = compute(1, 0, kind=NodeKind.MEMORY_LOAD, tensor_bytes=1_000_000)
    store = compute(2, 4, kind=NodeKind.MEMORY_STORE, tensor_bytes=1_000_000)
    played = Played((load, store, compute(3, 12)), system=system_of(local_mem_bw=100))
    assert played.times == {(0, 1): (0, 10), (0, 2): (10, 14), (0, 3): (0, 12)}


def test_a_broadcast_of_astra_sim_2_takes_its_duration() -> None:
    node = collective(1, 64, collective=CollectiveKind.BROADCAST, duration_ps=3 * US)
    assert Played((node,), (node,), rules=ASTRA_SIM_2).times[0, 1] == (0, 3)


def test_replayed_nodes_last_as_long_as_they_say() -> None:
    graph = collective(1, 64, duration_ps=7 * US), send(2, 1, 8, 1)._replace(duration_ps=US)
    played = Played(graph, (compute(1, 1),), system=system_of(replay_only=1))
    assert played.times == {(0, 1): (0, 7), (0, 2): (7, 8), (1, 1): (0, 1)}


def test_kinds_of_work_add_up_to_the_finish() -> None:
    graph = compute(1, 10), collective(2, 64, 1), compute(3, 1, 2), compute(4, 3, 3, on_host=True)
    played = Played(graph, graph)
    layers = {layer.name: layer for layer in played.records.layers}
    assert layers["compute"].forward.compute_ps == 11 * US
    assert layers["all_reduce"].forward.exposed_ps == layers["all_reduce"].forward.comm_ps == RING_OF_2_US * US
    assert layers["host"].forward.exposed_ps == 3 * US
    assert sum(layer.exposed_ps for layer in layers.values()) == played.records.npus[0].exposed_ps
    assert played.records.groups == {"host": 3 * US, "all NPUs": RING_OF_2_US * US}


def test_time_is_exposed_by_what_the_device_goes_on_after_and_before_that_by_what_let_it_begin() -> None:
    """A sum begins at 10 us and takes to the end; the device goes on after the host, at 13 and 18 us."""
    graph = (
        compute(1, 10),
        collective(2, 64, 1, group="slow"),
        compute(3, 3, 1, on_host=True),
        compute(4, 2, 3),
        GraphNode(5, "m", NodeKind.MEMORY_LOAD, (4,), US),
        compute(6, 2, 5, on_host=True),
        compute(7, 1, 6),
    )
    other = (compute(1, 40), collective(2, 64, 1, group="slow"))
    played = Played(graph, other, groups={"slow": (0, 1)})
    assert played.times[0, 7] == (18, 19)
    end_ps = round(played.times[0, 2][1] * US)
    assert played.records.groups == {"group slow": end_ps - 19 * US, "host": (3 + 2) * US, "memory load": 1 * US}


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        ((compute(1, 1, 2), compute(2, 1, 1)), r"NPU 0: its nodes wait for each other: node 1 \('c1'\) waits for 2"),
        (
            (receive(1, 1, 8),),
            r"NPU 0: node 1 \('r1'\) waits for a message of 8 bytes tagged 0 from NPU 1 to NPU 0",
        ),
        ((collective(1, 8),), r"all_reduce of 8 bytes of all NPUs, which NPU 1 has not issued"),
    ],
)
def test_a_stall_names_npus_and_nodes(graph: tuple[object, ...], words: str) -> None:
    with pytest.raises(SimulationStalled, match=words):
        Played(graph, (compute(1, 1),))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("node", "words"),
    [
        (collective(1, 8, group="3"), "group '3': there is no such group, but 1, 2"),
        (collective(1, 8, group="2"), r"node 1 \('x1'\) of NPU 0 names group 2 of NPUs 1, of which it is no member"),
        (
            send(1, 5, 8),
            r"of NPU 0 names NPU 5 as the other end of its message, expected one of 0 to 1",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(node: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Played((node,), (), groups={"1": (0, 1), "2": (1,)})  # type: ignore[arg-type]


def test_a_window_reads_no_more_than_it_needs() -> None:
    taken = []

    def nodes() -> Iterator[GraphNode]:
        for number in range(1000):
            taken.append(number)
            yield compute(number, 1, *([number - 1] if number else []))

    window = Window(nodes(), 16, "file")
    window.fill()
    assert len(taken) == 16
    for number in range(900):
        window.finish(number)
        assert len(taken) <= number + 17
    assert not window.empty


def test_a_window_grows_where_all_in_it_wait_for_what_lies_behind() -> None:
    graph = (*(compute(number, 1, 5000) for number in range(2000)), compute(5000, 1))
    assert Played(graph).records.finish_ps == 2001 * US


def test_a_number_that_stands_twice_is_refused() -> None:
    with pytest.raises(InputError, match=r"small.0: node 1 \('c1'\) stands there twice"):
        Played((compute(1, 1), compute(1, 2)))


@pytest.mark.parametrize("numbers", [(5, 3, 5), (5, 3, 3), (1, 2, 1)])
def test_a_number_is_missed_in_no_order_of_the_file(numbers: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="stands there twice"):
        finish_all(Window([compute(number, 1) for number in numbers], 2, "file"))


def finish_all(window: Window) -> None:
    window.fill()
    for node in list(window.ready):
        window.finish(node.number)


@pytest.mark.parametrize("duration_ps", [2**63 - 1, 2**63, 10**25])
def test_a_node_that_would_outlast_all_time_is_refused(duration_ps: int) -> None:
    graph = compute(1, 3), compute(2, 0, 1)._replace(duration_ps=duration_ps)
    told = rf"small\.0: node 2 \('c2'\) begins after 3000000 ps and would last {duration_ps} ps, expected an end before"
    with pytest.raises(InputError, match=told):
        Played(graph)


def test_a_node_may_last_until_the_end_of_all_time() -> None:
    graph = compute(1, 3), compute(2, 0, 1)._replace(duration_ps=2**63 - 1 - 3 * US)
    assert Played(graph).records.finish_ps == 2**63 - 1


def test_finished_nodes_are_those_added() -> None:
    finished = FinishedNodes()
    for number in (0, 255, 256, 10**12):
        finished.add(number)
    assert [number in finished for number in (0, 1, 255, 256, 257, 10**12, 10**12 + 1)] == [1, 0, 1, 1, 0, 1, 0]


def test_a_barrier_waits_for_the_last_though_it_has_no_bytes() -> None:
    barrier = collective(2, 0, 1)._replace(collective=CollectiveKind.BARRIER)
    played = Played((compute(1, 10), barrier), (compute(1, 30), barrier))
    assert all(played.times[npu, 2][1] > 30 for npu in (0, 1))


def test_a_shared_memory_serves_who_comes_when_it_is_free_at_once() -> None:
    pool = {"memory-type": "MEMORY_POOL", "remote-mem-latency": 500, "remote-mem-bw": 100}
    system = system_of().model_copy(update={"remote_memory": RemoteMemory.model_validate(pool)})
    accesses, load = MemoryAccesses(system, OURS), compute(1, 0, kind=NodeKind.MEMORY_LOAD, tensor_bytes=100_000)
    took_ps = [accesses.duration_ps(npu, load, now_ps) for npu, now_ps in enumerate((0, US, 10 * US))]
    assert took_ps == [1.5 * US, 2 * US, 1.5 * US]


def test_bytes_go_to_a_remote_memory_however_long_the_node_says_that_it_takes() -> None:
    """As in ASTRA-sim 2. A pool serves one access after the other; a node without bytes keeps its duration."""
    pool = {"memory-type": "MEMORY_POOL", "remote-mem-latency": 500, "remote-mem-bw": 100}
    system = system_of().model_copy(update={"remote_memory": RemoteMemory.model_validate(pool)})
    accesses, load = MemoryAccesses(system, OURS), compute(1, 0, kind=NodeKind.MEMORY_LOAD, tensor_bytes=100_000)
    long = load._replace(duration_ps=7 * US)
    loads = [long, load, long._replace(tensor_bytes=0)]
    assert [accesses.duration_ps(npu, each, 0) for npu, each in enumerate(loads)] == [1.5 * US, 3 * US, 7 * US]
    own = MemoryAccesses(system_of(), OURS)
    assert own.duration_ps(0, long, 0) == 7 * US
