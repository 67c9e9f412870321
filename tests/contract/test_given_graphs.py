"""The formulas see a graph that a user gives as they see the same network by its kind: servers, rings, full meshes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.many_networks import small_dlrm, system_for
from support.star_network import Listener, Row, by_hand, launch_all

import astra_ns3
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.experiments.inputs import load_inputs
from astra_ns3.experiments.nccl.servers_of_network import place_of
from astra_ns3.experiments.options import Options
from astra_ns3.experiments.validate import validate
from astra_ns3.network.api import Limits
from astra_ns3.network.backend_makers import create_backend
from astra_ns3.network.plan import plan_network
from astra_ns3.network.records import RecorderOptions
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.files.writing import export_text
from astra_ns3.topology.nic_lines import NicLines, NicPort
from astra_ns3.topology.npu_lines import bandwidths_along

BACKENDS = ["analytical", "analytical-queues"]
SWITCH = {"buffer": "32MiB"}
NVLINK = {"rate": "1000Gbps", "delay": "100ns"}
WIRES = {"link": {"rate": "400Gbps", "delay": "1us"}, "switch": SWITCH}
RAILS = {"kind": "rail-optimised", "nodes": 2, "npus_per_node": 4, **WIRES}

DCQCN = {"kind": "roce", "congestion_control": "dcqcn"}
FASTER = "faster.1000000000000.rate_ai"
MESH = {"kind": "full-mesh", "npus": 5, "link": NVLINK}


def nodes(**keys: object) -> dict[str, Any]:
    inside = {"link": NVLINK, "switch": SWITCH}
    topology = {"kind": "hierarchical", "nodes": 2, "npus_per_node": 4, "scale_up": inside, "scale_out": WIRES}
    return {**topology, **keys}


OWN = """
import json
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.topology.builders import build_graph
def graph():
    return build_graph(parse_network(json.loads({document!r})).topology)
