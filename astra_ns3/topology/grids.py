"""Rings, tori and meshes: a router beside each NPU, since hosts forward nothing."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from astra_ns3.config.topology.direct import RouterTopology
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.wiring import Wiring


def grid(config: RouterTopology) -> Graph:
    """Host h and router h are neighbours; router ports are the injection link, then links as axes and places go."""
    shape = config.grid()
    count = prod(shape)
    wiring = Wiring(count)
    first = wiring.switches(count, config.switch, 1, "router")
    pairs = list(grid_links(shape, wraps=config.wraps()))
    links_of = [0] * count
    for a, b, _ in pairs:
        links_of[a] += 1
        links_of[b] += 1
    for host in range(count):
        wiring.join(host, first + host, config.injection_link(links_of[host] * config.link.rate_bps), "injection")
    for a, b, axis in pairs:
        wiring.join(first + a, first + b, config.link, f"axis-{axis}")
    return wiring.graph(config)


def grid_links(shape: tuple[int, ...], *, wraps: bool) -> Iterator[tuple[int, int, int]]:
    """Both ends and the axis of each link of a grid whose places are numbered along the first axis first.

    An axis of two places has one link, closed or not; an axis of one has none.
    """
    stride = 1
    for axis, size in enumerate(shape):
        for index in range(prod(shape)):
            at = index // stride % size
            if at + 1 < size:
                yield index, index + stride, axis
            elif wraps and size > 2:
                yield index, index - at * stride, axis
        stride *= size
