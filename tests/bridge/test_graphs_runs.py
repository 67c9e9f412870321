"""Graphs as runs: the command lines and files of ASTRA-sim 2, what is printed and recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from matplotlib.text import Text
from support.graphs.small_graphs import US, SmallGraphs, collective, compute, receive, send, system_of
from support.many_networks import small_dlrm

from astra_ns3 import run
from astra_ns3.cli.main import status_of
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.compatibility import OURS
from astra_ns3.config.formats.logical_topology import read_logical_topology
from astra_ns3.config.formats.remote_memory import read_remote_memory
from astra_ns3.config.graph_workload import NodeKind
from astra_ns3.errors import InputError
from astra_ns3.playing.graphs.memory_accesses import MemoryAccesses
from astra_ns3.report.astra_sim_lines import astra_sim_lines
from astra_ns3.report.comparison.quantities import layers
from astra_ns3.report.explanation.explain import explain
from astra_ns3.report.page.page import report_page
from astra_ns3.report.page.sections import slowest_collectives
from astra_ns3.report.pictures.layers import layer_times
from astra_ns3.report.timeline.programs import collective_names
from astra_ns3.workload.files.chakra.writer import write_chakra

NETWORK = "topology: [ Switch ]\nnpus_count: [ 4 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n"
GROUPS = {"1": (0, 1), "2": (2, 3)}
SYSTEM = {
    "scheduling-policy": "LIFO",
    "endpoint-delay": 10,
    "active-chunks-per-dimension": 1,
    "preferred-dataset-splits": 1,
    "all-reduce-implementation": ["ring"],
    "all-gather-implementation": ["ring"],
    "reduce-scatter-implementation": ["ring"],
    "all-to-all-implementation": ["ring"],
    "collective-optimization": "localBWAware",
    "local-mem-bw": 1600,
    "trace-enabled": 1,
}


def graphs() -> SmallGraphs:
    """Each NPU computes, reduces in its group of two, and hands 50 GiB/s x 1 us on to the next group."""
    first = compute(0, 10), collective(1, 1 << 20, 0, group="1")
    last = compute(0, 10), collective(1, 1 << 20, 0, group="2")
    return SmallGraphs(
        (
            (*first, send(2, 2, 1 << 16, 1)),
            (*first, send(2, 3, 1 << 16, 1)),
            (*last, receive(2, 0, 1 << 16), compute(3, 5, 2)),
            (*last, receive(2, 1, 1 << 16), compute(3, 5, 2)),
        ),
        GROUPS,
    )


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """The files of that run, as ASTRA-sim 2 has them."""
    write_chakra(graphs(), tmp_path / "job")
    contents = {
        "network.yml": NETWORK,
        "system.json": json.dumps(SYSTEM),
        "groups.json": json.dumps({name: list(members) for name, members in GROUPS.items()}),
        "memory.json": '{"memory-type": "NO_MEMORY_EXPANSION"}',
    }
    for name, text in contents.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return {"job": str(tmp_path / "job"), **{name: str(tmp_path / name) for name in contents}}


# By its formulas: 2 messages of 512 KiB over two hops of 500 ns, 10 ns before and after, one reduction of
# 3 x floor(524288 / 1600) ns; then 64 KiB.
RING_NS = 10 + 2 * (1000 + int((1 << 19) / (50 * 2**30 / 1e9)) + 10) + 3 * ((1 << 19) // 1600)
SEND_NS = int(1000 + (1 << 16) / (50 * 2**30 / 1e9))


def test_a_command_line_of_astra_sim_2_prints_its_lines(
    files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "run",
        "--backend=analytical",
        "--compat=astra-sim-2",
        f"--workload-configuration={files['job']}",
        f"--system-configuration={files['system.json']}",
        f"--network-configuration={files['network.yml']}",
        f"--remote-memory-configuration={files['memory.json']}",
        f"--comm-group-configuration={files['groups.json']}",
    ]
    assert status_of(words) == 0
    sent, end = 10_000 + RING_NS + SEND_NS, 10_000 + RING_NS + SEND_NS + 5_000
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("sys[")]
    assert lines == [
        f"sys[0] finished, {sent} cycles, exposed communication {sent - 10_000} cycles.",
        f"sys[1] finished, {sent} cycles, exposed communication {sent - 10_000} cycles.",
        f"sys[2] finished, {end} cycles, exposed communication {end - 15_000} cycles.",
        f"sys[3] finished, {end} cycles, exposed communication {end - 15_000} cycles.",
    ]


def test_nodes_are_recorded(files: dict[str, str], tmp_path: Path) -> None:
    result = run(
        workload=graphs(),
        system=files["system.json"],
        network=files["network.yml"],
        backend="analytical",
        compat="astra-sim-2",
        record=["nodes"],
        output=tmp_path / "out",
    )
    rows: Any = result.nodes.set_index(["npu", "node"])
    assert len(rows) == 14
    assert rows.loc[(0, 1), "kind"] == "all_reduce of group 1"
    assert rows.loc[(0, 1), "name"] == "x1"
    assert rows.loc[(0, 1), "done_ps"] - rows.loc[(0, 1), "issue_ps"] == RING_NS * 1000
    assert (rows["done_ps"].max(), result.finish_ps) == (result.finish_ps, (15_000 + RING_NS + SEND_NS) * 1000)


def test_work_of_graphs_is_called_no_pass(files: dict[str, str], tmp_path: Path) -> None:
    result = run(
        workload=files["job"],
        system=files["system.json"],
        network=files["network.yml"],
        groups=files["groups.json"],
        backend="analytical",
        record=["all"],
        output=tmp_path / "out",
    )
    assert set(result.collectives["part"]) == {"forward"}
    explained, slowest = explain(result).text(), slowest_collectives(result)
    assert "all_reduce of group 2 ALLREDUCE ring" in explained
    assert slowest is not None
    assert {row[3] for row in slowest[1]} == {""}
    assert "all_reduce of group 1: ALLREDUCE" in collective_names(result)
    assert layer_times(result)["all"][1][0][1] == {"": (10_000_000, 0)}
    assert {"compute, compute", "all_reduce of group 1, exposed"} <= set(layers(result))
    legend = [text.get_text() for text in result.plot.layers().findobj(Text)]
    assert {"compute", "exposed"} <= set(legend)
    drawn = [text.get_text() for text in result.plot.timeline().findobj(Text)]
    assert not [text for text in (explained, *legend, *drawn, *layers(result)) if "forward" in text]
    assert "compute, forward" not in report_page([result], {})


def test_a_trace_of_one_rank_is_played_by_all(files: dict[str, str], caplog: pytest.LogCaptureFixture) -> None:
    alone = SmallGraphs(((compute(0, 10), collective(1, 1 << 20, 0)),), source="rank 0")
    others: dict[str, Any] = {
        "system": files["system.json"],
        "network": files["network.yml"],
        "backend": "analytical",
    }
    result = run(workload=alone, **others)
    assert "rank 0: is the trace of one rank, and all 4 NPUs play it" in caplog.text
    assert "all-gathers" not in caplog.text
    assert len(set(result.npus["finish_us"])) == 1
    assert result.metadata["collectives"] == 1
    with pytest.raises(InputError, match="has graphs for 2 NPUs, the network has 4; expected as many, or the trace of"):
        run(workload=SmallGraphs(alone.graphs * 2), **others)


def test_a_trace_of_one_rank_that_gathers_says_that_its_shares_are_those_of_the_trace(
    files: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    gather = collective(1, 1 << 20, 0, collective=CollectiveKind.ALL_GATHER)
    run(
        workload=SmallGraphs(((compute(0, 10), gather),), source="rank 0"),
        system=files["system.json"],
        network=files["network.yml"],
        backend="analytical",
    )
    assert (
        "rank 0: has all-gathers, to which each NPU brings as many bytes as the traced rank did; if the job had "
        in (caplog.text)
    )


@pytest.mark.parametrize("compat", ["none", "astra-sim-2"])
@pytest.mark.parametrize("command", ["run", "validate"])
def test_a_trace_of_one_rank_that_receives_is_refused_in_one_line(
    command: str, compat: str, files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All four would wait for NPU 1, which sends to none of them."""
    write_chakra(SmallGraphs(((compute(0, 10), receive(1, 1, 1 << 16, 0)),)), tmp_path / "alone")
    trace = tmp_path / "alone.0.et"
    inputs = ["-w", str(trace), "-s", files["system.json"], "-n", files["network.yml"], "--backend", "analytical"]
    before = sorted(tmp_path.rglob("*"))
    output = ["-o", str(tmp_path / "out")] if command == "run" else []
    assert status_of([command, *inputs, *output, "--compat", compat]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line == (
        f"astra-ns3: error: {trace}: node 1 'r1': waits for a message of NPU 1, and is played by all 4 NPUs, to which "
        "that one doesn't send; name the traces of all ranks by their prefix"
    )
    assert sorted(tmp_path.rglob("*")) == before


def test_a_replayed_trace_of_one_rank_may_receive(files: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "replay.json").write_text(json.dumps(SYSTEM | {"replay-only": 1}), encoding="utf-8")
    alone = SmallGraphs(((compute(0, 10), receive(1, 1, 1 << 16, 0)),))
    result = run(
        workload=alone,
        system=tmp_path / "replay.json",
        network=files["network.yml"],
        backend="analytical",
    )
    assert result.complete


def begins(graphs: SmallGraphs, npu: int, files: dict[str, str], folder: Path) -> dict[int, int]:
    """Of each node of an NPU when it began, in picoseconds, by ASTRA-sim 2's rules."""
    result = run(
        workload=graphs,
        system=files["system.json"],
        network=files["network.yml"],
        backend="analytical",
        compat="astra-sim-2",
        record=["nodes"],
        output=folder,
    )
    rows: Any = result.nodes[result.nodes["npu"] == npu].set_index("node")
    return {int(node): int(time_ps) for node, time_ps in rows["issue_ps"].items()}


@pytest.mark.parametrize(("first", "later_ps"), [("message", 0), ("computation", 100_000)])
def test_of_two_ends_in_one_instant_astra_sim_2_hears_the_one_that_began_first(
    first: str, later_ps: int, files: dict[str, str], tmp_path: Path
) -> None:
    """A message frees the place of communication when a computation frees send 4: the other that waits is send 8.

    If the message began first, its end is heard of first, and send 8 has the place before send 4 is ready.
    """
    sent_ps = SEND_NS * 1000
    end_ps = later_ps + sent_ps
    if first == "message":  # at 0, and the computation at 100 ns
        computations = compute(0, 0, duration_ps=100_000), compute(1, 0, 0, duration_ps=end_ps - 100_000)
        message = send(3, 1, 1 << 16, tag=3)
    else:  # at 100 ns, and the computation at 0
        computations = (
            compute(0, 0, on_host=True, duration_ps=later_ps),
            compute(1, 0, duration_ps=end_ps),
        )
        message = send(3, 1, 1 << 16, 0, tag=3)
    freed, waiting = send(4, 1, 1 << 16, 1, tag=4), send(8, 1, 1 << 16, *message.parents, tag=8)
    other = tuple(receive(tag, 0, 1 << 16, tag=tag) for tag in (3, 4, 8))
    graphs = SmallGraphs(((*computations, message, freed, waiting), other, (), ()))
    order = (8, 4) if first == "message" else (4, 8)
    found = begins(graphs, 0, files, tmp_path / "out")
    assert (found[order[0]], found[order[1]]) == (end_ps, end_ps + sent_ps)


def test_a_receive_behind_the_arrival_ends_in_that_instant_behind_what_begins(
    files: dict[str, str], tmp_path: Path
) -> None:
    """Receive 1 and send 9 are ready together; send 2, which the receive frees, comes too late for the place."""
    graphs = SmallGraphs(
        (
            (send(0, 1, 1 << 16, tag=7),),
            (
                compute(0, 10),
                receive(1, 0, 1 << 16, 0, tag=7),
                send(2, 2, 1 << 16, 1, tag=2),
                send(9, 2, 1 << 16, 0, tag=9),
            ),
            tuple(receive(tag, 1, 1 << 16, tag=tag) for tag in (2, 9)),
            (),
        )
    )
    begin_ps, sent_ps = 10_000_000, SEND_NS * 1000
    found = begins(graphs, 1, files, tmp_path / "out")
    assert (found[1], found[9], found[2]) == (begin_ps, begin_ps, begin_ps + sent_ps)


FOUR_KEYS = {"scheduling-policy": "FIFO", "preferred-dataset-splits": 1, "local-mem-bw": 50}
"""Besides the graphs, all that ASTRA-sim 2's own file for collectives as graphs has."""


def test_a_system_file_needs_no_algorithm_of_what_is_not_played(
    files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A graph as an all-reduce takes what it takes as a workload of its own; an all-gather is missed in one line."""
    ring = SmallGraphs(tuple((send(0, (npu + 1) % 4, 1 << 16), receive(1, (npu - 1) % 4, 1 << 16)) for npu in range(4)))
    write_chakra(ring, tmp_path / "ring")
    system = tmp_path / "four-keys.json"
    system.write_text(
        json.dumps(FOUR_KEYS | {"all-reduce-implementation-custom": [str(tmp_path / "ring")], "track-local-mem": 1}),
        encoding="utf-8",
    )
    others: dict[str, Any] = {"network": files["network.yml"], "backend": "analytical", "compat": "astra-sim-2"}
    reduces = SmallGraphs(((collective(0, 8),),) * 4)
    alone = run(workload=ring, system=files["system.json"], **others)
    assert run(workload=reduces, system=system, **others).finish_ps == alone.finish_ps == SEND_NS * 1000
    write_chakra(SmallGraphs(((collective(0, 8, collective=CollectiveKind.ALL_GATHER),),) * 4), tmp_path / "gathers")
    words = ["-w", str(tmp_path / "gathers"), "-s", str(system), "-n", files["network.yml"], "--backend", "analytical"]
    capsys.readouterr()
    for command in ("run", "validate"):
        assert status_of([command, *words]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line == (
            f"astra-ns3: error: {system}: key 'all-gather-implementation' is missing, which the workload's all_gather "
            "needs"
        )


def test_groups_are_of_graphs_alone(files: dict[str, str]) -> None:
    options: dict[str, Any] = {
        "system": files["system.json"],
        "network": files["network.yml"],
        "backend": "analytical",
        "groups": files["groups.json"],
    }
    assert run(workload=files["job"], **options).complete
    with pytest.raises(InputError, match="groups are for workloads of graphs, and this is none"):
        run(workload=small_dlrm(), **options)


def test_a_network_of_packets_is_seen_as_logical_dimensions(tmp_path: Path) -> None:
    file = tmp_path / "logical.json"
    file.write_text('{"logical-dims": ["2", "4"]}', encoding="utf-8")
    assert read_logical_topology(file) == (2, 4)
    file.write_text('{"logical-dims": []}', encoding="utf-8")
    with pytest.raises(InputError, match="logical-dims"):
        read_logical_topology(file)


def test_shared_memory_serves_one_access_at_a_time(tmp_path: Path) -> None:
    file = tmp_path / "memory.json"
    load = compute(1, 0, kind=NodeKind.MEMORY_LOAD, tensor_bytes=100_000)
    took = {}
    for kind in ("PER_NPU_MEMORY_EXPANSION", "PER_NODE_MEMORY_EXPANSION", "MEMORY_POOL"):
        keys = {"memory-type": kind, "remote-mem-latency": 500, "remote-mem-bw": 100, "num-npus-per-node": 2}
        file.write_text(json.dumps(keys), encoding="utf-8")
        system = system_of().model_copy(update={"remote_memory": read_remote_memory(file)})
        accesses = MemoryAccesses(system, OURS)
        took[kind] = [accesses.duration_ps(npu, load, 0) / US for npu in range(4)]
    assert took == {  # 500 ns and 100 kB at 100 B/ns
        "PER_NPU_MEMORY_EXPANSION": [1.5, 1.5, 1.5, 1.5],
        "PER_NODE_MEMORY_EXPANSION": [1.5, 3.0, 1.5, 3.0],
        "MEMORY_POOL": [1.5, 3.0, 4.5, 6.0],
    }
    file.write_text('{"memory-type": "MEMORY_POOL"}', encoding="utf-8")
    with pytest.raises(InputError, match="'remote-mem-latency': is missing, which MEMORY_POOL needs"):
        read_remote_memory(file)


def test_lines_are_in_the_order_of_the_finish() -> None:
    rows = [{"npu": "0", "finish_us": "2.5", "exposed_us": "0.001"}, {"npu": "1", "finish_us": "2", "exposed_us": "1"}]
    assert astra_sim_lines(rows).splitlines() == [
        "sys[1] finished, 2000 cycles, exposed communication 1000 cycles.",
        "sys[0] finished, 2500 cycles, exposed communication 1 cycles.",
    ]


TORUS = "topology: [ Ring, Switch ]\nnpus_count: [ 2, 2 ]\nbandwidth: [ 100.0, 50.0 ]\nlatency: [ 50.5, 500.25 ]\n"
BYTES = 100_000
RING, SWITCH = BYTES / (100 * 2**30 / 1e9), BYTES / (50 * 2**30 / 1e9)


@pytest.mark.parametrize(
    ("backend", "compat", "ns"),
    [
        ("analytical", "astra-sim-2", int(50.5 + RING)),  # the lowest dimension alone, whole nanoseconds
        ("analytical-queues", "astra-sim-2", int(50.5 + RING) + 2 * int(500.25 + SWITCH)),
        ("analytical", "none", 50.5 + RING + 1000.5 + SWITCH),
        ("analytical-queues", "none", 50.5 + RING + 2 * (500.25 + SWITCH)),
    ],
)
def test_what_a_message_over_two_dimensions_costs(
    tmp_path: Path, files: dict[str, str], backend: str, compat: str, ns: float
) -> None:
    (tmp_path / "torus.yml").write_text(TORUS, encoding="utf-8")
    system = system_of(endpoint_delay=0)
    nothing = (compute(0, 0),)
    message = SmallGraphs(((send(0, 3, BYTES),), nothing, nothing, (receive(0, 0, BYTES),)))
    result = run(workload=message, system=system, network=tmp_path / "torus.yml", backend=backend, compat=compat)
    assert result.finish_ps == pytest.approx(ns * 1000, abs=3)  # a link's times are whole picoseconds
