"""Which NPUs a job gets: placements as rules over servers, racks and rails, and lists checked against the network.

A *server* is a box of hosts, or hosts that links inside servers join. A *rack* is the servers that hang on the same
switches outside of servers; a *rail* is the NPUs that have the same place in their servers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from random import Random

from astra_ns3.config.scenario.placement import Placement
from astra_ns3.errors import located, refuse, wrong
from astra_ns3.frozen import dataclass
from astra_ns3.scenario.tenant import Tenant
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.parts import servers_of


@dataclass(frozen=True)
class Places:
    """Where a network has NPUs: those of each server, and the servers of each rack, both by number."""

    servers: tuple[tuple[int, ...], ...]
    racks: tuple[tuple[int, ...], ...]

    @property
    def npus(self) -> Iterator[int]:
        """Yield all NPUs, server by server."""
        return (npu for server in self.servers for npu in server)

    def of_rack(self, rack: Sequence[int]) -> list[int]:
        """Return the NPUs of a rack."""
        return [npu for server in rack for npu in self.servers[server]]


def places_of(graph: Graph) -> Places:
    """Return the servers and racks of a network."""
    boxes: dict[int, list[int]] = {}
    hosts: dict[int, set[int]] = {}
    servers = servers_of(graph)
    for npu, host in enumerate(graph.npu_host):
        box = servers[host]
        boxes.setdefault(box, []).append(npu)
        hosts.setdefault(box, set()).add(host)
    racks: dict[frozenset[int], list[int]] = {}
    for number, box in enumerate(boxes):
        racks.setdefault(_switches_outside(graph, hosts[box]), []).append(number)
    return Places(tuple(map(tuple, boxes.values())), tuple(map(tuple, racks.values())))


def _switches_outside(graph: Graph, hosts: Collection[int]) -> frozenset[int]:
    """Return the first switches outside of a server that its hosts come to."""
    found: set[int] = set()
    edge = [node for host in hosts for node in {host, graph.inner_switch.get(host, host)}]
    seen, first_inner = set(edge), graph.nodes - len(graph.forwarders)
    while edge:
        for port in graph.ports[edge.pop()]:
            peer = port.peer
            if peer in seen or not graph.hosts <= peer < first_inner:
                continue
            seen.add(peer)
            if graph.is_outside(peer):
                found.add(peer)
            else:
                edge.append(peer)
    return frozenset(found)


def _packed(places: Places, free: Collection[int], _: Random) -> Iterable[int]:
    """Server by server."""
    return (npu for npu in places.npus if npu in free)


def _spread(places: Places, free: Collection[int], _: Random) -> Iterable[int]:
    """One NPU of each server in turn, and servers of each rack in turn."""
    by_turns = [server for turn in zip_longest(*places.racks) for server in turn if server is not None]
    left = [[npu for npu in places.servers[server] if npu in free] for server in by_turns]
    return (npu for turn in zip_longest(*left) for npu in turn if npu is not None)


def _random(_places: Places, free: Collection[int], draw: Random) -> Iterable[int]:
    """NPUs drawn one by one; ranks in that order."""
    return _shuffled(sorted(free), draw)


def _fragmented(places: Places, free: Collection[int], draw: Random) -> Iterable[int]:
    """Whole servers that are drawn, as a scheduler finds them free here and there; ranks ascend."""
    drawn = _shuffled(range(len(places.servers)), draw)
    return (npu for server in drawn for npu in places.servers[server] if npu in free)


def _rack(places: Places, free: Collection[int], _: Random) -> Iterable[int]:
    """Racks that nobody has a part of; the last may be filled in part. Refused where no two servers share a switch."""
    refuse(
        len(places.racks) == len(places.servers) > 1,
        "place: rack means nothing here, for no two servers share a switch; expected packed, spread, random or "
        "fragmented",
    )
    racks = [places.of_rack(rack) for rack in places.racks]
    return (npu for rack in racks if all(npu in free for npu in rack) for npu in rack)


def _rail(places: Places, free: Collection[int], _: Random) -> Iterable[int]:
    """The first NPU of every server, then the second of every. Refused where each server has one NPU."""
    refuse(
        max(map(len, places.servers)) == 1,
        "place: rail means nothing here, for each server has one NPU; expected packed, spread, random, fragmented or "
        "rack",
    )
    return (npu for rail in zip_longest(*places.servers) for npu in rail if npu is not None and npu in free)


def _shuffled(numbers: Iterable[int], draw: Random) -> list[int]:
    """Return numbers in an order that is drawn."""
    return [number for _, number in sorted((draw.random(), number) for number in numbers)]


PLACEMENTS: Mapping[str, Callable[[Places, Collection[int], Random], Iterable[int]]] = {
    "packed": _packed,
    "spread": _spread,
    "random": _random,
    "fragmented": _fragmented,
    "rack": _rack,
    "rail": _rail,
}
"""Yield NPUs that are free, in the order in which a job gets them."""


def found_by(rule: Placement, places: Places, free: Collection[int], seed: int) -> tuple[int, ...]:
    """Return the NPU of each rank of a job: those that the rule gives, of a fragmented one in ascending order.

    They are fewer than it asks for if so few are free. Raises InputError if the rule means nothing on this network.
    """
    found = list(PLACEMENTS[rule.place](places, free, Random(seed)))[: rule.count]
    return tuple(sorted(found) if rule.place == "fragmented" else found)


def place(rule: Placement, places: Places, free: Collection[int], seed: int) -> tuple[int, ...]:
    """Return what :func:`found_by` does; raises InputError if it is too few, too."""
    found = found_by(rule, places, free, seed)
    if len(found) < rule.count:
        there = sum(map(len, places.servers))
        of_rule = f", {len(found)} of them in whole racks" if rule.place == "rack" and len(found) < len(free) else ""
        raise wrong(
            f"asks for {rule.count} NPUs, but only {len(free)} of the network's {there} are free{of_rule}; "
            "expected no more"
        )
    return found


def placed(
    tenants: Sequence[Tenant], npus: int, graph: Callable[[], Graph], seed: int
) -> tuple[Sequence[int] | None, ...]:
    """Return the NPUs of each tenant on a network of ``npus``; lists go before rules, and rules in their order.

    A job that arrives gets NPUs as if it came first and alone, among those that no other job has from the begin on: it
    may have others once it starts. ``graph`` is asked for the network only if there is a rule. Raises InputError, with
    the place in the scenario's file.
    """
    taken: dict[int, str] = {}
    for tenant in tenants:
        for npu in () if tenant.npus is None or isinstance(tenant.npus, Placement) else tenant.npus:
            if tenant.where and npu >= npus:
                raise wrong(f"NPU {npu} is not one of the network's {npus}, 0 to {npus - 1}", tenant.where)
            taken[npu] = tenant.name
    found = {tenant.name: tenant.npus for tenant in tenants if not isinstance(tenant.npus, Placement)}
    held = {npu for tenant in tenants if tenant.traffic is None for npu in found.get(tenant.name) or ()}
    places: Places | None = None
    for tenant in sorted(tenants, key=lambda tenant: tenant.arrives):
        if not isinstance(tenant.npus, Placement) or tenant.job is not None:
            continue
        places = places or places_of(graph())
        free = {npu for npu in range(npus) if npu not in (held if tenant.arrives else taken)}
        with located(tenant.where):
            own = found[tenant.name] = place(tenant.npus, places, free, drawn_by(tenant, seed))
        if not tenant.arrives:
            taken.update(dict.fromkeys(own, tenant.name))
            held.update(own)
    return tuple(found[tenant.job_name] for tenant in tenants)


def drawn_by(tenant: Tenant, seed: int) -> int:
    """Return the seed of a tenant's placement in a run with ``seed``."""
    own = tenant.npus.seed if isinstance(tenant.npus, Placement) else None
    return own or tenant.seed_in(seed)
