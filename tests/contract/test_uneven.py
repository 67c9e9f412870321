"""All-to-alls with counts on every backend: each pair exchanges its count, to the byte, and nothing else."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.role_programs import collective, loop_of_steps, plain_workload, wait
from support.system_parts import system
from support.training_driver import TrainingDriver

import astra_ns3
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.document import Document
from astra_ns3.config.model.file import parse_model_file
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.experiments.inputs import Options
from astra_ns3.experiments.validate import validate
from astra_ns3.network.api import EndpointModel
from astra_ns3.network.backend_makers import create_backend
from astra_ns3.network.plan import plan_network
from astra_ns3.network.records import RecorderOptions
from astra_ns3.playing.converting.conversion import Unrolling, as_graphs
from astra_ns3.playing.training.model_summary import summary_of
from astra_ns3.system.communicator import Communicator
from astra_ns3.system.uneven import most_bytes
from astra_ns3.units import PS_PER_US
from astra_ns3.workload.models.workload import ModelWorkload

BACKENDS = [("ns3", "tcp"), ("ns3", "roce"), ("flow", "roce"), ("analytical", "tcp"), ("analytical-queues", "tcp")]
SMALL = ((0, 7, 0, 1), (3, 0, 0, 0), (0, 0, 5, 0), (1, 0, 2, 0))


def _play(
    folder: Path, backend: str, transport: str, members: tuple[int, ...], npus: int, bytes: int, counts: Any
) -> tuple[dict[tuple[int, int], int], int]:
    """Bytes between each two NPUs when ``members`` play an all-to-all in 4 chunks, and when it ends, in ps."""
    folder.mkdir()
    topology = {"kind": "single-switch", "npus": npus, "link": {"rate": "100Gbps", "delay": "500ns"}}
    topology["switch"] = {"buffer": "1GB"}
    config = parse_network({"topology": topology, "transport": {"kind": transport}})
    recorder = RecorderOptions(folder, flows=True)
    network = create_backend(backend, plan_network(config, EndpointModel(10_000)), seed=1, recorder=recorder)
    group = Communicator(members)
    issue = collective(group, bytes, CollectiveKind.ALL_TO_ALL, counts=counts)
    others = [npu for npu in range(npus) if npu not in members]
    programs: dict[str, Any] = {"members": (members, [issue, wait(0)])}
    if others:
        programs["others"] = (others, [])
    try:
        driver = TrainingDriver(network, system("direct"), plain_workload(), loop=loop_of_steps(programs))
        driver.run()
        records = driver.records()
        assert records.complete
    finally:
        network.close()
    flows = pd.read_parquet(folder / "flows.parquet")
    sent: dict[Any, int] = flows.groupby(["source", "destination"])["bytes"].sum().to_dict()
    return sent, records.finish_ps


@pytest.mark.parametrize("unit", [1, 3, 4096])
@pytest.mark.parametrize(("backend", "transport"), BACKENDS)
def test_each_pair_exchanges_its_count(tmp_path: Path, backend: str, transport: str, unit: int) -> None:
    counts = tuple(tuple(each * unit for each in row) for row in SMALL)
    members = (5, 1, 2, 4)  # places are those of the communicator, in any order of NPUs
    sent, _ = _play(tmp_path / "run", backend, transport, members, 6, most_bytes(counts), counts)
    expected = {
        (members[sender], members[receiver]): count
        for sender, row in enumerate(counts)
        for receiver, count in enumerate(row)
        if count and sender != receiver
    }
    assert sent == expected


@pytest.mark.parametrize(("backend", "transport"), BACKENDS)
def test_even_counts_take_as_long_as_an_even_all_to_all(tmp_path: Path, backend: str, transport: str) -> None:
    counts = ((4096,) * 4,) * 4
    members = (0, 1, 2, 3)
    uneven = _play(tmp_path / "uneven", backend, transport, members, 4, 4 * 4096, counts)
    assert uneven == _play(tmp_path / "even", backend, transport, members, 4, 4 * 4096, None)
    assert uneven[0] == {(one, other): 4096 for one in members for other in members if one != other}


@pytest.mark.parametrize(
    "routing",
    [
        {"routing": "zipf", "skew": 1.2},
        {"node_limit": 1, "npus_per_node": 4},
        {"dispatch": {"form": "normal"}, "npus_per_node": 4},
    ],
)
@pytest.mark.parametrize(("backend", "transport"), BACKENDS)
def test_a_model_whose_experts_are_not_chosen_alike_sends_what_was_foreseen(
    tmp_path: Path, backend: str, transport: str, routing: dict[str, Any]
) -> None:
    experts = {"count": 8, "active": 2, "feed_forward": 128, **routing}
    data = {
        "kind": "transformer",
        "name": "small",
        "model": {"layers": 2, "hidden": 64, "heads": 2, "vocabulary": 256, "experts": experts},
        "training": {"sequence": 64, "micro_batches": 2},
        "parallel": {"tensor": 2, "sequence": True, "expert": 4},
    }
    workload = ModelWorkload(parse_model_file(Document("small.yaml", data)), "small.yaml")
    topology = {"kind": "single-switch", "npus": 8, "link": {"rate": "100Gbps", "delay": "500ns"}}
    network = parse_network({"topology": {**topology, "switch": {"buffer": "1GB"}}, "transport": {"kind": transport}})
    options = Options(backend=backend)
    foreseen = validate(workload, system("direct"), network, options).forecast
    result = astra_ns3.run(
        workload=workload,
        system=system("direct"),
        network=network,
        backend=backend,
        record=["flows"],
        output=tmp_path / "out",
    )
    assert result.metadata["complete"]
    assert (len(result.flows), result.flows["bytes"].sum()) == (foreseen.messages, foreseen.bytes)
    assert list(result.experts["layer"]) == ["layer 0", "layer 1"]


@pytest.mark.parametrize("pipeline", [1, 2])
def test_the_summary_of_a_model_is_of_the_npu_that_computes_longest_and_of_the_one_that_sends_most(
    pipeline: int,
) -> None:
    """Each layer has a busiest place of its own, so no NPU computes or sends what the busiest of all layers do."""
    updates_us, npus = set[tuple[int, float]](), 4 * pipeline
    for routing in ({}, {"routing": "zipf", "skew": 1.2}):
        experts = {"count": 8, "active": 2, "feed_forward": 2048, **routing}
        data = {
            "kind": "transformer",
            "name": "small",
            "model": {"layers": 12, "hidden": 256, "heads": 2, "vocabulary": 256, "experts": experts},
            "training": {"sequence": 256, "micro_batches": 2},
            "parallel": {"tensor": 1, "expert": 4, "pipeline": pipeline, "schedule": "1f1b"},
            "compute": {"device": "H100", "overlap_slowdown": 1, "launch_overhead": 0},
        }
        workload = ModelWorkload(parse_model_file(Document("small.yaml", data)), "small.yaml")
        topology = {"kind": "single-switch", "npus": npus, "link": {"rate": "100Gbps", "delay": "500ns"}}
        network = parse_network({"topology": {**topology, "switch": {"buffer": "1GB"}}, "transport": {"kind": "roce"}})
        result = astra_ns3.run(
            workload=workload, system=system("direct"), network=network, backend="analytical", record=["flows"]
        )
        found = summary_of(workload, (npus,))
        for stage, work in enumerate(found.stages):
            mine = result.npus[result.npus["npu"] // 4 == stage]
            updates_us.add((stage, round(mine["compute_us"].max() - work.compute_ps / PS_PER_US, 6)))
        ways = result.collectives[result.collectives["kind"] == "ALLTOALL"]["collective"]
        flows = result.flows[result.flows["collective"].isin(ways)]
        (told,) = (each.sent_bytes for each in found.traffic if each.collective == "all-to-all")
        assert told == flows.groupby("source")["bytes"].sum().max()
    # An NPU updates as many parameters however tokens choose.
    assert len(updates_us) == pipeline


def test_a_graph_of_the_normal_form_sends_the_same_messages_in_about_the_same_time() -> None:
    experts = {"count": 16, "active": 3, "feed_forward": 128, "dispatch": {"form": "normal"}, "npus_per_node": 4}
    data = {
        "kind": "transformer",
        "name": "small",
        "model": {"layers": 2, "hidden": 64, "heads": 2, "vocabulary": 256, "experts": experts},
        "training": {"sequence": 256},
        "parallel": {"expert": 8},
    }
    model = ModelWorkload(parse_model_file(Document("small.yaml", data)), "small.yaml")
    topology = {"kind": "single-switch", "npus": 8, "link": {"rate": "100Gbps", "delay": "500ns"}}
    network = parse_network({"topology": {**topology, "switch": {"buffer": "1GB"}}, "transport": {"kind": "roce"}})
    played = [
        astra_ns3.run(workload=workload, system=system("direct"), network=network, passes=1, record=["flows"])
        for workload in (model, as_graphs(model, Unrolling((8,), 1)))
    ]
    names = ["source", "destination", "bytes"]
    messages = [Counter(each.flows[names].itertuples(index=False, name=None)) for each in played]
    assert messages[0] == messages[1]
    assert sum(messages[0].values()) > 300
    assert played[1].finish_ps == pytest.approx(played[0].finish_ps, rel=0.05)
