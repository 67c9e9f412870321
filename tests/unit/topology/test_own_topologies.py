"""A topology of the user's: a function that gives a graph, with all the checks that a kind of ours gets."""

from __future__ import annotations

from math import factorial
from pathlib import Path
from typing import Any

import pytest
from support.documents.schemas import schema_of
from support.fake_backend import FakeBackend
from support.small_run import small_system, small_workload

import astra_ns3
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network, read_network
from astra_ns3.errors import InputError
from astra_ns3.experiments.inputs import Options
from astra_ns3.experiments.validate import validate
from astra_ns3.network.plan import plan_network
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.measures import measure
from astra_ns3.topology.routes import shortest_paths

HYPERCUBE = "inputs/extending/hypercube.py:hypercube"
STAR = """
from astra_ns3.config.core.link import LinkConfig
from astra_ns3.config.topology.switch import SwitchConfig
from astra_ns3.topology.graph import Graph, Link

def star(npus=4, rate=10**11, delay=500_000, buffer=10**9, **more):
    links = tuple(Link(host, npus, rate, delay) for host in range(npus))
    return Graph(**{**dict(hosts=npus, switches=1, links=links, npu_host=tuple(range(npus)),
        switch_buffer_bytes=(buffer,)), **more})
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(STAR)
    return tmp_path / "mine.py"


def network(kind: str = "mine.py:star", transport: Any = "tcp", **keys: object) -> NetworkConfig:
    return parse_network({"topology": {"kind": kind, **keys}, "transport": transport})


def check(config: NetworkConfig, **options: Any) -> tuple[str, ...]:
    return validate(small_workload(), small_system(), config, options=Options(**options)).warnings


@pytest.mark.parametrize("order", [1, 3, 5])
def test_the_hypercube_has_the_measures_of_one(order: int, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository)
    parameters = {"order": order, "rate": "100Gbps", "delay": "500ns", "buffer": "16MB"}
    config = network(HYPERCUBE, parameters=parameters)
    found = measure(graph := build_graph(config.topology), shortest_paths(graph))
    npus = 2**order
    assert (config.npus, config.dimensions, config.bandwidths) == (npus, (npus,), (1e11,))
    assert len(graph.links) == npus + npus // 2 * order
    assert (found.diameter, found.paths) == (order + 2, factorial(order))
    assert found.bisection_bps == npus // 2 * 10**11
    assert read_network("inputs/extending/hypercube.yaml").npus == 16


def test_a_graph_as_ours_gives_what_ours_gives(mine: Path) -> None:
    link = {"rate": "100Gbps", "delay": "500ns"}
    ours = plan_network(network("single-switch", npus=4, link=link, switch={"buffer": "1GB"}))
    own = plan_network(network())
    assert own.graph.links == tuple(
        type(each)(each.a, each.b, each.rate_bps, each.delay_ps, kind="link") for each in ours.graph.links
    )
    in_force = [plan.transports["tcp"].in_force() for plan in (own, ours)]
    assert in_force[0] == in_force[1]
    assert (own.outline, own.longest[0].delay_ps) == (ours.outline, ours.longest[0].delay_ps)
    assert check(network()) == ()


def test_parameters_arrive_by_name_in_base_units(mine: Path) -> None:
    mine.write_text(f"{STAR}\ndef f(**given):\n    assert given == {{'a': 5 * 10**10, 'b': 2500, 'c': 64000000, 'd': 3,"
        " 'e': 0.5, 'f': True, 'g': 'dense', 'h': (1, 10**9)}, given\n    return star()\n")  # fmt: skip
    given = {"a": "50Gbps", "b": "2.5ns", "c": "64MB", "d": 3, "e": 0.5, "f": True, "g": "dense", "h": [1, "1Gbps"]}
    assert network("mine.py:f", parameters=given).npus == 4


def test_its_document_reads_back_to_an_equal_network(mine: Path) -> None:
    config = network(parameters={"npus": 8, "delay": "1us"}, dimensions=[2, 4], nic={"buffer": "1MB"})
    assert parse_network(config.document()) == config
    graph = build_graph(config.topology)
    assert (graph.dimensions, graph.bandwidths, graph.nic_buffer_bytes) == ((2, 4), (1e11, 1e11), 10**6)


def test_the_function_is_called_once_for_a_run(mine: Path) -> None:
    mine.write_text(f"{STAR}\ndef f():\n    with open('called', 'a') as file: file.write('x')\n    return star()\n")
    Path("network.yaml").write_text("topology: {kind: 'mine.py:f'}\ntransport: roce\n")
    astra_ns3.run(
        workload=small_workload(),
        system=small_system(),
        network="network.yaml",
        backend=FakeBackend(4),
        congestion_control="swift",
    )
    assert Path("called").read_text() == "x"


def test_dimensions_and_bandwidths_of_the_graph_are_the_networks(mine: Path) -> None:
    mine.write_text(f"{STAR}\ndef f(): return star(dimensions=(2, 2), bandwidths=(4.0, 2.0), link_dimensions=())\n")
    assert (network("mine.py:f").dimensions, network("mine.py:f").bandwidths) == ((2, 2), (4.0, 2.0))
    assert network("mine.py:f", dimensions=[4]).bandwidths == (4.0,)


def test_the_analytical_backend_takes_it_as_a_fabric(mine: Path) -> None:
    assert check(network(), backend="analytical") == ()


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"dimensions": [3, 2]}, r"network: key 'topology\.dimensions': \[3, 2\] make 6 NPUs, not 4"),
        (
            {"routing": {"kind": "pinned", "pins": [{"sender": 0, "receiver": 9, "path": 0}]}},
            r"names NPU 9, expected 0 to 3",
        ),
        (
            {"npus": 4},
            r"network: key 'topology\.npus': unknown key; "
            "allowed: routing, dimensions, nic, forwarding, storage, kind, parameters",
        ),
        ({"parameters": {"npos": 4}}, r"mine\.py:\d+: star failed: TypeError: .*unexpected keyword argument 'npos'"),
        ({"parameters": {"npus": None}}, r"key 'topology\.parameters': 'npus' is None, expected a number, on or off"),
        ({"parameters": 3}, r"key 'topology\.parameters'"),
        ({"kind": "mine.py:gone"}, r"mine\.py: the topology file must define a function gone"),
        ({"kind": "nowhere.py:f"}, r"nowhere\.py: no such topology file"),
        ({"kind": "mine.py"}, r"key 'topology\.kind': found 'mine\.py', allowed: single-switch, .*, FILE\.py:name"),
        ({"kind": "mine.py:STAR:x"}, r"key 'topology\.kind': found 'mine\.py:STAR:x', allowed: "),
    ],
)
def test_what_is_wrong_in_the_file_is_told(keys: dict[str, Any], message: str, mine: Path) -> None:
    with pytest.raises(InputError, match=message) as caught:
        network(**keys)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return None", r"mine\.py:f: gave nothing, expected a Graph"),
        ("return Graph", r"mine\.py:f: gave a type, expected a Graph|Graph of odd parts"),
        ("return star(hosts=3)", r"mine\.py:\d+: .*joins nodes|mine\.py:\d+: an NPU is on a host that does not exist"),
        ("return star(rate=0)", r"mine\.py:\d+: link 0 has rate 0 b/s"),
        (
            "return star(rate=1e11)",
            r"mine\.py:f: link 0: rate_bps is 1e\+?11|rate_bps is 100000000000\.0, expected a whole",
        ),
        (
            "return star(delay=2**70)",
            r"mine\.py:f: link 0: delay_ps is 1180591620717411303424, expected a whole number",
        ),
        ("return star(npu_host=())", r"mine\.py:f: places no NPU"),
        (
            "return star(npu_host=(0.0, 1, 2, 3))",
            r"mine\.py:f: an entry of npu_host is 0\.0, expected a whole number",
        ),
        ("return star(dimensions=(2, 3))", r"mine\.py:f: dimensions \[2, 3\] make 6 NPUs, not 4"),
        ("return star(dimensions=(4.0,))", r"mine\.py:f: an entry of dimensions is 4\.0"),
        ("return star(dimensions=7)", r"mine\.py:f: gave a Graph of odd parts: TypeError"),
        ("return star(bandwidths=(0.0,))", r"mine\.py:f: bandwidths are \(0\.0,\), expected a number above 0"),
        ("return star(bandwidths=(1.0, 2.0))", r"mine\.py:f: bandwidths has 2 entries, expected 1 or none"),
        ("return star(link_dimensions=(('link', 3),))", r"mine\.py:f: link_dimensions: 'link' is 3, expected a whole"),
        ("return star(buffer=-5)", r"mine\.py:\d+: (f|star) failed: ValidationError|switch_buffer_bytes is -5"),
        ("return star(switch_configs=(3,))", r"mine\.py:f: switch_configs have an int, expected SwitchConfig"),
        ("return star(switch_names=('a', 'b'))", r"mine\.py:f: switch_names has 2 entries, expected 1 or none"),
        ("return star(host_boxes=(1,))", r"mine\.py:f: host_boxes has 1 entry, expected 4 or none"),
        ("return star(local=3)", r"mine\.py:f: local is an int, expected a LinkConfig"),
        ("return star(nic_buffer_bytes=0)", r"mine\.py:f: nic_buffer_bytes is 0, expected a whole number from 1"),
        ("return star(links=tuple([Link(0, 4, 9, 9, kind=3)]))", r"mine\.py:f: link 0: kind is 3, expected a word"),
        ("raise SystemExit(2)", r"mine\.py:\d+: f failed: SystemExit: 2"),
    ],
)
def test_what_is_no_graph_is_refused_in_one_line(mine: Path, body: str, message: str) -> None:
    mine.write_text(f"{STAR}\ndef f(): {body}\n")
    with pytest.raises(InputError, match=message) as caught:
        network("mine.py:f")
    assert "\n" not in str(caught.value)


def test_it_is_checked_as_ours_are(mine: Path) -> None:
    mine.write_text(f"{STAR}\ndef f(): return star(links=tuple(Link(host, 4, 10**11, 0) for host in range(3)))\n")
    with pytest.raises(InputError, match="reach"):
        check(network("mine.py:f"))
    assert "the buffer of switch 0, 5 KB, is below" in check(network(parameters={"buffer": "5KB"}))[0]
    with pytest.raises(InputError, match=r"key 'topology\.switch\.buffer'"):
        check(network(parameters={"buffer": 100}, transport="roce"))


def test_the_schema_has_it() -> None:
    assert set(schema_of("network")["$defs"]["OwnTopology"]["properties"]) == {
        "kind", "parameters", "routing", "dimensions", "nic", "forwarding", "storage"
    }  # fmt: skip
