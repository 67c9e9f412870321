"""From components and edges to hosts, switches and links.

An ``xpu`` is a host: an NPU. A port that hangs on one component of its device by a link without a bandwidth is part of
that component. Components that lead nowhere (memory, unused ports) are left out. A NIC or a port with exactly two links
is no hop of its own: they become one link, at the lower rate that is known, with both latencies. All other components
are switches; those in a device of xpus are inside its server. A link's class is its name in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from astra_ns3.config.core.document import Document
from astra_ns3.config.core.model import validated
from astra_ns3.config.core.yaml_document import parse_yaml
from astra_ns3.config.formats.graphs.raw import RawGraph, RawLink, RawNode
from astra_ns3.config.formats.node_link import load_json
from astra_ns3.errors import refuse

if TYPE_CHECKING:  # every network file is asked whether it looks like a graph
    from astra_ns3.config.formats.infragraph.expansion import Expanded
    from astra_ns3.config.formats.infragraph.keys import Link

HOST = "xpu"
_PORT = "port"
_WIRES = ("nic", _PORT)
_INSIDE = 1
_KINDS = 2  # inside of servers, and outside
_KEYS = tuple(re.compile(rf"(?:^|[{{,]\s*\"){key}\"?\s*:", re.MULTILINE) for key in ("devices", "instances"))


def looks_like_infragraph(text: str) -> bool:
    """Whether a YAML or JSON text has the keys of an infrastructure."""
    return all(key.search(text) for key in _KEYS)


def parse_infragraph(text: str, source: str) -> RawGraph:
    """The graph in ``text``, whose links may lack rates and delays; raises InputError with file and line or entry."""
    from astra_ns3.config.formats.infragraph.expansion import Expansion
    from astra_ns3.config.formats.infragraph.keys import Infrastructure

    # JSON is YAML, but read much faster as what it is.
    document = Document(source, load_json(text, source)) if text.lstrip().startswith("{") else parse_yaml(text, source)
    expanded = Expansion(source, validated(Infrastructure, document)).expanded()
    refuse(HOST not in expanded.types.values(), "no component is an xpu, so there is no NPU", source)
    graph = _Contracted(expanded)
    graph.drop_dead_ends()
    graph.join_wires()
    return graph.raw(source)


class _Wire(NamedTuple):
    name: str
    rate_bps: int | None
    delay_ps: int | None

    def then(self, other: _Wire) -> _Wire:
        """Both as one: the lower rate, both delays; what one doesn't say is the other's."""
        rates = [rate for rate in (self.rate_bps, other.rate_bps) if rate is not None]
        delays = [delay for delay in (self.delay_ps, other.delay_ps) if delay is not None]
        slower = self if self.rate_bps is not None and self.rate_bps == min(rates) else other
        return _Wire(slower.name, min(rates) if rates else None, sum(delays) if delays else None)


class _Contracted:
    """Components by name, each with its neighbours; two may be joined by several links once wires are joined."""

    def __init__(self, expanded: Expanded) -> None:
        self._types = expanded.types
        body = _bodies(expanded)
        self._of: dict[str, list[tuple[str, _Wire]]] = {name: [] for name in expanded.types if body[name] == name}
        for (one, other), (link, _) in expanded.edges.items():
            a, b = body[one], body[other]
            if a != b:
                self._link(a, b, _wire(link))

    def _link(self, a: str, b: str, wire: _Wire) -> None:
        self._of[a].append((b, wire))
        self._of[b].append((a, wire))

    def _remove(self, name: str) -> list[tuple[str, _Wire]]:
        ends = self._of.pop(name)
        for peer, _ in ends:
            if peer in self._of:
                self._of[peer] = [end for end in self._of[peer] if end[0] != name]
        return ends

    def drop_dead_ends(self) -> None:
        """Leave out what isn't on any way between hosts because it has one neighbour, or none."""
        waiting = list(self._of)
        while waiting:
            name = waiting.pop()
            if name not in self._of or self._types[name] == HOST or len({peer for peer, _ in self._of[name]}) > 1:
                continue
            waiting += [peer for peer, _ in self._remove(name)]

    def join_wires(self) -> None:
        """Make one link of two where they meet in a NIC or a port."""
        for name in [name for name in self._of if self._types[name] in _WIRES]:
            ends = self._of[name]
            if len(ends) == 2 and ends[0][0] != ends[1][0]:
                (a, one), (b, other) = self._remove(name)
                self._link(a, b, one.then(other))

    def raw(self, source: str) -> RawGraph:
        """Return a graph like any other, its components in the order of the file."""
        place = {name: number for number, name in enumerate(self._of)}
        level = self._levels()
        nodes = [
            RawNode(source, name, {"kind": "switch" if name in level else "host", "label": name, **level.get(name, {})})
            for name in self._of
        ]
        links = [
            RawLink(f"{source}: {a} to {b}", a, b, _attributes(wire))
            for a, ends in self._of.items()
            for b, wire in ends
            if place[a] < place[b]
        ]
        inside = {"inside_levels": (source, _INSIDE)} if any(level.values()) else {}
        return RawGraph(source, tuple(nodes), tuple(links), inside)

    def _levels(self) -> dict[str, dict[str, int]]:
        """Return the level of each switch; none where no switch is outside of devices of xpus, or none is inside."""
        servers = {name.rsplit(".", 2)[0] for name in self._of if self._types[name] == HOST}
        inside = {
            name: any(outer in servers for outer in _devices(name)) for name in self._of if self._types[name] != HOST
        }
        if len(set(inside.values())) < _KINDS:
            return {name: {} for name in inside}
        return {name: {"level": _INSIDE if each else _INSIDE + 1} for name, each in inside.items()}


def _devices(name: str) -> Iterator[str]:
    """Yield the devices that a component is in, the innermost first."""
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


def _bodies(expanded: Expanded) -> dict[str, str]:
    """The component that each is part of: itself, or for a port what it hangs on inside its device."""
    body = {name: name for name in expanded.types}
    hangs: dict[str, list[str]] = {}
    for (a, b), (link, inside) in expanded.edges.items():
        if inside and _wire(link).rate_bps is None:
            for one, other in ((a, b), (b, a)):
                if expanded.types[one] == _PORT:
                    hangs.setdefault(one, []).append(other)
    for port, others in hangs.items():
        if len(others) == 1 and expanded.types[others[0]] != _PORT:
            body[port] = others[0]
    return body


def _wire(link: Link) -> _Wire:
    physical = link.physical
    bandwidth, latency = (physical.bandwidth, physical.latency) if physical is not None else (None, None)
    return _Wire(
        link.name,
        bandwidth.rate_bps if bandwidth is not None else None,
        latency.delay_ps if latency is not None else None,
    )


def _attributes(wire: _Wire) -> dict[str, str | int]:
    found: dict[str, str | int] = {"kind": wire.name}
    if wire.rate_bps is not None:
        found["rate"] = wire.rate_bps
    if wire.delay_ps is not None:
        found["delay"] = f"{wire.delay_ps}ps"
    return found
