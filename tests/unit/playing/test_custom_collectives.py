"""Collectives that are graphs themselves: checked before anything runs, with file and node, and played."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.graphs import chakra_bytes as raw
from support.graphs.small_graphs import Played, SmallGraphs, collective, compute, system_of

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.compatibility import OURS, preset
from astra_ns3.config.graph_workload import GraphNode
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import InputError, ProgramMismatch, ProgramsDeadlock
from astra_ns3.experiments.jobs.graphs import GraphJob
from astra_ns3.experiments.jobs.job import Platform
from astra_ns3.playing.graphs.counted import counted
from astra_ns3.playing.graphs.custom import check_custom

REDUCE = collective(1, 8)


def sends(number: int, peer: int, *parents: int, tag: int = 0, bytes_: int = 8) -> bytes:
    return raw.node(number, raw.SEND, parents, comm_dst=peer, comm_tag=tag, comm_size=bytes_)


def receives(number: int, peer: int, *parents: int, tag: int = 0, bytes_: int = 8) -> bytes:
    return raw.node(number, raw.RECEIVE, parents, comm_src=peer, comm_tag=tag, comm_size=bytes_)


def system_with(folder: Path, *ranks: list[bytes]) -> SystemConfig:
    """One whose all-reduces are these graphs."""
    prefix = raw.write_traces(folder, ranks, "mine")
    return system_of(all_reduce_implementation_custom=[str(prefix)])


def refused(system: SystemConfig, kind: type[InputError]) -> str:
    """What is said of a system's graphs, by the check and by the driver alike."""
    with pytest.raises(kind) as told:
        check_custom(system)
    with pytest.raises(kind) as again:
        Played((REDUCE,), (REDUCE,), system=system)
    assert str(told.value) == str(again.value)
    return str(told.value)


def test_nodes_in_a_circle_are_named_before_anything_runs(tmp_path: Path) -> None:
    system = system_with(tmp_path, [sends(1, 1, 2), receives(2, 1, 1)], [sends(1, 0), receives(2, 0)])
    message = refused(system, ProgramsDeadlock)
    assert message.startswith(f"{tmp_path}/mine.0.et: node 1 'n1' waits for node 2 'n2' waits for node 1")


def test_a_send_without_a_receive_is_named(tmp_path: Path) -> None:
    system = system_with(tmp_path, [sends(1, 1, tag=7)], [])
    message = refused(system, ProgramMismatch)
    assert (
        message == f"{tmp_path}/mine.0.et: node 1 'n1': sends NPU 1 a message with tag 7 that {tmp_path}/mine.1.et "
        "never receives"
    )


def test_a_collective_among_its_nodes_is_refused(tmp_path: Path) -> None:
    inner = raw.node(3, raw.COLLECTIVE, comm_type=0, comm_size=64)
    other = raw.node(4, raw.COLLECTIVE, comm_type=2, comm_size=1)
    message = refused(system_with(tmp_path, [inner, other], []), InputError)
    assert message == (
        f"{tmp_path}/mine.0.et: node 3 'n3': is a collective, but these graphs are played as all_reduce themselves: "
        "expected sends, receives and computations (and 1 more such node)"
    )


def test_what_is_odd_in_them_is_a_warning_of_the_run(tmp_path: Path) -> None:
    bare = raw.node(3, raw.COLLECTIVE, comm_size=64)
    system = system_with(tmp_path, [bare], [])
    job = GraphJob(SmallGraphs(((REDUCE,), (REDUCE,))))
    platform = Platform(system, (2,), None, OURS)
    told = job.warnings(platform)
    assert f"{tmp_path}/mine.0.et: node 3 'n3': 1 collective has no type or no size, so nothing is sent" in told
    assert any("mine.1.et: 1 file has no nodes" in line for line in told)
    replays = system_of(all_reduce_implementation_custom=[str(tmp_path / "mine")], replay_only=1)
    assert job.warnings(Platform(replays, (2,), None, OURS)) == []


def test_a_send_needs_no_receive_where_astra_sim_2_has_none(tmp_path: Path) -> None:
    check_custom(system_with(tmp_path, [sends(1, 1)], []), preset("astra-sim-2"))


def test_a_message_to_oneself_takes_no_time(tmp_path: Path) -> None:
    graph = [receives(1, 0), sends(2, 0), receives(3, 0, 2), sends(4, 0)]
    system = system_with(tmp_path, graph)
    played = Played((REDUCE, compute(2, 5, 1), collective(3, 8, 2)), system=system)
    assert played.times[0, 2] == (0, 5)
    assert played.driver.finished


def test_what_they_send_is_counted_and_not_what_the_system_would(tmp_path: Path) -> None:
    system = system_with(tmp_path, [sends(1, 1, bytes_=100), receives(2, 1)], [receives(1, 0, bytes_=100), sends(2, 0)])
    first = collective(1, 8, group="1"), collective(2, 8, 1, group="1")
    last = collective(1, 8, group="2"), collective(2, 8, 1, group="2")
    graphs = SmallGraphs((first, first, last, last), {"1": (0, 1), "2": (3, 2)})
    counts = counted(graphs, system, 1, OURS)
    assert counts.requests == []
    assert counts.messages == {(0, 1, 100): 2, (1, 0, 8): 2, (3, 2, 100): 2, (2, 3, 8): 2}


def test_graphs_for_other_numbers_of_ranks_are_refused_with_the_node(tmp_path: Path) -> None:
    system = system_with(tmp_path, [sends(1, 1)], [receives(1, 0)])
    graphs = SmallGraphs(tuple((REDUCE,) for _ in range(3)))
    with pytest.raises(InputError) as told:
        counted(graphs, system, 1, OURS)
    assert str(told.value) == (
        f"small.0: node 1 'x1': is played by the graphs of {tmp_path}/mine, which are for 2 ranks, not for the 3 here"
    )


def test_other_kinds_are_played_by_the_system(tmp_path: Path) -> None:
    back_and_forth = [sends(1, 1), receives(2, 1, 1), sends(3, 1, 2)], [receives(1, 0), sends(2, 0, 1), receives(3, 0)]
    system = system_with(tmp_path, *back_and_forth)

    def takes(kind: CollectiveKind) -> float:
        nodes: tuple[GraphNode, ...] = (collective(1, 8, collective=kind),)
        return Played(nodes, nodes, system=system).times[1, 1][1]

    assert takes(CollectiveKind.ALL_REDUCE) == 3.0  # its messages, one after the other
    assert takes(CollectiveKind.ALL_GATHER) == 1.0  # a ring's one message each way
