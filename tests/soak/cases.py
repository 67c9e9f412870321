"""A random case from a seed: topology x transport x control x routing x size x rate x collective x what is observed."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from support.transports import transport_of

from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.config.topology.routing import VALIANT, RoutingConfig
from astra_ns3.config.transports.roce import RoceTransport
from astra_ns3.config.transports.tcp import TcpTransport
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.lanes import find_circle, orders_by_hop
from astra_ns3.topology.ports import all_ports, port_name
from astra_ns3.topology.routes import shortest_paths
from soak.case import Case, network_of, write_files
from soak.draw import Draw
from soak.hpcc import draw_hpcc_files
from soak.jobs import draw_collective, draw_flows, draw_in_network, draw_workload, with_nccl, written_as_files
from soak.models import WORD as MODEL
from soak.scenarios import draw_scenario
from soak.storage import draw_beyond, draw_storage
from soak.switches import draw_buffers, draw_credits, draw_heads, draw_reduction, draw_switches, kept_bytes
from soak.topologies import Parts, draw_dimensions, draw_topology, graph_text
from soak.transports import draw_roce, draw_tcp, is_in_python, largest_packet_bytes

ROUTING_KINDS: tuple[str, ...] = get_args(RoutingConfig.model_fields["kind"].annotation)
IN_ORDER = ("ecmp", "pinned")
CREDITS = 0.12
"""Of all networks, those whose links are by credit."""
REDUCING = 0.15
"""Of all networks of RoCE alone with a workload, those whose switches reduce."""
STORING = 0.15
"""Of all networks with one transport, those with storage hosts."""
STORING_MODELS = 0.6
"""Of those with a model's training, too."""
LARGEST_PACKET_BYTES = 10_000
Drawn = dict[str, Any]


SCENARIOS = 0.15
"""The share of cases that play a scenario on their network."""


def random_case(seed: int, scenarios: float = 0) -> Case:
    """The case of a seed; ``scenarios``: the share of seeds whose case is a scenario."""
    case = replace(_random_case(seed), cores=Draw(f"cores {seed}").pick(1, 2, 3))
    if case.network and Draw(f"is a scenario {seed}").chance(scenarios):
        config, graph = built(dict(case.network), dict(case.files))
        if graph.links:
            job = draw_scenario(seed, config, graph, 30_000_000)
            return replace(case, job=job, record=(), name=f"{case.name}, a scenario")
    return case


def _random_case(seed: int) -> Case:
    draw = Draw(seed)
    if draw.chance(0.04):
        return _imported(seed, draw)
    mix = draw.weighted({"lossless": 78, "lossy": 7, "tcp": 8, "mixed": 7})
    errors = draw.pick(1e-5, 1e-4, 1e-3) if draw.chance(0.25 if mix in ("lossy", "tcp") else 0.06) else 0.0
    parts = Parts(draw, errors)
    topology = draw_topology(draw, parts)
    files = {topology["path"]: graph_text(draw, parts, topology["path"])} if "path" in topology else {}
    topology["routing"] = _routing(draw)
    in_order = topology["routing"].get("kind", "ecmp") in IN_ORDER
    short_of_headroom = mix == "lossless" and draw.chance(0.06)
    loses = mix in ("lossy", "mixed") or errors > 0 or short_of_headroom
    roce = draw_roce(draw, in_order=in_order, loses=loses)
    tcp = draw_tcp(draw)
    transport = tcp if mix == "tcp" else roce
    packet_bytes = max(
        largest_packet_bytes(roce if mix != "tcp" else tcp), largest_packet_bytes(tcp) if mix == "mixed" else 0
    )
    draw_switches(draw, parts.places, roce, packet_bytes, lossless=mix in ("lossless", "mixed"))
    network: Drawn = {"topology": topology, "transport": transport}
    config, graph = built(network, files)
    topology |= draw_dimensions(draw, topology, config.npus, several=mix == "mixed")
    _finish_routing(draw, topology, config.npus)
    if loses and draw.chance(0.2):
        topology["nic"] = {"buffer": 40 * packet_bytes}
    if mix == "mixed":
        network = _on_both(draw, topology, roce, tcp, files)
    config, graph = built(network, files)
    if short_of_headroom:
        for place in parts.places:
            short: Drawn = draw.pick({"headroom": draw.pick(0, packet_bytes)}, {"headroom_factor": 0.5})
            place["pfc"] |= {**short, "alpha": draw.pick(1.0, 4.0)}
        config, graph = built(network, files)
    draw_buffers(draw, parts.places, graph, config, packet_bytes)
    network["observe"] = _observe(draw, graph, config)
    packets = draw.between(2000, 25_000) if not is_in_python(roce) else draw.between(500, 3000)
    job = _job(draw, config, packets * packet_bytes)
    record: tuple[str, ...] = ("flows",) if draw.chance(0.2) else ()
    simulation, look = draw.randint(1, 1000), draw.chance(0.25)
    record = _with_timeline(seed, job, record + (("accounts",) if draw.chance(0.3) else ()))
    draw_heads(draw, parts.places, packet_bytes)  # last, so that the cases are else what they were
    _by_credit(Draw(f"credits {seed}"), parts, graph, {} if mix == "tcp" else roce, packet_bytes)
    _with_ways_and_sums(seed, parts, network, files, job)
    job = with_nccl(seed, written_as_files(seed, job, config.dimensions))
    _storing(Draw(f"stores {seed}"), parts, network, files, job)
    return Case(f"seed {seed}", network, job, files, simulation, record, look=look)


