"""Lines that messages of two jobs may share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import cache
from itertools import combinations

from astra_ns3.network.plan import NetworkPlan
from astra_ns3.scenario.scenario import Tenancy
from astra_ns3.scenario.tenant import After

Lines = set[tuple[int, int]]
"""Lines by the nodes and the ports from which they lead."""


def sharing(plan: NetworkPlan, tenants: Sequence[Tenancy]) -> tuple[str, str] | None:
    """Return the first two of a network's tenants that may play at a time and share a line; None: no two do.

    Nobody knows the NPUs of who arrives, so none of them is among the two.
    """
    hosts = plan.graph.npu_host
    jobs = {each.job_name: each for each in tenants if each.restart_ps is None}
    own = [each for each in jobs.values() if each.berth is None]
    lines = cache(lambda name: _lines(plan, {hosts[npu] for npu in jobs[name].npus}))
    pairs = ((a, b) for a, b in combinations(own, 2) if not (_follows(a, b, jobs) or _follows(b, a, jobs)))
    names = ((a.job_name, b.job_name) for a, b in pairs)
    return next(((a, b) for a, b in names if not lines(a).isdisjoint(lines(b))), None)


def _follows(tenant: Tenancy, other: Tenancy, jobs: Mapping[str, Tenancy]) -> bool:
    """Return whether a tenant starts only when another has ended, by the clock or by those that it starts after."""
    least_ps = tenant.start_ps
    while tenant.after is not None:
        if tenant.after == After(other.job_name):
            return True
        tenant = jobs[tenant.after.job]
        if tenant.after is not None and tenant.end_ps is not None:
            return False  # its end may come before its start
        least_ps += tenant.start_ps
    return other.end_ps is not None and least_ps >= other.end_ps


def _lines(plan: NetworkPlan, hosts: Set[int]) -> Lines:
    """Return the lines between hosts; ways of hosts at the same switches differ in those to the hosts alone."""
    graph, tables = plan.graph, plan.tables
    found: Lines = {(host, port) for host in hosts for port in range(len(graph.ports[host]))}
    ends = [*{int(tables.group_of_host[host]): host for host in hosts}.values()]
    for destination in ends:
        nodes, seen = ends, {destination}
        while nodes:
            seen.update(nodes)
            taken = {(node, port) for node in nodes for port in tables.towards(node, destination)}
            found |= taken
            nodes = [*{graph.ports[node][port].peer for node, port in taken} - seen]
    return found
