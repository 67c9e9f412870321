"""ASTRA-sim's analytical networks as networks of packets.

Each NPU has a router, joined to it by an injection link as fast as the router's other links together. In each dimension
the routers of NPUs that differ only there are joined: ``ring`` in a ring, ``fully-connected`` each to each, ``switch``
to one switch. A link has the bandwidth that a message gets in that dimension and the link latency. Latencies that the
analytical model counts besides are added, so that an idle path takes as long: half of the router latency and the NIC
latency on each link to a switch, two NIC latencies on a link between fully connected NPUs. A ring's NIC latency is on
the injection link, the largest if there are several. The memory's part is left out. A network of one switch has no
routers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import prod

from astra_ns3.config.core.link import LinkConfig
from astra_ns3.config.formats.analytical import AnalyticalDimension
from astra_ns3.config.topology.file import BITS_PER_BYTE_PER_NS
from astra_ns3.config.topology.kinds import FileTopology
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.grids import grid_links
from astra_ns3.topology.wiring import Wiring
from astra_ns3.units import PS_PER_NS


def analytical_graph(config: FileTopology, dimensions: Sequence[AnalyticalDimension]) -> Graph:
    """The network of packets that stands for ``dimensions``, the innermost first."""
    npus = prod(dimension.npus for dimension in dimensions)
    wiring = Wiring(npus)
    if len(dimensions) == 1 and dimensions[0].topology == "switch":
        switch = wiring.switch(config.each_switch, 1, "switch 0")
        for host in range(npus):
            wiring.join(host, switch, _link(dimensions[0]), "dimension-0")
        return wiring.graph(config)
    routers = wiring.switches(npus, config.each_switch, 1, "router")
    delay_ns = max((d.nic_latency_ns for d in dimensions if d.topology == "ring"), default=0.0)
    rate = sum(_link(d).rate_bps * _links_of(d) for d in dimensions)
    injection = LinkConfig.model_construct(rate_bps=max(rate, 1), delay_ps=_ps(delay_ns), error_rate=0.0)
    for host in range(npus):
        wiring.join(host, routers + host, injection, "injection")
    stride = 1
    for number, dimension in enumerate(dimensions):
        for first in range(npus):
            if first // stride % dimension.npus == 0:
                members = [routers + first + stride * index for index in range(dimension.npus)]
                _join(config, wiring, number, dimension, members)
        stride *= dimension.npus
    return wiring.graph(config)


def _join(
    config: FileTopology, wiring: Wiring, number: int, dimension: AnalyticalDimension, members: Sequence[int]
) -> None:
    link, kind = _link(dimension), f"dimension-{number}"
    if dimension.topology == "switch":
        switch = wiring.switch(config.each_switch, 2 + number, f"dimension {number} switch {len(wiring.configs)}")
        for member in members:
            wiring.join(member, switch, link, kind)
    elif dimension.topology == "fully-connected":
        for one, other in combinations(members, 2):
            wiring.join(one, other, link, kind)
    else:
        for one, next_one, _ in grid_links((len(members),), wraps=True):
            wiring.join(members[one], members[next_one], link, kind)


def _links_of(dimension: AnalyticalDimension) -> int:
    others = dimension.npus - 1
    return {"switch": 1, "fully-connected": others, "ring": min(others, 2)}[dimension.topology]


def _link(dimension: AnalyticalDimension) -> LinkConfig:
    extra_ns = {
        "switch": dimension.nic_latency_ns + dimension.router_latency_ns / 2,
        "fully-connected": 2 * dimension.nic_latency_ns,
        "ring": 0.0,
    }
    return LinkConfig.model_construct(
        rate_bps=round(dimension.bytes_per_ns * BITS_PER_BYTE_PER_NS),
        delay_ps=_ps(dimension.link_latency_ns + extra_ns[dimension.topology]),
        error_rate=0.0,
    )


def _ps(time_ns: float) -> int:
    return round(time_ns * PS_PER_NS)
