"""Graphs written as SimAI's text: what it says of them, that it is played the same, and what it can't say."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.graphs.made_graphs import Graphs
from support.graphs.small_graphs import Played, collective, compute, mark, send, system_of

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.graph_workload import GraphNode
from astra_ns3.errors import InputError
from astra_ns3.playing.converting.conversion import Unrolling, convert
from astra_ns3.playing.converting.unrolled import UnrolledLoop
from astra_ns3.workload.files.astra_sim import parse_workload
from astra_ns3.workload.files.simai import parse_simai, read_simai
from astra_ns3.workload.graphs.rolled import rolled

PAIRS = {"1": (0, 1), "2": (2, 3)}
ACROSS = {"3": (0, 2), "4": (1, 3)}
GATHER = CollectiveKind.ALL_GATHER


def tensor(number: int, npu: int, *parents: int, bytes_: int = 64, **others: Any) -> GraphNode:
    return collective(number, bytes_, *parents, group="1" if npu < 2 else "2", **others)


def data(number: int, npu: int, *parents: int, bytes_: int = 64, **others: Any) -> GraphNode:
    return collective(number, bytes_, *parents, group="3" if npu % 2 == 0 else "4", **others)


def training_step(npu: int) -> tuple[GraphNode, ...]:
    """Two blocking collectives of pairs, then gradients that nobody waits for between NPUs two apart."""
    return (
        compute(1, 10),
        tensor(2, npu, 1, collective=GATHER),
        compute(3, 20, 2),
        tensor(4, npu, 3),
        mark(5, 4),
        compute(6, 30, 5),
        data(7, npu, 6, bytes_=800),
        compute(8, 5, 6),
        data(9, npu, 8, bytes_=400),
        compute(10, 0, 9, on_host=True)._replace(duration_ps=7_000),
    )


def test_one_thread_becomes_rows_from_the_last_one_up() -> None:
    """By hand: TP 2, so DP 2; the gathered output is 2 x 64 bytes; the last row is played first."""
    expected = """HYBRID_TRANSFORMER model_parallel_NPU_group: 2 ep: 1 pp: 1 all_gpus: 4
3
c8 -1 0 NONE 0 5000 NONE 0 0 ALLREDUCE 400 7
x4 -1 0 NONE 0 0 ALLREDUCE 64 30000 ALLREDUCE 800 0
c1 -1 0 NONE 0 10000 ALLGATHER 128 20000 NONE 0 0
"""
    found = rolled(Graphs([training_step(npu) for npu in range(4)], {**PAIRS, **ACROSS}))
    assert replace(found, source="x") == parse_simai(expected, "x")


def test_where_all_is_waited_for_the_rows_are_forward_passes() -> None:
    def graph(npu: int) -> tuple[GraphNode, ...]:
        return (
            collective(1, 8, collective=CollectiveKind.BROADCAST),
            compute(2, 1, 1),
            collective(3, 16, 2),
            compute(4, 2, 3),
        )

    expected = """HYBRID_TRANSFORMER model_parallel_NPU_group: 4 ep: 1 pp: 1 all_gpus: 4
