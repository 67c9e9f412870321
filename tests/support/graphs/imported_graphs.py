"""Networks of AI clusters as graph files that say nothing of levels, in the formats that users bring.

Shapes: Spectrum-X as SimAI draws it, a leaf for each rail of a pod of servers, spines above all; HPN (Qian et al.,
SIGCOMM 2024), two planes that meet at hosts only, a leaf for each rail and plane of a segment; a Clos of three levels.
Sizes are ours.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

RAILS = 8
_RATE = "400Gbps"
_SCALE_UP_RATE = "2400Gbps"
_DELAY = "0.0005ms"

Wire = tuple[int, int]


def spectrum_x(servers: int, servers_per_pod: int, spines: int = 8) -> str:
    """SimAI's text: 8 GPUs a server and an NVSwitch each, a leaf for each rail of a pod."""
    gpus, pods = servers * RAILS, -(-servers // servers_per_pod)
    first_leaf = gpus + servers
    first_spine = first_leaf + pods * RAILS
    inside = [(gpu, gpus + gpu // RAILS) for gpu in range(gpus)]
    outside = [(gpu, first_leaf + gpu // RAILS // servers_per_pod * RAILS + gpu % RAILS) for gpu in range(gpus)]
    up = [(leaf, first_spine + spine) for leaf in range(first_leaf, first_spine) for spine in range(spines)]
    nodes = first_spine + spines
    lines = [f"{nodes} {RAILS} {servers} {nodes - gpus - servers} {len(inside) + len(outside) + len(up)} H100"]
    lines.append(" ".join(str(switch) for switch in range(gpus, nodes)))
    lines += [f"{a} {b} {_SCALE_UP_RATE} 0.000025ms 0" for a, b in inside]
    lines += [f"{a} {b} {_RATE} {_DELAY} 0" for a, b in (*outside, *up)]
    return "\n".join(lines) + "\n"


def hpn(segments: int, servers: int, planes: int = 2, spines: int = 4) -> str:
    """GraphML: in each segment so many servers, a leaf for each rail and plane; spines of a plane join its leaves."""
    gpus = segments * servers * RAILS
    names = [f"gpu{number}" for number in range(gpus)]
    wires: list[tuple[str, str, str]] = []
    for number in range(gpus):
        server, rail = divmod(number, RAILS)
        wires.append((names[number], f"nvswitch{server}", _SCALE_UP_RATE))
        wires += [(names[number], f"tor{plane}.{server // servers}.{rail}", _RATE) for plane in range(planes)]
    for plane in range(planes):
        for segment in range(segments):
            wires += [(f"tor{plane}.{segment}.{rail}", f"agg{plane}.{spine}", _RATE)
                      for rail in range(RAILS) for spine in range(spines)]  # fmt: skip
    switches = sorted({end for wire in wires for end in wire[:2]} - set(names))
    return _graphml(names, switches, wires)


def clos(pods: int, edges: int, hosts_per_edge: int, aggregations: int, cores: int) -> str:
    """NetworkX's node-link JSON of three levels; its switches are numbered in no order of levels."""
    hosts = pods * edges * hosts_per_edge
    wires: list[Wire] = []
    switch = iter(range(hosts, 10**6))
    core = [next(switch) for _ in range(cores)]
    for pod in range(pods):
        low, high = ([next(switch) for _ in range(many)] for many in (edges, aggregations))
        first = pod * edges * hosts_per_edge
        wires += [(first + host, low[host // hosts_per_edge]) for host in range(edges * hosts_per_edge)]
        wires += [(edge, aggregation) for edge in low for aggregation in high]
        wires += [(aggregation, each) for aggregation in high for each in core]
    nodes = 1 + max(max(wire) for wire in wires)
    kinds = ["host" if node < hosts else "switch" for node in range(nodes)]
    links = [{"source": a, "target": b, "rate": _RATE, "delay": "500ns"} for a, b in wires]
    document = {"directed": False, "multigraph": False, "graph": {},
                "nodes": [{"id": node, "kind": kind} for node, kind in enumerate(kinds)], "links": links}  # fmt: skip
    return json.dumps(document)


def _graphml(hosts: Iterable[str], switches: Iterable[str], wires: Iterable[tuple[str, str, str]]) -> str:
    keys = [("kind", "node"), ("rate", "edge"), ("delay", "edge")]
    lines = ['<?xml version="1.0"?>', '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">']
    lines += [f'<key id="{name}" for="{of}" attr.name="{name}" attr.type="string"/>' for name, of in keys]
    lines.append('<graph edgedefault="undirected">')
    for kind, names in (("host", hosts), ("switch", switches)):
        lines += [f'<node id="{name}"><data key="kind">{kind}</data></node>' for name in names]
    lines += [
        f'<edge source="{a}" target="{b}"><data key="rate">{rate}</data><data key="delay">500ns</data></edge>'
        for a, b, rate in wires
    ]
    return "\n".join([*lines, "</graph>", "</graphml>", ""])
