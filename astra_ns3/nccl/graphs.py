"""Graphs: the channels that NCCL finds in a server for rings, trees, NVLS and CollNet, and their believed widths.

Source of the rules: NVIDIA/nccl, ``src/graph/search.cc`` (ncclTopoCompute: widths are tried from the widest step down.
Channels are doubled at half the width; a width inside or between servers is then raised), at the tags v2.18.6-1 to
v2.30.7-1. For NVSwitch servers the search is followed choice by choice (:mod:`astra_ns3.nccl.search`). *Approximate*:
servers without NVLink (one chain through the CPU), directly linked GPUs where paths through a third GPU matter, NICs of
different distance in one server.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Literal

from astra_ns3.frozen import dataclass, replace
from astra_ns3.nccl.communicator import Communicator
from astra_ns3.nccl.constants import MAX_DIRECT_HEADS, MAX_NVLS_HEADS, max_channels, speed_steps
from astra_ns3.nccl.links import Links, PathType, links_of
from astra_ns3.nccl.search import Channel, Shape, Way, most_channels, search

GraphKind = Literal["ring", "tree", "nvls", "collnet_direct", "collnet_chain"]
GraphPattern = Literal["ring", "balanced_tree", "tree", "nvls", "collnet_direct"]
_DUPLICATED_FROM, _WIDE = 25.0, 50.0
_MUCH_SLOWER = 0.49
_FALLBACK = 0.1


@dataclass(frozen=True)
class Graph:
    """The result of the search of one algorithm; widths in GB/s a channel, before channels are doubled once more.

    ``latency_inter``: of the NIC in microseconds; the plugins of InfiniBand and of sockets state none. ``orders``: of
    each channel the GPUs of a server; ``nics``: of each channel the NICs it comes in and goes out by.
    """

    channels: int
    bw_intra: float
    bw_inter: float
    type_intra: PathType
    type_inter: PathType
    pattern: GraphPattern
    same_channels: bool
    latency_inter: float = 0.0
    cross_nic: int = 0
    orders: tuple[tuple[int, ...], ...] = ()
    nics: tuple[tuple[int, int], ...] = ()


@cache
def graph_of(communicator: Communicator, kind: GraphKind) -> Graph:
    """Return the graph of an algorithm; one without channels if it doesn't exist on these servers."""
    links = links_of(communicator)
    if kind in ("ring", "tree"):
        return _rings_and_trees(communicator)[kind == "tree"]
    if kind == "nvls":
        return _nvls(communicator, links) if has_nvls(communicator) else _none("nvls")
    if not has_collnet(communicator):
        return _none("collnet_direct" if kind == "collnet_direct" else "tree")
    if kind == "collnet_direct":
        return _collnet_direct(communicator, links)
    return _tree(communicator, links, _ring(communicator, links), patterns=("tree",))


@cache
def _rings_and_trees(communicator: Communicator) -> tuple[Graph, Graph]:
    """Return both with as many channels as the one that has fewer."""
    links = links_of(communicator)
    ring = _ring(communicator, links)
    tree = _tree(communicator, links, ring)
    count = min(ring.channels, tree.channels)
    return replace(ring, channels=count), replace(tree, channels=count)


def has_nvls(communicator: Communicator) -> bool:
    """Return whether GPUs reduce in NVSwitches (NVLS); one GPU a server doesn't."""
    server, environment = communicator.server, communicator.environment
    able = server.multicast and server.switched and server.compute_capability >= 90
    return able and communicator.nvls and environment.nvls_enable != 0 and communicator.gpus_per_server > 1


def has_collnet(communicator: Communicator) -> bool:
    """Return whether the network's switches reduce: able to, asked to (``NCCL_COLLNET_ENABLE=1``), and two servers."""
    return communicator.in_network and bool(communicator.environment.collnet_enable) and communicator.servers > 1


def _none(pattern: GraphPattern) -> Graph:
    return Graph(0, 0.0, 0.0, "SYS", "SYS", pattern, False)


def _steps(communicator: Communicator) -> tuple[float, ...]:
    return speed_steps(communicator.server.compute_capability, communicator.servers > 1, communicator.version.rules)