def _with_timeline(seed: int, job: Drawn, record: tuple[str, ...]) -> tuple[str, ...]:
    """Now and then have what NPUs did recorded besides, and every message."""
    if job["kind"] == "workload" and Draw(f"timeline {seed}").chance(0.4):
        return tuple(dict.fromkeys((*record, "flows", "timeline")))
    return record


def _by_credit(draw: Draw, parts: Parts, graph: Graph, roce: Drawn, packet_bytes: int) -> None:
    """Now and then have links by credit, whatever the switches had."""
    if draw.chance(CREDITS) and not roce.get("time_rounding"):
        priority = roce.get("priority", 3)
        used = [priority, roce.get("ack_priority", priority), roce.get("cnp_priority", 6)] if roce else []
        draw_credits(draw, parts.places, graph, [0, *used], packet_bytes)


def _with_ways_and_sums(seed: int, parts: Parts, network: Drawn, files: dict[str, str], job: Drawn) -> None:
    """Now and then have switches reduce, and flows take longer ways, where links are by credit.

    In this order: switches that reduce have routes to them, which need lanes, too.
    """
    _reducing(Draw(f"reduces {seed}"), parts, network, files, job)
    if all("credits" in place for place in parts.places):
        _over_drawn_switches(Draw(f"valiant {seed}"), parts, network, files)


def _over_drawn_switches(draw: Draw, parts: Parts, network: Drawn, files: dict[str, str]) -> None:
    """Now and then have flows go over a drawn switch first, where lanes are enough."""
    topology = network.get("topology", {})
    if not parts.places or not draw.chance(0.6):
        return
    _, graph = built(network, files)
    lanes = parts.places[0]["credits"]["lanes"]
    if all(config.credits is not None for config in graph.switch_configs) and not find_circle(
        graph, shortest_paths(graph), orders_by_hop(graph), lanes, detours=True
    ):
        topology["routing"] = {"kind": VALIANT}


def _reducing(draw: Draw, parts: Parts, network: Drawn, files: dict[str, str], job: Drawn) -> None:
    """Now and then have all switches reduce, and collectives played by them."""
    of_roce = network.get("transport", {}).get("kind") == "roce"
    if not draw.chance(REDUCING) or not parts.places or not of_roce or job["kind"] != "workload":
        return
    _, graph = built(network, files)
    kept = {number: _kept(graph, number) for number in range(graph.switches)}
    _have_switches_reduce(draw, parts, network)
    _, graph = built(network, files)
    more = max((_kept(graph, number) - before for number, before in kept.items()), default=0)
    for place in parts.places:
        place["buffer"] = place["buffer"] * (2 if "credits" in place else 1) + more
    if graph.reducers:
        draw_in_network(draw, job["system"], on_one_switch=graph.switches == 1)


def _have_switches_reduce(draw: Draw, parts: Parts, network: Drawn) -> None:
    """Draw reduction for all switches; those inside hosts that forward do none."""
    draw_reduction(draw, parts.places)
    network["topology"].get("forwarding", {}).get("switch", {}).pop("reduction", None)


def _storing(draw: Draw, parts: Parts, network: Drawn, files: dict[str, str], job: Drawn) -> None:
    """Now and then have storage hosts, and a model that stores there."""
    stores = str(job.get("text", "")).startswith(MODEL)
    if not draw.chance(STORING_MODELS if stores else STORING) or "transports" in network:
        return
    if any("credits" in place for place in parts.places):
        return
    _, graph = built(network, files)
    kept = {number: _kept(graph, number) for number in range(graph.switches)}
    draw_storage(draw, network["topology"], graph)
    of_roce = network.get("transport", {}).get("kind") == "roce"
    if stores and of_roce and draw.chance(0.5) and not any("reduction" in place for place in parts.places):
        _have_switches_reduce(draw, parts, network)
    config, graph = built(network, files)
    more = max((_kept(graph, number) - before for number, before in kept.items()), default=0)
    for place in parts.places:
        place["buffer"] = place["buffer"] + more
    if stores and not job.get("written"):  # no graph of ours can say it
        pools = of_roce and bool(graph.reducers) and network["topology"]["storage"]["per"] != "node"
        job["text"] = draw_beyond(draw, job["text"], job["system"], config.npus, reduces=pools)


