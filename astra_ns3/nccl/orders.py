"""Who sends to whom: the orders of rings, the parents in trees, the heads of NVLS and the chains of CollNet.

Source of the rules: NVIDIA/nccl v2.30.7, ``src/graph/connect.cc``, ``src/graph/trees.cc``. Global rank = server times
GPUs of a server, plus the GPU. All servers find the same channels.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    """Return :func:`ring_orders` in which the rings leave a server by its NICs as evenly as they can, and on one rail.

    A ring of NCCL's enters and leaves a server by one NIC, unless it crosses NICs. Here a GPU sends by its own NIC. So
    every other server has both ends of a ring the other way round, and it stays on one rail between two servers. In the
    last two of an odd number of servers a third GPU takes a turn; two NICs have none, and one hop of a ring crosses.

    Where rings count on PXN, the last GPU of a ring hands its data over NVLink to the GPU next to the ring's NIC. That
    hop isn't played: another GPU, whose NIC is free, goes to a ring's end.
    """
    orders, gpus, graph = ring_orders(communicator), communicator.gpus_per_server, graph_of(communicator, "ring")
    if graph.cross_nic or 1 in (gpus, communicator.servers):
        return orders
    different = list(dict.fromkeys(orders))
    rings, nics = [order[:gpus] for order in different], nics_of_gpus(communicator)
    ends = {number: ring[-1] for number, ring in enumerate(rings)}
    if graph.type_inter == "PXN":
        ends = _ends(rings, nics)
    thirds = ends
    if communicator.servers % 2:
        taken = [(nics[ring[0]], nics[ends[number]]) for number, ring in enumerate(rings)]
        others = [(ring[0], *(gpu for gpu in ring if nics[gpu] not in taken[n])) for n, ring in enumerate(rings)]
        thirds = _ends(others, nics) if min(map(len, others)) > 1 else ends
    found = {}
    for number, order in enumerate(different):
        first, end = rings[number][0], ends[number]
        doors = [(first, end)] * communicator.servers
        if nics[first] != nics[end]:
            doors = _on_rails(first, end, thirds[number], communicator.servers)
        found[order] = _through(doors, rings[number])
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


def _on_rails(first: int, end: int, third: int, servers: int) -> list[tuple[int, int]]:
    """Return by which GPUs a ring enters and leaves each server, so that the next one's first is this one's last.

    ``third``: the GPU between the last two of an odd number of servers; ``end`` if a server has two.
    """
    doors = [(end, first) if server % 2 else (first, end) for server in range(servers)]
    if servers % 2 and third != end:
        doors[-2:] = [(end, third), (third, first)]
    return doors


def _through(doors: Sequence[tuple[int, int]], ring: tuple[int, ...]) -> tuple[int, ...]:
    """Return a ring of all servers from that of one, with the first and the last GPU in each."""
    parts = ((server, _between(ring, *door)) for server, door in enumerate(doors))
    return tuple(server * len(ring) + gpu for server, part in parts for gpu in part)


def _between(ring: tuple[int, ...], first: int, last: int) -> tuple[int, ...]:
    """Return a server's part of a ring in which these GPUs have changed places with those at its ends."""
    local = list(ring)
    for place, gpu in ((0, first), (-1, last)):
        at = local.index(gpu)
        local[place], local[at] = local[at], local[place]
    return tuple(local)


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
    return _trees(communicator, ())


@cache
def railed_tree_parents(communicator: Communicator) -> tuple[tuple[int, ...], ...]:
    """Return :func:`tree_parents` in which trees stay on one rail between two servers, as NCCL's do.

    Both GPUs by which a server's part of a tree is joined with others use one NIC of NCCL's. Here a GPU sends by its
    own, so the servers below the second GPU have both the other way round. Where the second GPUs of channels share
    NICs otherwise than the first ones, all hang below the first, so that NICs are as busy as NCCL's.
    """
    crosses = graph_of(communicator, "tree").cross_nic
    return _trees(communicator, () if crosses else nics_of_gpus(communicator))


def _trees(communicator: Communicator, nics: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Return the trees of all channels. ``nics``: of each GPU, if trees are to stay on rails."""
    graph = graph_of(communicator, "tree")
    found, trees = graph.channels, double_tree(communicator.servers)
    count, environment = launched_channels(communicator), communicator.environment
    cut = [max(1, value) for value in (environment.max_nchannels, environment.max_ctas) if value]
    first = min([count, *cut])
    rows = [_tree(communicator, graph, order, parents, nics) for parents in trees for order in graph.orders[:found]]
    return tuple(rows[channel % first % len(rows)] for channel in range(count))


def _tree(
    communicator: Communicator,
    graph: Graph,
    order: tuple[int, ...],
    servers: tuple[tuple[int, bool], ...],
    nics: tuple[int, ...],
) -> tuple[int, ...]:
    """Return the parents of ranks; a balanced tree's first children hang below a server's second GPU."""
    gpus, parents = communicator.gpus_per_server, [-1] * communicator.ranks
    second, turned = graph.pattern == "balanced_tree" and gpus > 1, False
    if second and nics and nics[order[0]] != nics[order[1]]:
        first_nics, second_nics = (sorted(nics[each[at]] for each in graph.orders[: graph.channels]) for at in (0, 1))
        turned = second = first_nics == second_nics

    def turns(server: int) -> int:
        """How many of the servers from this one up to the root hang below a second GPU."""
        above, is_second = servers[server]
        return 0 if above < 0 else turns(above) + (not is_second)

    def order_of(server: int) -> tuple[int, ...]:
        return (order[1], order[0], *order[2:]) if turned and turns(server) % 2 else order

    for server, (above, is_second) in enumerate(servers):
        own = order_of(server)
        for upper, lower in pairwise(own):
            parents[server * gpus + lower] = server * gpus + upper
        if above >= 0:
            at = order_of(above)[1 if second and not is_second else 0]
            parents[server * gpus + own[0]] = above * gpus + at
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
