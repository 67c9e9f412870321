"""Random runs of all kinds of workloads are explained whole, which a walk of its own over their tables confirms."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from oracles.causal_chain import CausalChain
from soak.explained import explained, problems_of_explanation
from support.graphs import chakra_bytes as raw
from support.graphs.small_graphs import system_of
from support.lengths import some_slow
from support.small_run import small_system

import astra_ns3
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.run import execute
from astra_ns3.report.explanation.parts import COMPUTE, ENDPOINT, LATENCY, MESSAGE, WORK, Segment
from astra_ns3.report.explanation.path import critical_path
from astra_ns3.report.explanation.run_tables import Tables
from astra_ns3.system.file import parse_system
from astra_ns3.workload.files.astra_sim import parse_workload

RUNS = 60
"""A third of a second of CPU time each; ``python -m soak.explained`` plays a thousand."""
AT_ONCE = 15
SHARE = 0.05
"""Of the soak's bytes."""
LEAST_WITHOUT_DELAY = 3
US = 1_000_000


def played(first: int, folder: Path) -> Iterator[tuple[int, RunRequest, list[str]]]:
    """Runs from a seed on, with what is wrong with their explanations."""
    for seed in range(first, first + 10 * RUNS):
        place = folder / str(seed)
        place.mkdir()
        found = explained(seed, place, share=SHARE)
        if found is not None:
            yield seed, *found