def _first_step(communicator: Communicator, links: Links, channels: int = 1, ring: bool = True) -> int:
    """Return the widest step that one path carries, and ``channels`` times all links of a GPU."""
    steps, total = _steps(communicator), links.total
    if communicator.servers > 1:
        widest = max((min(nic.width, links.pci) for nic in links.nics), default=0.0)
    else:
        widest = links.widest_pair
    if links.gpus > 1 and not ring:
        total *= links.gpus / (links.gpus - 1)
    last = len(steps) - 1
    return next((i for i, step in enumerate(steps) if step <= widest and step * channels <= total), last)


# Rings


def _ring(communicator: Communicator, links: Links) -> Graph:
    if _through_cpu(communicator, links):
        return _chain_through_cpu(communicator, links)
    found = _widest_ring(communicator, links)
    if found is None:
        return _fallback(links, "ring")
    found = _duplicated(found, communicator, max_channels(communicator.version.rules) // 2)
    return _raised_ring(found, communicator, links)


def _through_cpu(communicator: Communicator, links: Links) -> bool:
    no_nvlink = links.gpus > 1 and not links.some_nvlink
    return no_nvlink or (communicator.servers > 1 and not links.nics)


def _widest_ring(communicator: Communicator, links: Links) -> Graph | None:
    steps, most = _steps(communicator), max_channels(communicator.version.rules) // 2
    best: Graph | None = None
    for step in steps[_first_step(communicator, links) :]:
        if best is not None and step / best.bw_inter <= _MUCH_SLOWER:
            break
        for cross, way, same in _tries(communicator):
            if way in ("host", "far") and best is not None:
                continue
            shape = Shape("ring", step, step, most, communicator.servers > 1, cross, way, same)
            if best is not None and most_channels(links, shape) * step <= best.channels * best.bw_intra:
                continue
            best = _better(best, _graph(links, shape, search(links, shape)), communicator)
            if best is not None and (best.channels == most or best.channels * best.bw_inter >= links.total):
                return best
    return best


def _tries(communicator: Communicator) -> Iterator[tuple[int, Way, bool]]:
    """Return how rings are tried at one width: whether NICs are crossed, the way back, one order for all channels."""
    if communicator.servers == 1:
        yield from ((0, "direct", True), (0, "direct", False))
        return
    setting = 2 if communicator.environment.cross_nic is None else communicator.environment.cross_nic
    allowed = setting if len(communicator.server.nics) > 1 else 0
    crossed = 2 if communicator.version.rules >= (2, 23) else 1
    kinds = {0: (0,), 1: (1,)}.get(allowed, (0, crossed))
    ways: tuple[Way, ...] = ("direct", "relay", "host", "far")
    yield from ((cross, way, same) for cross in kinds for way in ways for same in (True, False))


def _better(best: Graph | None, new: Graph | None, communicator: Communicator) -> Graph | None:
    """Return the wider graph; until 2.19 one that crosses NICs must be 15% wider."""
    if best is None or new is None:
        return best or new
    needed = 1.0 + (0.15 * (new.cross_nic - best.cross_nic) if communicator.version.rules < (2, 20) else 0.0)
    return new if new.channels * new.bw_intra > best.channels * best.bw_intra * needed else best


def _graph(links: Links, shape: Shape, channels: tuple[Channel, ...]) -> Graph | None:
    if not channels:
        return None
    return Graph(
        channels=len(channels),
        bw_intra=shape.bw_intra,
        bw_inter=shape.bw_inter,
        type_intra="LOC" if links.gpus == 1 else "NVL",
        type_inter=_type_inter(links, shape),
        pattern=shape.pattern,
        same_channels=shape.same,
        cross_nic=shape.cross,
        orders=tuple(channel.order for channel in channels),
        nics=tuple((channel.enters, channel.leaves) for channel in channels),
    )


def _type_inter(links: Links, shape: Shape) -> PathType:
    if not shape.several:
        return "PIX"
    types: dict[Way, PathType] = {"relay": "PXN", "host": "PHB", "far": "SYS"}
    return types.get(shape.way, links.nic_path)


def _duplicated(graph: Graph, communicator: Communicator, most: int) -> Graph:
    """Return twice the channels at half the width, unless they are narrow, or many and not wide."""
    narrow = graph.bw_intra < _DUPLICATED_FROM
    new = communicator.server.compute_capability > 80
    count = min(2 * graph.channels, most)
    if narrow or (new and graph.bw_intra < _WIDE and graph.channels > 4):
        return graph
    parts = -(-count // graph.channels)
    return replace(
        graph,
        channels=count,
        bw_intra=graph.bw_intra / parts,
        bw_inter=graph.bw_inter / parts,
        orders=(graph.orders * 2)[:count],
        nics=(graph.nics * 2)[:count],
    )


def _raised_ring(graph: Graph, communicator: Communicator, links: Links) -> Graph:
    """Return a wider ring with at least as many channels, if there is one."""
    ways: dict[PathType, Way] = {"PXN": "relay", "SYS": "far"}
    way = ways.get(graph.type_inter, "direct")
    most, best = max_channels(communicator.version.rules) // 2, graph
    for step in reversed(_steps(communicator)):
        if step > graph.bw_inter:
            shape = Shape("ring", step, step, most, communicator.servers > 1, graph.cross_nic, way, graph.same_channels)
            new = _graph(links, shape, search(links, shape))
            if new is not None and new.channels >= graph.channels:
                best = _better(best, new, communicator) or best
    return best


# Trees


def _tree(
    communicator: Communicator,
    links: Links,
    ring: Graph,
    patterns: tuple[Literal["tree", "balanced_tree"], ...] = ("balanced_tree", "tree"),
) -> Graph:
    if _through_cpu(communicator, links):
        return replace(ring, pattern="tree" if links.gpus == 1 else "balanced_tree")
    if links.gpus == 1:
        patterns = ("tree",)
    steps, channels = _steps(communicator), ring.channels
    start = _first_step(communicator, links, channels, ring=False)
    for i, step in enumerate(steps[start:], start):
        for shape in _tree_shapes(communicator, patterns, step, channels):
            found = search(links, shape) if most_channels(links, shape) >= channels else ()
            if len(found) == channels:
                return _raised_tree(links, shape, found, steps[:i])
    return _fallback(links, patterns[0])


def _tree_shapes(
    communicator: Communicator,
    patterns: tuple[Literal["tree", "balanced_tree"], ...],
    step: float,
    channels: int,
) -> Iterator[Shape]:
    """A plain tree is tried before far NICs are, from Hopper on; trees don't go through another GPU to a NIC."""
    several = communicator.servers > 1
    new = communicator.server.compute_capability >= 90
    ways: tuple[Way, ...] = ("direct", "host", "far") if several else ("direct",)
    for way in ways:
        for pattern in patterns if new or len(patterns) == 1 else patterns[:1]:
            for same in (True, False):
                yield Shape(pattern, step, step, channels, several, 0, way, same)


def _raised_tree(links: Links, shape: Shape, found: tuple[Channel, ...], wider: tuple[float, ...]) -> Graph:
    """Return the tree with the widest channels inside the server; they stay below twice those between servers."""
    best = _graph(links, shape, found) or _fallback(links, "tree")
    for step in reversed(wider):
        if best.bw_intra >= 2 * best.bw_inter:
            break
        raised = replace(shape, bw_intra=step)
        channels = search(links, raised) if most_channels(links, raised) >= shape.most else ()
        if len(channels) < shape.most:
            break
        best = _graph(links, raised, channels) or best
    return best


# In switches


def _heads(links: Links) -> tuple[int, ...]:
    """Return the GPUs that a NIC is next to, each once."""
    return tuple(dict.fromkeys(nic.local for nic in links.nics))


def _nvls(communicator: Communicator, links: Links) -> Graph:
    """A GPU that is no head carries every channel once a direction, a head its own twice."""
    most = min(MAX_NVLS_HEADS, links.gpus)
    if communicator.servers == 1:
        return _nvls_inside(communicator, links, most)
    heads, best = _heads(links)[:most], _none("nvls")
    width = min((nic.width for nic in links.nics), default=0.0)
    for step in _steps(communicator)[_first_step(communicator, links, ring=False) :]:
        if best.channels and (step / best.bw_inter <= _MUCH_SLOWER or best.channels == most):
            break
        count = min(len(heads), int(links.nvlink / step + 1e-6) - 1) if step <= width else 0
        wider = communicator.version.rules >= (2, 19) and count * step > best.channels * best.bw_inter
        if count > best.channels or wider:
            best = _nvls_graph(links, count, step, links.nic_path, heads)
    return _raised_nvls(best, communicator, width)


def _nvls_inside(communicator: Communicator, links: Links, most: int) -> Graph:
    start = _first_step(communicator, links, most, ring=False)
    for step in _steps(communicator)[start:]:
        if (most + 1) * step <= links.nvlink + 1e-3:
            graph = _nvls_graph(links, most, step, "PIX", tuple(range(most)))
            return _raised_nvls(graph, communicator, float("inf"))
    return _none("nvls")


def _nvls_graph(links: Links, count: int, step: float, inter: PathType, heads: tuple[int, ...]) -> Graph:
    orders = tuple((head, *(gpu for gpu in range(links.gpus) if gpu != head)) for head in heads[:count])
    return Graph(count, step, step, "NVL", inter, "nvls", False, orders=orders)


def _raised_nvls(graph: Graph, communicator: Communicator, width: float) -> Graph:
    """Return the widest channels between servers, since 2.19: the first step that is twice those inside, or less."""
    best = graph
    if not graph.channels or communicator.version.rules < (2, 19):
        return graph
    for step in reversed(_steps(communicator)):
        if graph.bw_inter < step <= width and best.bw_inter < 2 * graph.bw_intra:
            best = replace(best, bw_inter=step)
    return best


def _collnet_direct(communicator: Communicator, links: Links) -> Graph:
    """Each head exchanges with all GPUs, a part with each."""
    most = min(MAX_DIRECT_HEADS, links.gpus)
    heads = _heads(links)[:most]
    width = min((min(nic.width, links.pci) for nic in links.nics), default=0.0)
    steps = _steps(communicator)
    start = _first_step(communicator, links, ring=False)
    for i, step in enumerate(steps[start:], start):
        if step <= width and _direct_fits(links, len(heads), step):
            graph = replace(_nvls_graph(links, len(heads), step, links.nic_path, heads), pattern="collnet_direct")
            graph = _duplicated(graph, communicator, most)
            return _raised_direct(graph, links, steps[:i])
    return _none("collnet_direct")


def _direct_fits(links: Links, heads: int, width: float) -> bool:
    others = max(1, links.gpus - 1)
    return links.gpus == 1 or (links.switched and width * (1 + (heads - 1) / others) <= links.nvlink)


def _raised_direct(graph: Graph, links: Links, wider: tuple[float, ...]) -> Graph:
    for step in reversed(wider):
        if graph.bw_intra < 2 * graph.bw_inter and _direct_fits(links, graph.channels, step):
            graph = replace(graph, bw_intra=step)
    return graph


# Without NVLink


def _chain_through_cpu(communicator: Communicator, links: Links) -> Graph:
    """All GPUs in one order through PCIe, and the socket link if GPUs of both sockets are used."""
    far = len(set(links.sockets)) > 1
    width = links.pci / (1.2 if links.cpu == "intel" else 1.0)
    width = min(width, links.socket) if far else width
    kind: PathType = "SYS" if far else "PHB"
    best: Graph | None = None
    for step in _steps(communicator):
        if best is not None and step / best.bw_inter <= _MUCH_SLOWER:
            break
        nics = [nic for nic in links.nics for _ in range(int((nic.width + 1e-3) / step))]
        count = int((width + 1e-3) / step) if links.gpus > 1 else len(nics)
        count = (
            min(count, len(nics), max_channels(communicator.version.rules) // 2) if communicator.servers > 1 else count
        )
        if count and (best is None or count * step > best.channels * best.bw_inter):
            starts = [nic.local for nic in nics] if communicator.servers > 1 else [0] * count
            orders = tuple(tuple((start + i) % links.gpus for i in range(links.gpus)) for start in starts[:count])
            ends = tuple((nic.number, nic.number) for nic in nics[:count]) if communicator.servers > 1 else ()
            best = Graph(count, step, step, kind, kind, "ring", len(set(orders)) == 1, orders=orders, nics=ends)
    return _duplicated(best, communicator, 32) if best is not None else _fallback(links, "ring")


def _fallback(links: Links, pattern: GraphPattern) -> Graph:
    """NCCL's simple order, if the search finds nothing."""
    order = tuple(range(links.gpus))
    return Graph(1, _FALLBACK, _FALLBACK, "SYS", "SYS", pattern, True, orders=(order,), nics=((-1, -1),))
