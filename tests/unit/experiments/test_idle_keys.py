"""Keys of a run's files that change nothing are told in a line; the same keys where they count are not."""

from __future__ import annotations

from typing import Any

import pytest
from support.models import GPT, SEQUENCE, model_of
from support.small_run import small_system, small_workload

from astra_ns3.config.flow_list import FlowList
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.config.system import SystemConfig
from astra_ns3.config.transports.roce import RoceTransport
from astra_ns3.experiments.inputs import Options, load_inputs
from astra_ns3.experiments.nccl.servers_of_network import unlike_nodes
from astra_ns3.workload.files.astra_sim import parse_workload
from astra_ns3.workload.files.workload_formats import AnyWorkload
from astra_ns3.workload.models.workload import ModelWorkload

LINK = {"rate": "100Gbps", "delay": "500ns"}
SWITCH = {"buffer": "1GB", "pfc": {}}
STAR = {"kind": "single-switch", "npus": 4, "link": LINK, "switch": SWITCH}
ONE_SPINE = {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 2, "link": LINK, "switch": SWITCH}
TWO_SPINES = {**ONE_SPINE, "spines": 2}
SERVERS = {
    "kind": "hierarchical", "nodes": 2, "npus_per_node": 2,
    "scale_up": {"kind": "switch", "link": LINK, "switch": SWITCH},
    "scale_out": {"kind": "single-switch", "link": LINK, "switch": SWITCH},
}  # fmt: skip
TWO_DIMENSIONS = {f"{kind}-implementation": "ring_ring" for kind in ("all-reduce", "reduce-scatter", "all-gather")}
TWO_DIMENSIONS |= {"all-to-all-implementation": "direct_direct"}
ONE_WAY = "no two ways between nodes are equally short"
ONE_ALL_GATHER = parse_workload("MODEL\n1\nonly -1 1 ALLGATHER 4000 1 NONE 0 1 NONE 0 0\n", "small.txt")


def network(topology: dict[str, Any], **keys: Any) -> NetworkConfig:
    return parse_network({"topology": topology, "transport": {"kind": "roce"}, **keys})


def told(
    system: SystemConfig | None = None,
    on: NetworkConfig | None = None,
    workload: AnyWorkload | None = None,
    backend: str = "ns3",
) -> list[str]:
    given = workload or small_workload(), system or small_system(), on or network(STAR)
    return [words for words in load_inputs(*given, Options(backend=backend)).warnings if "without effect" in words]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, []),
        ({"replay-only": 1}, ["replay-only (only graphs have nodes)"]),
        (
            {"roofline-enabled": 1, "peak-perf": 900, "local-mem-bw": 1600},
            ["roofline-enabled (nothing asks for times of nodes), peak-perf (no roofline asks for it)"],
        ),
        ({"peak-perf": 900}, ["peak-perf (no roofline asks for it)"]),
        ({"endpoint-delay": 0, "injection-scale": 2.0}, ["injection-scale (endpoint-delay is 0)"]),
        ({"injection-scale": 2.0}, []),
        (
            {"inter-dimension-scheduling": "roundRobin"},
            ["inter-dimension-scheduling (no collective goes along several dimensions)"],
        ),
        ({"collective-optimization": "localBWAware"}, []),  # files for many networks have it
    ],
)
def test_keys_of_a_system_that_change_nothing_of_a_loop_are_told(keys: dict[str, Any], expected: list[str]) -> None:
    assert told(small_system(**keys)) == [f"without effect: {words}" for words in expected]


def test_orders_of_dimensions_count_where_there_are_several() -> None:
    orders = {"inter-dimension-scheduling": "roundRobin", "collective-optimization": "localBWAware"}
    system = small_system(**TWO_DIMENSIONS, **orders)
    assert told(system, network(SERVERS)) == []
    assert told(system, network(SERVERS), ONE_ALL_GATHER) == []


def test_an_order_of_dimensions_is_told_where_nothing_is_a_collective() -> None:
    messages = parse_workload("MODEL\n1\nonly -1 1 NONE 0 1 NONE 0 1 NONE 0 0\n", "small.txt")
    (words,) = told(small_system(**{"inter-dimension-scheduling": "roundRobin"}), workload=messages)
    assert words.endswith("inter-dimension-scheduling (no collective goes along several dimensions)")


def test_a_list_of_flows_is_not_told_of_each_key_of_its_system() -> None:
    assert told(small_system(**{"peak-perf": 900}), workload=FlowList.of([0], [1], [1], [0])) == []


@pytest.mark.parametrize("backend", ["ns3", "flow"])
@pytest.mark.parametrize(
    ("topology", "routing", "expected"),
    [
        (STAR, {}, ""),
        (STAR, {"kind": "spray"}, f"topology.routing.kind ({ONE_WAY})"),
        (ONE_SPINE, {"seed": 3}, f"topology.routing.seed ({ONE_WAY})"),
        (TWO_SPINES, {"kind": "spray"}, ""),
        (TWO_SPINES, {"seed": 3}, ""),
        (TWO_SPINES, {"weighted": True}, "topology.routing.weighted (equally short ways have equal rates)"),
    ],
)
def test_a_routing_without_a_choice_is_told(
    backend: str, topology: dict[str, Any], routing: dict[str, Any], expected: str
) -> None:
    found = told(on=network({**topology, "routing": routing}), backend=backend)
    assert found == ([f"without effect: {expected}"] if expected else [])


