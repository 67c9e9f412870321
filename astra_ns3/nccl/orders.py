"""Who sends to whom: the orders of rings, the parents in trees, the heads of NVLS and the chains of CollNet.

Source of the rules: NVIDIA/nccl v2.30.7, ``src/graph/connect.cc``, ``src/graph/trees.cc``. Global rank = server times
GPUs of a server, plus the GPU. All servers find the same channels.
"""

from __future__ import annotations

from functools import cache
from itertools import chain, pairwise

from astra_ns3.nccl.channels import launched_channels, nvls_channels
from astra_ns3.nccl.communicator import Communicator
from astra_ns3.nccl.graphs import Graph, graph_of
from astra_ns3.nccl.links import links_of


@cache
def ring_orders(communicator: Communicator) -> tuple[tuple[int, ...], ...]:
    """Return the global ranks of each channel's ring, server after server; later channels repeat the first ones.

    In a server a ring enters at the first and leaves at the last GPU. Where rings cross NICs in pairs, odd servers take
    the other order of the pair, so that each ring stays on one rail between two servers.
    """
    graph = graph_of(communicator, "ring")
    found = graph.channels
    crossing = graph.cross_nic == 2 or (graph.cross_nic == 1 and _swaps_crossed(communicator))
    swaps = crossing and found % 2 == 0
    every = [graph.orders[i] for i in range(found)]
    return tuple(_ring(communicator, every, channel % found, swaps) for channel in _kept(communicator, found))


@cache
def spread_orders(communicator: Communicator) -> tuple[tuple[int, ...], ...]:
    """Return :func:`ring_orders` in which the rings leave a server by its NICs as evenly as they can.

    Where rings count on PXN, the last GPU of a ring hands its data over NVLink to the GPU next to the ring's NIC. That
    hop isn't played: a GPU sends by its own NIC. So another GPU, whose NIC is free, goes to a ring's end.
    """
    orders, gpus = ring_orders(communicator), communicator.gpus_per_server
    if graph_of(communicator, "ring").type_inter != "PXN" or gpus == 1:
        return orders
    different = list(dict.fromkeys(orders))
    rings = [order[:gpus] for order in different]
    ends = _ends(rings, nics_of_gpus(communicator))
    found = {order: _leaving_by(ends[ring], rings[ring], communicator) for ring, order in enumerate(different)}
    return tuple(found[order] for order in orders)