3
x1 -1 0 BROADCAST 8 0 NONE 0 0 NONE 0 0
c2 -1 1000 ALLREDUCE 16 0 NONE 0 0 NONE 0 0
c4 -1 2000 NONE 0 0 NONE 0 0 NONE 0 0
"""
    found = rolled(Graphs([graph(npu) for npu in range(4)]))
    assert replace(found, source="x") == parse_simai(expected, "x")


def test_the_text_is_played_as_the_graphs_are(tmp_path: Path) -> None:
    graphs = Graphs([training_step(npu) for npu in range(4)], {**PAIRS, **ACROSS})
    convert(graphs, "simai", tmp_path / "w.txt", Unrolling())
    again = UnrolledLoop.of(read_simai(tmp_path / "w.txt"), 1, (2, 2))
    assert again.groups is again.groups
    first = Played(*(training_step(npu) for npu in range(4)), groups=graphs.groups)
    rings = system_of(**{f"{kind}_implementation": ["ring", "ring"] for kind in ("all_reduce", "all_gather")})
    second = Played(*(tuple(again.nodes(npu)) for npu in range(4)), system=rings, dimensions=(2, 2))
    for one, other in zip(first.records.npus, second.records.npus, strict=True):
        assert (one.finish_ps, one.compute_ps) == (other.finish_ps, other.compute_ps)
    assert first.records.npus[0].compute_ps == 65_000_000


def test_experts_have_words_of_their_own() -> None:
    """Of 8 NPUs two share a tensor; of the four others two share the experts, which are there twice."""
    groups = {"t": (0, 1), "e": (0, 2), "d": (0, 4), "all": (0, 2, 4, 6)}

    def members(first: tuple[int, ...], npu: int) -> tuple[int, ...]:
        stride, size = first[1] - first[0], len(first)
        begin = npu - npu // stride % size * stride
        return tuple(range(begin, begin + stride * size, stride))

    everybody = {f"{name}{npu}": members(first, npu) for name, first in groups.items() for npu in range(8)}

    def graph(npu: int) -> tuple[GraphNode, ...]:
        return (
            collective(1, 8, group=f"t{npu}"),
            collective(2, 8, 1, group=f"e{npu}", collective=CollectiveKind.ALL_TO_ALL),
            compute(3, 1, 2),
            collective(4, 8, 3, group=f"d{npu}"),
            collective(5, 8, 3, group=f"all{npu}"),
        )

    found = rolled(Graphs([graph(npu) for npu in range(8)], everybody))
    assert (found.model_parallel_npus, found.expert_parallel_npus, found.npus) == (2, 2, 8)
    words = [
        (part.collective, part.group)
        for layer in reversed(found.layers)
        for part in (layer.input_gradient, layer.weight_gradient)
        if part.collective
    ]
    assert [group and group.value for _, group in words] == [None, "EP", "DP_EP", None]


def test_a_loop_of_astra_sims_is_written_by_way_of_its_graph(tmp_path: Path) -> None:
    loop = parse_workload(
        "DATA\n2\na -1 10 NONE 0 20 NONE 0 30 ALLREDUCE 100 0\nb -1 1 NONE 0 2 NONE 0 3 ALLREDUCE 7 5\n"
    )
    convert(loop, "simai", tmp_path / "w.txt", Unrolling((4,)))
    found = read_simai(tmp_path / "w.txt")
    assert found.model_parallel_npus == 1
    parts = [(layer.input_gradient, layer.weight_gradient, layer.update_ns) for layer in reversed(found.layers)]
    assert sum(one.compute_ns + other.compute_ns for one, other, _ in parts) == 10 + 1 + 3 + 2 + 30
    assert [(other.bytes, update) for _, other, update in parts if other.collective] == [(7, 5), (100, 0)]


@pytest.mark.parametrize(
    ("priorities", "told"),
    [
        ((3, 2, 1), False),
        ((7, 7, 7), False),  # the first to arrive goes first
        ((1, 0, -1), True),  # 0 says nothing: it goes behind those that do
        ((2, 1, 0), False),
        ((1, 0, 0), True),
        ((0, 0, 0), True),  # the system decides
    ],
)
def test_a_text_takes_turns_as_priorities_that_are_given_do(
    priorities: tuple[int, ...], told: bool, tmp_path: Path
) -> None:
    text = "DATA\n3\n" + "".join(f"{name} -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 1000 0\n" for name in "abc")
    written = UnrolledLoop.of(parse_workload(text), 1, (4,))
    nodes = []
    for npu in range(4):
        left = iter(priorities)
        each = written.nodes(npu)
        nodes.append(tuple(node._replace(priority=next(left)) if node.collective else node for node in each))
    found = convert(Graphs(nodes, dict(written.groups)), "simai", tmp_path / "a.txt", Unrolling()).warnings
    assert any("take turns" in words for words in found) == told


@pytest.mark.parametrize(("times", "changed"), [(1, False), (10, False), (1, True)])
def test_priorities_in_the_order_of_a_text_come_back_as_that_text_and_others_are_told(
    times: int, changed: bool, tmp_path: Path
) -> None:
    graphs = Graphs([training_step(npu) for npu in range(4)], {**PAIRS, **ACROSS})
    convert(graphs, "simai", tmp_path / "w.txt", Unrolling())
    written = UnrolledLoop.of(read_simai(tmp_path / "w.txt"), 1, (4,))
    nodes = [list(written.nodes(npu)) for npu in range(4)]
    ranked = [
        [node._replace(priority=node.priority and times * node.priority + node.number * changed) for node in each]
        for each in nodes
    ]
    assert any(node.priority for node in ranked[0])
    told = convert(
        Graphs([tuple(each) for each in ranked], dict(written.groups)), "simai", tmp_path / "b.txt", Unrolling()
    ).warnings
    assert any("a graph by their priorities, which aren't in the text" in words for words in told) == changed
    assert any("take turns" in words for words in told) == changed
    plain = [re.sub(r"(?m)^\S+", "", (tmp_path / name).read_text()) for name in ("w.txt", "b.txt")]
    assert plain[0] == plain[1]


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        ((compute(1, 1), compute(2, 1)), "node 2 'c2': may run beside node 1 'c1'; SimAI's text can't express it"),
        ((compute(1, 1), collective(2, 8, 1), compute(3, 1, 1), compute(4, 1, 2, 3)), "node 3 'c3': may run beside"),
        ((compute(1, 1, on_host=True),), "node 1 'c1': is work of the host"),
        ((compute(1, 1)._replace(duration_ps=1),), "node 1 'c1': lasts no whole number of nanoseconds, which SimAI's"),
        ((compute(1, 1, priority=2),), "node 1 'c1': has a priority"),
        ((collective(1, 8, dimensions=(True, False)),), "node 1 'x1': goes over some dimensions"),
        ((collective(1, 8, collective=CollectiveKind.REDUCE),), "node 1 'x1': is a reduce, which SimAI's text"),
        ((), "has nothing to do, and a text needs a row"),
    ],
)
def test_what_the_text_cannot_say_is_told_with_the_node(graph: tuple[GraphNode, ...], words: str) -> None:
    with pytest.raises(InputError) as caught:
        rolled(Graphs([graph, graph]))
    assert words in str(caught.value)


def test_what_the_text_leaves_out_is_a_warning(tmp_path: Path) -> None:
    graph = (compute(1, 1, operations=5), compute(2, 1, 1, tensor_bytes=5), compute(3, 1, 2))
    told = convert(Graphs([graph, graph]), "simai", tmp_path / "w.txt", Unrolling()).warnings
    assert told == ("file 0: operations and tensors of 2 nodes aren't in the text",)


def test_messages_odd_communicators_and_npus_that_differ_cannot_be_said() -> None:
    with pytest.raises(InputError, match="node 1 's1': is send"):
        rolled(Graphs([(send(1, 1, 8),), ()]))
    with pytest.raises(InputError, match="file 1: does other things than file 0, which SimAI's text can't say"):
        rolled(Graphs([(compute(1, 1),), (compute(1, 2),)]))
    with pytest.raises(InputError, match="communicator '1', whose members are no even part of all NPUs"):
        rolled(Graphs([(collective(1, 8, group="1"),)] * 4, {"1": (0, 3, 1, 2)}))
    graphs = [(tensor(1, npu), data(2, npu, 1), collective(3, 8, 2), compute(4, 1, 3)) for npu in range(4)]
    with pytest.raises(InputError, match="its communicators are no tensor, data and expert groups"):
        rolled(Graphs(graphs, {**PAIRS, **ACROSS}))
