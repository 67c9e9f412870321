"""Rings, tori and meshes: a router beside each NPU, since hosts forward nothing."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from astra_ns3.config.topology.direct import RouterTopology
from astra_ns3.topology.graph import AXIS, INJECTION, Graph
from astra_ns3.topology.wiring import Wiring


def grid(config: RouterTopology) -> Graph:
    """Host h and router h are neighbours; router ports are the injection link, then links as axes and places go."""
    shape = config.grid()
    count = prod(shape)
    wiring = Wiring(count)
    first = wiring.switches(count, config.switch, 1, "router")
    pairs = list(grid_links(shape, wraps=config.wraps()))
    router_bps = [0] * count
    links = [config.axis_link(axis) for axis in range(len(shape))]
    for a, b, axis in pairs:
        router_bps[a] += links[axis].rate_bps
        router_bps[b] += links[axis].rate_bps
    for host in range(count):
        wiring.join(host, first + host, config.injection_link(router_bps[host]), INJECTION)
    for a, b, axis in pairs:
        wiring.join(first + a, first + b, links[axis], f"{AXIS}{axis}")
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