"""


def given(topology: dict[str, Any], path: Path) -> NetworkConfig:
    """The network whose graph is a file, or the function of one, with the graph of another network."""
    config = parse_network({"topology": topology, "transport": "roce"})
    if path.suffix == ".py":
        path.write_text(OWN.format(document=json.dumps(config.document())))
        return parse_network({"topology": {"kind": f"{path}:graph"}, "transport": "roce"})
    path.write_text(export_text(build_graph(config.topology), config.topology, path))
    file = {"kind": "file", "path": str(path), "switch": SWITCH, "dimensions": config.dimensions}
    return parse_network({"topology": file, "transport": "roce"})


def took_ns(network: NetworkConfig, backend: str, receiver: int, bytes: int) -> float:
    """A message from NPU 0, alone."""
    played: Any = create_backend(backend, plan_network(network), seed=1, recorder=RecorderOptions())
    listener = Listener()
    launch_all(played, by_hand(network.npus, [Row(0, receiver)]), bytes)
    played.run(listener, Limits())
    played.close()
    return max(listener.times_ps) / 1000


# 1 MB needs 8,000 ns on an NVLink and 20,000 ns on a NIC's line; a switch has two lines, which queues cross one by one.
@pytest.mark.parametrize("name", ["net.graphml", "net.txt", "net.py"])
@pytest.mark.parametrize(("backend", "lines"), [("analytical", 1), ("analytical-queues", 2)])
def test_a_message_takes_lines_inside_its_server_and_outside_of_it(
    name: str, backend: str, lines: int, tmp_path: Path
) -> None:
    network = given(nodes(), tmp_path / name)
    inside, outside = lines * 8_000 + 2 * 100, lines * 20_000 + 2 * 1000
    assert [took_ns(network, backend, npu, 10**6) for npu in (1, 4, 5)] == [inside, outside, inside + outside]
    half = network.model_copy(update={"topology": network.topology.reaching_inside(0.5)})  # type: ignore[union-attr]
    assert took_ns(half, backend, 1, 10**6) == lines * 16_000 + 2 * 100


# On a torus of 4 x 3, NPU 3 is one line from NPU 0, and NPU 6 two lines along one axis and one along the other. 1 MB
# needs 20,000 ns on a line; queues have it wait for that at each, the formula once an axis.
@pytest.mark.parametrize("name", ["net.graphml", "net.txt", "net.py"])
@pytest.mark.parametrize(("backend", "times"), [("analytical", 2), ("analytical-queues", 3)])
def test_a_message_on_a_graph_of_a_torus_takes_lines_of_its_axes(
    name: str, backend: str, times: int, tmp_path: Path
) -> None:
    network = given({"kind": "torus", "shape": [4, 3], **WIRES}, tmp_path / name)
    assert took_ns(network, backend, 3, 10**6) == 20_000 + 1000
    assert took_ns(network, backend, 6, 10**6) == times * 20_000 + 3 * 1000


# Hosts of 100 Gb/s, 1 us, each on a switch of its own; 1 MB needs 80,000 ns on such a line.
@pytest.mark.parametrize(("host", "delay", "is_grid"), [(100, 1000, False), (800, 0, True), (800, 500, False)])
@pytest.mark.parametrize("joins", [[(0, 1), (1, 2), (2, 3), (3, 0)], [(a, b) for a in range(4) for b in range(a)]])
def test_hosts_whose_own_lines_hold_back_make_no_ring_and_no_mesh_of_their_switches(
    joins: list[tuple[int, int]], host: int, delay: int, is_grid: bool, tmp_path: Path
) -> None:
    between = 100 if is_grid else 400
    made = [{"id": f"{kind}{number}", "kind": kind} for kind in ("host", "switch") for number in range(4)]
    own = {"rate": f"{host}Gbps", "delay": f"{delay}ns"}
    links = [{"source": f"host{number}", "target": f"switch{number}", **own} for number in range(4)]
    far = {"rate": f"{between}Gbps", "delay": "1us"}
    links += [{"source": f"switch{a}", "target": f"switch{b}", **far} for a, b in joins]
    text = {"directed": False, "multigraph": False, "graph": {}, "nodes": made, "links": links}
    (tmp_path / "net.json").write_text(json.dumps(text))
    file = {"kind": "file", "path": str(tmp_path / "net.json"), "switch": SWITCH}
    network = parse_network({"topology": file, "transport": "roce"})
    (dimension,) = plan_network(network).grid.network.grid
    assert (dimension.topology == "switch") != is_grid
    least_ns = 10**6 / ((min(host, between) if is_grid else host) / 8)
    assert took_ns(network, "analytical", 1, 10**6) >= least_ns


TORUS_OUTSIDE = nodes(scale_out={"kind": "torus", "shape": [2, 4], **WIRES})


# A NIC has three lines of 50 bytes a nanosecond there, and NPU 4 is two lines from NPU 0.
def test_nics_on_a_torus_carry_what_all_their_lines_carry() -> None:
    network = parse_network({"topology": TORUS_OUTSIDE, "transport": "roce"})
    assert network.bandwidths == (1e12, 3 * 400e9)
    assert took_ns(network, "analytical", 4, 10**6) == pytest.approx(10**6 / (3 * 50) + 2 * 1000, abs=0.001)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("outside", "warned"),
    [({"kind": "full-mesh", "link": WIRES["link"]}, True), ({"kind": "ring", **WIRES}, True), (WIRES, False)],
)
def test_lines_of_a_nic_that_count_as_one_are_warned_of(outside: dict[str, Any], warned: bool, backend: str) -> None:
    topology = nodes(scale_out=outside, forwarding={"by": "hosts", "switch": SWITCH})
    network = parse_network({"topology": topology, "transport": "roce"})
    warnings = validate(small_dlrm(), system_for(2), network, Options(backend=backend)).warnings
    assert any("all lines of a NIC count as one" in words for words in warnings) == warned


SAME = {
    "nodes": nodes(),
    "planes": nodes(scale_up={"link": NVLINK, "switch": SWITCH, "planes": 2}),
    "rings inside": nodes(scale_up={"kind": "ring", "link": NVLINK, "switch": SWITCH}),
    "full meshes inside": nodes(scale_up={"kind": "full-mesh", "link": NVLINK}),
    "shared NICs": nodes(nics_per_node=2),
    "NICs behind PCIe": nodes(nics_per_node=2, shared_nics="pcie"),
    "one node": nodes(nodes=1),
    "a ring outside": nodes(scale_out={"kind": "ring", **WIRES}),
    "a torus outside": TORUS_OUTSIDE,
    "rails": {**RAILS, "spines": 2, "scale_up": {"link": NVLINK, "switch": SWITCH}},
    "rails alone": {**RAILS, "spines": 0, "forwarding": "hosts", "scale_up": {"link": NVLINK, "switch": SWITCH}},
    "ring": {"kind": "ring", "npus": 6, **WIRES},
    "torus": {"kind": "torus", "shape": [2, 4], "rates": ["100Gbps", "400Gbps"], **WIRES},
    "full mesh": MESH,
    "full mesh of NPUs that forward": {**MESH, "forwarding": {"by": "hosts", "switch": SWITCH}},
    "leaves of one NPU": {"kind": "leaf-spine", "leaves": 4, "hosts_per_leaf": 1, "spines": 2, **WIRES},
}


@pytest.mark.parametrize("shape", [[4, 4], [3, 2], [2, 3, 4], [5]])
def test_a_graph_gives_the_rates_along_the_axes_of_its_mesh(shape: list[int], tmp_path: Path) -> None:
    """As themis weighs dimensions, and NCCL's place among servers has them."""
    topology = {"kind": "mesh", "shape": shape, "rates": ["400Gbps", "100Gbps", "50Gbps"][: len(shape)], **WIRES}
    kind = parse_network({"topology": topology, "transport": "roce"})
    file = given(topology, tmp_path / "net.graphml")
    assert bandwidths_along(build_graph(file.topology), tuple(shape)) == kind.bandwidths
    assert kind.bandwidths[0] == 400e9 * min(shape[0] - 1, 2)
    if len(shape) > 1:
        places = [place_of(each) for each in (kind, file)]
        assert places[0].inside_bps == places[1].inside_bps == kind.bandwidths[0]
        assert places[0].outwards_bps == places[1].outwards_bps == kind.bandwidths[-1]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("end", [".graphml", ".py"])
