"""GraphML (graphml.graphdrawing.org), as NetworkX and the Topology Zoo write it: nodes and edges with typed data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from xml.parsers import expat

from astra_ns3.config.formats.graphs.raw import GRAPH_KEYS, RawGraph, RawLink, RawNode
from astra_ns3.errors import InputError, nearest

_NUMBERS: Mapping[str, Callable[[str], object]] = {"int": int, "long": int, "float": float, "double": float}
_PARENTS = {
    "graphml": "",
    "key": "graphml",
    "graph": "graphml",
    "node": "graph",
    "edge": "graph",
    "data": "node, edge, graph",
    "default": "key",
}
_IGNORED = ("desc",)


def parse_graphml(text: str, source: str) -> RawGraph:
    """The graph in ``text``; raises InputError with file and line."""
    return _Reader(source).read(text)


class _Reader:
    def __init__(self, source: str) -> None:
        self._source = source
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.buffer_text = True
        self._open: list[str] = []
        self._keys: dict[str, tuple[str, str]] = {}
        self._for: dict[str, str] = {}
        self._defaults: dict[str, dict[str, object]] = {"node": {}, "edge": {}}
        self._declaring = ""
        self._element: dict[str, str] = {}
        self._line = 0
        self._data: dict[str, object] = {}
        self._key: str | None = None
        self._words = ""
        self._nodes: list[RawNode] = []
        self._links: list[RawLink] = []
        self._says: dict[str, tuple[str, object]] = {}
        self._directed = False
        self._graphs = 0

    def read(self, text: str) -> RawGraph:
        try:
            self._parser.Parse(text, True)
        except expat.ExpatError as error:
            raise InputError(f"{self._source}:{error.lineno}: is not XML: {expat.ErrorString(error.code)}") from error
        if not self._graphs:
            raise InputError(f"{self._source}: has no graph")
        nodes = tuple(node._replace(attributes={**self._defaults["node"], **node.attributes}) for node in self._nodes)
        links = tuple(link._replace(attributes={**self._defaults["edge"], **link.attributes}) for link in self._links)
        return RawGraph(self._source, nodes, links, self._says)

    def _where(self, line: int | None = None) -> str:
        return f"{self._source}:{self._parser.CurrentLineNumber if line is None else line}"

    def _doctype(self, *_: object) -> None:
        raise InputError(f"{self._where()}: <!DOCTYPE> is not allowed in a graph")

    def _start(self, full_name: str, attributes: dict[str, str]) -> None:
        name = full_name.rpartition(" ")[2]
        parent = self._open[-1] if self._open else ""
        self._open.append(name)
        if name in _IGNORED:
            return
        if name not in _PARENTS:
            raise InputError(f"{self._where()}: element <{name}> is not read{nearest(name, _PARENTS)}")
        if parent not in _PARENTS[name].split(", "):
            raise InputError(f"{self._where()}: <{name}> stands in <{parent}>, expected {_PARENTS[name] or 'the top'}")
        if name == "graph":
            self._graphs += 1
            self._directed = attributes.get("edgedefault") == "directed"
            if self._graphs > 1:
                raise InputError(f"{self._where()}: a second graph; one file describes one network")
        elif name == "key":
            self._declaring = self._needed(name, attributes, "id")
            named = self._needed(name, attributes, "attr.name")
            self._keys[self._declaring] = named, attributes.get("attr.type", "string")
            self._for[self._declaring] = attributes.get("for", "all")
        elif name == "default":
            self._key, self._words = self._declaring, ""
        elif name == "data":
            self._key, self._words = self._needed(name, attributes, "key"), ""
        elif name in ("node", "edge"):
            for needed in ("id",) if name == "node" else ("source", "target"):
                self._needed(name, attributes, needed)
            self._element, self._data, self._line = attributes, {}, self._parser.CurrentLineNumber

    def _needed(self, name: str, attributes: Mapping[str, str], key: str) -> str:
        if key not in attributes:
            raise InputError(f"{self._where()}: <{name}> has no attribute '{key}'")
        return attributes[key]

    def _text(self, words: str) -> None:
        if self._key is not None and self._open[-1] in ("data", "default"):
            self._words += words
        elif words.strip() and self._open[-1] not in _IGNORED:
            raise InputError(f"{self._where()}: found text {words.strip()[:40]!r} outside <data>")

    def _end(self, full_name: str) -> None:
        name = full_name.rpartition(" ")[2]
        self._open.pop()
        if name == "data" and self._key is not None:
            if self._open[-1] != "graph":
                self._take(self._key, self._words.strip(), self._data)
            elif (name := self._keys.get(self._key, ("", ""))[0]) in GRAPH_KEYS:
                self._says[name] = self._where(), self._words.strip()
            self._key = None
        elif name == "default" and self._key is not None:
            for where, defaults in self._defaults.items():
                if self._for[self._key] in (where, "all"):
                    self._take(self._key, self._words.strip(), defaults)
            self._key = None
        elif name == "node":
            self._nodes.append(RawNode(self._where(self._line), self._element["id"], self._data))
        elif name == "edge":
            self._links.append(self._link(self._element))

    def _link(self, edge: Mapping[str, str]) -> RawLink:
        said = edge.get("directed")
        directed = self._directed if said is None else said == "true"
        return RawLink(self._where(self._line), edge["source"], edge["target"], self._data, directed)

    def _take(self, key: str, words: str, data: dict[str, object]) -> None:
        if key not in self._keys:
            raise InputError(f"{self._where()}: data has key '{key}', which no <key> declares")
        name, kind = self._keys[key]
        if name in data:
            raise InputError(f"{self._where()}: '{name}' stands twice")
        try:
            data[name] = _NUMBERS.get(kind, str)(words)
        except ValueError as error:
            raise InputError(f"{self._where()}: '{name}' is {words[:40]!r}, expected a number ({kind})") from error
