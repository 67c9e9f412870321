"""Training loops as graphs: played as a graph, and written as Chakra's traces, each ends when the loop itself does."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import permutations
from math import prod
from pathlib import Path

import pytest
from support.many_networks import system_for
from support.role_programs import loop_of_steps, plain_workload

import astra_ns3
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.document import Document
from astra_ns3.config.graph_workload import GraphWorkload, NodeKind
from astra_ns3.config.model.file import parse_model_file
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.config.training_plan import Exchange
from astra_ns3.config.workload import Layer, Pass, Workload
from astra_ns3.errors import InputError
from astra_ns3.network.records import Label
from astra_ns3.playing.converting.conversion import Unrolling, convert
from astra_ns3.playing.converting.unrolled import UnrolledLoop
from astra_ns3.playing.loops.loop_programs import Programs
from astra_ns3.playing.programs.operations import Compute
from astra_ns3.playing.training.making import training_programs
from astra_ns3.workload.files.chakra.trace import read_chakra
from astra_ns3.workload.files.chakra.writer import write_chakra
from astra_ns3.workload.models.workload import ModelWorkload

ALL_REDUCE, ALL_TO_ALL = CollectiveKind.ALL_REDUCE, CollectiveKind.ALL_TO_ALL
UPDATE_NS = 13


def workload(loop: str, update_ns: int = 0, policy: str | None = None, **options: object) -> Workload:
    gather, scatter = Pass(1280, CollectiveKind.ALL_GATHER, 30_000), Pass(794, CollectiveKind.REDUCE_SCATTER, 70_000)
    layers = (
        Layer(
            "emb",
            Pass(300, ALL_TO_ALL, 98_304),
            Pass(310, ALL_TO_ALL, 98_300),
            Pass(320, ALL_REDUCE, 4096),
            update_ns,
            policy,
        ),
        Layer("mid", gather, scatter, Pass(896, ALL_REDUCE, 133_120), update_ns, policy),
        Layer("top", Pass(50, ALL_REDUCE, 7000), Pass(6000), Pass(7, ALL_REDUCE, 500_000), update_ns, policy),
    )
    return Workload(loop, layers, source="loop.txt", **options)  # type: ignore[arg-type]


LOOPS = [
    workload("MICRO"),
    workload("DATA"),
    workload("MODEL"),
    workload("HYBRID_DATA_MODEL"),
    workload("HYBRID_MODEL_DATA"),
    workload("HYBRID_DLRM", last_bottom_layer=1),
    workload("HYBRID_DLRM_ENHANCED", last_bottom_layer=1),
    workload("HYBRID_TRANSFORMER", model_parallel_npus=2),
    workload("HYBRID_TRANSFORMER_FWD_IN_BCKWD", model_parallel_npus=2, checkpoints=(0,), checkpoint_initiates=(1,)),
    workload("HYBRID_CUSTOMIZED", policy="DATA"),
    workload("DISTRIBUTED_INFERENCE"),
]


def finish_ps(played: Workload | GraphWorkload, dimensions: tuple[int, ...], passes: int = 1) -> int:
    wires = {"link": {"rate": "100Gbps", "delay": "500ns"}, "switch": {"buffer": "1GB"}}
    star = {"kind": "single-switch", "npus": prod(dimensions), "dimensions": list(dimensions), **wires}
    result = astra_ns3.run(
        workload=played,
        system=system_for(len(dimensions)),
        network=parse_network({"topology": star}),
        backend="analytical",
        passes=passes,
    )
    return result.finish_ps


@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.loop)
def test_a_loop_as_chakras_traces_ends_when_the_loop_does(loop: Workload, tmp_path: Path) -> None:
    graph = UnrolledLoop.of(loop, 2, (2, 4))
    assert graph.warnings == ()
    write_chakra(graph, tmp_path / "job")
    groups = tmp_path / "job.groups.json"
    trace = read_chakra(tmp_path / "job", groups if groups.exists() else None)
    assert finish_ps(trace, (2, 4)) == finish_ps(graph, (2, 4)) == finish_ps(loop, (2, 4), passes=2)


@pytest.mark.parametrize("loop", [workload("DATA", UPDATE_NS), workload("HYBRID_MODEL_DATA", UPDATE_NS)])
def test_updates_that_meet_are_one_after_the_other_in_a_graph_and_a_warning(loop: Workload) -> None:
    graph = UnrolledLoop.of(loop, 1, (8,))
    (warning,) = graph.other_updates()
    assert "updates behind collectives that go on at once (up to 39 ns of an NPU) are one after the other" in warning
    later_ps = finish_ps(graph, (8,)) - finish_ps(loop, (8,))
    assert 0 <= later_ps <= 9 * UPDATE_NS * 1000  # of nine collectives


def overtaking() -> Workload:
    """A DLRM loop that issues an all-reduce and the embedding's all-to-all, which goes first, at one moment."""
    layers = (
        Layer("emb", Pass(300_000), Pass(0, ALL_TO_ALL, 8_000), Pass(0)),
        Layer("top", Pass(0), Pass(0), Pass(1000, ALL_REDUCE, 1_000_000)),
    )
    return Workload("HYBRID_DLRM", layers, last_bottom_layer=0, source="loop.txt")