@pytest.mark.parametrize("name", SAME)
def test_a_graph_gives_the_times_and_the_floor_of_its_network(
    name: str, end: str, backend: str, tmp_path: Path
) -> None:
    kind = parse_network({"topology": SAME[name], "transport": "roce"})
    found = []
    for network in (kind, given(SAME[name], tmp_path / f"net{end}")):
        system = system_for(len(network.dimensions))
        result = astra_ns3.run(workload=small_dlrm(), system=system, network=network, backend=backend)
        found.append((result.finish_ps, result.metadata["floor"]))
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["nodes", "planes", "shared NICs", "rails", "torus"])
def test_policies_weigh_dimensions_of_a_graph_as_those_of_its_network(name: str, tmp_path: Path) -> None:
    kind = parse_network({"topology": SAME[name], "transport": "roce"})
    inside, outside = (
        load_inputs(small_dlrm(), system_for(2), network, Options()).tenancy.bandwidths
        for network in (kind, given(SAME[name], tmp_path / "net.graphml"))
    )
    assert inside == outside
    assert outside is not None
    assert len(set(outside)) == 2


def servers(*sizes: int, order: tuple[int, ...] = ()) -> dict[str, Any]:
    """A graph of servers of so many NPUs, which are numbered one after the other unless ``order`` says."""
    npus = order or tuple(range(sum(sizes)))
    names = [f"npu{npu}" for npu in range(len(npus))]
    places = iter(npus)
    made: list[dict[str, Any]] = [{"id": name, "kind": "host"} for name in names]
    links = [{"source": name, "target": "tor", "rate": "400Gbps", "delay": "1us", "cost": 3} for name in names]
    made.append({"id": "tor", "kind": "switch"})
    for number, size in enumerate(sizes):
        made.append({"id": f"nvswitch{number}", "kind": "switch", "level": -1})
        ends = [{"source": names[next(places)], "target": f"nvswitch{number}"} for _ in range(size)]
        links += [{**end, "rate": "1000Gbps", "delay": "100ns"} for end in ends]
    return {"directed": False, "multigraph": False, "graph": {}, "nodes": made, "links": links}


