"""What follows from a case's documents about how it may end."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from support.transports import transport_of

from astra_ns3.config.network.file import read_network_file
from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.config.transports.roce import RoceTransport
from astra_ns3.config.transports.tcp import TcpTransport
from astra_ns3.errors import InputError
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.routes import shortest_paths
from astra_ns3.transport.lossless import port_headroom_bytes
from astra_ns3.transport.network_outline import PortOutline
from astra_ns3.transport.roce.parameters import roce_frames
from soak.case import Case, network_of, write_files
from soak.scenarios import KIND as SCENARIO

_IN_ORDER = ("ecmp", "pinned")
Channel = tuple[int, int]
"""One direction of a link: a node and its port."""


@dataclass(frozen=True)
class Traits:
    """``has_pfc``: some switch may pause, or give no credit.

    ``data_safe``: no data packet can be lost, ``all_safe``: no frame at all.

    ``answers_wait``: acknowledgements have a lower priority than data, which may leave them no line at all.
    ``in_order``: packets of a queue pair can't overtake each other. ``has_circle``: paths close a circle of switch
    ports, without which PFC can't deadlock.
    """

    topology: str
    transport: str
    control: str
    routing: str
    reliability: str
    has_pfc: bool
    data_safe: bool
    all_safe: bool
    in_order: bool
    has_circle: bool
    answers_wait: bool = False


REFUSED = Traits("refused", "?", "?", "?", "?", False, False, False, False, False)
"""Of a network that isn't valid."""


def traits_of(case: Case) -> Traits:
    """Look at a case's network without playing it."""
    try:
        found = _traits_of(case)
        if case.job.get("kind") == SCENARIO:  # whatever fails, and new routes may close circles
            return replace(found, data_safe=False, all_safe=False, in_order=False, has_circle=True)
        return found
    except InputError:
        return REFUSED


def _traits_of(case: Case) -> Traits:
    with tempfile.TemporaryDirectory(prefix="astra-ns3-soak-") as name:
        write_files(case, Path(name))
        network = network_of(case, Path(name))
        config = network if isinstance(network, NetworkConfig) else read_network_file(network).network
        assert isinstance(config, NetworkConfig)
        graph = build_graph(config.topology)
        roce, routing = transport_of(config, RoceTransport), config.topology.routing.kind
        wandering = roce is not None and roce.ecmp == "per-message-port" and roce.queue_pairs == "per-pair"
        priorities = set() if roce is None else {roce.priority}
        answers = set() if roce is None else {roce.priority if roce.ack_priority is None else roce.ack_priority}
        answers |= set() if roce is None else {roce.cnp_priority}
        return Traits(
            topology=config.topology.kind,
            transport="both" if roce and transport_of(config, TcpTransport) else "tcp" if roce is None else "roce",
            control="tcp's" if roce is None else roce.congestion_control.kind.rsplit("/", 1)[-1],
            routing=routing,
            reliability="tcp's" if roce is None else roce.reliability.kind,
            has_pfc=any(switch.is_lossless for switch in graph.switch_configs)
            and (roce is not None or any(switch.credits is not None for switch in graph.switch_configs)),
            data_safe=roce is not None and _is_safe(graph, roce, priorities),
            all_safe=roce is not None
            and transport_of(config, TcpTransport) is None
            and _is_safe(graph, roce, priorities | answers),
            in_order=routing in _IN_ORDER and not wandering,
            has_circle=has_circle(graph),
            answers_wait=roce is not None and roce.ack_priority is not None and roce.ack_priority < roce.priority,
        )


def _is_safe(graph: Graph, roce: RoceTransport, priorities: set[int]) -> bool:
    """Whether frames of these priorities are lost nowhere: no errors, and pauses with enough headroom everywhere."""
    if any(link.error_rate for link in graph.links) or graph.nic_buffer_bytes is not None:
        return False
    largest = roce_frames(roce).largest_wire_bytes
    for number, switch in enumerate(graph.switch_configs):
        if switch.credits is not None:
            continue
        if switch.pfc is None or not priorities <= set(switch.pfc.priorities):
            return False
        for port in graph.ports[graph.hosts + number]:
            shape = PortOutline(graph.links[port.link].rate_bps, graph.links[port.link].delay_ps)
            exact = switch.pfc.model_copy(update={"headroom_bytes": None, "headroom_factor": None})
            if port_headroom_bytes(switch.pfc, shape, largest) < port_headroom_bytes(exact, shape, largest):
                return False
    return True


def has_circle(graph: Graph) -> bool:
    """Whether some way of frames through switches depends on itself (Dally and Seitz, IEEE ToC 1987).

    A channel depends on the next one if the shortest paths to some host take both, one after the other.
    """
    after: dict[Channel, set[Channel]] = {}
    for before, then in _dependencies(graph):
        after.setdefault(before, set()).add(then)
    left = {channel: len(following) for channel, following in after.items()}
    ends = {then for following in after.values() for then in following} - set(after)
    waiting_for: dict[Channel, list[Channel]] = {}
    for before, following in after.items():
        for then in following:
            waiting_for.setdefault(then, []).append(before)
    free = list(ends)
    while free:  # take channels away that depend on nothing; what is left goes round in circles
        for before in waiting_for.get(free.pop(), []):
            left[before] -= 1
            if not left[before]:
                free.append(before)
    return any(left.values())


def _dependencies(graph: Graph) -> Iterator[tuple[Channel, Channel]]:
    tables = shortest_paths(graph)
    for target in set(graph.npu_host):
        reached = {source for source in graph.npu_host if source != target}
        waiting = list(reached)
        while waiting:
            node = waiting.pop()
            for port in tables.towards(node, target):
                peer = graph.ports[node][port].peer
                if peer == target or peer < graph.hosts:
                    continue
                yield from (((node, port), (peer, then)) for then in tables.towards(peer, target))
                if peer not in reached:
                    reached.add(peer)
                    waiting.append(peer)
