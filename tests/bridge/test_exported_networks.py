"""A graph that ``show --export`` writes of a network plays as the network does, whichever way its file tells it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.small_run import SYSTEM
from support.studies import INPUTS

import astra_ns3
from astra_ns3.config.core.document import Document
from astra_ns3.config.model.file import parse_model_file
from astra_ns3.config.network.file import read_network_file
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.experiments.nccl.network_of_servers import network_of, share_counted
from astra_ns3.experiments.nccl.servers_of_network import place_of
from astra_ns3.frozen import replace
from astra_ns3.nccl.servers import SERVERS
from astra_ns3.system.file import parse_system
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.files.writing import export_text
from astra_ns3.workload.models.workload import ModelWorkload

READY = sorted(each.stem for each in (INPUTS / "network").glob("*.yaml"))
PARTS = [(name, gpus) for name, server in SERVERS.items() for gpus in (2, 4, server.gpus) if gpus <= server.gpus]
# Of ASTRA-sim's dimensions a file has no servers.
LOST = {"three-switches-64"}
LARGEST = 1100
DEVICES = {70: "V100", 80: "A100-80GB", 90: "H100", 100: "B200", 103: "B200"}
TWO = SYSTEM.replace("ring", "ring_ring").replace("direct", "direct_direct")
RINGS = parse_system(dict(line.split(": ") for line in TWO.splitlines()) | {
    "endpoint-delay": 10, "active-chunks-per-dimension": 1, "preferred-dataset-splits": 2,
})  # fmt: skip
NCCL = parse_system({"collectives": "nccl"})


def exported(network: NetworkConfig, folder: Path) -> NetworkConfig:
    """Return the network of the graph in a file, with the settings that such a file doesn't hold."""
    topology: Any = network.topology
    path = folder / "graph.json"
    path.write_text(export_text(build_graph(topology), topology, path), encoding="utf-8")
    outside = getattr(topology, "scale_out", topology)
    inside = getattr(getattr(topology, "scale_up", None), "switch", None)
    switch = getattr(outside, "switch", None) or inside
    keys: dict[str, Any] = {"kind": "file", "path": str(path)}
    keys["switch"] = {"buffer": "64MiB"} if switch is None else switch.model_dump(mode="json", by_alias=True)
    if inside is not None:
        keys["scale_up_switch"] = inside.model_dump(mode="json", by_alias=True)
    document = network.document()
    document["topology"] = {**keys, "routing": document["topology"].get("routing", {"kind": "ecmp"})}
    return parse_network(document)


def shares(network: NetworkConfig) -> list[float]:
    return [share_counted(network, device) for device in sorted({*DEVICES.values()})]


def facts(network: NetworkConfig) -> Any:
    return replace(place_of(network), is_told=True), shares(network)


@pytest.mark.parametrize("name", READY)
def test_a_ready_network_has_the_same_servers_as_a_graph(name: str, tmp_path: Path) -> None:
    network = read_network_file(INPUTS / "network" / f"{name}.yaml").network
    if not isinstance(network, NetworkConfig) or network.npus > LARGEST or name in LOST:
        pytest.skip("is no network of packets, large, or not told by a graph")
    assert facts(exported(network, tmp_path)) == facts(network)


@pytest.mark.parametrize("servers", [1, 2])
@pytest.mark.parametrize(("name", "gpus"), PARTS)
def test_ready_servers_are_the_same_in_a_graph(name: str, gpus: int, servers: int, tmp_path: Path) -> None:
    network = network_of(SERVERS[name], servers, gpus)
    assert facts(exported(network, tmp_path)) == facts(network)


def model(network: NetworkConfig, device: str) -> ModelWorkload:
    tensor = place_of(network).npus
    shape = {
        "layers": 1,
        "hidden": 64 * tensor,
        "heads": tensor,
        "feed_forward": 128 * tensor,
        "vocabulary": 8 * tensor,
    }
    data = {"kind": "transformer", "name": "m", "model": shape, "training": {"sequence": 256, "datatype": "float16"}}
    keys = {"parallel": {"tensor": tensor}, "compute": {"device": device, "launch_overhead": 0}}
    return ModelWorkload(parse_model_file(Document("m.yaml", {**data, **keys})), "m.yaml")


def check_times(network: NetworkConfig, device: str, backends: list[str], folder: Path) -> None:
    """Assert that the graph plays as the network does, with the device's share of NVLinks and with NCCL."""
    graph, workload = exported(network, folder), model(network, device)
    for backend in backends:
        for system in (RINGS, NCCL):
            times = [
                astra_ns3.run(workload=workload, system=system, network=each, backend=backend).finish_ps
                for each in (network, graph)
            ]
            assert times[0] == times[1] > 0, (backend, system.plays_nccl)


@pytest.mark.parametrize("name", ["hierarchical-ring", "hierarchical-shared-nics", "rail-only-16", "roce-dgx-h100"])
def test_a_ready_network_takes_as_long_as_a_graph(name: str, tmp_path: Path) -> None:
    network = read_network_file(INPUTS / "network" / f"{name}.yaml").network
    assert isinstance(network, NetworkConfig)
    check_times(network, "H100", ["flow", "analytical", "ns3"], tmp_path)


@pytest.mark.parametrize("name", SERVERS)
def test_ready_servers_take_as_long_as_a_graph(name: str, tmp_path: Path) -> None:
    server = SERVERS[name]
    network = network_of(server, 2, server.gpus)
    # A formula takes one line for each pair of a kind, and all together in a graph; it says so.
    backends = ["flow", *["analytical"] * (name != "dgx-1v"), *["ns3"] * (not server.switched)]
    check_times(network, DEVICES[server.compute_capability], backends, tmp_path)
