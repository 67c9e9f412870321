"""Ports in the order of the network's levels, and their rates, from what a run says of its network."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property

import numpy as np

from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.errors import nearest, required, some_of, wrong
from astra_ns3.frozen import dataclass
from astra_ns3.report.figures.curves import Real
from astra_ns3.report.network_of import network_of
from astra_ns3.report.records import start_of
from astra_ns3.report.scenario_text import event_spans
from astra_ns3.report.tables import Numbers, Records
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.graph import Link
from astra_ns3.topology.ports import all_ports, port_name
from astra_ns3.topology.reducers import REDUCTION
from astra_ns3.topology.storage import STORAGE

_NAME = re.compile(r"(host|switch)(\d+)(?::(\d+))?")
_FOREVER_PS = 2**61
# Kinds of links whose ports stand apart, in this order: what the ports of hosts are called, and those of switches.
_SCALE_UP = "scale-up"
_APART = {
    "": ("NICs", ""),
    _SCALE_UP: ("scale-up of NPUs", ""),
    STORAGE: ("storage hosts", "to storage"),
    REDUCTION: ("reducers", "to reducers"),
}


@dataclass(frozen=True)
class Level:
    """Ports that stand at the same place of the network: a name, and theirs."""

    name: str
    ports: tuple[str, ...]


def levels(records: Records, ports: Iterable[str]) -> list[Level]:
    """``ports``, NICs first, then those of switches by their distance to hosts with NPUs, downwards before upwards.

    Ports of links inside nodes, and to storage hosts and reducers, follow those of other links at the same place.
    """
    peers = {row["port"]: row["link_to"] for row in records.rows("switch.csv")}
    kinds = {port: _kind(link) for port, (_, link) in _links(records).items()}
    helpers = {port.partition(":")[0] for port, kind in kinds.items() if kind in (STORAGE, REDUCTION)}
    distance = _distances(peers, {name for name in helpers if name.startswith("host")})
    found: dict[tuple[int, int, int], list[str]] = {}
    for port in sorted(ports, key=_order):
        node, peer = port.partition(":")[0], peers[port]
        here, there = distance.get(node, 0), distance.get(peer, 0)
        kind = list(_APART).index(kinds.get(port, ""))
        found.setdefault((here, kind, 0 if there < here else 1 if there == here else 2), []).append(port)
    return [Level(_level_name(*key), tuple(found[key])) for key in sorted(found)]


def _kind(link: Link) -> str:
    """Return which of the kinds that stand apart a link is."""
    return _SCALE_UP if link.kind.startswith(_SCALE_UP) else link.kind if link.kind in _APART else ""


@dataclass(frozen=True)
class Pace:
    """The rate of a line: ``built_bps``, and so much more or less (``more_bps``) from each of ``times_ps`` on."""

    built_bps: int
    times_ps: Numbers
    more_bps: Numbers

    def mean_bps(self, begin_ps: Numbers, end_ps: Numbers) -> Real:
        """Return the mean rate from each time to a later one."""
        means: Real = self.built_bps + (self._more_by(end_ps) - self._more_by(begin_ps)) / (end_ps - begin_ps)
        return means

    def _more_by(self, times_ps: Numbers) -> Real:
        """Return what the line could send more by some times, as :attr:`_until` has it."""
        step = np.searchsorted(self.times_ps, times_ps, "right") - 1
        found: Real = self._until[step] + (times_ps - self.times_ps[step]) * self.more_bps[step].astype(float)
        return found

    @cached_property
    def _until(self) -> Real:
        """The bits that the line could send more by each of ``times_ps``, times the picoseconds of a second."""
        return np.concatenate([[0.0], np.cumsum(np.diff(self.times_ps) * self.more_bps[:-1].astype(float))])


def paces(records: Records) -> dict[str, Pace]:
    """Return the rate of each port on a run's clock; empty if the network can't be told from run.json alone."""
    spans = _rate_spans(records)
    return {port: _pace(link.rate_bps, spans[number]) for port, (number, link) in _links(records).items()}


def changes_of_rates(records: Records) -> Pace:
    """Return a line that is stopped while an event changes the rate of any line of a run."""
    return _pace(1, ((start_ps, end_ps, 0) for spans in _rate_spans(records).values() for start_ps, end_ps, _ in spans))


def _rate_spans(records: Records) -> Mapping[int, list[tuple[int, int, int]]]:
    """Return when events change the rates of links on a run's clock, and to which, by the links' numbers."""
    begin_ps = start_of(records.metadata)
    spans: defaultdict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for event in records.events:
        if "link" in event and "rate_bps" in event:
            found = event_spans(event, _FOREVER_PS, event.get("times", 1))
            spans[event["link"]] += [(start - begin_ps, end - begin_ps, event["rate_bps"]) for start, end in found]
    return spans


def _links(records: Records) -> dict[str, tuple[int, Link]]:
    """Return the link of each port, and its number; empty if the network can't be told from run.json alone."""
    config = network_of(records.metadata["network"])
    if not isinstance(config, NetworkConfig):
        return {}
    graph = build_graph(config.topology)
    numbers = {port_name(graph.hosts, *each): graph.ports[each[0]][each[1]].link for each in all_ports(graph)}
    return {port: (number, graph.links[number]) for port, number in numbers.items()}


