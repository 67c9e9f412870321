"""The least rate that must be cut to part some NPUs from the others, by Dinic's algorithm (1970).

Hosts forward nothing, so all hosts of one side are one node of the flow network, and all of the other side another.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from itertools import pairwise

from astra_ns3.topology.graph import Graph

# The nodes of the two sides; switches follow.
_NEAR, _FAR = 0, 1


def bisection_bps(graph: Graph) -> int:
    """The minimum cut between the hosts of the first half of the NPUs (rounded down) and all other NPUs' hosts.

    In bits per second of one direction. A host that has NPUs of both halves counts as one of the first.
    """
    hosts = graph.npu_host
    return minimum_cut_bps(graph, set(hosts[: len(hosts) // 2]), set(hosts))


def minimum_cut_bps(graph: Graph, near: Collection[int], all_hosts: Collection[int]) -> int:
    """The minimum cut between hosts ``near`` and the rest of ``all_hosts``, in bits per second of one direction."""
    far = set(all_hosts) - set(near)
    if not near or not far:
        return 0
    capacity: list[dict[int, int]] = [{} for _ in range(graph.switches + 2)]

    def contracted(node: int) -> int | None:
        if node >= graph.hosts:
            return node - graph.hosts + 2
        return _NEAR if node in near else _FAR if node in far else None

    for link in graph.links:
        a, b = contracted(link.a), contracted(link.b)
        if a is not None and b is not None and a != b:
            capacity[a][b] = capacity[a].get(b, 0) + link.rate_bps
            capacity[b][a] = capacity[b].get(a, 0) + link.rate_bps
    total = 0
    while (levels := _levels(capacity))[_FAR] >= 0:
        total += _blocking_flow(capacity, levels)
    return total


def _levels(capacity: list[dict[int, int]]) -> list[int]:
    """Links from the near side over what capacity is left; -1 where nothing leads."""
    levels = [-1] * len(capacity)
    levels[_NEAR] = 0
    waiting = deque([_NEAR])
    while waiting:
        node = waiting.popleft()
        for peer, left in capacity[node].items():
            if left and levels[peer] < 0:
                levels[peer] = levels[node] + 1
                waiting.append(peer)
    return levels


def _blocking_flow(capacity: list[dict[int, int]], levels: list[int]) -> int:
    """Send what goes along rising levels, take it off ``capacity``, and return how much it was."""
    onward = [[peer for peer in edges if levels[peer] == levels[node] + 1] for node, edges in enumerate(capacity)]
    total = 0
    path = [_NEAR]
    while path:
        node = path[-1]
        if node == _FAR:
            steps = list(pairwise(path))
            amount = min(capacity[a][b] for a, b in steps)
            total += amount
            full = len(steps)
            for index, (a, b) in reversed(list(enumerate(steps))):
                capacity[a][b] -= amount
                capacity[b][a] += amount
                if not capacity[a][b]:
                    full = index
            del path[full + 1 :]
        elif onward[node]:
            peer = onward[node][-1]
            if capacity[node][peer]:
                path.append(peer)
            else:
                onward[node].pop()
        else:
            path.pop()
            if path:
                onward[path[-1]].pop()
    return total
