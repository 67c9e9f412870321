"""NPUs that play one graph are played together while they are in step: nothing may come out differently for it."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from support.graphs.small_graphs import SmallGraphs, collective, compute, system_of
from support.lengths import some_slow

from astra_ns3.config.compute_slowdown import CommunicationShares, ComputeSlowdown, Straggler
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.graph_workload import GraphNode, NodeKind
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.network.api import EndpointModel
from astra_ns3.network.backend_makers import create_backend
from astra_ns3.network.plan import plan_network
from astra_ns3.network.records import RecorderOptions, RunRecords
from astra_ns3.playing.graphs import graph_driver
from astra_ns3.playing.graphs.graph_driver import GraphDriver
from astra_ns3.playing.graphs.npu_player import NpuPlayer, Told
from astra_ns3.workload.graphs.same_on_all import SameOnAll

BACKENDS = ("ns3", "flow", "analytical", "analytical-queues")
SEEDS = range(16)
ROCE = {"kind": "roce", "reliability": {"kind": "selective-repeat", "retries": 500, "timeout": "100us"}}
KINDS = (
    CollectiveKind.ALL_REDUCE,
    CollectiveKind.ALL_GATHER,
    CollectiveKind.REDUCE_SCATTER,
    CollectiveKind.ALL_TO_ALL,
    CollectiveKind.BARRIER,
)


def _drawn_graph(draw: random.Random, dimensions: int) -> tuple[GraphNode, ...]:
    """Computations of device and host, accesses to memory and collectives, each behind some that came before."""
    nodes: list[GraphNode] = []
    for number in range(draw.randint(5, 60)):
        parents = tuple(sorted(draw.sample(range(max(0, number - 8), number), k=min(number, draw.randint(0, 2)))))
        kind = draw.random()
        priority = draw.choice([0, 0, 3])
        if kind < 0.5:
            node = compute(number, draw.choice([0, 1, 5, 20]), *parents, on_host=draw.random() < 0.2, priority=priority)
        elif kind < 0.6:
            node = GraphNode(number, "m", draw.choice([NodeKind.MEMORY_LOAD, NodeKind.MARK]), parents, tensor_bytes=50)
        else:
            over = tuple(draw.random() < 0.7 for _ in range(dimensions))
            node = collective(
                number,
                draw.choice([0, 700, 20_000, 150_000]),
                *parents,
                collective=draw.choice(KINDS),
                dimensions=over if any(over) and draw.random() < 0.5 else None,
                priority=priority,
            )
        nodes.append(node)
    return tuple(nodes)


def _drawn_slowdown(draw: random.Random, npus: int) -> ComputeSlowdown | None:
    if draw.random() < 0.4:
        return None
    slow = draw.choice([None, (draw.randrange(npus),)])
    stragglers = (Straggler(npus=slow, factor=1.5),) if draw.random() < 0.5 else ()
    shares = CommunicationShares(processors=0.2, memory_bandwidth=0.1)
    return ComputeSlowdown(stragglers=stragglers, communication=shares)


def _played(seed: int, backend: str, told: Told | None = None) -> RunRecords:
    draw = random.Random(seed)
    dimensions = draw.choice([(8,), (12,), (4, 4), (2, 3, 2)])
    npus = 1
    for size in dimensions:
        npus *= size
    workload = SameOnAll(SmallGraphs((_drawn_graph(draw, len(dimensions)),)), npus)
    slowdown = _drawn_slowdown(draw, npus)
    algorithms = [draw.choice(["ring", "direct"]) for _ in dimensions]
    kinds = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")
    system = system_of(
        **{f"{kind}-implementation": algorithms for kind in kinds},
        **{
            "scheduling-policy": draw.choice(["FIFO", "LIFO"]),
            "preferred-dataset-splits": draw.randint(1, 3),
            "active-chunks-per-dimension": draw.randint(1, 3),
            "local-mem-bw": 50,
            "reduction-bytes-per-ns": 100,
        },
    )
    link = {"rate": "100Gbps", "delay": "500ns"}
    topology = draw.choice(
        [
            {"kind": "single-switch", "npus": npus},
            {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": npus // 2, "spines": 2, "uplink": link},
        ]
    )
    buffer = draw.choice(["1GB", "40KB"]) if backend == "ns3" else "1GB"
    network = parse_network({"topology": {**topology, "link": link, "switch": {"buffer": buffer}}, "transport": ROCE})
    planned = plan_network(network, EndpointModel(10_000))
    made = create_backend(backend, planned, seed=1, recorder=RecorderOptions())
    try:
        driver = GraphDriver(
            made,
            system,
            workload,
            dimensions=dimensions,
            report_npu=draw.randrange(npus),
            slowdown=slowdown,
            told=told,
            alike=True,
        )
        driver.run()
        records = driver.records()
        assert driver.chain.time_ps <= records.finish_ps
        return records
    finally:
        made.close()


def _unnumbered(records: RunRecords) -> list[str]:
    """All collectives; what NPUs begin at one moment may be numbered in another order."""
    return sorted(str(replace(record, index=0)) for record in records.collectives)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", some_slow(SEEDS, range(6)))
def test_a_graph_is_the_same_played_alone(seed: int, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_driver, "LARGEST_WINDOW", random.Random(seed).choice([4, 1 << 16]))
    together = _played(seed, backend)
    alone = _played(seed, backend, told=lambda *_: None)
    assert together.complete
    assert _unnumbered(together) == _unnumbered(alone)
    assert replace(together, collectives=alone.collectives) == alone


@pytest.mark.parametrize(("bytes", "part"), [(1 << 20, False), ((1 << 20) + 3, True)])
def test_those_part_whose_shares_differ(bytes: int, part: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a ring of eight: all end at one moment only if each has an eighth."""
    split = NpuPlayer.split
    parted: list[int] = []

    def noted(player: NpuPlayer, groups: list[list[int]]) -> list[NpuPlayer]:
        parted.append(len(player.npus))
        return split(player, groups)

    monkeypatch.setattr(NpuPlayer, "split", noted)
    nodes: list[GraphNode] = []
    for number in range(0, 20, 2):
        nodes.append(compute(number, 3, *([number - 1] if number else [])))
        nodes.append(collective(number + 1, bytes, number))
    link = {"rate": "100Gbps", "delay": "500ns"}
    topology = {"kind": "single-switch", "npus": 8, "link": link, "switch": {"buffer": "1GB"}}
    planned = plan_network(parse_network({"topology": topology, "transport": "roce"}), EndpointModel(0))
    made = create_backend("analytical", planned, seed=1, recorder=RecorderOptions())
    workload = SameOnAll(SmallGraphs((tuple(nodes),)), 8)
    try:
        GraphDriver(made, system_of(), workload, dimensions=(8,), alike=True).run()
    finally:
        made.close()
    assert bool(parted) == part