def _kept(graph: Graph, switch: int) -> int:
    return kept_bytes(graph, switch, LARGEST_PACKET_BYTES)


def _imported(seed: int, draw: Draw) -> Case:
    """A config.txt of HPCC's simulator."""
    files, npus, payload = draw_hpcc_files(draw)
    budget_bytes = draw.between(2000, 20_000) * payload
    job = draw_workload(draw, [npus], [1.0], budget_bytes)
    job["system"].pop("collective-optimization", None)  # whose parts the algorithm of such a network may not do
    return Case(f"seed {seed}", {}, job, files, draw.randint(1, 1000))


def built(network: Drawn, files: dict[str, str]) -> tuple[NetworkConfig, Graph]:
    """Return the network and the graph of a network file that stands beside these files."""
    with tempfile.TemporaryDirectory(prefix="astra-ns3-soak-") as name:
        case = Case("", network, {}, files)
        write_files(case, Path(name))
        config = network_of(case, Path(name))
        assert isinstance(config, NetworkConfig)
        return config, build_graph(config.topology)


def _routing(draw: Draw) -> Drawn:
    kind = draw.weighted({kind: 5 if kind == "ecmp" else 1.2 for kind in ROUTING_KINDS if kind != VALIANT})
    made: Drawn = {"kind": kind} | draw.some(0.2, seed=draw.randrange(1000), weighted=True)
    if kind == "spray":
        made |= draw.some(0.5, spray=draw.pick("round-robin", "random"))
    if kind == "flowlet":
        made |= draw.some(0.5, flowlet_gap=draw.pick("1us", "10us"))
    return made if kind != "pinned" else {**made, "pins": [{"sender": 0, "receiver": 1, "path": 0}]}


def _finish_routing(draw: Draw, topology: Drawn, npus: int) -> None:
    """More pins, now that the number of NPUs is known."""
    if topology["routing"]["kind"] != "pinned":
        return
    pairs = {tuple(draw.sample(range(npus), 2)) for _ in range(draw.randint(1, 3 * npus))}
    topology["routing"]["pins"] = [
        {"sender": sender, "receiver": receiver, "path": draw.randrange(64)} for sender, receiver in sorted(pairs)
    ]


def _on_both(draw: Draw, topology: Drawn, roce: Drawn, tcp: Drawn, files: dict[str, str]) -> Drawn:
    """A transport for each dimension, RoCE at least once."""
    config, _ = built({"topology": topology, "transport": roce}, files)
    kinds = [roce, *[draw.pick(roce, tcp) for _ in config.dimensions[2:]]]
    if len(config.dimensions) > 1:
        kinds.insert(1, tcp)
    return {"topology": topology, "transports": kinds}


def _observe(draw: Draw, graph: Graph, config: NetworkConfig) -> Drawn:
    ports = [port_name(graph.hosts, node, port) for node, port in all_ports(graph)]
    made = draw.some(
        0.12,
        queues=draw.pick(["all"], draw.sample(ports, 2)),
        queue_interval=draw.pick("100ns", "10us"),
        pauses=True,
        utilisation=draw.pick(["all"], draw.sample(ports, 2)),
        pcap=draw.sample(ports, 2),
    )
    if transport_of(config, RoceTransport) is not None:
        made |= draw.some(
            0.1, queue_pairs=["rate", "window", "alpha", "retransmissions", "cnps"], queue_pair_interval="5us"
        )
    if transport_of(config, TcpTransport) is not None:
        made |= draw.some(0.1, connections=["congestion_window", "rtt", "retransmissions", "timeouts"])
    return made


def _job(draw: Draw, config: NetworkConfig, budget_bytes: int) -> Drawn:
    kind = draw.weighted({"workload": 6, "collective": 2, "flows": 2})
    if kind == "workload" or config.npus < 2:
        return draw_workload(draw, config.dimensions, config.bandwidths, budget_bytes)
    if kind == "collective":
        return draw_collective(draw, config.npus, budget_bytes)
    return draw_flows(draw, config.npus, budget_bytes)
