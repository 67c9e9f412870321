"""Graphs written in the formats of other programs; what each can't hold is said at its writer.

Hosts are named ``host0``, ``host1``, ..., switches ``switch0`` and on; in HPCC's format, which knows numbers only,
nodes keep theirs: hosts first.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from astra_ns3.config.formats.analytical import GIB_PER_NS
from astra_ns3.config.topology.kinds import TopologyConfig
from astra_ns3.errors import refuse
from astra_ns3.topology.files.analytical_grid import analytical_dimensions
from astra_ns3.topology.files.hpcc_text import hpcc_text
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.reducers import without_reducers
from astra_ns3.topology.storage import without_storage
from astra_ns3.units import exact_time

_Value = int | float | str
_TYPES: Mapping[type, str] = {int: "long", float: "double", str: "string"}
_VERSION_2_NAMES = {"ring": "Ring", "fully-connected": "FullyConnected", "switch": "Switch"}


def graphml(graph: Graph, _config: TopologyConfig) -> str:
    """GraphML as NetworkX reads it. Buffers are the only setting of a switch that it holds."""
    nodes, links = _nodes(graph), _links(graph)
    keys: dict[tuple[str, str], str] = {}
    body = [f"    <node id={quoteattr(name)}>{_data('node', attributes, keys)}</node>" for name, attributes in nodes]
    body += [
        f"    <edge source={quoteattr(a)} target={quoteattr(b)}>{_data('edge', attributes, keys)}</edge>"
        for a, b, attributes in links
    ]
    declared = [
        f'  <key id="{key}" for="{where}" attr.name="{name}" attr.type="{_type(name, nodes, links)}"/>'
        for (where, name), key in keys.items()
    ]
    for name, value in _whole(graph).items():
        words = value if isinstance(value, int) else " ".join(map(str, value))
        declared.append(f'  <key id="{name}" for="graph" attr.name="{name}" attr.type="string"/>')
        body.insert(0, f'    <data key="{name}">{words}</data>')
    top = ['<?xml version="1.0" encoding="utf-8"?>', '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">']
    return "\n".join([*top, *declared, '  <graph edgedefault="undirected">', *body, "  </graph>", "</graphml>", ""])


def node_link(graph: Graph, _config: TopologyConfig) -> str:
    """NetworkX's node-link JSON. Buffers are the only setting of a switch that it holds."""
    nodes = [{"id": name, **attributes} for name, attributes in _nodes(graph)]
    links = [{"source": a, "target": b, "key": key, **attributes} for key, a, b, attributes in _keyed(graph)]
    lists = {"nodes": nodes, "links": links}
    body = [
        f'  "{name}": [\n' + ",\n".join(f"    {json.dumps(entry)}" for entry in entries) + "\n  ]"
        for name, entries in lists.items()
    ]
    whole = json.dumps(_whole(graph))
    return f'{{\n  "directed": false,\n  "multigraph": true,\n  "graph": {whole},\n' + ",\n".join(body) + "\n}\n"


def hpcc(graph: Graph, _config: TopologyConfig) -> str:
    """HPCC's topology text, or SimAI's, which names scale-up switches; no buffers, dimensions, costs or levels."""
    _one_npu_a_host(graph)
    return hpcc_text(graph)


def astra_sim(graph: Graph, config: TopologyConfig) -> str:
    """ASTRA-sim 2's analytical YAML: the network's dimensions, idealised; what is inside a fabric is lost."""
    dimensions, _ = analytical_dimensions(config, graph)
    columns = {
        "topology": [_VERSION_2_NAMES[dimension.topology] for dimension in dimensions],
        "npus_count": [str(dimension.npus) for dimension in dimensions],
        "bandwidth": [_number(dimension.bytes_per_ns / GIB_PER_NS) for dimension in dimensions],
        "latency": [_number(dimension.link_latency_ns) for dimension in dimensions],
    }
    return "".join(f"{key}: [{', '.join(values)}]\n" for key, values in columns.items())


Writer = Callable[[Graph, TopologyConfig], str]
WRITERS: Mapping[str, Writer] = {".graphml": graphml, ".json": node_link, ".txt": hpcc, ".yaml": astra_sim}
"""By the ending of the file to write."""


def export_text(graph: Graph, config: TopologyConfig, path: str | os.PathLike[str]) -> str:
    """Return a graph in the format of the file's ending; raises InputError if that can't be done."""
    suffix = Path(path).suffix
    refuse(suffix not in WRITERS, f"a network to export ends in {', '.join(WRITERS)}", path)
    return WRITERS[suffix](without_storage(without_reducers(graph)), config)


def _one_npu_a_host(graph: Graph) -> None:
    refuse(
        graph.npu_host != tuple(range(graph.hosts)),
        "this format has one NPU on each host, in order; the network has it otherwise",
    )


def _whole(graph: Graph) -> dict[str, list[int] | int]:
    """Return the attributes of the graph as a whole; a reader takes all NPUs in one dimension for granted."""
    several = {"dimensions": list(graph.dimensions)} if graph.dimensions != (len(graph.npu_host),) else {}
    return {**several, **({"inside_levels": graph.inside_levels} if graph.inside_levels else {})}


def _nodes(graph: Graph) -> list[tuple[str, dict[str, _Value]]]:
    _one_npu_a_host(graph)
    hosts: list[tuple[str, dict[str, _Value]]] = [(f"host{host}", {"kind": "host"}) for host in range(graph.hosts)]
    for switch in range(graph.switches):
        attributes: dict[str, _Value] = {"kind": "switch", "buffer": graph.switch_buffer_bytes[switch]}
        if graph.switch_names:
            attributes["label"] = graph.switch_names[switch]
        if graph.switch_levels:
            attributes["level"] = graph.switch_levels[switch]
        hosts.append((f"switch{switch}", attributes))
    return hosts


def _links(graph: Graph) -> list[tuple[str, str, dict[str, _Value]]]:
    names = [name for name, _ in _nodes(graph)]
    found = []
    for link in graph.links:
        attributes: dict[str, _Value] = {"rate": link.rate_bps, "delay": exact_time(link.delay_ps), "kind": link.kind}
        if link.error_rate:
            attributes["error_rate"] = link.error_rate
        if link.cost != 1:
            attributes["cost"] = link.cost
        found.append((names[link.a], names[link.b], attributes))
    return found


def _keyed(graph: Graph) -> list[tuple[int, str, str, dict[str, _Value]]]:
    """Links with a number that tells parallel ones apart, which NetworkX calls their key."""
    seen: dict[tuple[str, str], int] = {}
    keyed = []
    for a, b, attributes in _links(graph):
        pair = (min(a, b), max(a, b))
        seen[pair] = seen.get(pair, -1) + 1
        keyed.append((seen[pair], a, b, attributes))
    return keyed


def _data(where: str, attributes: Mapping[str, _Value], keys: dict[tuple[str, str], str]) -> str:
    parts = []
    for name, value in attributes.items():
        key = keys.setdefault((where, name), f"{where[0]}{len(keys)}")
        parts.append(f'<data key="{key}">{escape(str(value))}</data>')
    return "".join(parts)


def _type(
    name: str, nodes: list[tuple[str, dict[str, _Value]]], links: list[tuple[str, str, dict[str, _Value]]]
) -> str:
    every = [attributes for _, attributes in nodes] + [attributes for _, _, attributes in links]
    return next(_TYPES[type(attributes[name])] for attributes in every if name in attributes)


def _number(value: float) -> str:
    return repr(float(value))