def one_by_one(first: int, second: int) -> Workload:
    """A loop of an all-reduce and a reduce-scatter behind it."""
    sizes = ((ALL_REDUCE, first), (CollectiveKind.REDUCE_SCATTER, second))
    layers = tuple(Layer(kind.name, Pass(0, kind, size), Pass(0), Pass(0)) for kind, size in sizes)
    return Workload("MODEL", layers, source="loop.txt")


@pytest.mark.parametrize(
    ("loop", "words"),
    [
        (one_by_one(8000, 4000), ""),
        (one_by_one(8001, 4003), "members of an uneven all_reduce and an uneven reduce_scatter end at different times"),
        (overtaking(), "2 collectives of an NPU and an earlier one with a lower priority begin at one moment"),
    ],
)
def test_a_graph_that_ends_at_another_time_than_its_loop_has_a_warning(
    loop: Workload, words: str, tmp_path: Path
) -> None:
    warnings = convert(loop, "chakra", tmp_path / "job", Unrolling((8,), 2)).warnings
    differs = finish_ps(read_chakra(tmp_path / "job"), (8,)) != finish_ps(loop, (8,), passes=2)
    assert differs == bool(words)
    assert [words in warning for warning in warnings] == [True] * differs


def test_a_collective_without_partners_has_no_update_in_a_graph_either() -> None:
    """On one dimension HYBRID_DATA_MODEL's weight gradients have nobody to go to, and nothing else meets."""
    loop = workload("HYBRID_DATA_MODEL", 1_000_000)
    graph = UnrolledLoop.of(loop, 2, (8,))
    assert graph.other_updates() == ()
    assert finish_ps(graph, (8,)) == finish_ps(loop, (8,), passes=2)


def test_groups_that_end_inside_a_dimension_are_communicators_and_a_warning() -> None:
    graph = UnrolledLoop.of(replace(LOOPS[7], model_parallel_npus=4), 1, (8,))
    assert set(graph.groups.values()) == {(0, 1, 2, 3), (4, 5, 6, 7), (0, 4), (1, 5), (2, 6), (3, 7)}
    (warning,) = graph.warnings
    assert warning.endswith("on a network of 4x2 it has the loop's queues")


def test_each_npu_of_a_role_has_its_own_time_of_an_uneven_computation() -> None:
    label = Label(0, 0, "forward")
    uneven, even = Compute(label, 8000, (8000, 3000)), Compute(label, 5000)
    loop = loop_of_steps({"uneven": ([2, 3], [uneven]), "even": ([0, 1], [even])})
    graph = UnrolledLoop(Programs.of(plain_workload(), 1, (4,), loop=loop))
    durations_ps = [[node.duration_ps for node in graph.nodes(npu)] for npu in range(4)]
    assert durations_ps == [[5000], [5000], [8000], [3000]]


def test_a_scaled_graph_has_twice_the_sizes_and_three_times_the_computing() -> None:
    graph = UnrolledLoop.of(workload("DATA"), 1, (8,))
    for before, after in zip(graph.nodes(5), graph.scaled(comm_scale=2.0, compute_scale=3.0).nodes(5), strict=True):
        if before.kind is NodeKind.COMPUTE:
            assert after == before._replace(duration_ps=3 * (before.duration_ps or 0))
        else:
            assert after == before._replace(bytes=2 * (before.bytes or 0))


def test_a_loop_that_reacts_to_time_is_refused(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text("def loop(steps, role):\n    yield from ()\nloop.reactive = True\n")
    with pytest.raises(InputError, match="does next depends on time, which no graph can say"):
        UnrolledLoop.of(workload(f"{mine}:loop"), 1, (8,))


def test_uneven_all_to_alls_are_messages_of_their_counts(tmp_path: Path) -> None:
    """Of eight NPUs in tensor groups of two, four share experts: of each pair the rows of all layers, both ways."""
    experts = {"count": 8, "active": 2, "feed_forward": 128, "routing": "zipf", "skew": 1.2}
    data = {
        "kind": "transformer",
        "name": "small",
        "model": {"layers": 2, "hidden": 64, "heads": 2, "vocabulary": 256, "experts": experts},
        "training": {"sequence": 64, "micro_batches": 3},
        "parallel": {"tensor": 2, "sequence": True, "expert": 4},
    }
    model = ModelWorkload(parse_model_file(Document("small.yaml", data)), "small.yaml")
    plan = model.plan(8)
    graph = UnrolledLoop(training_programs(plan, model.clock(), 2, (2, 4)))
    expected: Counter[tuple[int, int]] = Counter()
    for block in plan.chunks[0]:
        for item in (*block.forward, *block.input_gradient):
            if isinstance(item, Exchange) and item.counts is not None:
                for sender, receiver in permutations(range(4), 2):
                    for tensor in range(2):
                        size = item.counts[sender][receiver]
                        expected[2 * sender + tensor, 2 * receiver + tensor] += 2 * plan.micro_batches * size
    sent: Counter[tuple[int, int]] = Counter()
    for npu in range(8):
        for node in graph.nodes(npu):
            if node.kind is NodeKind.SEND:
                assert node.peer is not None
                sent[npu, node.peer] += node.bytes or 0
    assert sent == +expected
    (warning,) = graph.warnings
    assert "all-to-alls with counts (uneven experts or tables) are messages in the graph" in warning
    write_chakra(graph, tmp_path / "job")
    trace = read_chakra(tmp_path / "job", tmp_path / "job.groups.json")
    assert finish_ps(trace, (2, 4)) == finish_ps(graph, (2, 4)) > 0
