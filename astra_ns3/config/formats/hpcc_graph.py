"""HPCC's topology text as a graph: nodes keep their numbers, links their order, so ports are numbered as there."""

from __future__ import annotations

from astra_ns3.config.formats.hpcc_topology import HpccTopology
from astra_ns3.config.formats.plain_graph import PlainGraph, PlainLink, PlainNode

OUTSIDE_COST = 2
"""A link between a host and a switch that isn't scale-up: NPUs of one server talk over its scale-up switch."""


def hpcc_graph(topology: HpccTopology) -> PlainGraph:
    """Return the graph with classes of links: ``scale-up`` and ``link``.

    Scale-up switches are those that the file says are NVSwitches, and those that join hosts only, all of which hang on
    other switches too: files of the short format don't tell NVSwitches apart.
    """
    switches, scale_up = set(topology.switch_ids), _scale_up_switches(topology)
    nodes = tuple(
        PlainNode(kind="switch", level=-1 if node in scale_up else None) if node in switches else PlainNode(kind="host")
        for node in range(topology.nodes)
    )
    return PlainGraph(
        source=topology.source,
        names=tuple(str(node) for node in range(topology.nodes)),
        nodes=nodes,
        ends=tuple((link.a, link.b) for link in topology.links),
        links=tuple(
            PlainLink.model_construct(
                rate_bps=link.rate_bps,
                delay_ps=link.delay_ps,
                error_rate=link.error_rate,
                kind="scale-up" if scale_up & {link.a, link.b} else "link",
                cost=OUTSIDE_COST if _leaves_a_server({link.a, link.b}, switches, scale_up) else 1,
            )
            for link in topology.links
        ),
    )


def _leaves_a_server(ends: set[int], switches: set[int], scale_up: set[int]) -> bool:
    return bool(scale_up) and not ends & scale_up and not ends <= switches


def _scale_up_switches(topology: HpccTopology) -> set[int]:
    if topology.nvswitch_ids:
        return set(topology.nvswitch_ids)
    switches = set(topology.switch_ids)
    peers: dict[int, set[int]] = {node: set() for node in range(topology.nodes)}
    for link in topology.links:
        peers[link.a].add(link.b)
        peers[link.b].add(link.a)
    hosts_only = {switch for switch in switches if peers[switch] and not peers[switch] & switches}
    # A plane of a network of several planes joins hosts only as well: where all switches do, none is scale-up.
    return {s for s in hosts_only if all(peers[host] & (switches - hosts_only) for host in peers[s])}
