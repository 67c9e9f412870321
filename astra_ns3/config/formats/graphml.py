"""GraphML (graphml.graphdrawing.org), as NetworkX writes it: nodes and edges with typed data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from xml.parsers import expat

from astra_ns3.config.formats.plain_graph import GraphMaker, PlainGraph
from astra_ns3.errors import InputError, nearest

_NUMBERS: Mapping[str, Callable[[str], object]] = {"int": int, "long": int, "float": float, "double": float}
_PARENTS = {
    "graphml": "",
    "key": "graphml",
    "graph": "graphml",
    "node": "graph",
    "edge": "graph",
    "data": "node, edge, graph",
}
_IGNORED = ("desc",)


def parse_graphml(text: str, source: str) -> PlainGraph:
    """The graph in ``text``; raises InputError with file and line."""
    return _Reader(source).read(text)


class _Reader:
    def __init__(self, source: str) -> None:
        self._source = source
        self._maker = GraphMaker(source)
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.buffer_text = True
        self._open: list[str] = []
        self._keys: dict[str, tuple[str, str]] = {}
        self._element: dict[str, str] = {}
        self._line = 0
        self._data: dict[str, object] = {}
        self._key: str | None = None
        self._words = ""
        self._edges: list[tuple[str, dict[str, str], dict[str, object]]] = []
        self._graphs = 0

    def read(self, text: str) -> PlainGraph:
        try:
            self._parser.Parse(text, True)
        except expat.ExpatError as error:
            raise InputError(f"{self._source}:{error.lineno}: is not XML: {expat.ErrorString(error.code)}") from error
        if not self._graphs:
            raise InputError(f"{self._source}: has no graph")
        for where, edge, data in self._edges:
            self._maker.link(where, edge["source"], edge["target"], data)
        return self._maker.graph()

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
        if attributes.get("edgedefault") == "directed" or attributes.get("directed") == "true":
            raise InputError(f"{self._where()}: is directed, expected undirected: every link works both ways")
        if name == "graph":
            self._graphs += 1
            if self._graphs > 1:
                raise InputError(f"{self._where()}: a second graph; one file describes one network")
        elif name == "key":
            self._keys[self._needed(name, attributes, "id")] = (
                self._needed(name, attributes, "attr.name"),
                attributes.get("attr.type", "string"),
            )
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
        if self._key is not None and self._open[-1] == "data":
            self._words += words
        elif words.strip() and self._open[-1] not in _IGNORED:
            raise InputError(f"{self._where()}: found text {words.strip()[:40]!r} outside <data>")

    def _end(self, full_name: str) -> None:
        name = full_name.rpartition(" ")[2]
        self._open.pop()
        if name == "data" and self._key is not None:
            if self._open[-1] != "graph":
                self._take(self._key, self._words.strip())
            elif self._keys.get(self._key, ("", ""))[0] == "dimensions":
                self._maker.dimensions(self._where(), self._words.strip())
            self._key = None
        elif name == "node":
            self._maker.node(self._where(self._line), self._element["id"], self._data)
        elif name == "edge":
            self._edges.append((self._where(self._line), self._element, self._data))

    def _take(self, key: str, words: str) -> None:
        if key not in self._keys:
            raise InputError(f"{self._where()}: data has key '{key}', which no <key> declares")
        name, kind = self._keys[key]
        if name in self._data:
            raise InputError(f"{self._where()}: '{name}' stands twice")
        try:
            self._data[name] = _NUMBERS.get(kind, str)(words)
        except ValueError as error:
            raise InputError(f"{self._where()}: '{name}' is {words[:40]!r}, expected a number ({kind})") from error