@pytest.mark.parametrize("backend", [*BACKENDS, "flow"])
@pytest.mark.parametrize(
    ("graph", "servers_are_seen"),
    [(servers(3, 3), True), (servers(4, 2), False), (servers(3, 3, order=(0, 2, 4, 1, 3, 5)), False)],
    ids=["equal", "unlike", "mixed"],
)
def test_servers_that_are_no_dimension_are_warned_of(
    graph: dict[str, Any], servers_are_seen: bool, backend: str, tmp_path: Path
) -> None:
    (tmp_path / "net.json").write_text(json.dumps(graph))
    topology = {"kind": "file", "path": str(tmp_path / "net.json"), "switch": SWITCH}
    network = parse_network({"topology": topology, "transport": "roce"})
    warnings = validate(small_dlrm(), system_for(1), network, Options(backend=backend)).warnings
    warned = any("an NPU's lines inside and its NIC count as one line" in words for words in warnings)
    assert warned == (not servers_are_seen and backend != "flow")
    if backend == "analytical":
        alone = 8_000 if servers_are_seen else 10**6 / (1400 / 8)  # 1 MB over an NVLink, or over both lines
        assert took_ns(network, backend, 2, 10**6) == pytest.approx(alone + 2 * 100)


def behind_pcie(path: Path, npus: int, own: int, nics: Sequence[int] = (0,), nvlinks: bool = True) -> NetworkConfig:
    """Two servers of NPUs with ``own`` Gb/s to a PCIe switch of a NIC of 400 Gb/s: NPU i to the i-th of ``nics``."""
    graph: dict[str, Any] = {"directed": False, "multigraph": False, "graph": {}}
    names, boxes = [f"npu{npu}" for npu in range(2 * npus)], (0, 1)
    graph["nodes"] = [{"id": name, "kind": "host"} for name in names] + [{"id": "tor", "kind": "switch"}]
    switches = [f"pcie{box}.{nic}" for box in boxes for nic in sorted({*nics})]
    switches += [f"nv{box}" for box in boxes if nvlinks]
    graph["nodes"] += [{"id": name, "kind": "switch", "level": -1} for name in switches]
    pcie = {"rate": f"{own}Gbps", "delay": "0ns", "cost": 3}
    of_npus = [(name, npu // npus, nics[npu % len(nics)]) for npu, name in enumerate(names)]
    graph["links"] = [{"source": name, "target": f"pcie{box}.{nic}", **pcie} for name, box, nic in of_npus]
    graph["links"] += [{"source": name, "target": f"nv{box}", **NVLINK} for name, box, _ in of_npus if nvlinks]
    wire = {"target": "tor", "rate": "400Gbps", "delay": "1us"}
    graph["links"] += [{"source": name, **wire} for name in switches if name.startswith("pcie")]
    path.write_text(json.dumps(graph))
    topology = {"kind": "file", "path": str(path), "switch": SWITCH}
    return parse_network({"topology": topology, "transport": "roce"})


# 1 MB needs 80,000 ns on a PCIe line of 100 Gb/s, and 40,000 ns on half of a NIC of 400 Gb/s that two NPUs share.
@pytest.mark.parametrize("nvlinks", [True, False])
def test_an_npus_own_line_to_its_nic_holds_it_back(nvlinks: bool, tmp_path: Path) -> None:
    network = behind_pcie(tmp_path / "net.json", 2, 100, nvlinks=nvlinks)
    assert took_ns(network, "analytical", 2, 10**6) == 80_000 + 2 * 1000
    told = validate(small_dlrm(), system_for(1), network, Options(backend="analytical")).warnings
    assert not any("NPUs share NICs" in words for words in told)  # as it takes with the others idle


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4, 5), (0, 4, 2, 1, 3, 5)])
def test_a_torus_that_isnt_numbered_along_its_axes_is_warned_of(order: tuple[int, ...], tmp_path: Path) -> None:
    links = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5)]
    drawn = [{"source": f"npu{order[a]}", "target": f"npu{order[b]}", **NVLINK} for a, b in links]
    hosts = [{"id": f"npu{npu}", "kind": "host"} for npu in range(6)]
    text = {"directed": False, "multigraph": False, "graph": {}, "nodes": hosts, "links": drawn}
    (tmp_path / "net.json").write_text(json.dumps(text))
    forwards = {"by": "hosts", "switch": SWITCH}
    topology = {"kind": "file", "path": str(tmp_path / "net.json"), "switch": SWITCH, "forwarding": forwards}
    network = parse_network({"topology": topology, "transport": "roce"})
    warnings = validate(small_dlrm(), system_for(1), network, Options(backend="analytical")).warnings
    grid = plan_network(network).grid.network.grid
    assert (len(grid) == 2) == (order == (0, 1, 2, 3, 4, 5))
    assert any("lines count as one line" in words for words in warnings) == (len(grid) == 1)


