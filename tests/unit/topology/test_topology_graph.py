"""Graphs: the single switch, ports in the order of links, their names, and graphs that can't be."""

from __future__ import annotations

import pytest
from support.shared_nics import shared_nics

from astra_ns3.config.topology.kinds import SingleSwitch
from astra_ns3.errors import InputError
from astra_ns3.topology import ports
from astra_ns3.topology.added_hosts import with_hosts, without_hosts
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.graph import Graph, Link, Port


def single(npus: int, npus_per_host: int) -> Graph:
    return build_graph(
        SingleSwitch.model_validate(
            {
                "npus": npus,
                "npus_per_host": npus_per_host,
                "link": {"rate": "100Gbps", "delay": "500ns"},
                "switch": {"buffer": "64MB"},
            }
        )
    )


def test_a_single_switch_has_one_link_and_port_per_host() -> None:
    graph = single(6, 2)
    assert (graph.hosts, graph.switches, graph.nodes) == (3, 1, 4)
    assert graph.links == tuple(Link(host, 3, 100_000_000_000, 500_000) for host in (0, 1, 2))
    assert graph.npu_host == (0, 0, 1, 1, 2, 2)
    assert graph.switch_buffer_bytes == (64_000_000,)
    assert graph.ports[3] == (Port(0, 0), Port(1, 1), Port(2, 2))
    assert graph.ports[1] == (Port(1, 3),)


def test_ports_count_in_the_order_of_links() -> None:
    links = (Link(1, 3, 1, 0), Link(2, 3, 1, 0), Link(3, 0, 1, 0), Link(0, 2, 1, 0))
    graph = Graph(2, 2, links, (0, 1), (1, 1))
    assert graph.ports == (
        (Port(2, 3), Port(3, 2)),
        (Port(0, 3),),
        (Port(1, 3), Port(3, 0)),
        (Port(0, 1), Port(1, 2), Port(2, 0)),
    )


def test_a_graph_without_dimensions_has_one_of_all_npus_however_many_share_a_host() -> None:
    graph = Graph(2, 1, (Link(0, 2, 1, 0), Link(1, 2, 1, 0)), (0, 0, 0, 1, 1), (1,))
    assert graph.dimensions == (5,)


def test_every_port_has_a_name_that_finds_it_again() -> None:
    graph = Graph(2, 2, (Link(0, 2, 1, 0), Link(0, 3, 1, 0), Link(1, 3, 1, 0)), (0, 1), (1, 1))
    names = [ports.port_name(graph.hosts, *port) for port in ports.all_ports(graph)]
    assert names == ["host0", "host0:1", "host1", "switch0:0", "switch1:0", "switch1:1"]
    assert [ports.resolve_port(graph, name) for name in names] == list(ports.all_ports(graph))
    assert ports.resolve_ports(graph, ["all"]) == ports.all_ports(graph)
    assert ports.resolve_ports(graph, ["host1", "switch1:1", "host1"]) == ((1, 0), (3, 1))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("host4", "there is no host 4, expected 0 to 3"),
        ("switch1:0", "there is no switch 1, expected 0 to 0"),
        ("switch0:4", "switch 0 has ports 0 to 3"),
        ("switch0", "is not a port"),
        ("nic3", "is not a port"),
    ],
)
def test_a_port_that_is_not_there_is_refused(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ports.resolve_port(single(4, 1), name)


def test_a_graph_without_lines_has_no_ports() -> None:
    with pytest.raises(InputError, match="port 'host0': the network has no ports, as each analytical one"):
        ports.resolve_port(Graph(4, 0, (), (0, 1, 2, 3)), "host0")


@pytest.mark.parametrize(
    ("links", "npu_host", "buffers"),
    [
        ((Link(0, 9, 1, 0),), (0,), (1,)),
        ((Link(0, 0, 1, 0),), (0,), (1,)),
        ((Link(0, 2, 0, 0),), (0,), (1,)),
        ((Link(0, 2, 1, -1),), (0,), (1,)),
        ((Link(0, 2, 1, 0),), (2,), (1,)),
        ((Link(0, 2, 1, 0),), (0,), ()),
    ],
)
def test_a_graph_that_cannot_be_is_refused(
    links: tuple[Link, ...], npu_host: tuple[int, ...], buffers: tuple[int, ...]
) -> None:
    with pytest.raises(InputError):
        Graph(2, 1, links, npu_host, buffers)


def test_hosts_behind_a_graphs_hosts_leave_the_numbers_and_names_of_all_others() -> None:
    """A line to node 3, switch 1, is one to node 5 once two hosts more come before it; servers get new numbers."""
    links = (Link(0, 2, 1, 0), Link(1, 3, 1, 0), Link(2, 3, 1, 0))
    graph = Graph(2, 2, links, (0, 1), (1, 1), node_ids=(10, 14, 12, 11), host_boxes=(0, 3))
    more = with_hosts(graph, [[3], [2, 3]], lambda host, node: Link(host, node, 7, 0, kind="storage"))
    assert more.node_ids == (10, 14, 15, 16, 12, 11)
    assert more.host_boxes == (0, 3, 4, 5)
    assert [(link.a, link.b) for link in more.links] == [(0, 4), (1, 5), (4, 5), (2, 5), (3, 4), (3, 5)]
    assert without_hosts(more, 2, "storage") == graph


def test_storage_of_a_rack_is_below_its_leaf_where_npus_share_nics() -> None:
    graph = shared_nics(storage={"per": "rack", "link": {"rate": "100Gbps", "delay": "500ns"}})
    assert [(link.a, link.b) for link in graph.links if link.kind == "storage"] == [(16, 18), (17, 19)]
