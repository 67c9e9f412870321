"""Nodes of several NPUs: a scale-up network inside each, a scale-out network over all of them.

Every NPU is a host. Its first port is its NIC, where it has one to itself; the others lead to its node. Shared NICs are
links of NIC rate from the node's scale-up switches outwards. Links outwards of a node count for more than any path
inside it. So NPUs of one node always talk over its own network, and only such paths are taken as are shortest outside.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np

from astra_ns3.config.topology.kinds import FlatTopology, Hierarchical, RailOptimised, ScaleUp
from astra_ns3.config.topology.switch import SwitchConfig
from astra_ns3.errors import wrong
from astra_ns3.topology.graph import MOST_COST, PCIE, SCALE_OUT, SCALE_UP_INJECTION, Graph, Link
from astra_ns3.topology.grids import grid_links
from astra_ns3.topology.wiring import Wiring


def hierarchical(config: Hierarchical, build: Callable[[FlatTopology], Graph]) -> Graph:
    """Switches of the scale-out network first, then those of node after node."""
    outside = build(config.scale_out)
    wiring = Wiring(config.npu_count())
    for switch in range(outside.switches):
        wiring.switch(outside.switch_configs[switch], outside.switch_levels[switch], outside.switch_names[switch])
    if config.shared:
        wiring.levels = [level + 1 for level in wiring.levels]
    on_scale_up = config.shared and not config.behind_pcie
    if config.behind_pcie:
        pcie = wiring.switches(config.nodes * config.nics, _pcie_switch(config, outside), 1, "pcie")
    inside = _Inside(wiring, config.scale_up, config.nodes, config.npus_per_node, 1 if on_scale_up else -1)

    def moved(node: int) -> int:
        """Where a node of the scale-out network is in the whole."""
        if node >= outside.hosts:
            return node - outside.hosts + config.npu_count()
        if not config.shared:
            return node
        if config.behind_pcie:
            return pcie + node
        box, nic = divmod(node, config.nics)
        return inside.outlet(box, nic, config.nics)

    for link in outside.links:
        nics = [end for end in sorted((link.a, link.b)) if end < outside.hosts]
        if config.shared and len(nics) == 2 and nics[0] // config.nics == nics[1] // config.nics:
            continue  # of one node, whose NPUs have its own network
        kind, cost = (SCALE_OUT, inside.outwards) if nics else (link.kind, link.cost)
        a, b = sorted((link.a, link.b)) if nics else (link.a, link.b)
        wiring.links.append(replace(link, a=moved(a), b=moved(b), kind=kind, cost=cost))
        for nic in nics if config.behind_pcie else ():
            _join_to_pcie(wiring, config, link, nic, pcie + nic, inside.outwards)
    inside.join()
    return wiring.graph(config, host_boxes=inside.boxes, inside_levels=int(config.shared))


def _pcie_switch(config: Hierarchical, outside: Graph) -> SwitchConfig:
    """Return the settings of PCIe switches: those of the first outside, or else of the nodes' own."""
    switch = outside.switch_configs[0] if outside.switches else config.scale_up.switch
    if switch is None:
        raise wrong("topology: PCIe switches are as others are, and there are none; expected scale_up of kind switch")
    return switch


def _join_to_pcie(wiring: Wiring, config: Hierarchical, link: Link, nic: int, switch: int, cost: int) -> None:
    """Join the NPUs next to a NIC to its PCIe switch; ``link``: the NIC's to the scale-out network."""
    sharing = config.npus_per_node // config.nics
    for npu in range(nic * sharing, (nic + 1) * sharing):
        wiring.links.append(replace(link, a=npu, b=switch, delay_ps=0, kind=PCIE, cost=cost))


