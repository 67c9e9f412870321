"""In which order a chunk goes through the dimensions of its collective.

A policy is made for a grid, once a run, and then asked for the route of each chunk, in program order; it may remember.
A user's own is asked only: ``function(chunk)``, with a :class:`~astra_ns3.system.route.ChunkToRoute`, gives the chunk's
dimensions in order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.compatibility import Compatibility
from astra_ns3.errors import wrong
from astra_ns3.system.groups import Grid
from astra_ns3.system.offline_greedy import OfflineGreedy
from astra_ns3.system.own_policies import find_policy, is_own
from astra_ns3.system.route import ChunkToRoute, Route

RoutePolicy = Callable[[ChunkToRoute], Route]
RoutePolicyMaker = Callable[[Grid, Compatibility], RoutePolicy]


def ascending(grid: Grid, compatibility: Compatibility) -> RoutePolicy:
    """From the lowest dimension up; all-gathers down."""
    return lambda chunk: Route(plain_order(chunk), chunk.bytes)


def round_robin(grid: Grid, compatibility: Compatibility) -> RoutePolicy:
    """Ascending, but each chunk begins at the next dimension."""
    turn = 0

    def route(chunk: ChunkToRoute) -> Route:
        nonlocal turn
        order = list(range(len(grid.sizes)))
        if chunk.kind is CollectiveKind.ALL_GATHER:
            order.reverse()
        order = order[turn:] + order[:turn]
        turn = (turn + 1) % len(order)
        return Route(tuple(dimension for dimension in order if dimension in chunk.dimensions), chunk.bytes)

    return route


def themis(grid: Grid, compatibility: Compatibility, *, flexible: bool = False) -> RoutePolicy:
    """The least loaded dimension first; where loads hardly differ, ascending.

    A ``localBWAware`` all-reduce becomes reduce-scatters over all dimensions and all-gathers back.
    """
    greedy = OfflineGreedy(grid, flexible=flexible, gathers_upwards=compatibility.greedy_gathers_upwards)

    def route(chunk: ChunkToRoute) -> Route:
        if chunk.kind is CollectiveKind.ALL_TO_ALL:
            return Route(plain_order(chunk), chunk.bytes)
        return greedy(chunk)

    return route


def themis_flex(grid: Grid, compatibility: Compatibility) -> RoutePolicy:
    """As ``themis``, with chunk sizes that even out the loads."""
    return themis(grid, compatibility, flexible=True)


INTER_DIMENSION: Mapping[str, RoutePolicyMaker] = {
    "ascending": ascending,
    "baseline": ascending,
    "roundRobin": round_robin,
    "themis": themis,
    "offlineGreedy": themis,
    "themisFlex": themis_flex,
    "offlineGreedyFlex": themis_flex,
}


def route_policy(name: str, grid: Grid, compatibility: Compatibility) -> RoutePolicy:
    """The policy called ``name``, new; raises InputError."""
    if is_own(name):
        return _checked(name, find_policy(name, {}))
    return find_policy(name, INTER_DIMENSION)(grid, compatibility)


def plain_order(chunk: ChunkToRoute) -> tuple[int, ...]:
    """The chunk's dimensions ascending, those of an all-gather descending."""
    return chunk.dimensions[::-1] if chunk.kind is CollectiveKind.ALL_GATHER else chunk.dimensions


def _checked(name: str, policy: Callable[..., object]) -> RoutePolicy:
    def route(chunk: ChunkToRoute) -> Route:
        order = policy(chunk)
        if not isinstance(order, (tuple, list)) or sorted(order) != list(chunk.dimensions):
            raise wrong(f"policy '{name}' gave {order!r}, expected the dimensions {chunk.dimensions} in some order")
        return Route(tuple(order), chunk.bytes)

    return route
