"""Graphs written as Chakra's traces, and read back: by us, and byte by byte."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.graphs import chakra_bytes as raw
from support.graphs.made_graphs import Graphs
from support.graphs.written_nodes import WRITTEN

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.graph_workload import GraphNode, NodeKind
from astra_ns3.errors import InputError
from astra_ns3.workload.files.chakra.groups import read_groups
from astra_ns3.workload.files.chakra.names import COLLECTIVE_TYPES
from astra_ns3.workload.files.chakra.trace import read_chakra
from astra_ns3.workload.files.chakra.writer import write_chakra


def plain(node: GraphNode) -> GraphNode:
    return node._replace(type_name="")


@settings(max_examples=40)
@given(nodes=st.lists(WRITTEN, max_size=8), as_json=st.booleans())
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, nodes: list[GraphNode], as_json: bool
) -> None:
    prefix = tmp_path_factory.mktemp("written") / "job"
    written = write_chakra(Graphs([nodes, nodes]), prefix, as_json=as_json)
    trace = read_chakra(prefix)
    assert [[plain(node) for node in trace.nodes(npu)] for npu in range(2)] == [nodes, nodes]
    assert written.nodes == 2 * len(nodes)
    assert written.rounded == 2 * sum(node.duration_ps % 1_000_000 != 0 for node in nodes)


def test_the_bytes_are_those_of_the_format(tmp_path: Path) -> None:
    nodes = [
        GraphNode(5, "a", NodeKind.COMPUTE, (3, 300), duration_ps=7_000_000, operations=9),
        GraphNode(6, "b", NodeKind.COLLECTIVE, (5,), collective=CollectiveKind.ALL_TO_ALL, bytes=300, group="2"),
        GraphNode(7, "c", NodeKind.RECEIVE, (), bytes=4, peer=1, tag=-1, on_host=True),
    ]
    written = write_chakra(Graphs([nodes], {"2": (0,)}), tmp_path / "job")
    expected = raw.trace(
        [
            raw.node(5, raw.COMPUTE, [3, 300], duration_us=7, name="a", is_cpu_op=False, num_ops=9),
            raw.node(6, raw.COLLECTIVE, [5], name="b", is_cpu_op=False, comm_size=300, comm_type=6, pg_name="2"),
            raw.node(7, raw.RECEIVE, name="c", is_cpu_op=True, comm_size=4, comm_src=1, comm_tag=-1),
        ]
    )
    assert (tmp_path / "job.0.et").read_bytes() == expected
    assert written.groups == str(tmp_path / "job.groups.json")
    assert read_groups(written.groups) == {"2": (0,)}


def test_a_time_between_microseconds_is_rounded_for_others_and_exact_for_us(tmp_path: Path) -> None:
    nodes = [GraphNode(0, "a", NodeKind.COMPUTE, duration_ps=1_600_001)]
    assert write_chakra(Graphs([nodes]), tmp_path / "job").rounded == 1
    content = raw.node(0, raw.COMPUTE, duration_us=2, name="a", is_cpu_op=False, duration_ps=1_600_001)
    assert (tmp_path / "job.0.et").read_bytes() == raw.trace([content])


@pytest.mark.parametrize("number", range(len(COLLECTIVE_TYPES) + 1))
@pytest.mark.parametrize("size", [None, 8])
def test_every_collective_keeps_its_word(tmp_path: Path, number: int, size: int | None) -> None:
    attributes = [("comm_type", number)] + ([] if size is None else [("comm_size", size)])
    first = read_chakra(raw.write_traces(tmp_path, [[raw.node(3, raw.COLLECTIVE, attributes=attributes)]]))
    write_chakra(first, tmp_path / "again")
    assert list(read_chakra(tmp_path / "again").nodes(0)) == list(first.nodes(0))


@pytest.mark.parametrize("type_", range(10))
def test_every_type_of_node_keeps_its_number(tmp_path: Path, type_: int) -> None:
    content = raw.node(3, type_, [1], duration_us=4, comm_src=0, comm_dst=0)
    first = read_chakra(raw.write_traces(tmp_path, [[content]]))
    write_chakra(first, tmp_path / "again")
    assert list(read_chakra(tmp_path / "again").nodes(0)) == list(first.nodes(0))


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (GraphNode(4, "x", NodeKind.SEND, start_ps=1), "node 4 'x': starts at a time"),
        (
            GraphNode(4, "x", NodeKind.OTHER, type_name="teleport"),
            "is of type 'teleport', which no Chakra trace can say",
        ),
        (
            GraphNode(4, "x", NodeKind.COLLECTIVE, collective=CollectiveKind.POINT_TO_POINT, bytes=1),
            "node 4 'x': is a point_to_point collective",
        ),
    ],
)
def test_what_a_trace_cannot_say_is_an_error(tmp_path: Path, node: GraphNode, message: str) -> None:
    with pytest.raises(InputError, match=message):
        write_chakra(Graphs([[node]]), tmp_path / "job")


def test_a_workload_that_fails_on_the_way_leaves_what_was_there(tmp_path: Path) -> None:
    good, bad = GraphNode(1, "a", NodeKind.COMPUTE), GraphNode(1, "a", NodeKind.COMPUTE, start_ps=1)
    write_chakra(Graphs([[good], [good]]), tmp_path / "job")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(InputError, match="starts at a time"):
        write_chakra(Graphs([[good, good._replace(number=2)], [bad]], {"1": (0,)}), tmp_path / "job")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(("suffix", "as_json"), [("et", True), ("json", False)])
def test_files_of_the_other_form_are_not_left_beside(tmp_path: Path, suffix: str, as_json: bool) -> None:
    node = GraphNode(1, "a", NodeKind.COMPUTE)
    (tmp_path / f"job.0.{suffix}").write_text("old")
    (tmp_path / f"job.0.{suffix}.old").write_text("no file of a rank")
    with pytest.raises(InputError, match=rf"job\.0\.{suffix}: stands there already, .* written to .*job; remove it"):
        write_chakra(Graphs([[node]]), tmp_path / "job", as_json=as_json)


def test_a_trace_written_over_itself_is_what_it_was(tmp_path: Path) -> None:
    graph = Graphs([[GraphNode(1, "a", NodeKind.COMPUTE, duration_ps=5_000_000)]] * 2)
    write_chakra(graph, tmp_path / "t")
    before = [(tmp_path / f"t.{npu}.et").read_bytes() for npu in (0, 1)]
    assert write_chakra(read_chakra(tmp_path / "t"), tmp_path / "t").nodes == 2
    assert [(tmp_path / f"t.{npu}.et").read_bytes() for npu in (0, 1)] == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["t.0.et", "t.1.et"]


def test_a_scale_beyond_what_can_be_counted_is_refused(tmp_path: Path) -> None:
    write_chakra(Graphs([[GraphNode(1, "a", NodeKind.COMPUTE, duration_ps=5_000_000)]]), tmp_path / "t")
    with pytest.raises(InputError, match=r"node 1 .'a'.: 5000000 times the scale 1e.300 is too large"):
        list(read_chakra(tmp_path / "t").scaled(1.0, 1e300).nodes(0))