def _pace(built_bps: int, spans: Iterable[tuple[int, int, int]]) -> Pace:
    """Return a line's rate with another one in some spans; the span that began last holds."""
    ordered = sorted(spans)
    times = np.unique(np.array([-_FOREVER_PS, *(time for span in ordered for time in span[:2])], np.int64))
    more = np.zeros(len(times), np.int64)
    for start_ps, end_ps, rate_bps in ordered:
        more[np.searchsorted(times, start_ps) : np.searchsorted(times, end_ps)] = rate_bps - built_bps
    return Pace(built_bps, times, more)


def switch_names(records: Records, ports: Iterable[str]) -> dict[str, str]:
    """Return the names that a network's file or kind gives to the switches of some ports; none if not known."""
    switches = sorted({match[0].partition(":")[0] for port in ports if (match := _NAME.match(port))}, key=_order)
    config = network_of(records.metadata["network"]) if any(name.startswith("switch") for name in switches) else None
    if not isinstance(config, NetworkConfig):
        return {}
    names = build_graph(config.topology).switch_names
    named = {f"switch{number}": name for number, name in enumerate(names) if name != f"switch {number}"}
    return {switch: named[switch] for switch in switches if switch in named}


def chosen(known: Iterable[str], select: tuple[str, ...], what: str = "port") -> list[str]:
    """All that are known, or those selected; a node's name stands for all of its ports. Raises InputError."""
    every = list(known)
    if not select:
        return every
    found: dict[str, None] = {}
    for word in select:
        of_word = [name for name in every if word in (name, name.partition(":")[0])]
        if not of_word:
            raise wrong(f"{what} '{word}' was not recorded, but {some_of(every)}{nearest(word, every)}")
        found.update(dict.fromkeys(of_word))
    return list(found)


def _distances(peers: dict[str, str], helpers: Collection[str]) -> dict[str, int]:
    """Links from each node to the nearest host that is none of the ``helpers``, which have no distance."""
    beside: dict[str, set[str]] = {}
    for port, peer in peers.items():
        node = port.partition(":")[0]
        if node not in helpers and peer not in helpers:
            beside.setdefault(node, set()).add(peer)
    found = {node: 0 for node in beside if node.startswith("host")}
    waiting = deque(found)
    while waiting:
        node = waiting.popleft()
        for peer in beside.get(node, ()):
            if peer not in found:
                found[peer] = found[node] + 1
                waiting.append(peer)
    return found


def _level_name(level: int, kind: int, way: int) -> str:
    word = list(_APART)[kind]
    of_hosts, of_switches = _APART[word]
    if level == 0:
        return of_hosts
    return f"{word if word == _SCALE_UP else f'level {level}'} {of_switches or ('down', 'across', 'up')[way]}"


def _order(port: str) -> tuple[int, int, int]:
    match = required(_NAME.fullmatch(port), f"'{port}' is not the name of a port")
    return int(match[1] == "switch"), int(match[2]), int(match[3] or 0)
