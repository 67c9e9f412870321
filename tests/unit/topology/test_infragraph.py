"""InfraGraph's files: devices in devices, slices, ports and NICs that are no hops; and what is wrong with a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.config.topology.file import read_graph_file
from astra_ns3.errors import InputError
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.paths import path
from astra_ns3.topology.routes import shortest_paths

G = 10**9
PCIE = {"rate": "256Gbps", "delay": "200ns", "cost": 3}
NVLINK = {"rate": "2400Gbps", "delay": "25ns"}


def edge(one: str, other: str, link: str, scheme: str = "many2many") -> dict[str, Any]:
    """``one`` and ``other``: ``component``, or ``instance/component``."""
    ends = []
    for text in (one, other):
        instance, _, component = text.rpartition("/")
        ends.append({"instance": instance, "component": component} if instance else {"component": component})
    return {"scheme": scheme, "link": link, "ep1": ends[0], "ep2": ends[1]}


def gbps(value: float, latency_ns: float | None = None) -> dict[str, Any]:
    physical: dict[str, Any] = {
        "bandwidth": {"choice": "gigabits_per_second", "gigabits_per_second": value},
    }
    if latency_ns is not None:
        physical["latency"] = {"choice": "ns", "ns": latency_ns}
    return {"physical": physical}


def component(name: str, count: int, choice: str) -> dict[str, Any]:
    return {"name": name, "count": count, "choice": choice}


def infrastructure() -> dict[str, Any]:
    """Two servers of two xpus, a NIC card each (a device in the device), on one switch of four ports."""
    card = {
        "name": "card",
        "components": [component("port", 1, "port"), component("nic", 1, "nic")],
        "links": [{"name": "wire"}],
        "edges": [edge("nic", "port", "wire")],
    }
    server = {
        "name": "server",
        "description": "two xpus",
        "components": [
            component("xpu", 2, "xpu"),
            component("pciesw", 1, "switch"),
            component("nvsw", 1, "switch"),
            component("memory", 4, "memory"),
            component("card", 2, "device"),
        ],
        "links": [{"name": "pcie"}, {"name": "nvlink"}],
        "edges": [
            edge("xpu", "pciesw", "pcie"),
            edge("xpu", "nvsw", "nvlink"),
            edge("memory[0:3]", "pciesw[0]", "pcie"),
            edge("card[0:2].nic[0]", "pciesw", "pcie"),
        ],
    }
    switch = {
        "name": "switch",
        "components": [component("asic", 1, "cpu"), component("port", 8, "port")],
        "links": [{"name": "ic"}],
        "edges": [edge("asic", "port", "ic")],
    }
    return {
        "name": "two servers",
        "devices": [card, server, switch],
        "links": [{"name": "eth", **gbps(100, 500)}],
        "instances": [
            {"name": "host", "device": "server", "count": 2},
            {"name": "tor", "device": "switch", "count": 1},
        ],
        "edges": [
            edge("host[0]/card[0:2].port[0]", "tor[0]/port[0:2]", "eth", "one2one"),
            edge("host[1]/card.port", "tor/port[2:4]", "eth", "one2one"),
        ],
    }


def topology(path: Path, **keys: Any) -> Any:
    given = {"links": {"pcie": PCIE, "nvlink": NVLINK}, **keys}
    return parse_network(
        {"topology": {"kind": "file", "path": str(path), "switch": {"buffer": "1MB"}, **given}}
    ).topology


@pytest.mark.parametrize("ending", ["json", "yaml"])
def test_xpus_are_hosts_and_ports_and_nics_no_hops(ending: str, tmp_path: Path) -> None:
    text = json.dumps(infrastructure()) if ending == "json" else yaml.safe_dump(infrastructure())
    (tmp_path / f"infra.{ending}").write_text(text)
    graph = build_graph(topology(tmp_path / f"infra.{ending}"))
    # Of each server a PCIe switch and an NVSwitch; the ASIC. Memory leads nowhere, four of eight ports are unused.
    assert (graph.hosts, graph.switches) == (4, 5)
    assert graph.switch_names == (
        "host.0.pciesw.0", "host.0.nvsw.0", "host.1.pciesw.0", "host.1.nvsw.0", "tor.0.asic.0"
    )  # fmt: skip
    # Each server: 2 PCIe links, 2 NVLinks, 2 NICs; a NIC is one link, at the lower rate, 100 of 256 Gb/s.
    kinds = sorted(link.kind for link in graph.links)
    assert kinds == ["eth"] * 4 + ["nvlink"] * 4 + ["pcie"] * 4
    assert {(link.rate_bps, link.delay_ps) for link in graph.links if link.kind == "eth"} == {(100 * G, 500_000)}


def test_npus_of_a_server_take_the_links_that_cost_less(tmp_path: Path) -> None:
    (tmp_path / "infra.json").write_text(json.dumps(infrastructure()))
    graph = build_graph(topology(tmp_path / "infra.json"))
    tables = shortest_paths(graph)

    def kinds(a: int, b: int) -> list[str]:
        return [graph.links[graph.ports[node][port].link].kind for node, port in path(graph, tables, a, b)]

    assert kinds(0, 1) == ["nvlink", "nvlink"]
    assert kinds(0, 2) == ["pcie", "eth", "eth", "pcie"]


def graph_of(change: dict[str, Any], folder: Path, **keys: Any) -> Graph:
    (folder / "infra.json").write_text(json.dumps({**infrastructure(), **change}))
    return build_graph(topology(folder / "infra.json", **keys))


def test_switches_in_a_device_of_xpus_are_inside_its_server(tmp_path: Path) -> None:
    """Unless all are, for then no line would lead out."""
    graph = graph_of({}, tmp_path)
    assert (graph.switch_levels, graph.inside_levels) == ((1, 1, 1, 1, 2), 1)
    alone = graph_of({"instances": infrastructure()["instances"][:1], "edges": []}, tmp_path)
    assert alone.inside_levels == 0


def test_what_the_file_lacks_is_said_by_link(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"host.0.xpu.0 to host.0.pciesw.0: the graph lacks 'rate' of 8 of 12 links, 'del"
    ):
        graph_of({}, tmp_path, links=None)


def test_rates_in_bytes_and_latencies_in_other_units(tmp_path: Path) -> None:
    physical = {
        "bandwidth": {"choice": "gigabytes_per_second", "gigabytes_per_second": 12.5},
        "latency": {"choice": "us", "us": 1.5},
    }
    graph = graph_of({"links": [{"name": "eth", "physical": physical}]}, tmp_path)
    assert {(link.rate_bps, link.delay_ps) for link in graph.links if link.kind == "eth"} == {(100 * G, 1_500_000)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"instances": []}, "key 'instances': found "),
        ({"instances": [{"name": "host", "device": "sever", "count": 1}]}, "no device 'sever'; did you mean 'server'"),
        (
            {"edges": [edge("hots[0]/xpu", "tor/port", "eth")]},
            r"edges\[0\]: there is no instance 'hots'; did you mean 'ho",
        ),
        ({"edges": [edge("host[0]/npu", "tor/port", "eth")]}, r"edges\[0\]: device 'server' has no component 'npu'"),
        (
            {"edges": [edge("host[2]/xpu", "tor/port", "eth")]},
            r"edges\[0\]: 'host\[2\]' goes to 2, but there are 2, from 0",
        ),
        ({"edges": [edge("host[0:x]/xpu", "tor/port", "eth")]}, r"found 'host\[0:x\]', expected a name and a slice"),
        ({"edges": [edge("host/xpu", "tor/port", "fibre")]}, r"edges\[0\]: there is no link 'fibre'"),
        (
            {"edges": [edge("host/xpu", "tor/port", "eth", "ring")]},
            "scheme ring is not read, expected one2one or many2m",
        ),
        (
            {"edges": [edge("host/xpu", "tor/port", "eth", "all")]},
            r"key 'edges.0.scheme': found 'all', allowed: one2one",
        ),
        ({"edges": [edge("xpu", "tor/port", "eth")]}, r"edges\[0\]: an end has no 'instance'"),
        ({"connections": ["host.0.xpu.0.eth.tor.0.port.0"]}, "key 'connections': unknown key; allowed: name, descr"),
    ],
)
def test_a_file_that_is_wrong_names_its_entry(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message) as caught:
        graph_of(change, tmp_path)
    assert "\n" not in str(caught.value)


def test_a_device_in_itself_is_refused(tmp_path: Path) -> None:
    loop = {"name": "loop", "components": [component("loop", 1, "device")], "links": [], "edges": []}
    change = {"devices": [loop], "instances": [{"name": "a", "device": "loop", "count": 1}], "edges": []}
    with pytest.raises(InputError, match="device 'loop' stands in itself, or more than 20 deep"):
        graph_of(change, tmp_path)


def test_a_file_without_an_xpu_has_no_npu(tmp_path: Path) -> None:
    switches = [{"name": "tor", "device": "switch", "count": 2}]
    with pytest.raises(InputError, match="no component is an xpu, so there is no NPU"):
        graph_of({"instances": switches, "edges": []}, tmp_path)


def test_a_file_of_annotations_is_refused_with_its_keys(tmp_path: Path) -> None:
    path = tmp_path / "ranks.yaml"
    path.write_text("nodes:\n- {name: host.0.xpu.0, attributes: [{attribute: rank, value: '0'}]}\n")
    with pytest.raises(
        InputError, match=r"ranks\.yaml: found the keys nodes, expected those of a graph: .* annotations"
    ):
        read_graph_file(str(path))