def warnings_of_shares(network: NetworkConfig, backend: str) -> list[str]:
    system = system_for(len(network.dimensions))
    warnings = validate(small_dlrm(), system, network, Options(backend=backend)).warnings
    return [words for words in warnings if "NPUs share NICs" in words]


@pytest.mark.parametrize(("nics", "share", "own"), [(1, 4, {}), (2, 2, {"shared_nics": "pcie"}), (4, 1, {})])
@pytest.mark.parametrize("name", ["", "net.graphml"])
def test_shares_of_nics_are_warned_of_with_what_a_message_alone_loses_by_them(
    name: str, nics: int, share: int, own: dict[str, str], tmp_path: Path
) -> None:
    """1 MB needs 20,000 ns on a NIC of 400 Gb/s. With queues, NPUs share the whole line."""
    topology = nodes(nics_per_node=nics, **own)
    network = given(topology, tmp_path / name) if name else parse_network({"topology": topology, "transport": "roce"})
    found = warnings_of_shares(network, "analytical")
    assert len(found) == (share > 1)
    assert all(f"may take up to {share} times as long" in words for words in found)
    assert took_ns(network, "analytical", 4, 10**6) == pytest.approx(share * 20_000, abs=5_000)
    assert not warnings_of_shares(network, "analytical-queues")
    assert took_ns(network, "analytical-queues", 4, 10**6) == pytest.approx(2 * 20_000, abs=5_000)


@pytest.mark.parametrize("name", ["", "net.graphml"])
def test_numbers_of_controls_follow_the_nics_that_npus_share(name: str, tmp_path: Path) -> None:
    """A way between nodes is no faster than its NIC, shared or not; NVLinks have numbers of their own."""
    found = []
    for nics in (2, 4):
        topology = nodes(nics_per_node=nics)
        network = given(topology, tmp_path / f"{nics}{name}") if name else parse_network({"topology": topology})
        transport = parse_network({"topology": topology, "transport": DCQCN}).transport
        numbers = plan_network(network.model_copy(update={"transport": transport})).transports["roce"].native(0)
        found.append([float(numbers[key]) for key in ("control.rate_ai", FASTER, "control.minimum_rate")])
    assert [each[1] / each[0] for each in found] == pytest.approx([2.5, 2.5])  # 1000 by 400 Gb/s
    assert found[0] == pytest.approx(found[1], rel=0.2)  # a round trip over shared NICs is longer


