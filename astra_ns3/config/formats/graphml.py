"""GraphML (graphml.graphdrawing.org), as NetworkX and the Topology Zoo write it: nodes and edges with typed data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from xml.etree.ElementTree import Element

from astra_ns3.config.core.xml_tree import WHERE, xml_tree
from astra_ns3.config.formats.graphs.raw import GRAPH_KEYS, RawGraph, RawLink, RawNode
from astra_ns3.errors import refuse, wrong

_NUMBERS: Mapping[str, Callable[[str], object]] = {"int": int, "long": int, "float": float, "double": float}


def parse_graphml(text: str, source: str) -> RawGraph:
    """Return the graph in ``text``; raises InputError with file and line."""
    top = xml_tree(text, source, "a graph")
    refuse(top.tag != "graphml", f"found <{top.tag}>, expected <graphml>", top.get(WHERE, source))
    parts = list(_children(top, "key", "graph"))
    graphs = [part for part in parts if part.tag == "graph"]
    refuse(not graphs, "has no graph", source)
    if len(graphs) > 1:
        raise wrong("a second graph; one file describes one network", graphs[1].get(WHERE, ""))
    return _graph(graphs[0], {_needed(part, "id"): part for part in parts if part.tag == "key"}, source)


def _graph(graph: Element, keys: Mapping[str, Element], source: str) -> RawGraph:
    nodes: list[RawNode] = []
    links: list[RawLink] = []
    says: dict[str, tuple[str, object]] = {}
    defaults = {kind: _defaults(keys, kind) for kind in ("node", "edge")}
    directed = graph.get("edgedefault") == "directed"
    for part in _children(graph, "node", "edge", "data"):
        where = part.get(WHERE, source)
        if part.tag == "node":
            nodes.append(RawNode(where, _needed(part, "id"), defaults["node"] | _data(part, keys)))
        elif part.tag == "edge":
            ends = _needed(part, "source"), _needed(part, "target")
            one_way = part.get("directed", "true" if directed else "false") == "true"
            links.append(RawLink(where, *ends, defaults["edge"] | _data(part, keys), one_way))
        else:
            key = keys.get(_needed(part, "key"))
            if key is not None and (name := _needed(key, "attr.name")) in GRAPH_KEYS:
                says[name] = where, (part.text or "").strip()
    return RawGraph(source, tuple(nodes), tuple(links), says)


def _children(element: Element, *tags: str) -> Iterator[Element]:
    """Yield the elements in one that may have these only, descriptions, and no text of its own."""
    for words in (element.text, *(child.tail for child in element)):
        if words is not None and words.strip():
            raise wrong(f"found text {words.strip()!r} outside <data>", element.get(WHERE, ""))
    for child in element:
        if child.tag in tags:
            yield child
        elif child.tag != "desc":
            raise wrong(
                f"element <{child.tag}> is not read in <{element.tag}>; allowed: {', '.join(tags)}",
                child.get(WHERE, ""),
            )


def _needed(element: Element, attribute: str) -> str:
    found = element.get(attribute)
    if found is None:
        raise wrong(f"<{element.tag}> has no attribute '{attribute}'", element.get(WHERE, ""))
    return found


def _defaults(keys: Mapping[str, Element], kind: str) -> dict[str, object]:
    """Return the defaults that the file declares for all nodes or for all edges."""
    fitting = [key for key in keys.values() if key.get("for", "all") in (kind, "all")]
    return {_needed(key, "attr.name"): _value(key, default) for key in fitting for default in _children(key, "default")}


def _data(element: Element, keys: Mapping[str, Element]) -> dict[str, object]:
    """Return the attributes of a node or an edge."""
    found: dict[str, object] = {}
    for data in _children(element, "data"):
        key = keys.get(_needed(data, "key"))
        if key is None:
            raise wrong(f"data has key '{data.get('key')}', which no <key> declares", data.get(WHERE, ""))
        name = _needed(key, "attr.name")
        if name in found:
            raise wrong(f"'{name}' stands twice", data.get(WHERE, ""))
        found[name] = _value(key, data)
    return found


def _value(key: Element, stands: Element) -> object:
    """Return what an element says, as the type of its key has it."""
    for child in stands:
        raise wrong(f"element <{child.tag}> is not read", child.get(WHERE, ""))
    kind, words = key.get("attr.type", "string"), (stands.text or "").strip()
    try:
        return _NUMBERS.get(kind, str)(words)
    except ValueError as error:
        name = key.get("attr.name")
        raise wrong(f"'{name}' is {words!r}, expected a number ({kind})", stands.get(WHERE, "")) from error
