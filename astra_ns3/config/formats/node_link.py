"""NetworkX's node-link JSON: an object with ``nodes`` and ``links`` (or ``edges``), each a list of objects."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from astra_ns3.config.core.json_reading import each_once, reading_json
from astra_ns3.config.core.plain import Json
from astra_ns3.config.formats.graphs.raw import GRAPH_KEYS, RawGraph, RawLink, RawNode
from astra_ns3.config.formats.plain_graph import known_only
from astra_ns3.errors import of_type, refuse, wrong

_TOP = ("directed", "multigraph", "graph", "nodes", "links", "edges")
_NO_ATTRIBUTES = ("source", "target", "key")


def parse_node_link(text: str, source: str) -> RawGraph:
    """The graph in ``text``; raises InputError naming the file and the entry."""
    document = load_json(text, source)
    known_only(source, list(document), _TOP)
    named = [key for key in ("links", "edges") if key in document]
    refuse(len(named) != 1 or "nodes" not in document, "expected keys 'nodes' and 'links' (or 'edges')", source)
    directed = document.get("directed", False)
    directed = of_type(directed, bool, f"directed is {directed!r}, expected true or false", source)
    whole = document.get("graph")
    links = tuple(_link(where, link, directed) for where, link in _entries(document, named[0], source))
    if document.get("multigraph") is False:
        _check_once(links)
    return RawGraph(
        source,
        tuple(_node(where, node) for where, node in _entries(document, "nodes", source)),
        links,
        {key: (f"{source}: graph", whole[key]) for key in GRAPH_KEYS if isinstance(whole, dict) and key in whole},
    )


def _node(where: str, node: Mapping[str, Json]) -> RawNode:
    if "id" not in node:
        raise wrong("key 'id' is missing", where)
    return RawNode(where, _name(node["id"], where), {key: value for key, value in node.items() if key != "id"})


def _link(where: str, link: Mapping[str, Json], directed: bool) -> RawLink:
    for key in ("source", "target"):
        if key not in link:
            raise wrong(f"key '{key}' is missing", where)
    attributes = {key: value for key, value in link.items() if key not in _NO_ATTRIBUTES}
    return RawLink(where, _name(link["source"], where), _name(link["target"], where), attributes, directed)


def _check_once(links: Sequence[RawLink]) -> None:
    """Raise InputError if two links join the same nodes: NetworkX would make one of them, we two."""
    first: dict[tuple[str, ...], RawLink] = {}
    for link in links:
        ends = (link.a, link.b) if link.directed else tuple(sorted((link.a, link.b)))
        other = first.setdefault(ends, link)
        if other is not link:
            raise wrong(
                f"joins '{link.a}' and '{link.b}', as {other.where.split(': ')[-1]} does, and "
                "multigraph is false; for parallel links say multigraph: true, else leave one out",
                link.where,
            )


def _entries(document: Mapping[str, Json], key: str, source: str) -> list[tuple[str, Mapping[str, Json]]]:
    entries = document[key]
    objects = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    refuse(objects != entries, f"{key} is not a list of objects", source)
    return [(f"{source}: {key}[{index}]", entry) for index, entry in enumerate(objects)]


def _name(value: object, where: str) -> str:
    """A node's name; NetworkX's grids name nodes by their places, ``(0, 1)``, which JSON has as a list."""
    if isinstance(value, list) and value:
        return f"({', '.join(_name(part, where) for part in value)})"
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise wrong(f"a node is named {value!r}, expected a text or a whole number", where)
    return str(value)


def load_json(text: str, source: str) -> dict[str, Json]:
    """A JSON object whose keys stand once each; raises InputError with file and line."""
    with reading_json(source):
        document = json.loads(text, object_pairs_hook=each_once, parse_constant=_no_constant)
    return of_type(document, dict, "expected an object with 'nodes' and 'links'", source)


def _no_constant(word: str) -> object:
    raise ValueError(f"{word} is not a number")