# NPUs share lines no faster than their own: 4 on a NIC of 400 Gb/s two of 200 Gb/s, which is less than 300 Gb/s.
@pytest.mark.parametrize(("own", "times"), [(200, ""), (300, "3 times")])
def test_npus_whose_own_lines_are_slower_than_their_nic_share_lines_no_faster(
    own: int, times: str, tmp_path: Path
) -> None:
    network = behind_pcie(tmp_path / "net.json", 4, own)
    assert plan_network(network).queued_grid.port == NicPort(4, 2, 200e9)
    assert took_ns(network, "analytical-queues", 4, 10**6) == 2 * 40_000 + 2 * 1000
    found = warnings_of_shares(network, "analytical-queues")
    assert len(found) == bool(times)
    told = "one of 2 equal lines of 200 Gb/s even if the others are idle, so messages between nodes may take"
    assert all(f"{told} up to {times} as long" in words for words in found)


# Every other NPU on the same NIC: these aren't one after the other, so all four share both.
@pytest.mark.parametrize(("nics", "port"), [((0, 0, 1, 1), (2, 1)), ((0, 1, 0, 1), (4, 2)), ((0, 0, 0, 1), (4, 2))])
def test_npus_share_the_nics_that_their_own_lines_lead_to(
    nics: tuple[int, ...], port: tuple[int, int], tmp_path: Path
) -> None:
    network = behind_pcie(tmp_path / "net.json", 4, 400, nics)
    assert plan_network(network).queued_grid.port == NicPort(*port, 400e9)


def test_npus_that_forward_share_the_nics_behind_their_pcie_switches(tmp_path: Path) -> None:
    """Two messages of two NPUs on one NIC of 400 Gb/s: one after the other, and through the switch."""
    inside = {"link": {"rate": "3200Gbps", "delay": "0ns"}, "switch": SWITCH}
    forwarding = {"by": "hosts", "switch": SWITCH}
    topology = nodes(nics_per_node=2, shared_nics="pcie", scale_up=inside, forwarding=forwarding)
    for network in (
        parse_network({"topology": topology, "transport": "roce"}),
        given(topology, tmp_path / "a.graphml"),
    ):
        assert plan_network(network).queued_grid.port == NicPort(2, 1, 400e9)


# 300 Gb/s for each of 4 NPUs, or 400 Gb/s of any NIC.
def test_npus_that_share_nics_unevenly_share_all_their_lines() -> None:
    nics = NicLines(npus=4, nics=3, outwards_bps=1200e9)
    assert (nics.share_bps, nics.nic_bps, nics.alone_bps) == (300e9, 400e9, 1200e9)
    assert nics.port == NicPort(4, 3, 400e9)


@pytest.mark.parametrize("kind", ["switch", "ring", "full-mesh"])
def test_servers_of_one_npu_have_a_nic_for_each(kind: str) -> None:
    inside = {"kind": kind, "link": NVLINK, **({} if kind == "full-mesh" else {"switch": SWITCH})}
    network = parse_network({"topology": nodes(npus_per_node=1, scale_up=inside), "transport": "roce"})
    assert took_ns(network, "analytical-queues", 1, 10**6) == 2 * 20_000 + 2 * 1000


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_server_without_nics_has_its_own_lines_alone(backend: str, tmp_path: Path) -> None:
    graph = servers(4)
    graph["nodes"] = [node for node in graph["nodes"] if node["id"] != "tor"]
    graph["links"] = [link for link in graph["links"] if link["target"] != "tor"]
    (tmp_path / "net.json").write_text(json.dumps(graph))
    network = parse_network({"topology": {"kind": "file", "path": str(tmp_path / "net.json"), "switch": SWITCH}})
    assert not warnings_of_shares(network, backend)


