"""GML (Himsolt, 1997), as NetworkX and the Topology Zoo write it: keys with numbers, texts or lists in brackets."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import NamedTuple

from astra_ns3.config.formats.graphs.raw import GRAPH_KEYS, RawGraph, RawLink, RawNode
from astra_ns3.errors import InputError, Where, refuse, wrong

MOST_DEPTH = 50
_TOKENS = re.compile(
    r"""(?P<comment>^[ \t]*\#[^\n]*)
    |(?P<text>"[^"]*")
    |(?P<open>\[)|(?P<close>\])
    |(?P<real>[-+]?(?:[0-9]{1,40}\.[0-9]{0,40}|\.[0-9]{1,40}|[0-9]{1,40}(?=[eE]))(?:[eE][-+]?[0-9]{1,4})?(?![\w.]))
    |(?P<whole>[-+]?[0-9]{1,40}(?![\w.]))
    |(?P<special>[-+]?(?:INF|NAN)\b)
    |(?P<key>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<wrong>[^\s"]+|")""",
    re.VERBOSE | re.MULTILINE | re.ASCII,
)
LOOKS_LIKE_GML = re.compile(r"^[ \t]*graph\s*\[", re.MULTILINE)


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


class _Entry(NamedTuple):
    key: str
    value: object
    line: int


def parse_gml(text: str, source: str) -> RawGraph:
    """The graph in ``text``; raises InputError with file and line."""
    reader = _Reader(text, source)
    graphs = [entry for entry in reader.entries(0) if entry.key == "graph"]
    refuse(len(graphs) != 1, f"has {len(graphs) or 'no'} graphs, expected one 'graph [ ... ]'", source)
    content = reader.listed(graphs[0])
    directed = any(entry.key == "directed" and entry.value == 1 for entry in content)
    nodes = tuple(reader.node(entry) for entry in content if entry.key == "node")
    links = tuple(reader.link(entry, directed) for entry in content if entry.key == "edge")
    says: dict[str, tuple[str, object]] = {}
    for key in GRAPH_KEYS:
        said = [entry for entry in content if entry.key == key]
        values = [entry.value for entry in said]
        if said:
            listed = len(values) > 1 or (key == "dimensions" and isinstance(values[0], int))
            says[key] = (f"{source}:{said[0].line}", values if listed else values[0])
    return RawGraph(source, nodes, links, says)


class _Reader:
    def __init__(self, text: str, source: str) -> None:
        self._source = source
        self._tokens = self._scanned(text)

    def entries(self, depth: int) -> list[_Entry]:
        """Keys with their values up to the bracket that closes the list, or to the end of the file."""
        refuse(depth > MOST_DEPTH, f"lists stand more than {MOST_DEPTH} deep", self._source)
        found: list[_Entry] = []
        for token in self._tokens:
            if token.kind == "close" and depth:
                return found
            if token.kind != "key":
                raise self._error(token.line, f"found {token.text!r}, expected a key")
            found.append(_Entry(token.text, self._value(token, depth), token.line))
        refuse(bool(depth), "the file ends before a list is closed with ']'", self._source)
        return found

    def _value(self, key: _Token, depth: int) -> object:
        token = next(self._tokens, None)
        if token is None:
            raise self._error(key.line, f"key '{key.text}' has no value")
        if token.kind == "open":
            return self.entries(depth + 1)
        if token.kind == "text":
            return html.unescape(token.text[1:-1])
        if token.kind == "whole":
            return int(token.text)
        if token.kind == "real":
            return float(token.text)
        if token.kind == "special":
            return token.text
        raise self._error(token.line, f"key '{key.text}' has {token.text!r}, expected a number, a text or a list")

    def listed(self, entry: _Entry) -> list[_Entry]:
        """The list that is an entry's value."""
        if not isinstance(entry.value, list):
            raise self._error(entry.line, f"'{entry.key}' has no list in brackets")
        return entry.value

    def node(self, entry: _Entry) -> RawNode:
        where = f"{self._source}:{entry.line}"
        values = self._values(entry)
        return RawNode(
            where, self._name(entry, values, "id"), {key: value for key, value in values.items() if key != "id"}
        )

    def link(self, entry: _Entry, directed: bool) -> RawLink:
        values = self._values(entry)
        a, b = (self._name(entry, values, key) for key in ("source", "target"))
        rest = {key: value for key, value in values.items() if key not in ("source", "target", "key")}
        return RawLink(f"{self._source}:{entry.line}", a, b, rest, directed)

    def _values(self, entry: _Entry) -> dict[str, object]:
        """Plain values by key; lists, such as ``graphics``, say nothing of a network."""
        found: dict[str, object] = {}
        for inner in self.listed(entry):
            if isinstance(inner.value, list):
                continue
            if inner.key in found and inner.key in ("id", "source", "target"):
                raise self._error(inner.line, f"'{inner.key}' stands twice")
            found.setdefault(inner.key, inner.value)
        return found

    def _name(self, entry: _Entry, values: dict[str, object], key: str) -> str:
        if key not in values:
            raise self._error(entry.line, f"'{entry.key}' has no '{key}'")
        return str(values[key])

    def _scanned(self, text: str) -> Iterator[_Token]:
        line, at = 1, 0
        for match in _TOKENS.finditer(text):
            line += text.count("\n", at, match.start())
            at = match.start()
            kind = str(match.lastgroup)
            if kind == "wrong":
                raise self._error(line, f"found {match[0]!r}, which is no GML")
            if kind != "comment":
                yield _Token(kind, match[0], line)

    def _error(self, line: int, message: str) -> InputError:
        return wrong(f"{message}", Where(self._source, line))
