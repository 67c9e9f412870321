"""How many hosts, switches and links a network will have, and what they take, from its description alone.

Nothing is built for it. The bytes were measured as resident memory, Python 3.11 on x86-64; tests measure them again.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from astra_ns3.config.core.model import ConfigModel
from astra_ns3.config.formats.plain_graph import PlainGraph
from astra_ns3.config.topology.direct import RouterTopology
from astra_ns3.config.topology.kinds import (
    Clos,
    Dragonfly,
    Dumbbell,
    FatTree,
    FileTopology,
    FullMesh,
    Hierarchical,
    LeafSpine,
    RailOptimised,
    ScaleUp,
    SingleSwitch,
    SwitchConfig,
    TopologyBase,
)
from astra_ns3.memory import require_memory

BYTES_PER_LINK = 640
"""A link of a Graph with its two ports, their columns in ``adjacency``, and its share of hosts and switches."""
BYTES_PER_ROUTE = 6
"""The entry of one node for one group of hosts, in ``routes.py``: a distance, a set of ports unless many nodes share
it."""
BYTES_PER_COST = 9
"""The entry of one switch for one group of hosts, in ``costs_and_links``."""


class Counts(NamedTuple):
    """Counts of a whole network; a link is counted once."""

    hosts: int
    switches: int
    links: int


def count_network(config: TopologyBase) -> Counts | None:
    """The counts of a network; None for a kind that isn't known here, or is a grid in a file.

    Every host counts as one that forwards if any may: one with a single link doesn't, and is less. So does every switch
    inside nodes, and every one outside, count as one that reduces, by a host of its own, if any there does, and but in
    a leaf-spine as one with a rack's storage.
    """
    counts = _count_storing(config)
    if counts is None or not _reduces(config):
        return counts
    reducers = _count_reducers(config, counts.switches)
    return Counts(counts.hosts + reducers, counts.switches, counts.links + reducers)


def _count_reducers(config: TopologyBase, switches: int) -> int:
    """Return the switches that reduce, of a network with so many in which any does."""
    if not isinstance(config, Hierarchical):
        return switches
    inside, _ = _inside(config.scale_up, config.nodes, config.npus_per_node)
    return _reduces(config.scale_up) * inside + _reduces(config.scale_out) * (switches - inside)


def _count_storing(config: TopologyBase) -> Counts | None:
    """Return the counts with storage hosts and without reducers."""
    counts, said = _count_inner(config), config.storage
    if counts is None or said is None:
        return counts
    if said.per == "node":
        places = config.nodes if isinstance(config, Hierarchical | RailOptimised) else counts.hosts
        return Counts(counts.hosts + places * said.count, counts.switches, counts.links + counts.hosts * said.count)
    racks = config.leaves if isinstance(config, LeafSpine) else counts.switches
    more = said.count * (racks if said.per == "rack" else 1)
    return Counts(counts.hosts + more, counts.switches, counts.links + more)


def _count_inner(config: TopologyBase) -> Counts | None:
    """Return the counts without reducers and storage hosts."""
    counts = _count_wires(config)
    if counts is None or config.forwards() is None:
        return counts
    return Counts(counts.hosts, counts.switches + counts.hosts, counts.links + counts.hosts)


def _reduces(config: ConfigModel) -> bool:
    """Return whether any switch of a network's description reduces."""
    if isinstance(config, SwitchConfig):
        return config.reduction is not None
    parts = (part for _, value in config for part in (value if isinstance(value, tuple) else (value,)))
    return any(isinstance(part, ConfigModel) and _reduces(part) for part in parts)


def _count_wires(config: TopologyBase) -> Counts | None:
    match config:
        case SingleSwitch():
            return Counts(config.hosts, 1, config.hosts)
        case LeafSpine():
            uplinks = config.leaves * config.spines * config.links_per_spine
            return Counts(config.npu_count(), config.leaves + config.spines, config.npu_count() + uplinks)
        case FatTree():
            half = config.k // 2
            return Counts(config.npus, config.k * config.k + half * half, config.npus + 2 * config.k * half * half)
        case Clos():
            return _clos(config)
        case Dumbbell():
            return Counts(config.npu_count(), 2, config.npu_count() + 1)
        case FullMesh():
            return Counts(config.npus, 0, config.npus * (config.npus - 1) // 2)
        case Dragonfly():
            routers, groups = config.groups * config.a, config.groups
            inside, across = routers * (config.a - 1) // 2, groups * (groups - 1) // 2
            return Counts(config.npu_count(), routers, config.npu_count() + inside + across)
        case RouterTopology():
            shape = config.grid()
            npus = prod(shape)
            along = sum(npus // size * (size if config.wraps() and size > 2 else size - 1) for size in shape)
            return Counts(npus, npus, npus + along)
        case RailOptimised():
            leaves = config.npus_per_node * (config.nodes // config.leaf_nodes)
            inside_switches, inside_links = _inside(config.scale_up, config.nodes, config.npus_per_node)
            switches = leaves + config.spines + inside_switches
            return Counts(config.npu_count(), switches, config.npu_count() + leaves * config.spines + inside_links)
        case Hierarchical():
            outside = _count_inner(config.scale_out)
            inside_switches, inside_links = _inside(config.scale_up, config.nodes, config.npus_per_node)
            return outside and Counts(
                config.npu_count(), outside.switches + inside_switches, outside.links + inside_links
            )
        case FileTopology():
            content = config.content()
            if isinstance(content, PlainGraph):
                return Counts(len(content.hosts), len(content.nodes) - len(content.hosts), len(content.links))
    return None


def check_network_fits(config: TopologyBase) -> None:
    """Raise InputError, with the estimate, for a network that memory can't hold."""
    counts = count_network(config)
    if counts is not None:
        require_memory(
            f"a network of {counts.hosts} hosts, {counts.switches} switches and {counts.links} links",
            counts.links * BYTES_PER_LINK,
            "look at its counts",
        )


def check_routes_fit(nodes: int, ports: int, groups: int, bytes_each: int) -> None:
    """Raise InputError if memory can't hold something for each of ``nodes`` and each of ``groups`` of hosts.

    ``ports``: those of the nodes, over each of which a bit for every group is passed on.
    """
    require_memory(
        f"the routes of {nodes} nodes to {groups} groups of hosts",
        groups * (nodes * bytes_each + ports // 8),
        "use a smaller network, or one in which more hosts share a switch",
    )


def _clos(config: Clos) -> Counts:
    switches = links = 0
    for number, level in enumerate(config.levels):
        low = prod(lower.parents for lower in config.levels[:number])
        high = prod(upper.children for upper in config.levels[number + 1 :])
        switches += low * level.parents * high
        links += low * level.children * high * level.parents * level.links
    return Counts(config.npu_count(), switches, links)


def _inside(scale_up: ScaleUp, nodes: int, npus: int) -> tuple[int, int]:
    """Switches and links inside all nodes."""
    if scale_up.kind == "switch":
        return nodes * scale_up.planes, nodes * npus * scale_up.planes
    if scale_up.kind == "full-mesh":
        return 0, nodes * (len(scale_up.pairs) if scale_up.pairs else npus * (npus - 1) // 2)
    return nodes * npus, nodes * (npus + (npus if npus > 2 else npus - 1))
