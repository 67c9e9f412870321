"""From a graph as written to one that can be simulated: hosts, rates and delays from the file or what completes it.

A file of ours says all of it itself, and then an attribute that we don't know is a mistake. Where the network file
completes the graph, the file is another program's, whose other attributes say nothing to us.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from astra_ns3.config.core.model import shown
from astra_ns3.config.formats.graphs.completion import AttributeName, Completion, LinkDefaults
from astra_ns3.config.formats.graphs.distance import distance_delay_ps
from astra_ns3.config.formats.graphs.hosts import beside, host_names
from astra_ns3.config.formats.graphs.lacking import check_lacking
from astra_ns3.config.formats.graphs.raw import RawGraph, RawLink, RawNode
from astra_ns3.config.formats.plain_graph import LINK_KEYS, GraphMaker, PlainGraph
from astra_ns3.errors import wrong
from astra_ns3.units import parse_rate, parse_time_ps

_NODE_KEYS = ("buffer", "label", "level")
# Names of other programs with the unit that ours have: the Topology Zoo's speed in bits per second.
_OTHER_NAMES = {"rate": ("LinkSpeedRaw",)}
_PARSERS: Mapping[str, Callable[[str | int], int]] = {"rate": parse_rate, "delay": parse_time_ps}


def complete(raw: RawGraph, completion: Completion) -> PlainGraph:
    """The graph with what the network file says of it; raises InputError that names all that is lacking."""
    raw = raw.undirected()
    if completion.given:
        raw = _Translation(raw, completion).graph()
    check_lacking(raw)
    maker = GraphMaker(raw.source)
    for node in raw.nodes:
        maker.node(node.where, node.name, node.attributes)
    for link in raw.links:
        maker.link(link.where, link.a, link.b, link.attributes)
    if "dimensions" in raw.says:
        maker.dimensions(*raw.says["dimensions"])
    if "forwarding" in raw.says:
        maker.forwarding(*raw.says["forwarding"])
    if "inside_levels" in raw.says:
        maker.inside_levels(*raw.says["inside_levels"])
    return maker.graph()


class _Translation:
    """One graph's attributes in our words."""

    def __init__(self, raw: RawGraph, completion: Completion) -> None:
        self._raw, self._completion = raw, completion
        self._attributes = completion.attributes
        self._converted: dict[tuple[str, str], object] = {}
        self._coordinates: dict[str, tuple[float, float]] = {}
        if self._distances():
            self._coordinates = {node.name: at for node in raw.nodes if (at := self._place(node)) is not None}

    def graph(self) -> RawGraph:
        """Nodes with ``kind``, links with what is known of them; hosts beside nodes come last."""
        rule = self._completion.hosts
        hosts = host_names(self._raw, rule) if rule is not None else None
        nodes = [self._node(node, hosts) for node in self._raw.nodes]
        links = [self._link(link) for link in self._raw.links]
        more_nodes, more_links = beside(self._raw, rule)
        return RawGraph(self._raw.source, (*nodes, *more_nodes), (*links, *more_links), self._raw.says)

    def _node(self, node: RawNode, hosts: frozenset[str] | None) -> RawNode:
        found = {key: value for key in _NODE_KEYS if (value := self._value(key, node.attributes)) is not None}
        if "label" in found:
            found["label"] = str(found["label"])
        if hosts is not None:
            found["kind"] = "host" if node.name in hosts else "switch"
        elif "kind" in node.attributes:
            found["kind"] = node.attributes["kind"]
        return node._replace(attributes=found)

    def _link(self, link: RawLink) -> RawLink:
        found: dict[str, object] = {}
        for key in LINK_KEYS:
            value = self._value(key, link.attributes)
            if value is not None:
                found[key] = self._in_units(key, value, link.where)
        by_class = (self._completion.links or {}).get(str(found.get("kind", "link")))
        for defaults in (by_class, self._completion.defaults):
            if defaults is not None:
                self._fill(found, defaults, link)
        return link._replace(attributes=found)

    def _fill(self, found: dict[str, object], defaults: LinkDefaults, link: RawLink) -> None:
        if "rate" not in found and defaults.rate_bps is not None:
            found["rate"] = defaults.rate_bps
        if "cost" not in found and defaults.cost is not None:
            found["cost"] = defaults.cost
        if "delay" in found:
            return
        ends = [self._coordinates.get(end) for end in (link.a, link.b)]
        if defaults.distance and ends[0] is not None and ends[1] is not None:
            found["delay"] = f"{distance_delay_ps(ends[0], ends[1])}ps"
        elif defaults.delay_ps is not None:
            found["delay"] = f"{defaults.delay_ps}ps"

    def _value(self, key: str, attributes: Mapping[str, object]) -> object:
        """Return the file's value of ``key``, under whatever name; None: it has none."""
        if self._attributes is not None and key in self._attributes.model_fields_set:
            named: AttributeName | None = getattr(self._attributes, key)
            return attributes.get(named.name) if named is not None else None
        names = (key, *_OTHER_NAMES.get(key, ()))
        return next((attributes[name] for name in names if name in attributes), None)

    def _in_units(self, key: str, value: object, where: str) -> object:
        """A plain number with the unit that the network file names, rounded to ps or b/s."""
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        named: AttributeName | None = getattr(self._attributes, key, None) if self._attributes is not None else None
        if named is None or named.unit is None or key not in _PARSERS:
            return value
        words = str(value)
        if (key, words) not in self._converted:
            try:
                number = Fraction(words)
            except (ValueError, ZeroDivisionError):
                return value
            if number < 0:
                raise wrong(f"'{named.name}' is {shown(value)}, expected 0 or more", where)
            whole = round(number * _PARSERS[key](f"1{named.unit}"))
            self._converted[key, words] = f"{whole}ps" if key == "delay" else whole
        return self._converted[key, words]

    def _distances(self) -> bool:
        every = (self._completion.defaults, *(self._completion.links or {}).values())
        return any(defaults is not None and defaults.distance for defaults in every)

    def _place(self, node: RawNode) -> tuple[float, float] | None:
        names = {"latitude": "Latitude", "longitude": "Longitude"}
        found = []
        for key, usual in names.items():
            named: AttributeName | None = getattr(self._attributes, key) if self._attributes is not None else None
            value = node.attributes.get(named.name if named is not None else usual)
            if value is None:
                return None
            try:
                found.append(float(str(value)))
            except ValueError as error:
                raise wrong(f"{key} is {shown(value)}, expected degrees", node.where) from error
        return found[0], found[1]