def nics_of_gpus(communicator: Communicator) -> tuple[int, ...]:
    """Return the NIC that each GPU of a server sends by: one next to it, of which GPUs with the same ones take turns.

    Where a GPU is next to none, those in use are shared evenly, in order.
    """
    gpus, links = communicator.gpus_per_server, links_of(communicator).nics
    near = [tuple(number for number, nic in enumerate(links) if gpu in nic.near) for gpu in range(gpus)]
    if all(near):
        return tuple(own[near[:gpu].count(own) % len(own)] for gpu, own in enumerate(near))
    nics = max(min(len(links), gpus), 1)
    return tuple(gpu * nics // gpus for gpu in range(gpus))


def _leaving_by(end: int, ring: tuple[int, ...], communicator: Communicator) -> tuple[int, ...]:
    """Return a ring of all servers in which ``end`` has changed places with the last GPU of each."""
    swapped = {end: ring[-1], ring[-1]: end}
    gpus = communicator.gpus_per_server
    local = [swapped.get(gpu, gpu) for gpu in ring]
    return tuple(server * gpus + gpu for server in range(communicator.servers) for gpu in local)


def _ends(rings: list[tuple[int, ...]], nics: tuple[int, ...]) -> dict[int, int]:
    """Return the GPU that each ring leaves by, any but its first, so that the busiest NIC has the fewest rings."""
    most = -(-len(rings) // len(set(nics)))
    while True:
        ends: dict[int, int] = {}
        if all(_has_end(ring, rings, nics, most, ends, set()) for ring in range(len(rings))):
            return ends
        most += 1


def _has_end(
    ring: int, rings: list[tuple[int, ...]], nics: tuple[int, ...], most: int, ends: dict[int, int], tried: set[int]
) -> bool:
    """Find an end of a ring in a bipartite matching: where no NIC is free, a ring that has one moves on."""
    candidates = rings[ring][:0:-1]
    users = {nics[gpu]: [user for user, end in ends.items() if nics[end] == nics[gpu]] for gpu in candidates}
    for gpu in candidates:
        if len(users[nics[gpu]]) < most:
            ends[ring] = gpu
            return True
    for gpu in candidates:
        if nics[gpu] not in tried:
            tried.add(nics[gpu])
            if any(_has_end(user, rings, nics, most, ends, tried) for user in users[nics[gpu]]):
                ends[ring] = gpu
                return True
    return False


def _swaps_crossed(communicator: Communicator) -> bool:
    rules = communicator.version.rules
    return rules < (2, 23) and (rules >= (2, 21) or communicator.servers % 2 == 0)


def _kept(communicator: Communicator, found: int) -> tuple[int, ...]:
    """Return for each channel the first one that it repeats: a maximum cuts channels before a minimum copies them."""
    count, environment = launched_channels(communicator), communicator.environment
    cut = [max(1, value) for value in (environment.max_nchannels, environment.max_ctas) if value]
    first = min([count, *cut])
    return tuple(channel % first % found for channel in range(count))


def _ring(communicator: Communicator, orders: list[tuple[int, ...]], channel: int, swaps: bool) -> tuple[int, ...]:
    gpus = communicator.gpus_per_server
    turns = [orders[channel ^ 1 if swaps and server % 2 else channel] for server in range(communicator.servers)]
    return tuple(chain.from_iterable((server * gpus + gpu for gpu in order) for server, order in enumerate(turns)))


@cache
def tree_parents(communicator: Communicator) -> tuple[tuple[int, ...], ...]:
    """Return of each channel's tree the parent of each global rank, -1 for the root.

    A chain inside each server, a binary tree between servers: the first half of the found channels has one tree, the
    second half its counterpart whose leaves are inner servers. Later channels repeat these.
    """
    graph = graph_of(communicator, "tree")
    found, trees = graph.channels, double_tree(communicator.servers)
    count, environment = launched_channels(communicator), communicator.environment
    cut = [max(1, value) for value in (environment.max_nchannels, environment.max_ctas) if value]
    first = min([count, *cut])
    rows = [_tree(communicator, graph, order, parents) for parents in trees for order in graph.orders[:found]]
    return tuple(rows[channel % first % len(rows)] for channel in range(count))


def _tree(
    communicator: Communicator, graph: Graph, order: tuple[int, ...], servers: tuple[tuple[int, bool], ...]
) -> tuple[int, ...]:
    """Return the parents of ranks; a balanced tree's first children hang below a server's second GPU."""
    gpus, parents = communicator.gpus_per_server, [-1] * communicator.ranks
    for server, (above, is_second) in enumerate(servers):
        for upper, lower in pairwise(order):
            parents[server * gpus + lower] = server * gpus + upper
        if above >= 0:
            at = order[1] if graph.pattern == "balanced_tree" and not is_second and gpus > 1 else order[0]
            parents[server * gpus + order[0]] = above * gpus + at
    return tuple(parents)


@cache
def double_tree(servers: int) -> tuple[tuple[tuple[int, bool], ...], tuple[tuple[int, bool], ...]]:
    """Return two binary trees: of each server its parent (-1: none), and whether it is the parent's second child.

    The second tree is the first one mirrored for an even number of servers, else moved on by one.
    """
    first = tuple(_parent(servers, server) for server in range(servers))
    if servers % 2:
        moved = (_parent(servers, (server - 1) % servers) for server in range(servers))
        second = tuple(((up + 1) % servers if up >= 0 else -1, is_second) for up, is_second in moved)
    else:
        mirrored = (_parent(servers, servers - 1 - server) for server in range(servers))
        second = tuple((servers - 1 - up if up >= 0 else -1, is_second) for up, is_second in mirrored)
    return first, second


def _parent(servers: int, server: int) -> tuple[int, bool]:
    """Return the parent of a server: its lowest 1 in binary moves up by one, or is dropped if that is no server."""
    if server == 0:
        return -1, False
    lowest = server & -server
    above = (server ^ lowest) | 2 * lowest
    above = above if above < servers else server ^ lowest
    return above, server >= above


@cache
def nvls_heads(communicator: Communicator) -> tuple[int, ...]:
    """Return the GPUs of a server that each reduce a part of the data in NVSwitches, and send it to other servers."""
    return tuple(dict.fromkeys(order[0] for order in graph_of(communicator, "nvls").orders))


@cache
def nvls_tree_parents(communicator: Communicator) -> tuple[tuple[int, ...], ...]:
    """Return of each NVLS channel the parent of each server, -1 for the root; heads of one number are joined.

    Even channels have the first tree of :func:`double_tree`, odd ones the second.
    """
    trees = [tuple(up for up, _ in tree) for tree in double_tree(communicator.servers)]
    return tuple(trees[channel % 2] for channel in range(nvls_channels(communicator)))


@cache
def collnet_heads(communicator: Communicator) -> tuple[int, ...]:
    """Return the GPUs of a server that CollNetDirect sends parts of the data to switches by."""
    return tuple(dict.fromkeys(order[0] for order in graph_of(communicator, "collnet_direct").orders))


@cache
def collnet_chains(communicator: Communicator) -> tuple[tuple[int, ...], ...]:
    """Return the chains of GPUs of CollNetChain, each from the GPU next to a NIC on; channels take them in turns."""
    return graph_of(communicator, "collnet_chain").orders