@pytest.mark.parametrize("routing", ["ecmp", "spray"])
@pytest.mark.parametrize(("nvlink", "nics", "times"), [("100Gbps", 1, 1), ("200Gbps", 1, 2), ("8000Gbps", 2, 4)])
def test_an_npu_alone_has_all_nics_of_its_node_as_far_as_its_own_line_goes(
    nvlink: str, nics: int, times: int, routing: str, tmp_path: Path
) -> None:
    """NICs of 400 Gb/s; with two of them half of the node's share is 200 Gb/s, and both give 800."""
    inside = {"link": {"rate": nvlink, "delay": "100ns"}, "switch": SWITCH}
    topology = nodes(nics_per_node=nics, scale_up=inside, routing=routing)
    for network in (
        parse_network({"topology": topology, "transport": "roce"}),
        given(topology, tmp_path / "a.graphml"),
    ):
        warnings = validate(small_dlrm(), system_for(2), network, Options(backend="analytical")).warnings
        found = [words for words in warnings if "NPUs share NICs" in words]
        assert [f"may take up to {times} times as long" in words for words in found] == [True] * (times > 1), found


@pytest.mark.parametrize("rails", [False, True])
@pytest.mark.parametrize(
    ("pairs", "unlike"),
    [
        ([[0, 1, 2], [1, 2, 1], [2, 3, 1], [0, 3, 1]], True),
        ([[0, 1, 2], [1, 2, 2], [2, 3, 2], [0, 3, 2], [0, 2, 2], [1, 3, 2]], False),
    ],
)
def test_pairs_of_a_node_are_warned_of_where_a_formula_takes_one_line_for_each(
    pairs: list[list[int]], unlike: bool, rails: bool
) -> None:
    inside = {"kind": "full-mesh", "link": NVLINK, "pairs": pairs}
    topology = {
        **({**RAILS, "spines": 2} if rails else nodes()),
        "scale_up": inside,
        "forwarding": {"by": "hosts", "switch": SWITCH},
    }
    network = parse_network({"topology": topology, "transport": "roce"})
    for backend, of_formulas in (("analytical", True), ("analytical-queues", True), ("flow", False)):
        warnings = validate(small_dlrm(), system_for(2), network, Options(backend=backend)).warnings
        assert any("pairs of scale_up" in words for words in warnings) == (of_formulas and unlike)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_graph_of_one_server_without_nics_is_played(backend: str, tmp_path: Path) -> None:
    hosts = [{"id": f"npu{npu}", "kind": "host"} for npu in range(4)]
    nodes_of_file = [*hosts, {"id": "nv", "kind": "switch", "level": -1}]
    links = [{"source": f"npu{npu}", "target": "nv", **NVLINK} for npu in range(4)]
    (tmp_path / "net.json").write_text(json.dumps({**servers(1), "nodes": nodes_of_file, "links": links}))
    topology = {"kind": "file", "path": str(tmp_path / "net.json"), "switch": SWITCH}
    network = parse_network({"topology": topology, "transport": "roce"})
    assert astra_ns3.run(workload=small_dlrm(), system=system_for(1), network=network, backend=backend).complete


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_graph_of_one_npu_has_a_dimension(backend: str, tmp_path: Path) -> None:
    (tmp_path / "net.json").write_text(json.dumps({**servers(1), "nodes": [{"id": "a", "kind": "host"}], "links": []}))
    topology = {"kind": "file", "path": str(tmp_path / "net.json"), "switch": SWITCH}
    result = astra_ns3.run(
        workload=small_dlrm(), system=system_for(1), network=parse_network({"topology": topology}), backend=backend
    )
    assert result.complete
