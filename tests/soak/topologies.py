"""Random topologies of every kind, small ones; switches are left as places that :mod:`soak.switches` fills."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

from soak.draw import Draw, split_of

RATES = ("10Gbps", "25Gbps", "40Gbps", "50Gbps", "100Gbps", "200Gbps", "400Gbps", "800Gbps")
ODD_RATES = ("37Gbps", "56Gbps", "106250Mbps", "333333333333bps")
"""Of which a byte takes no whole number of picoseconds."""
DELAYS = ("0ns", "25ns", "100ns", "500ns", "500ns", "1us", "3us")
PLACE_BYTES = 10**13
"""Buffer of the first place; the next has a byte more, and so on."""


@dataclass
class Parts:
    """Links and switches of one network. ``error_rate``: of some links; ``places``: one for each kind of switch."""

    draw: Draw
    error_rate: float = 0.0
    places: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rate = self.draw.pick(*ODD_RATES) if self.draw.chance(0.12) else self.draw.pick(*RATES)
        self.delay = self.draw.pick(*DELAYS)

    def link(self) -> dict[str, Any]:
        """A link, mostly of the network's usual rate."""
        changed = self.change()
        return {"rate": self.rate, "delay": self.delay, **changed}

    def change(self) -> dict[str, Any]:
        """What differs from the usual link, mostly nothing."""
        changes = self.draw.some(0.3, rate=self.draw.pick(*RATES), delay=self.draw.pick(*DELAYS))
        if self.error_rate and self.draw.chance(0.5):
            changes["error_rate"] = self.error_rate
        return changes

    def switch(self) -> dict[str, Any]:
        """A switch: a place to be filled."""
        place = {"buffer": PLACE_BYTES + len(self.places)}
        self.places.append(place)
        return place

    def other_switch(self, name: str) -> dict[str, Any]:
        """Now and then a switch of its own for another level."""
        return {name: self.switch()} if self.draw.chance(0.3) else {}

    def uplinks(self) -> dict[str, Any]:
        """As the links, or otherwise, or by oversubscription."""
        kind = self.draw.pick("same", "change", "ratio")
        if kind == "ratio" and self.rate in RATES:
            return {"oversubscription": float(self.draw.pick(1, 2, 4))}
        return {"uplink": self.change()} if kind == "change" else {}


Drawn = dict[str, Any]


