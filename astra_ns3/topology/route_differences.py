"""Differences between the tables of two epochs, as arrays that can cross to a simulator: only entries that change.

The links that differ cross whole, each with all that it is from then on.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from astra_ns3.config.topology.switch import EcnConfig
from astra_ns3.frozen import dataclass
from astra_ns3.topology.changes import Epoch
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.routes import LOCAL, NodeRoutes, RouteTables

_Numbers = npt.NDArray[np.uint32]
_Set = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class LinkDifference:
    """Links that differ, and what each is from then on; all arrays ``(links that differ,)``."""

    links: _Numbers
    up: _Numbers
    silent: _Numbers
    rates_bps: npt.NDArray[np.int64]
    delays_ps: npt.NDArray[np.int64]
    error_rates: npt.NDArray[np.float64]
    storms: _Numbers


@dataclass(frozen=True, eq=False)
class MarkingDifference:
    """Ports of switches that mark otherwise from then on, by node and number there; all arrays ``(such ports,)``."""

    nodes: _Numbers
    ports: _Numbers
    kmin_bytes: npt.NDArray[np.int64]
    kmax_bytes: npt.NDArray[np.int64]
    pmax: npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NodeDifference:
    """Changes in the table of ``node`` (hosts first, then switches).

    Each of ``groups`` has from then on the set that ``sets``, of the same shape, names: ``LOCAL``, or s for the ports
    ``set_ports[set_offsets[s]:set_offsets[s + 1]]``. ``local_hosts`` and ``local_ports`` are all that the node has from
    then on, as in ``NodeRoutes``.
    """

    node: int
    groups: _Numbers
    sets: _Numbers
    set_offsets: _Numbers
    set_ports: _Numbers
    local_hosts: _Numbers
    local_ports: _Numbers


@dataclass(frozen=True, eq=False)
class EpochDifference:
    """All that is different from ``time_ps`` on."""

    time_ps: int
    links: LinkDifference
    routes: tuple[NodeDifference, ...]
    markings: MarkingDifference
    switches: tuple[int, ...]
    """Switches whose memory, or when they stop their neighbours, is not as it was."""


def epoch_difference(before: Epoch, after: Epoch) -> EpochDifference:
    """Changes from one epoch to a later one of the same network."""
    return EpochDifference(
        after.start_ps,
        link_difference(before.graph, after.graph),
        route_differences(before.tables, after.tables),
        marking_difference(before.graph, after.graph),
        memory_difference(before.graph, after.graph),
    )


def memory_difference(before: Graph, after: Graph) -> tuple[int, ...]:
    """The switches whose buffer or flow control is not as it was."""
    pairs = enumerate(zip(before.switch_configs, after.switch_configs, strict=True))
    return tuple(number for number, (old, new) in pairs if (old.buffer_bytes, old.pfc) != (new.buffer_bytes, new.pfc))


def marking_of(graph: Graph, switch: int) -> dict[int, EcnConfig]:
    """How the ports of a switch mark, by their numbers there; a link's rate of now decides where rates do."""
    config = graph.switch_configs[switch]
    found = {}
    for place, port in enumerate(graph.ports[graph.hosts + switch]):
        entries = {getattr(each, "rate_bps", 0): each for each in config.marking}
        ecn = entries.get(0, entries.get(graph.links[port.link].rate_bps))
        if ecn is not None:
            found[place] = ecn
    return found


def marking_difference(before: Graph, after: Graph) -> MarkingDifference:
    """The ports of switches whose marking is not as it was."""
    found = []
    for number, (old, new) in enumerate(zip(before.switch_configs, after.switch_configs, strict=True)):
        if old is not new:
            found += [
                (after.hosts + number, place, ecn.kmin_bytes, ecn.kmax_bytes, ecn.pmax)
                for place, ecn in marking_of(after, number).items()
            ]
    return MarkingDifference(
        np.array([one[0] for one in found], dtype=np.uint32),
        np.array([one[1] for one in found], dtype=np.uint32),
        np.array([one[2] for one in found], dtype=np.int64),
        np.array([one[3] for one in found], dtype=np.int64),
        np.array([one[4] for one in found], dtype=np.float64),
    )


def link_difference(before: Graph, after: Graph) -> LinkDifference:
    """The links of ``after`` that are not as they were."""
    changed = [
        (number, new) for number, (old, new) in enumerate(zip(before.links, after.links, strict=True)) if old != new
    ]
    return LinkDifference(
        np.array([number for number, _ in changed], dtype=np.uint32),
        np.array([link.up for _, link in changed], dtype=np.uint32),
        np.array([link.silent for _, link in changed], dtype=np.uint32),
        np.array([link.rate_bps for _, link in changed], dtype=np.int64),
        np.array([link.delay_ps for _, link in changed], dtype=np.int64),
        np.array([link.error_rate for _, link in changed], dtype=np.float64),
        np.array([link.storm for _, link in changed], dtype=np.uint32),
    )


def route_differences(before: RouteTables, after: RouteTables) -> tuple[NodeDifference, ...]:
    """The nodes whose tables differ, in order; both have the same groups of hosts."""
    if before is after:
        return ()
    found = []
    pairs = zip((*before.hosts, *before.switches), (*after.hosts, *after.switches), strict=True)
    for node, (old, new) in enumerate(pairs):
        if old is not None and new is not None:
            difference = _node_difference(node, old, new)
            if difference is not None:
                found.append(difference)
    return tuple(found)


def _node_difference(node: int, old: NodeRoutes, new: NodeRoutes) -> NodeDifference | None:
    numbers: dict[_Set, int] = {}
    was, now = _numbered(old, numbers), _numbered(new, numbers)
    groups = np.flatnonzero(was != now)
    hung = (old.local_hosts, old.local_ports), (new.local_hosts, new.local_ports)
    if not len(groups) and all(np.array_equal(a, b) for a, b in zip(*hung, strict=True)):
        return None
    chosen = new.set_of_group[groups]
    kept, places = np.unique(chosen[chosen != LOCAL], return_inverse=True)
    sets = np.full(len(groups), LOCAL, dtype=np.uint32)
    sets[chosen != LOCAL] = places
    ports = [new.set_ports[new.set_offsets[one] : new.set_offsets[one + 1]] for one in kept.tolist()]
    return NodeDifference(
        node,
        groups.astype(np.uint32),
        sets,
        np.cumsum([0, *(len(each) for each in ports)]).astype(np.uint32),
        np.concatenate(ports) if ports else np.array([], dtype=np.uint32),
        new.local_hosts,
        new.local_ports,
    )


def _numbered(routes: NodeRoutes, numbers: dict[_Set, int]) -> npt.NDArray[np.int64]:
    """For each group a number that is the same where the ports are; -1 for ``LOCAL``."""
    offsets, ports = routes.set_offsets.tolist(), routes.set_ports.tolist()
    number_of_set = np.array(
        [numbers.setdefault(tuple(ports[a:b]), len(numbers)) for a, b in pairwise(offsets)] + [-1], dtype=np.int64
    )
    places = np.where(routes.set_of_group == LOCAL, len(offsets) - 1, routes.set_of_group)
    return number_of_set[places]