@pytest.mark.parametrize("part", some_slow(range(RUNS // AT_ONCE), [0, 1]))
def test_random_runs_are_explained_whole(part: int, tmp_path: Path) -> None:
    problems, kinds, without_delay = [], set(), 0
    for seed, request, found in islice(played(1000 * part + 1, tmp_path), AT_ONCE):
        problems += [f"seed {seed}: {problem}" for problem in found]
        kinds.add(type(request.workload))
        without_delay += not request.system.endpoint_delay_ns  # type: ignore[union-attr]
    assert problems == []
    assert len(kinds) > 1
    assert without_delay >= LEAST_WITHOUT_DELAY


@pytest.mark.slow
def test_many_random_runs_are_explained_whole(tmp_path: Path) -> None:
    found = islice(played(20_001, tmp_path), 5 * RUNS)
    assert [f"seed {seed}: {problem}" for seed, _, problems in found for problem in problems] == []


def graphs_of_all_sorts(folder: Path) -> astra_ns3.Result:
    """Two NPUs: a host, the device, a collective that is itself a graph with a computation in it, and the device."""
    first = [
        raw.node(1, raw.COMPUTE, duration_us=3, is_cpu_op=True),
        raw.node(2, raw.COLLECTIVE, (1,), comm_type=0, comm_size=64, is_cpu_op=False),
        raw.node(3, raw.COMPUTE, (2,), duration_us=2, is_cpu_op=False),
    ]
    inner = [
        [raw.node(1, raw.COMPUTE, duration_us=1), _sends(2, 1, 1), _receives(3, 1)],
        [_receives(1, 0), raw.node(2, raw.COMPUTE, (1,), duration_us=4), _sends(3, 0, 2)],
    ]
    system = system_of(all_reduce_implementation_custom=[str(raw.write_traces(folder, inner, "mine"))])
    network = folder / "network.yml"
    network.write_text("topology: [ Switch ]\nnpus_count: [ 2 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n")
    request = RunRequest(workload=raw.write_traces(folder, [first, first]), system=system, network=network)
    asked = replace(request, record=("timeline", "flows"), backend="analytical", output=folder / "out", isolated=False)
    return execute(asked).result


def _sends(number: int, peer: int, *parents: int) -> bytes:
    return raw.node(number, raw.SEND, parents, comm_dst=peer, comm_tag=0, comm_size=100)


def _receives(number: int, peer: int, *parents: int) -> bytes:
    return raw.node(number, raw.RECEIVE, parents, comm_src=peer, comm_tag=0, comm_size=100)


def test_hosts_and_collectives_that_are_graphs_are_on_the_chain(tmp_path: Path) -> None:
    result = graphs_of_all_sorts(tmp_path)
    assert problems_of_explanation(result) == []
    chain = critical_path(Tables(result))
    # The host; in the collective rank 0 computes and sends, rank 1 computes and sends back; then the device.
    assert [(link.kind, link.npu) for link in chain[:-1]] == [
        (WORK, 0),
        (WORK, 0),
        (MESSAGE, 0),
        (WORK, 1),
        (MESSAGE, 1),
    ]
    assert (chain[-1].kind, chain[-1].time_ps) == (COMPUTE, 2 * US)
    assert [link.time_ps for link in chain if link.kind != MESSAGE] == [3 * US, 1 * US, 4 * US, 2 * US]


ROUND_A_ROOT = """\
# collective: all_reduce
# ranks: 3
# blocks: 3
sender,receiver,step,first_block,block_count,reduces,wait_step
2,1,0,0,2,0,-1
1,2,0,2,1,0,-1
1,0,1,0,2,0,0
2,0,2,2,1,1,0
0,1,3,0,3,0,2
0,2,3,0,3,0,2
"""
"""Rank 0 reduces the smaller message alone, which comes first and is the second that it handles."""


def test_a_message_that_came_early_is_handled_behind_the_one_of_the_step_before(tmp_path: Path) -> None:
    """The chain has each message's own cost: 10 ns for the one that was not reduced, then 3 ns more for the other."""
    (tmp_path / "root.csv").write_text(ROUND_A_ROOT, encoding="utf-8")
    network = tmp_path / "network.yml"
    network.write_text("topology: [ Switch ]\nnpus_count: [ 3 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n")
    keys = {"all-reduce-implementation": f"file:{tmp_path / 'root.csv'}", "preferred-dataset-splits": 1}
    result = astra_ns3.run(
        workload=parse_workload("DATA\n1\none -1 0 NONE 0 0 NONE 0 5 ALLREDUCE 1500000 0\n", "one"),
        system=small_system(**keys),
        network=network,
        backend="analytical",
        record=["timeline", "flows"],
        output=tmp_path / "out",
    )
    assert problems_of_explanation(result) == []
    chain = critical_path(Tables(result))
    around = [ENDPOINT, MESSAGE] * 2
    assert [link.kind for link in chain] == [COMPUTE, *around, ENDPOINT, ENDPOINT, MESSAGE, ENDPOINT]
    assert [link.time_ps for link in chain if link.kind == ENDPOINT] == [10_000, 10_000, 10_000, 13_000, 10_000]


def test_the_oracle_finds_what_is_wrong_with_a_chain(tmp_path: Path) -> None:
    """A link left out, one of another NPU in its place, one that is longer, another message: none may follow."""
    result = graphs_of_all_sorts(tmp_path)
    oracle, chain = CausalChain(result), list(critical_path(Tables(result)))
    assert oracle.problems(chain) == []
    for place, link in enumerate(chain):
        others: list[list[Segment]] = [
            [],
            [replace(link, npu=1 - link.npu)],
            [replace(link, end_ps=link.end_ps - 1)],
            [replace(link, kind="endpoint")],
            [replace(link, operation=link.operation - 1 if link.operation else 1, message=1 - max(link.message, 0))],
        ]
        for instead in others:
            assert oracle.problems([*chain[:place], *instead, *chain[place + 1 :]]) != [], (place, instead)


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b", "zero-bubble"])
@pytest.mark.parametrize("compat", ["none", "astra-sim-2"])
def test_a_receive_that_comes_behind_its_message_has_not_waited(compat: str, schedule: str, tmp_path: Path) -> None:
    """The chain goes on with what the NPU did before it, and not with the message that was there long before."""
    model = {
        "kind": "transformer",
        "name": "small",
        "model": {"layers": 4, "hidden": 256, "heads": 4, "vocabulary": 1000},
        "training": {"sequence": 128, "micro_batches": 8},
        "parallel": {"tensor": 1, "pipeline": 4, "schedule": schedule},
    }
    (tmp_path / "model.yaml").write_text(json.dumps(model), encoding="utf-8")
    result = astra_ns3.run(
        workload=tmp_path / "model.yaml",
        system=small_system(),
        network=Path(__file__).parents[2] / "inputs" / "network" / "ring-8.yaml",
        backend="analytical-queues",
        compat=compat,
        record=["timeline", "flows"],
        output=tmp_path / "out",
    )
    assert problems_of_explanation(result) == []


def test_with_a_barrier_the_chain_goes_on_with_the_kernel_that_was_last(tmp_path: Path) -> None:
    """The own kernel had copied its last message long before, and did nothing until the barrier."""
    network = tmp_path / "network.yaml"
    links = {"link": {"rate": "10Gbps", "delay": "500ns"}, "switch": {"buffer": "32MiB"}}
    topology = {"kind": "single-switch", "npus": 4, "npus_per_host": 1, **links}
    network.write_text(json.dumps({"topology": topology, "transport": {"kind": "tcp"}}), encoding="utf-8")
    result = astra_ns3.run(
        workload=parse_workload("DATA\n1\na -1 1000 NONE 0 1000 NONE 0 1000 ALLREDUCE 100001 0\n", "a.txt"),
        system=parse_system({"collectives": "nccl", "nccl": {"NCCL_ALGO": "Tree"}}),
        network=network,
        compat="astra-sim-1.0",
        record=["timeline", "flows"],
        output=tmp_path / "out",
    )
    assert any(link.kind == LATENCY for link in critical_path(Tables(result)))
    assert problems_of_explanation(result) == []
