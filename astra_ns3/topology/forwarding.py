"""Hosts that forward: each that has several links gets a switch of its own, at which they end from then on.

The switch is the host's: what isn't for it goes on by the switch, and all it sends or is sent goes through it. Model's
limits: a packet of the host's own pays one more serialisation, at the rate of its links together, and waits in a switch
where a real NPU would hold it back.
"""

from __future__ import annotations

from dataclasses import replace

from astra_ns3.config.core.link import LinkConfig
from astra_ns3.config.topology.base import TopologyBase
from astra_ns3.errors import refuse
from astra_ns3.topology.graph import INJECTION, Graph, Link
from astra_ns3.topology.reducers import without_reducers
from astra_ns3.units import LARGEST_INTEGER

_LEVEL = 1


def with_forwarding(config: TopologyBase, graph: Graph) -> Graph:
    """The graph in which hosts forward, if ``config`` says that they do; else ``graph``.

    Links keep their order and classes, so a host's switch numbers its ports as the host did; that to the host is last.
    """
    said, switch = config.forwards(), config.forwarding_switch()
    if said is None or switch is None:
        return graph
    hosts = [host for host in range(graph.hosts) if len(graph.ports[host]) > 1]
    inside = {host: graph.nodes + index for index, host in enumerate(hosts)}
    links = [replace(link, a=inside.get(link.a, link.a), b=inside.get(link.b, link.b)) for link in graph.links]
    for host in hosts:
        rate_bps = sum(graph.links[port.link].rate_bps for port in graph.ports[host])
        refuse(
            rate_bps > LARGEST_INTEGER,
            f"topology: the links of host {host}, which forwards, have {rate_bps} b/s together, expected at most "
            f"{LARGEST_INTEGER}",
        )
        base = LinkConfig.model_construct(rate_bps=rate_bps, delay_ps=0, error_rate=0.0)
        links.append(Link.of(host, inside[host], said.injection.of(base), INJECTION))
    levels = graph.switch_levels or (_LEVEL,) * graph.switches
    names = graph.switch_names or tuple(f"switch {number}" for number in range(graph.switches))
    next_id = max(graph.node_ids, default=0) + 1
    return replace(
        graph,
        switches=graph.switches + len(hosts),
        links=tuple(links),
        switch_configs=(*graph.switch_configs, *[switch] * len(hosts)),
        switch_buffer_bytes=(*graph.switch_buffer_bytes, *[switch.buffer_bytes] * len(hosts)),
        switch_levels=(*(level + 1 if level > 0 else level for level in levels), *[_LEVEL] * len(hosts)),
        switch_names=(*names, *(f"NPU {host}" for host in hosts)),
        node_ids=(*graph.node_ids, *range(next_id, next_id + len(hosts))) if graph.node_ids else (),
        forwarders=tuple(hosts),
        inside_levels=graph.inside_levels + 1,
    )


def with_whole_hosts(graph: Graph) -> Graph:
    """The graph with forwarding hosts and their switches as one node, and without reducers: for pictures, measures."""
    graph = without_reducers(graph)
    if not graph.forwarders:
        return graph
    kept = graph.switches - len(graph.forwarders)
    outside = {graph.hosts + kept + index: host for index, host in enumerate(graph.forwarders)}
    links = [replace(link, a=outside.get(link.a, link.a), b=outside.get(link.b, link.b)) for link in graph.links]
    return replace(
        graph,
        switches=kept,
        links=tuple(link for link in links if link.a != link.b),
        switch_configs=graph.switch_configs[:kept],
        switch_buffer_bytes=graph.switch_buffer_bytes[:kept],
        switch_levels=tuple(level - 1 if level > 0 else level for level in graph.switch_levels[:kept]),
        switch_names=graph.switch_names[:kept],
        node_ids=graph.node_ids[: graph.hosts + kept],
        forwarders=(),
        inside_levels=graph.inside_levels - 1,
    )