def rail_optimised(config: RailOptimised) -> Graph:
    """Leaves of the first rail come first, then those of the next, then spines, then scale-up switches."""
    wiring = Wiring(config.npu_count())
    rails, segments = config.npus_per_node, config.nodes // config.leaf_nodes
    leaves = wiring.switches(rails * segments, config.switch, 1, "leaf")
    spines = wiring.switches(config.spines, config.spine_switch or config.switch, 2, "spine")
    inside = _Inside(wiring, config.scale_up, config.nodes, config.npus_per_node, -1)
    for npu in range(config.npu_count()):
        node, rail = divmod(npu, rails)
        leaf = leaves + rail * segments + node // config.leaf_nodes
        wiring.join(npu, leaf, config.link, SCALE_OUT, inside.outwards)
    uplink = config.uplink_link()
    for leaf in range(rails * segments):
        for spine in range(config.spines):
            wiring.join(leaves + leaf, spines + spine, uplink, "uplink")
    inside.join()
    return wiring.graph(config, host_boxes=inside.boxes)


class _Inside:
    """The scale-up networks of all nodes: their switches at once, their links when :meth:`join` is called."""

    def __init__(self, wiring: Wiring, scale_up: ScaleUp, nodes: int, npus: int, level: int) -> None:
        self._wiring, self._scale_up, self._nodes, self._npus = wiring, scale_up, nodes, npus
        self._per_node = {"switch": scale_up.planes, "ring": npus, "full-mesh": 0}[scale_up.kind]
        self._first = wiring.hosts + len(wiring.configs)
        name = "router" if scale_up.kind == "ring" else "scale-up"
        if scale_up.switch is not None:
            self._first = wiring.switches(nodes * self._per_node, scale_up.switch, level, name)

    @property
    def outwards(self) -> int:
        """The cost of a link out of a node: two of them are more than any path inside."""
        return (self._npus + 2) * max(self._costs.values(), default=1)

    @cached_property
    def _costs(self) -> dict[int, int]:
        """The cost of a pair by how many links it has.

        Paths have as few hops as they can; among these, as wide ones as they can. Similar numbers cost the same if a
        link outwards would cost too much else.
        """
        numbers = sorted({links for *_, links in self._scale_up.pairs or ()}, reverse=True)
        most = (MOST_COST // (self._npus + 2) + self._most_hops) // (self._most_hops + 1)
        ranks = max(1, min(len(numbers), most))
        near = self._most_hops * (ranks - 1) + 1
        return {links: near + index * ranks // len(numbers) for index, links in enumerate(numbers)}

    @cached_property
    def _most_hops(self) -> int:
        """The hops of the longest path over pairs, or the power of two above."""
        reached, hops = np.eye(self._npus, dtype=np.float32), 1
        for one, other, _ in self._scale_up.pairs or ():
            reached[one, other] = reached[other, one] = 1
        while ((further := np.minimum(reached @ reached, 1)) != reached).any():
            reached, hops = further, 2 * hops
        return hops

    @property
    def boxes(self) -> list[int]:
        """The node of each NPU."""
        return [npu // self._npus for npu in range(self._nodes * self._npus)]

    def outlet(self, box: int, nic: int, nics: int) -> int:
        """The switch of a node that carries shared NIC ``nic`` of ``nics``."""
        place = nic % self._per_node if self._scale_up.kind == "switch" else nic * (self._npus // nics)
        return self._first + box * self._per_node + place

    def join(self) -> None:
        """Draw all links inside nodes."""
        for box in range(self._nodes):
            self._join_node(box * self._npus, self._first + box * self._per_node)

    def _join_node(self, npu: int, switch: int) -> None:
        scale_up, npus = self._scale_up, self._npus
        if scale_up.kind == "switch":
            for index in range(npus):
                for plane in range(scale_up.planes):
                    self._wiring.join(npu + index, switch + plane, scale_up.link, "scale-up")
        elif scale_up.kind == "full-mesh":
            for one, other, links in scale_up.joined(npus):
                link = scale_up.link.model_copy(update={"rate_bps": scale_up.link.rate_bps * links})
                self._wiring.join(npu + one, npu + other, link, "scale-up", self._costs.get(links, 1))
        else:
            base = scale_up.link.model_copy(update={"delay_ps": 0, "error_rate": 0.0})
            injection = scale_up.injection.of(base, max(scale_up.npu_bps(npus), scale_up.link.rate_bps))
            for index in range(npus):
                self._wiring.join(npu + index, switch + index, injection, SCALE_UP_INJECTION)
            for one, other, _ in grid_links((npus,), wraps=True):
                self._wiring.join(switch + one, switch + other, scale_up.link, "scale-up")
