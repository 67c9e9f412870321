"""Keys of a system file beside NCCL's rules: those that act, and those that change nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.many_networks import system_for
from support.seated_gpus import network_of
from support.small_run import small_network

from astra_ns3 import Tenant
from astra_ns3.config.network.file import read_network_file
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.config.system import SystemConfig
from astra_ns3.config.transports.roce import RoceTransport
from astra_ns3.experiments.inputs import Inputs, Options, load_inputs
from astra_ns3.experiments.nccl.machine import machine_of
from astra_ns3.experiments.nccl.servers_of_network import Place, place_of, server_at, unlike_nics
from astra_ns3.experiments.scenario_request import ScenarioRequest
from astra_ns3.experiments.tenant_inputs import load_tenants
from astra_ns3.nccl.server import Nic
from astra_ns3.network.plan import NetworkPlan
from astra_ns3.system.file import parse_system
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.files.writing import export_text
from astra_ns3.workload.files.astra_sim import parse_workload

WORKLOAD = "DATA\n1\nonly -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 1000 0\n"
LINES = {"link": {"rate": "200Gbps", "delay": "500ns"}, "switch": {"buffer": "64MiB"}}


def nccl(**keys: Any) -> SystemConfig:
    return parse_system({"collectives": "nccl", "nccl": {"server": "dgx-h100"}, **keys})


def loaded(system: SystemConfig, **options: Any) -> Inputs:
    return load_inputs(parse_workload(WORKLOAD), system, small_network(), Options(**options))


@pytest.mark.parametrize("policy", ["LIFO", "FIFO"])
def test_an_option_of_the_system_leaves_nccl_s_rules_in_force(policy: str) -> None:
    system = loaded(nccl(), scheduling_policy=policy).system
    assert system.plays_nccl
    assert system.scheduling_policy == policy


def test_keys_that_nccl_s_rules_do_not_heed_are_told() -> None:
    keys = {"preferred-dataset-splits": 4, "active-chunks-per-dimension": 2, "scheduling-policy": "LIFO"}
    (told,) = [words for words in loaded(nccl(**keys)).warnings if "collectives: nccl" in words]
    assert told == (
        "without effect beside 'collectives: nccl', which decides itself: "
        "'preferred-dataset-splits', 'active-chunks-per-dimension'"
    )
    assert not [words for words in loaded(nccl()).warnings if "without effect beside" in words]


def test_a_named_server_that_contradicts_the_network_is_told() -> None:
    (told,) = [words for words in loaded(nccl()).warnings if "nccl.server" in words]
    assert told == (
        "key 'nccl.server': in the network file, servers have 1 GPU ('dgx-h100': 8), NICs carry 100 Gb/s "
        "('dgx-h100': 400 Gb/s): NCCL chooses for the server, and bytes take the lines of the file"
    )


@pytest.mark.parametrize(
    ("gpus", "nics", "gbps", "server", "told"),
    [
        (8, 4, 200, "dgx-a100", "servers have 4 NICs ('dgx-a100': 8)"),
        (8, 8, 100, "p4d", "servers have 8 NICs ('p4d': 4)"),
        (8, 4, 200, "p4de", "NICs carry 200 Gb/s ('p4de': 100 Gb/s)"),
        (6, 3, 200, "dgx-a100", "servers have 6 GPUs ('dgx-a100': 8), servers have 3 NICs ('dgx-a100': 6)"),
        (4, 2, 100, "p4d", "servers have 4 GPUs ('p4d': 8)"),  # its first four GPUs are next to two NICs
        (8, 4, 100, "p4d", None),
        (8, 8, 200, "hgx-a100", None),
    ],
)
def test_a_server_with_other_nics_is_told_by_a_run_and_by_a_measurement(
    gpus: int, nics: int, gbps: int, server: str, told: str | None, tmp_path: Path
) -> None:
    file = tmp_path / "network.yaml"
    file.write_text(network_of(gpus, nics, gbps, 1958).model_dump_json(by_alias=True), encoding="utf-8")
    ends = f": in the network file, {told}: NCCL chooses for the server, and bytes take the lines of the file"
    system = nccl(nccl={"version": "2.21", "server": server})
    run = load_inputs(parse_workload(WORKLOAD), system, file, Options(backend="flow")).warnings
    assert [words for words in run if "'nccl.server'" in words] == ([f"key 'nccl.server'{ends}"] if told else [])
    measured = machine_of(None, network=file, nccl_version="2.21", changes=[f"server={server}"]).warnings
    assert [words for words in measured if "network file" in words] == ([f"--set server{ends}"] if told else [])
    assert not [words for words in machine_of(None, network=file).warnings if "network file" in words]


def test_a_named_server_like_the_network_s_and_one_of_the_network_are_not_told(repository: Path) -> None:
    network = read_network_file(repository / "inputs/network/roce-dgx-h100.yaml").network
    same = load_inputs(parse_workload(WORKLOAD), nccl(), network, Options(backend="flow"))
    assert not [words for words in (*same.warnings, *loaded(nccl(nccl={})).warnings) if "nccl.server" in words]


def test_of_switches_that_do_not_add_up_the_key_is_told_as_it_is_written(repository: Path) -> None:
    document = yaml.safe_load((repository / "inputs/network/roce-dgx-h100.yaml").read_text())
    del document["topology"]["scale_up"]["switch"]["reduction"]
    found = load_inputs(parse_workload(WORKLOAD), nccl(), parse_network(document), Options(backend="flow"))
    assert any(
        "add reduction: {} to scale_up.switch (kind file: scale_up_switch), or" in words for words in found.warnings
    )


@pytest.mark.parametrize(
    ("keys", "backend", "told"),
    [
        ({"nics_per_node": 2}, "flow", True),
        ({"nics_per_node": 2}, "ns3", True),
        ({"nics_per_node": 2, "scale_up": {**LINES, "kind": "ring"}}, "flow", True),
        ({"nics_per_node": 2}, "analytical", False),  # whose messages take no NIC
        ({"nics_per_node": 2, "shared_nics": "pcie"}, "flow", False),
        ({"nics_per_node": 2, "routing": {"kind": "spray"}}, "flow", False),
        ({"nics_per_node": 1}, "flow", False),
        ({}, "flow", False),
    ],
)
def test_nics_that_routes_choose_for_channels_are_told(
    keys: dict[str, Any], backend: str, *, told: bool, tmp_path: Path
) -> None:
    nodes = {"kind": "hierarchical", "nodes": 2, "npus_per_node": 4, "scale_up": LINES, "scale_out": LINES}
    file = tmp_path / "network.yaml"
    file.write_text(json.dumps({"topology": {**nodes, **keys}, "transport": {"kind": "roce"}}), encoding="utf-8")
    begins = "key 'topology.shared_nics': routes choose the NIC"
    for system, expected in ((nccl(nccl={}), told), (system_for(2), False)):
        found = load_inputs(parse_workload(WORKLOAD), system, file, Options(backend=backend))
        assert sum(words.startswith(f"{file}:1: {begins}") for words in found.warnings) == expected
    measured = machine_of(None, network=file, backend=backend)
    assert sum(words.startswith(begins) for words in measured.warnings) == told


@pytest.mark.parametrize(
    ("keys", "routing", "told"),
    [
        ({"nics_per_node": 2}, "ecmp", True),
        ({"nics_per_node": 2, "scale_up": {**LINES, "kind": "ring"}}, "ecmp", True),
        ({"nics_per_node": 2, "nodes": 1}, "ecmp", False),
        ({"nics_per_node": 2, "shared_nics": "pcie"}, "ecmp", False),
        ({"nics_per_node": 2}, "spray", False),
        ({"nics_per_node": 1}, "ecmp", False),
        ({}, "ecmp", False),
    ],
)
def test_nics_that_routes_choose_are_told_of_a_graph_in_a_file_too(
    keys: dict[str, Any], routing: str, *, told: bool, tmp_path: Path
) -> None:
    nodes = {"kind": "hierarchical", "nodes": 2, "npus_per_node": 4, "scale_up": LINES, "scale_out": LINES, **keys}
    roce = {"transport": {"kind": "roce"}}
    topology = parse_network({"topology": nodes, **roce}).topology
    (tmp_path / "graph.json").write_text(export_text(build_graph(topology), topology, "graph.json"), encoding="utf-8")
    file = {"kind": "file", "path": str(tmp_path / "graph.json"), "switch": LINES["switch"]}
    network = parse_network({"topology": {**file, "routing": {"kind": routing}}, **roce})
    for backend, expected in (("flow", told), ("analytical", False)):
        found = unlike_nics(nccl(nccl={}), network, backend)
        assert [words.startswith("routes choose the NIC") for words in found] == [True] * expected


@pytest.mark.parametrize(("nodes", "inside", "queue_pairs"), [(1, 8, 1), (2, 4, 4), (8, 1, 4)])
def test_queue_pairs_of_nics_are_for_messages_between_servers(
    nodes: int, inside: int, queue_pairs: int, tmp_path: Path
) -> None:
    """NCCL reads NCCL_IB_QPS_PER_CONNECTION where it opens connections of InfiniBand: between servers."""
    servers = {"kind": "hierarchical", "nodes": nodes, "npus_per_node": inside, "scale_up": LINES, "scale_out": LINES}
    file = tmp_path / "network.yaml"
    file.write_text(json.dumps({"topology": servers, "transport": {"kind": "roce"}}), encoding="utf-8")
    system = nccl(nccl={"environment": {"NCCL_IB_QPS_PER_CONNECTION": 4}})
    found = load_inputs(parse_workload(WORKLOAD), system, file, Options(backend="flow"))
    assert isinstance(found.plan, NetworkPlan)
    transport = found.plan.config.transport
    assert isinstance(transport, RoceTransport)
    assert transport.queue_pairs_per_pair == queue_pairs
    assert transport.server_npus == (0 if nodes == 1 else inside)


def test_of_nics_that_routes_choose_several_jobs_tell_once(tmp_path: Path) -> None:
    nodes = {"kind": "hierarchical", "nodes": 4, "npus_per_node": 4, "nics_per_node": 2}
    (tmp_path / "network.yaml").write_text(
        json.dumps({"topology": {**nodes, "scale_up": LINES, "scale_out": LINES}, "transport": {"kind": "roce"}}),
        encoding="utf-8",
    )
    tenants = [
        Tenant(f"job {first}", range(first, first + 4), parse_workload(WORKLOAD), system, dimensions=(4, 1))
        for first, system in zip(range(0, 16, 4), (system_for(2), nccl(nccl={}), nccl(nccl={})), strict=False)
    ]
    for played in (tenants, tenants[1:]):
        request = ScenarioRequest(tenants=played, network=tmp_path / "network.yaml", backend="flow")
        told = [words for inputs in load_tenants(request) for words in inputs.warnings if "routes choose" in words]
        assert len(told) == 1


def test_nccl_sees_the_servers_that_a_file_tells(repository: Path) -> None:
    file = repository / "inputs/network/graphs/hpn.yaml"  # lines of 2,880 Gb/s, and NICs of two ports of 200 Gb/s
    assert place_of(read_network_file(file).network) == Place(4, 2880e9, 400e9, 4)
    found = load_inputs(parse_workload(WORKLOAD), nccl(nccl={}), file, Options(backend="flow")).system.nccl
    assert found is not None
    assert found.servers == (0, 0, 0, 0, 1, 1, 1, 1)
    devices = repository / "inputs/network/graphs/infragraph.yaml"  # two NVLinks' worth of one switch, and two NICs
    assert place_of(read_network_file(devices).network) == Place(2, 3600e9, 400e9, 2)


def test_a_file_that_tells_no_servers_is_not_said_to_have_some(repository: Path) -> None:
    network = read_network_file(repository / "inputs/network/graphs/networkx.yaml").network
    found = load_inputs(parse_workload(WORKLOAD), nccl(), network, Options(backend="flow"))
    (told,) = [words for words in found.warnings if "nccl.server" in words]
    assert told == (
        "key 'nccl.server': in the network file, nothing tells servers of equally many, consecutive NPUs, so servers "
        "have 1 GPU ('dgx-h100': 8): NCCL chooses for the server, and bytes take the lines of the file"
    )


def test_shared_nics_of_an_exported_network_are_those_of_its_file(tmp_path: Path) -> None:
    nodes = {"kind": "hierarchical", "nodes": 2, "npus_per_node": 4, "nics_per_node": 2, "shared_nics": "pcie"}
    roce = {"transport": {"kind": "roce"}}
    network = parse_network({"topology": {**nodes, "scale_up": LINES, "scale_out": LINES}, **roce})
    graph = build_graph(network.topology)
    (tmp_path / "graph.json").write_text(export_text(graph, network.topology, "graph.json"), encoding="utf-8")
    file = {"kind": "file", "path": str(tmp_path / "graph.json"), "switch": LINES["switch"]}
    found = place_of(parse_network({"topology": file, **roce}))
    assert found == place_of(network) == Place(4, 200e9, 100e9, 2)


def test_lines_that_divide_no_server_are_counted_as_nics_that_do(tmp_path: Path) -> None:
    """Six lines of 100 Gb/s lead out of each server of 4 NPUs: two NICs of 300 Gb/s, each of 2 NPUs."""
    nodes = [f'node [ id {number} label "{number}" kind "host" ]' for number in range(8)]
    levels = {8: 1, 9: 1, 10: 2}
    nodes += [f'node [ id {n} label "{n}" kind "switch" level {level} ]' for n, level in levels.items()]
    edges = [f'edge [ source {n} target {8 + n // 4} rate "200Gbps" delay "1us" ]' for n in range(8)]
    edges += [f'edge [ source {n} target 10 rate "100Gbps" delay "1us" ]' for n in (8, 9) for _ in range(6)]
    text = "\n".join(["graph [", "multigraph 1", "inside_levels 1", *nodes, *edges, "]"])
    (tmp_path / "graph.gml").write_text(text, encoding="utf-8")
    file = {"kind": "file", "path": str(tmp_path / "graph.gml"), "switch": LINES["switch"]}
    found = place_of(parse_network({"topology": file, "transport": {"kind": "roce"}}))
    assert found == Place(4, 200e9, 150e9, 2)
    assert server_at(found).nics == (Nic(300.0, (0, 1)), Nic(300.0, (2, 3)))


def test_hosts_of_one_switch_have_one_nic_and_their_own_lines() -> None:
    topology = {"kind": "single-switch", "npus": 8, "npus_per_host": 4, **LINES}
    found = place_of(parse_network({"topology": topology, "transport": {"kind": "roce"}}))
    assert found == Place(4, 2400e9, 50e9, 1)  # local: 2400 Gb/s; four NPUs share a port of 200 Gb/s
    assert server_at(found).nics == (Nic(200.0, (0, 1, 2, 3)),)