def _single_switch(draw: Draw, parts: Parts) -> Drawn:
    per_host = draw.pick(1, 1, 1, 2)
    npus = per_host * draw.randint(2, 16 // per_host)
    return {"npus": npus, "npus_per_host": per_host, "link": parts.link(), "switch": parts.switch()}


def _leaf_spine(draw: Draw, parts: Parts) -> Drawn:
    sizes = {"leaves": draw.randint(2, 4), "spines": draw.randint(1, 4), "hosts_per_leaf": draw.randint(2, 4)}
    more = {"links_per_spine": 2} if draw.chance(0.2) else {}
    link, uplinks = parts.link(), parts.uplinks()
    if "oversubscription" in uplinks:  # rates that stay whole numbers
        link["rate"], sizes["spines"] = draw.pick(*RATES), draw.pick(1, 2, 4)
    return {**sizes, **more, "link": link, **uplinks, "switch": parts.switch(), **parts.other_switch("spine_switch")}


def _fat_tree(draw: Draw, parts: Parts) -> Drawn:
    npus = {"npus": draw.randint(5, 15)} if draw.chance(0.4) else {}
    link, uplinks = parts.link(), parts.uplinks()
    core = {"core": parts.change()} if draw.chance(0.3) else {}
    switches = {**parts.other_switch("aggregation_switch"), **parts.other_switch("core_switch")}
    return {"k": draw.pick(4, 4, 4, 2), **npus, "link": link, **uplinks, **core, "switch": parts.switch(), **switches}


def _fitting_fat_tree(draw: Draw, parts: Parts) -> Drawn:
    made = _fat_tree(draw, parts)
    if made["k"] == 2:
        made.pop("npus", None)
    if "oversubscription" in made:
        made["link"]["rate"] = draw.pick(*RATES)
    return made


def _clos(draw: Draw, parts: Parts) -> Drawn:
    levels = []
    for number in range(draw.randint(1, 3)):
        level = {"children": draw.pick(2, 3, 4) if number == 0 else draw.pick(2, 3), "link": parts.link()}
        level |= draw.some(0.4, parents=draw.pick(1, 2)) | draw.some(0.2, links=2)
        levels.append({**level, "switch": parts.switch()})
    return {"levels": levels}


def draw_scale_up(draw: Draw, parts: Parts, npus: int, *, shared: bool) -> Drawn:
    """What joins the NPUs of a server. ``shared``: they share NICs."""
    kind = draw.pick("switch", "switch", "ring") if shared else draw.pick("switch", "switch", "ring", "full-mesh")
    made: Drawn = {"kind": kind, "link": {**parts.link(), "rate": draw.pick("200Gbps", "800Gbps", "2400Gbps")}}
    if kind != "full-mesh":
        made["switch"] = parts.switch()
    if kind == "switch" and draw.chance(0.3):
        made["planes"] = 2
    if kind == "ring" and draw.chance(0.3):
        made["injection"] = {"rate": draw.pick(*RATES)}
    return made


def _hierarchical(draw: Draw, parts: Parts) -> Drawn:
    nodes, npus = draw.randint(2, 4), draw.pick(2, 4)
    nics = draw.pick(npus, npus, npus // 2)
    outside = _OUTSIDE[draw.pick(*_OUTSIDE)](draw, parts, nodes * nics)
    scale_up = draw_scale_up(draw, parts, npus, shared=nics < npus)
    made = {"nodes": nodes, "npus_per_node": npus, "scale_up": scale_up, "scale_out": outside}
    return {**made, "nics_per_node": nics} if nics < npus or draw.chance(0.3) else made


_OUTSIDE: Mapping[str, Callable[[Draw, Parts, int], Drawn]] = {
    "single-switch": lambda _, parts, ends: {"link": parts.link(), "switch": parts.switch()},
    "fat-tree": lambda _, parts, ends: {"kind": "fat-tree", "k": 4, "link": parts.link(), "switch": parts.switch()},
    "leaf-spine": lambda draw, parts, ends: {
        "kind": "leaf-spine",
        "leaves": ends if ends % 2 else ends // 2,
        "hosts_per_leaf": 1 if ends % 2 else 2,
        "spines": draw.randint(1, 2),
        "link": parts.link(),
        "switch": parts.switch(),
    },
    "ring": lambda _, parts, ends: {"kind": "ring", "link": parts.link(), "switch": parts.switch()},
    "dumbbell": lambda _, parts, ends: {
        "kind": "dumbbell",
        "left": ends // 2,
        "right": ends - ends // 2,
        "link": parts.link(),
        "switch": parts.switch(),
    },
}


def _rail_optimised(draw: Draw, parts: Parts) -> Drawn:
    nodes, npus = draw.pick(2, 4), draw.pick(2, 4)
    rails = {"nodes_per_leaf": nodes // 2} if draw.chance(0.4) else {}
    scale_up = draw_scale_up(draw, parts, npus, shared=False)
    made = {"nodes": nodes, "npus_per_node": npus, "scale_up": scale_up, **rails, "spines": draw.randint(1, 3)}
    return {**made, "link": parts.link(), "uplink": parts.change(), "switch": parts.switch()}


def _routers(draw: Draw, parts: Parts) -> Drawn:
    injection = {"injection": {"rate": draw.pick(*RATES)}} if draw.chance(0.3) else {}
    return {"link": parts.link(), **injection, "switch": parts.switch()}


def _grid(draw: Draw, parts: Parts) -> Drawn:
    return {
        "shape": draw.pick([2, 2], [3, 2], [3, 3], [4, 2], [4, 3], [2, 2, 2], [3, 2, 2], [5]),
        **_routers(draw, parts),
    }


def _dragonfly(draw: Draw, parts: Parts) -> Drawn:
    sizes = draw.pick(
        {"a": 2, "p": 1, "h": 1}, {"a": 2, "p": 2, "h": 1}, {"a": 3, "p": 1, "h": 1}, {"a": 2, "p": 1, "h": 2}
    )
    links = {"group_link": parts.change(), "global_link": parts.change()}
    return {**sizes, "link": parts.link(), **links, "switch": parts.switch()}


def _dumbbell(draw: Draw, parts: Parts) -> Drawn:
    sizes = {"left": draw.randint(1, 6), "right": draw.randint(1, 6)}
    return {**sizes, "link": parts.link(), "bottleneck": parts.change(), "switch": parts.switch()}


def _full_mesh(draw: Draw, parts: Parts) -> Drawn:
    return {"npus": draw.randint(2, 6), "link": parts.link()}


def _file(draw: Draw, parts: Parts) -> Drawn:
    return {"path": draw.pick("graph.txt", "graph.json"), "switch": parts.switch()}


KINDS: Mapping[str, Callable[[Draw, Parts], Drawn]] = {
    "single-switch": _single_switch,
    "leaf-spine": _leaf_spine,
    "fat-tree": _fitting_fat_tree,
    "clos": _clos,
    "hierarchical": _hierarchical,
    "rail-optimised": _rail_optimised,
    "ring": lambda draw, parts: {"npus": draw.randint(3, 8), **_routers(draw, parts)},
    "torus": _grid,
    "mesh": _grid,
    "full-mesh": _full_mesh,
    "dragonfly": _dragonfly,
    "dumbbell": _dumbbell,
    "file": _file,
}
OFTEN = ("leaf-spine", "fat-tree", "clos", "hierarchical")
"""Drawn three times as often as the others."""

FORWARDING = ("hierarchical", "rail-optimised", "full-mesh")
"""Kinds whose hosts have several links; a quarter of them forward."""


def draw_topology(draw: Draw, parts: Parts) -> Drawn:
    """A topology without routing and dimensions."""
    kind = draw.weighted({kind: 3.0 if kind in OFTEN else 1.0 for kind in KINDS})
    made = {"kind": kind, **KINDS[kind](draw, parts)}
    if kind in FORWARDING and draw.chance(0.25):
        made["forwarding"] = {"by": "hosts", "switch": parts.switch()}
    return made


def graph_text(draw: Draw, parts: Parts, path: str) -> str:
    """A graph for a file: three to five switches in a random tree, some links more, hosts on all of them."""
    switches, hosts = draw.randint(3, 5), draw.randint(4, 9)
    first = hosts
    ends = [(host, first + (host if host < switches else draw.randrange(switches)) % switches) for host in range(hosts)]
    ends += [(first + child, first + draw.randrange(child)) for child in range(1, switches)]
    for _ in range(draw.randint(0, 2)):
        a, b = draw.sample(range(switches), 2)
        ends.append((first + a, first + b))
    links = [(a, b, parts.link()) for a, b in ends]
    if path.endswith(".txt"):
        names = " ".join(str(first + switch) for switch in range(switches))
        rows = [f"{a} {b} {link['rate']} {link['delay']} {link.get('error_rate', 0)}" for a, b, link in links]
        return "\n".join([f"{hosts + switches} {switches} {len(links)}", names, *rows, ""])
    return _node_link(hosts, switches, links)


def _node_link(hosts: int, switches: int, links: list[tuple[int, int, dict[str, Any]]]) -> str:
    import json

    nodes = [{"id": node, "kind": "host" if node < hosts else "switch"} for node in range(hosts + switches)]
    edges = [{"source": a, "target": b, **link} for a, b, link in links]
    return json.dumps({"directed": False, "multigraph": True, "graph": {}, "nodes": nodes, "links": edges})


def draw_dimensions(draw: Draw, topology: Drawn, npus: int, *, several: bool) -> Drawn:
    """Now and then other dimensions than those that the wires suggest."""
    if npus < 4 or (not several and draw.chance(0.6)):
        return {}
    if "npus_per_node" in topology:
        return {
            "dimensions": [topology["npus_per_node"], *split_of(draw, npus // topology["npus_per_node"], several=False)]
        }
    dimensions = split_of(draw, npus, several=several)
    assert prod(dimensions) == npus
    return {"dimensions": dimensions}
