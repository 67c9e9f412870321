"""Storage hosts: what NPUs store there and load from there, against bytes by formula and closed times."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from oracles.storage_times import Line, load_ps, store_ps

import astra_ns3
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.errors import InputError
from astra_ns3.experiments.network_summary import load_network, network_summary
from astra_ns3.report.network.layout import layout
from astra_ns3.report.timeline.timeline import write_timeline
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.counts import count_network
from astra_ns3.topology.ports import node_name
from astra_ns3.topology.storage import GraphStorage, without_storage

PAYLOAD, DELAY_NS = 1000, 10
LINE = {"rate": "100Gbps", "delay": "500ns"}
UPLINK = {"rate": "50Gbps", "delay": "300ns"}
STORAGE = {"rate": "200Gbps", "delay": "700ns"}
FAST, SLOW, OWN = Line(10**11, 500_000), Line(5 * 10**10, 300_000), Line(2 * 10**11, 700_000)
WAYS: Mapping[str, Sequence[Line]] = {"node": [OWN], "rack": [FAST, OWN], "fabric": [FAST, SLOW, OWN]}
SYSTEM = {
    "scheduling-policy": "LIFO",
    "endpoint-delay": DELAY_NS,
    "preferred-dataset-splits": 1,
    **{f"{kind}-implementation": "ring" for kind in ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")},
}
MODEL: dict[str, Any] = {
    "kind": "transformer",
    "name": "tiny",
    "model": {"layers": 2, "hidden": 16, "heads": 2, "feed_forward": 64, "vocabulary": 128},
    "training": {"sequence": 8},
    "compute": {"kind": "roofline", "device": "H100"},
}
WEIGHT, STATES = 2, 12
US = 10**6


def network(per: str, npus: int = 1, *, transport: str = "roce", **storage: Any) -> dict[str, Any]:
    topology = {
        "kind": "leaf-spine",
        "leaves": 1,
        "spines": 1,
        "hosts_per_leaf": npus,
        "link": LINE,
        "uplink": UPLINK,
        "switch": {"buffer": "64MB"},
        "storage": {"per": per, "link": STORAGE, **storage},
    }
    roce = {"payload": PAYLOAD, "congestion_control": "none"} if transport == "roce" else {}
    return {"topology": topology, "transport": {"kind": transport, **roce}}


def played(folder: Path, model: Mapping[str, Any], net: Mapping[str, Any], **options: Any) -> Any:
    for name, content in (("model", {**MODEL, **model}), ("network", net), ("system", SYSTEM)):
        (folder / f"{name}.yaml").write_text(json.dumps(content), encoding="utf-8")
    return astra_ns3.run(
        workload=folder / "model.yaml",
        system=folder / "system.yaml",
        network=folder / "network.yaml",
        isolated=False,
        **options,
    )


def accesses(result: Any, part: str) -> list[tuple[str, int, int]]:
    """Return layer, bytes and picoseconds of each store or load, in the order of their begins."""
    table = result.collectives
    own = table[table["part"] == part]
    rows = zip(own["layer"], own["bytes"], own["duration_us"], strict=True)
    return [(layer, int(size), round(float(time_us) * US)) for layer, size, time_us in rows]


@pytest.mark.parametrize("per", [*WAYS])
def test_a_store_alone_takes_its_closed_time_and_has_weights_and_states_of_all_parameters(
    tmp_path: Path, per: str
) -> None:
    result = played(tmp_path, {"checkpoint": {"every": 1}}, network(per))
    size_bytes = (WEIGHT + STATES) * result.metadata["workload"]["parameters"]
    closed_ps = store_ps(WAYS[per], size_bytes, PAYLOAD, DELAY_NS * 1000)
    assert accesses(result, "store") == [("checkpoint", size_bytes, closed_ps)]


@pytest.mark.parametrize("per", [*WAYS])
def test_loads_and_stores_of_optimizer_states_one_by_one_take_their_closed_times(tmp_path: Path, per: str) -> None:
    result = played(tmp_path, {"offload": {"optimizer": {"prefetch": 0}}}, network(per))
    loads, stores = accesses(result, "load"), accesses(result, "store")
    assert [size for _, size, _ in loads] == [size for _, size, _ in stores]
    assert sum(size for _, size, _ in loads) == STATES * result.metadata["workload"]["parameters"]
    for (_, size, load), (_, _, store) in zip(loads, stores, strict=True):
        assert load == load_ps(WAYS[per], size, PAYLOAD, DELAY_NS * 1000)
        assert store == store_ps(WAYS[per], size, PAYLOAD, DELAY_NS * 1000)


def test_prefetch_hides_loads_and_stores_of_optimizer_states(tmp_path: Path) -> None:
    ends_ps = [
        played(tmp_path, {"offload": {"optimizer": {"prefetch": ahead}}}, network("node")).finish_ps
        for ahead in (0, 1, 2)
    ]
    assert ends_ps[0] > ends_ps[1] >= ends_ps[2]


@pytest.mark.parametrize("ahead", [0, 1])
def test_a_block_begins_once_no_more_than_prefetch_blocks_before_it_are_being_stored(
    tmp_path: Path, ahead: int
) -> None:
    """Over a line so slow that storing takes longer than computing."""

    def stores(prefetch: int) -> list[tuple[int, int]]:
        model = {"model": {**MODEL["model"], "layers": 4}, "offload": {"activations": {"prefetch": prefetch}}}
        table = played(tmp_path, model, network("node", link={**STORAGE, "rate": "1Gbps"})).collectives
        own = table[table["part"] == "store"]
        return [(round(begin * US), round(end * US)) for begin, end in zip(own["start_us"], own["end_us"], strict=True)]

    computed_ps = [after - before for (before, _), (after, _) in pairwise(stores(prefetch=9))]
    found = stores(ahead)
    for number, took_ps in enumerate(computed_ps, start=1):
        stored_ps = found[number - 1 - ahead][1] if number > ahead else 0
        assert found[number][0] == max(found[number - 1][0], stored_ps) + took_ps


@pytest.mark.parametrize(("transport", "backend"), [("roce", "ns3"), ("tcp", "ns3"), ("roce", "flow")])
def test_bytes_of_activations_and_weights_are_those_of_the_memory(tmp_path: Path, transport: str, backend: str) -> None:
    batches = 3
    away = {"activations": {"prefetch": 1}, "weights": {"prefetch": 0}}
    model = {"training": {"sequence": 8, "micro_batches": batches}}
    net = network("rack", 2, transport=transport, count=2)
    result = played(tmp_path, {**model, "offload": away}, net, backend=backend)
    whole = played(tmp_path, model, net, backend=backend)
    memory = whole.memory[whole.memory["part"].isna()] if "part" in whole.memory else whole.memory
    kept = int(memory["activations_bytes"].max())
    parameters = result.metadata["workload"]["parameters"]
    loads, stores = accesses(result, "load"), accesses(result, "store")
    # On each of two copies: activations once a micro-batch each way; weights for two passes of each, and the update.
    assert sum(size for _, size, _ in stores) == 2 * (batches * kept + WEIGHT * parameters)
    assert sum(size for _, size, _ in loads) == 2 * (batches * kept + (2 * batches + 1) * WEIGHT * parameters)
    assert result.complete


@pytest.mark.parametrize("zero", [1, 2, 3])
@pytest.mark.parametrize(("keeps", "bucket"), [(False, None), (True, "1MB")])
def test_weights_beyond_the_device_go_together_with_zero(
    tmp_path: Path, zero: int, keeps: bool, bucket: str | None
) -> None:
    batches, copies, passes = 3, 2, 2
    parallel = {"zero": zero, "prefetch": 1, "keep_gathered": keeps, **({"bucket": bucket} if bucket else {})}
    model = {"training": {"sequence": 8, "micro_batches": batches}, "parallel": parallel}
    away = {"weights": {"prefetch": 1}}
    result = played(tmp_path, {**model, "offload": away}, network("rack", copies, count=2), passes=passes)
    whole = WEIGHT * result.metadata["workload"]["parameters"]  # which two copies divide
    loads, stores = accesses(result, "load"), accesses(result, "store")
    if zero == 3:
        uses = batches * (1 if keeps else 2)  # what is kept is there for the backward pass
        expected = (uses + 1) * whole // copies, whole // copies
    else:
        expected = 2 * batches * whole + whole // copies, whole
    moved = sum(size for _, size, _ in loads), sum(size for _, size, _ in stores)
    assert moved == tuple(passes * copies * each for each in expected)
    own = played(tmp_path, model, network("rack", copies, count=2))
    assert max(result.memory["weights_bytes"]) < max(own.memory["weights_bytes"])


def test_flows_store_as_fast_as_packets(tmp_path: Path) -> None:
    checkpoint = {"checkpoint": {"every": 1}, "model": {**MODEL["model"], "hidden": 64, "feed_forward": 256}}
    times_ps = [
        accesses(played(tmp_path, checkpoint, network("fabric"), backend=backend), "store")[0][2]
        for backend in ("ns3", "flow")
    ]
    assert times_ps[1] == pytest.approx(times_ps[0], rel=0.02)


@pytest.mark.parametrize("kind", ["PER_NPU_MEMORY_EXPANSION", "PER_NODE_MEMORY_EXPANSION", "MEMORY_POOL"])
def test_a_remote_memory_takes_its_latency_and_bytes_over_its_rate_on_every_backend(tmp_path: Path, kind: str) -> None:
    latency_ns, gbytes = 200, 40
    remote = {"memory-type": kind, "remote-mem-latency": latency_ns, "remote-mem-bw": gbytes, "num-nodes": 1}
    (tmp_path / "remote.json").write_text(json.dumps({**remote, "num-npus-per-node": 2}), encoding="utf-8")
    model = {"offload": {"optimizer": {"to": "remote", "prefetch": 0}}, "parallel": {"zero": 1}}
    for backend in ("ns3", "analytical"):
        result = played(tmp_path, model, network("node", 2), backend=backend, remote_memory=tmp_path / "remote.json")
        # Both NPUs ask at one moment; of a memory that they share the second waits for the first.
        for turn, (_, size, time_ps) in enumerate(accesses(result, "load")[:2]):
            own_ps = round((latency_ns + size / gbytes) * 1000)
            assert time_ps == own_ps * (1 if kind == "PER_NPU_MEMORY_EXPANSION" else 1 + turn)


def test_each_npu_stores_at_the_nearest_storage_host(tmp_path: Path) -> None:
    topology = {
        "kind": "hierarchical",
        "nodes": 4,
        "npus_per_node": 2,
        "scale_up": {"link": LINE, "switch": {"buffer": "1GB"}},
        "scale_out": {
            "kind": "leaf-spine",
            "leaves": 2,
            "spines": 2,
            "hosts_per_leaf": 4,
            "link": LINE,
            "switch": {"buffer": "1GB"},
        },
    }

    def hosts(per: str, count: int, npus: Sequence[int] = range(8)) -> list[int]:
        storage = {"per": per, "count": count, "link": STORAGE}
        graph = build_graph(parse_network({"topology": {**topology, "storage": storage}}).topology)
        found = GraphStorage(graph, npus)
        return [found.of(rank) - 8 for rank in range(len(npus))]

    assert hosts("rack", 2, (0, 2, 4, 6)) == [0, 1, 2, 3]  # turns are the job's
    assert hosts("node", 1) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert hosts("node", 2) == [0, 1, 2, 3, 4, 5, 6, 7]
    assert hosts("rack", 2) == [0, 1, 0, 1, 2, 3, 2, 3]
    assert hosts("fabric", 4) == [0, 1, 2, 3, 0, 1, 2, 3]


def test_storage_hosts_are_counted_named_and_shown(tmp_path: Path) -> None:
    (tmp_path / "network.yaml").write_text(json.dumps(network("rack", 2, count=3)), encoding="utf-8")
    shown = network_summary(load_network(tmp_path / "network.yaml"))
    assert (shown["npus"], shown["hosts"], shown["storage_hosts"]) == (2, 2, 3)
    graph = build_graph(parse_network(network("rack", 2, count=3)).topology)
    assert node_name(graph, 3) == "storage host 1 (host 3)"
    drawn = layout(graph)
    assert [mark.label for mark in drawn.marks[-3:]] == ["0", "1", "2"]
    assert drawn.rows[-1][0] == "storage"
    assert without_storage(graph) == build_graph(parse_network({"topology": bare(network("rack", 2))}).topology)


def bare(net: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in net["topology"].items() if key != "storage"}


@pytest.mark.parametrize(
    ("model", "net", "options", "words"),
    [
        ({"checkpoint": {"every": 0}}, network("rack"), {}, "key 'checkpoint.every': found 0, expected"),
        ({"offload": {"weights": {"prefetch": -1}}}, network("rack"), {}, "'offload.weights.prefetch': found -1"),
        (
            {"checkpoint": {"every": 1}, "parallel": {"servers": 1}},
            network("rack", 2),
            {},
            "key 'checkpoint': stands beside parallel.servers; expected one of both",
        ),
        (
            {"checkpoint": {"every": 1}},
            network("rack"),
            {"backend": "analytical"},
            "checkpoint: found backend 'analytical', expected ns3 or flow",
        ),
        (
            {"offload": {"optimizer": {}}},
            {"topology": bare(network("rack"))},
            {},
            "offload.optimizer: asks for storage hosts, and the network has none",
        ),
        (
            {"offload": {"optimizer": {"to": "remote"}}},
            network("rack"),
            {},
            "offload.optimizer: asks for remote memory, and the run has none; give it as --remote-memory",
        ),
        (
            {},
            {"topology": {**network("rack")["topology"], "storage": {"per": "rack"}}},
            {},
            "key 'topology.storage.link' is missing",
        ),
        (
            {},
            {"topology": {"kind": "full-mesh", "npus": 2, "link": LINE, "storage": {"per": "rack", "link": LINE}}},
            {},
            "topology: storage per rack hangs on switches, and there is none; expected per: node",
        ),
        (
            {"offload": {"activations": {}}, "parallel": {"schedule": "zero-bubble", "pipeline": 2}},
            network("rack", 2),
            {},
            "offload.activations is given, expected none: schedule zero-bubble",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(
    tmp_path: Path, model: dict[str, Any], net: dict[str, Any], options: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError) as raised:
        played(tmp_path, model, net, **options)
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def test_timelines_and_explanations_follow_accesses(tmp_path: Path) -> None:
    remote = {"memory-type": "MEMORY_POOL", "remote-mem-latency": 100, "remote-mem-bw": 10}
    (tmp_path / "remote.json").write_text(json.dumps(remote), encoding="utf-8")
    model = {"offload": {"optimizer": {}, "activations": {"to": "remote"}}, "checkpoint": {"every": 1}}
    result = played(
        tmp_path,
        model,
        network("rack", 2),
        remote_memory=tmp_path / "remote.json",
        output=tmp_path / "run",
        record=["accounts", "timeline"],
    )
    found = astra_ns3.explain(result)
    assert "storage host 2" in found.text()
    chain = found.segments
    assert "other" not in {segment.kind for segment in chain}
    assert "remote" in {segment.kind for segment in chain}
    write_timeline(result, tmp_path / "trace.pftrace", 1000)
    assert b"to storage host 2" in (tmp_path / "trace.pftrace").read_bytes()
    assert {each["group"] for each in result.metadata["exposed_by_group"]} >= {"storage", "remote memory"}


@pytest.mark.parametrize("per", ["node", "rack", "fabric"])
@pytest.mark.parametrize(
    "topology",
    [
        network("node", 3)["topology"],
        {"kind": "single-switch", "npus": 4, "npus_per_host": 2, "link": LINE, "switch": {"buffer": "1GB"}},
        {"kind": "torus", "shape": [3, 2], "link": LINE, "switch": {"buffer": "1GB"}},
    ],
)
def test_storage_hosts_are_counted_before_they_are_built(per: str, topology: dict[str, Any]) -> None:
    storage = {"per": per, "count": 2, "link": STORAGE}
    config = parse_network({"topology": {**topology, "storage": storage}}).topology
    graph = build_graph(config)
    assert count_network(config) == (graph.hosts, graph.switches, len(graph.links))
