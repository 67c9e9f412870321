"""What graphs will ask for is counted while they are checked, in one reading, however many nodes there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from support.graphs.small_graphs import US, SmallGraphs, collective, compute, mark, receive, send, system_of

from astra_ns3.config.core.compatibility import OURS
from astra_ns3.config.graph_workload import GraphNode
from astra_ns3.errors import InputError, ProgramMismatch
from astra_ns3.experiments.inputs import load_inputs
from astra_ns3.experiments.jobs.graphs import GraphJob
from astra_ns3.experiments.jobs.job import Platform
from astra_ns3.experiments.options import Options
from astra_ns3.experiments.progress import expected_work
from astra_ns3.experiments.request import RunRequest
from astra_ns3.playing.graphs import counted as counting
from astra_ns3.playing.graphs.counted import counted
from astra_ns3.workload.graphs.same_on_all import SameOnAll

INPUTS = Path(__file__).parents[3] / "inputs"


@dataclass(frozen=True)
class ReadOften(SmallGraphs):
    """Counts how often each NPU's nodes are read."""

    reads: Counter[int] = field(default_factory=Counter)

    def nodes(self, npu: int) -> Iterator[GraphNode]:
        self.reads[npu] += 1
        return iter(self.graphs[npu])


def system_and_grid_of(npus: int, **keys: object) -> Platform:
    return Platform(system_of(**keys), (npus,), None, OURS)


RANK_0 = compute(1, 5), send(2, 1, 300, 1), collective(3, 64, 2), collective(4, 64, 3), mark(5), compute(6, 7)
RANK_1 = receive(2, 0, 300), collective(3, 64), collective(4, 64), send(7, 1, 9), receive(8, 1, 9), compute(9, 2)


def test_collectives_count_once_and_messages_to_others_and_all_computations() -> None:
    counts = counted(SmallGraphs((RANK_0, RANK_1)), system_of(), 1, OURS)
    assert [(request.bytes, times) for request, times in counts.requests] == [(64, 2)]
    assert counts.messages == {(0, 1, 300): 1}
    assert (counts.computations, counts.npu0_compute_ps, counts.nodes) == (3, 12 * US, 12)
    assert counts.whole


def test_a_job_reads_its_files_once_before_it_is_played() -> None:
    graphs = ReadOften((RANK_0, RANK_1))
    job, platform = GraphJob(graphs), system_and_grid_of(2)
    job.warnings(platform)
    ring_of_two_bytes = 2 * 64  # each sends 2 (n - 1) / n of the 64
    assert job.expected(platform, 1).bytes == 300 + 2 * ring_of_two_bytes
    assert job.expected_computation(platform, 1) == (12 * US, 3)
    assert graphs.reads == {0: 1, 1: 1}


def test_the_trace_of_one_rank_counts_for_all() -> None:
    rank = compute(1, 5), send(2, 1, 300, 1), collective(3, 64, 2)
    counts = counted(SameOnAll(SmallGraphs((rank,)), 4), system_of(), 1, OURS)
    assert counts.messages == {(0, 1, 300): 1, (2, 1, 300): 1, (3, 1, 300): 1}
    assert [(request.bytes, times) for request, times in counts.requests] == [(64, 1)]
    assert (counts.computations, counts.npu0_compute_ps) == (4, 5 * US)


def test_what_is_wrong_with_the_graphs_is_told_before_what_cannot_be_asked() -> None:
    nobody = send(2, 9, 300)
    with pytest.raises(ProgramMismatch, match=r"small\.1"):
        GraphJob(SmallGraphs(((nobody, collective(3, 64)), (collective(3, 65),)))).expected(system_and_grid_of(2), 1)


def test_what_cannot_be_asked_is_refused_before_anything_is_played() -> None:
    bare = compute(1, 0, operations=5)
    platform = Platform(system_of(roofline_enabled=1, local_mem_bw=1, peak_perf=1), (1,), None, OURS)
    job = GraphJob(SmallGraphs(((bare,),)))
    assert job.expected_computation(platform, 1) == (0, 0)
    with pytest.raises(InputError, match="NPU 9"):
        counted(SmallGraphs(((send(2, 9, 300),),)), system_of(), 1, OURS)


def test_of_too_many_kinds_nothing_is_said_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "MOST_KINDS", 3)
    graphs = [tuple(send(1 + n, 1, 100 + n) for n in range(size)) for size in (3, 4)]
    assert counted(SmallGraphs((graphs[0], ())), system_of(), 1, OURS).whole
    counts = counted(SmallGraphs((graphs[1], ())), system_of(), 1, OURS)
    assert not counts.whole
    job = GraphJob(SmallGraphs((graphs[1], ())))
    monkeypatch.setattr(GraphJob, "_counted", lambda *_: counts)
    (left,), sure = job.unsure(system_and_grid_of(2))
    assert left.endswith("whose messages are of too many kinds")
    assert sure == []
    assert len(counts.messages) == 3


def test_a_run_of_many_nodes_knows_how_far_it_is() -> None:
    nodes = 210_000  # of which once only the first 200,000 were counted, and then nothing was known
    chain = tuple(compute(number, 1) for number in range(nodes // 2))
    graphs = SmallGraphs((chain, chain, *[()] * 14))
    inputs = load_inputs(
        graphs,
        INPUTS / "system" / "flat.yaml",
        INPUTS / "network" / "single-switch-16.yaml",
        Options(),
    )
    assert expected_work([(inputs, 1)]).compute_ps == nodes // 2 * US


def test_recording_nodes_of_anything_but_graphs_is_told_to_be_without_effect() -> None:
    asked = RunRequest(workload="", system="", network="", record=("nodes",))
    network, system = INPUTS / "network" / "single-switch-16.yaml", INPUTS / "system" / "flat.yaml"
    loop = load_inputs(INPUTS / "workload" / "micro-all-reduce.txt", system, network, asked)
    assert any("is a training loop; without effect on it: --record nodes" in line for line in loop.warnings)
    graphs = load_inputs(SmallGraphs(((compute(1, 1),), *[()] * 15)), system, network, asked)
    assert not any("without effect" in line for line in graphs.warnings)
    of_simai = load_inputs(SmallGraphs(((compute(1, 1),), *[()] * 15)), system, network, Options(compat="simai"))
    assert any("is a workload of graphs; without effect on it: --compat simai" in line for line in of_simai.warnings)


def test_a_message_of_no_bytes_counts_as_the_one_byte_that_it_sends() -> None:
    counts = counted(SmallGraphs(((send(1, 1, 0),), (receive(1, 0, 0),))), system_of(), 1, OURS)
    assert counts.messages == {(0, 1, 1): 1}
