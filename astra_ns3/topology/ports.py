"""Names of ports: ``host3`` is the NIC of host 3 (``host3:1`` its second port), ``switch0:3`` port 3 of switch 0."""

from __future__ import annotations

import re
from collections.abc import Iterable

from astra_ns3.errors import refuse, wrong
from astra_ns3.topology.graph import Graph

_NAME = re.compile(r"(host|switch)([0-9]{1,9})(?::([0-9]{1,9}))?", re.ASCII)


def port_name(hosts: int, node: int, port: int) -> str:
    """The name of port ``port`` of node ``node``, of which the first ``hosts`` are hosts."""
    if node >= hosts:
        return f"switch{node - hosts}:{port}"
    return f"host{node}:{port}" if port else f"host{node}"


def node_name(graph: Graph, node: int) -> str:
    """A node in words: its number, as in the names of its ports, and what the network's file or kind calls it."""
    if node in graph.storage:
        return f"storage host {graph.storage.index(node)} (host {node})"
    if node < graph.hosts:
        return f"host {node}"
    number = node - graph.hosts
    named = graph.switch_names[number] if graph.switch_names else ""
    if number >= graph.switches - len(graph.forwarders):
        return f"{named or f'host {graph.forwarders[number - graph.switches]}'} (it forwards as switch {number})"
    return f"switch {number}" if named in ("", f"switch {number}") else f"switch {number} ('{named}')"


def resolve_port(graph: Graph, name: str) -> tuple[int, int]:
    """Node and port that ``name`` stands for; raises InputError if the network has no such port."""
    match = _NAME.fullmatch(name)
    if match is None or (match[1] == "switch" and match[3] is None):
        raise wrong(f"'{name}' is not a port: write 'host3' (a host's NIC) or 'switch0:3' (port 3 of switch 0)")
    refuse(not any(graph.ports), f"port '{name}': the network has no ports, as each analytical one")
    kind, number, port = match[1], int(match[2]), int(match[3] or 0)
    nodes, first = (graph.hosts, 0) if kind == "host" else (graph.switches, graph.hosts)
    refuse(number >= nodes, f"port '{name}': there is no {kind} {number}, expected 0 to {nodes - 1}")
    ports = len(graph.ports[first + number])
    refuse(port >= ports, f"port '{name}': {kind} {number} has ports 0 to {ports - 1}")
    return first + number, port


def resolve_ports(graph: Graph, names: Iterable[str]) -> tuple[tuple[int, int], ...]:
    """Node and port of each name, each once; ``all`` stands for every port of the network."""
    found: dict[tuple[int, int], None] = {}
    for name in names:
        chosen = all_ports(graph) if name == "all" else (resolve_port(graph, name),)
        found.update(dict.fromkeys(chosen))
    return tuple(found)


def all_ports(graph: Graph) -> tuple[tuple[int, int], ...]:
    """Every (node, port) of the network, hosts first."""
    return tuple((node, port) for node, ports in enumerate(graph.ports) for port in range(len(ports)))


def nic_ports(graph: Graph, hosts: Iterable[int]) -> list[tuple[int, int]]:
    """Node and port of each line of ``hosts`` that leads out of their server, or of a NIC that they share."""
    nodes, found = [graph.inner_switch.get(host, host) for host in hosts], []
    seen = set(nodes)
    for node in nodes:
        for number, port in enumerate(graph.ports[node]):
            if graph.leads_out(graph.links[port.link]):
                found.append((node, number))
            elif port.peer not in seen and _carries_nics(graph, port.peer):
                seen.add(port.peer)
                nodes.append(port.peer)
    return found


def _carries_nics(graph: Graph, node: int) -> bool:
    """Whether a node is a switch inside a server, above its hosts, and none that forwards for one of them."""
    if not graph.hosts <= node < graph.nodes - len(graph.forwarders):
        return False
    return 0 < graph.switch_levels[node - graph.hosts] <= graph.inside_levels