@pytest.mark.parametrize(("topology", "warned"), [(ONE_SPINE, 1), (TWO_SPINES, 0)])
def test_other_paths_after_timeouts_are_told_where_there_is_none(topology: dict[str, Any], warned: int) -> None:
    reliability = {"kind": "selective-repeat", "new_path_after": 2}
    found = told(on=parse_network({"topology": topology, "transport": {"kind": "roce", "reliability": reliability}}))
    assert found == [f"without effect: transport.reliability.new_path_after ({ONE_WAY})"] * warned


@pytest.mark.parametrize(
    ("topology", "kind", "why"),
    [
        (TWO_SPINES, "spray", "with spray, no hash chooses a way"),
        (TWO_SPINES, "adaptive", "with adaptive, no hash chooses a way"),
        (TWO_SPINES, "flowlet", ""),
        (TWO_SPINES, "ecmp", ""),
        (ONE_SPINE, "ecmp", ONE_WAY),
    ],
)
def test_a_port_of_each_message_is_told_where_no_switch_reads_it(topology: dict[str, Any], kind: str, why: str) -> None:
    """Hosts have one port each, and switches turn or go by queues."""
    transport = {"kind": "roce", "ecmp": "per-message-port", "queue_pairs": "per-message"}
    keys = {"topology": {**topology, "routing": kind}, "transport": transport}
    found = [words for words in told(on=parse_network(keys)) if "ecmp" in words]
    assert found == ([f"without effect: transport.ecmp ({why})"] if why else [])


@pytest.mark.parametrize(
    ("topology", "keys", "warned"),
    [
        (TWO_SPINES, {"queue_pairs": "per-pair"}, True),
        (TWO_SPINES, {}, True),
        (TWO_SPINES, {"queue_pairs": "per-message"}, False),
        (TWO_SPINES, {"queue_pairs_per_pair": 4}, False),
        ({**TWO_SPINES, "routing": "flowlet"}, {}, False),
        (ONE_SPINE, {}, False),
    ],
)
def test_a_queue_pair_that_keeps_the_port_of_each_message_is_told(
    topology: dict[str, Any], keys: dict[str, Any], warned: bool
) -> None:
    transport = {"kind": "roce", "ecmp": "per-message-port", **keys}
    system = small_system()
    for backend in ("ns3", "flow"):
        network_ = parse_network({"topology": topology, "transport": transport})
        words = load_inputs(small_workload(), system, network_, Options(backend=backend)).warnings
        assert any("a queue pair keeps its port" in each for each in words) == warned


def test_queue_pairs_of_a_workload_s_own_connections_keep_no_port_of_messages() -> None:
    transport = {"kind": "roce", "ecmp": "per-message-port", "queue_pairs": "per-message"}
    on = parse_network({"topology": TWO_SPINES, "transport": transport})
    assert isinstance(on.transport, RoceTransport)
    assert not on.transport.on_connections().keeps_ports


def test_intervals_of_what_nobody_observes_are_told() -> None:
    keys: dict[str, Any] = {"queue_interval": "1us", "queue_pair_interval": "1us", "utilisation_interval": "1us"}
    assert told(on=network(STAR, observe={**keys, "queues": "all"})) == [
        "key 'observe': without effect: queue_pair_interval without queue_pairs, "
        "utilisation_interval without utilisation"
    ]
    keys |= {"queues": "all", "queue_pairs": ["rate"], "utilisation": "all"}
    assert told(on=network(STAR, observe=keys)) == []


def _with_nodes(npus_per_node: int) -> ModelWorkload:
    experts = {"count": 4, "active": 2, "feed_forward": 64, "node_limit": 2, "npus_per_node": npus_per_node}
    return model_of({
        "kind": "transformer", "name": "small", "model": {**GPT, "experts": experts},
        "training": {"sequence": SEQUENCE}, "parallel": {"expert": 4},
    })  # fmt: skip


@pytest.mark.parametrize(("npus", "told"), [((0, 1, 2, 3), 0), ((2, 3, 0, 1), 0), ((0, 2, 1, 3), 1)])
def test_nodes_of_experts_that_lie_on_several_servers_are_told(npus: tuple[int, ...], told: int) -> None:
    found = unlike_nodes(_with_nodes(2), network(SERVERS), npus)
    assert len(found) == told
    assert all("lie on several servers: tokens don't travel by server" in words for words in found)


@pytest.mark.parametrize(("npus_per_node", "topology", "warned"), [(1, SERVERS, 1), (2, SERVERS, 0), (1, STAR, 0)])
def test_nodes_of_experts_unlike_the_network_s_servers_are_told(
    npus_per_node: int, topology: dict[str, Any], warned: int
) -> None:
    model = _with_nodes(npus_per_node)
    system = small_system(**TWO_DIMENSIONS)
    given = model, system if topology is SERVERS else small_system(), network(topology)
    found = [words for words in load_inputs(*given).warnings if "npus_per_node" in words]
    assert (
        found
        == [
            "small.yaml: model.experts.npus_per_node is 1, servers of the network have 2 NPUs: tokens don't travel by "
            "server"
        ]
        * warned
    )
