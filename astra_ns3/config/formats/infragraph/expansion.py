"""Every component of every instance, and every edge between two, of an InfraGraph file.

Names are those of its service: ``host.0.nic.3``. Like there, edges between the same two are one, the last one's link
holds, and what joins a component to itself is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product

from astra_ns3.config.formats.infragraph.keys import Component, Device, Edge, Infrastructure, Link
from astra_ns3.config.formats.plain_graph import MOST_LINKS, MOST_NODES
from astra_ns3.errors import nearest, refuse, required, wrong

_PART = re.compile(
    r"(?P<name>[^\[\].]+)(?:\[(?P<start>\d{0,7})(?P<slice>:(?P<stop>\d{0,7})(?::(?P<step>\d{1,7}))?)?\])?", re.ASCII
)
MOST_DEPTH = 20
"""Devices inside devices."""


@dataclass
class Expanded:
    """``types`` of components by name, in the order of instances; ``edges``: the link, and whether inside a device."""

    types: dict[str, str] = field(default_factory=dict)
    edges: dict[tuple[str, str], tuple[Link, bool]] = field(default_factory=dict)


class Expansion:
    """Expands one file; every error names it."""

    def __init__(self, source: str, infrastructure: Infrastructure) -> None:
        self._source, self._whole = source, infrastructure
        self._devices: Mapping[str, Device] = {device.name: device for device in infrastructure.devices}
        self._found = Expanded()

    def expanded(self) -> Expanded:
        """All components and edges; raises InputError for what isn't there or is too much."""
        for instance in self._whole.instances:
            for number in range(instance.count):
                self._place(f"{instance.name}.{number}", instance.device, 0)
        links = {link.name: link for link in self._whole.links}
        for number, edge in enumerate(self._whole.edges):
            where = f"{self._source}: edges[{number}]"
            ends = [self._outside(where, end.instance, end.component) for end in (edge.ep1, edge.ep2)]
            self._join(where, edge, ends, links, inside=False)
        return self._found

    def _place(self, prefix: str, name: str, depth: int) -> None:
        """One device's components and edges, and those of devices in it."""
        device = self._device(self._source, name)
        refuse(depth > MOST_DEPTH, f"device '{name}' stands in itself, or more than {MOST_DEPTH} deep", self._source)
        for component in device.components:
            for number in range(component.count):
                inner = f"{prefix}.{component.name}.{number}"
                if component.choice == "device":
                    self._place(inner, component.name, depth + 1)
                    continue
                refuse(len(self._found.types) == MOST_NODES, f"has more than {MOST_NODES} components", self._source)
                self._found.types[inner] = component.custom.type if component.custom else component.choice
        links = {link.name: link for link in device.links}
        for number, edge in enumerate(device.edges):
            where = f"{self._source}: device '{name}': edges[{number}]"
            ends = [
                [
                    f"{prefix}.{path}"
                    for path in self._paths(
                        where, device, f"{end.device}.{end.component}" if end.device else end.component
                    )
                ]
                for end in (edge.ep1, edge.ep2)
            ]
            self._join(where, edge, ends, links, inside=True)

    def _outside(self, where: str, named: str | None, component: str) -> list[str]:
        """Components of instances."""
        if named is None:
            raise wrong("an end has no 'instance'", where)
        name, numbers = self._part(where, named)
        known = {instance.name: instance for instance in self._whole.instances}
        if name not in known:
            raise wrong(f"there is no instance '{name}'{nearest(name, known)}", where)
        instance = known[name]
        paths = self._paths(where, self._device(where, instance.device), component)
        places = self._chosen(where, named, numbers, instance.count)
        return [f"{name}.{number}.{path}" for number in places for path in paths]

    def _paths(self, where: str, device: Device, said: str) -> list[str]:
        """Components of a device, ``cx5[0:2].port[0]``, as ``cx5.0.port.0`` and so on."""
        paths = [""]
        for text in said.split("."):
            name, numbers = self._part(where, text)
            components: Mapping[str, Component] = {each.name: each for each in device.components}
            if name not in components:
                raise wrong(f"device '{device.name}' has no component '{name}'{nearest(name, components)}", where)
            component = components[name]
            places = self._chosen(where, text, numbers, component.count)
            paths = [f"{path}{'.' if path else ''}{name}.{place}" for path in paths for place in places]
            if component.choice == "device":
                device = self._device(where, name)
        return paths

    def _part(self, where: str, text: str) -> tuple[str, re.Match[str]]:
        match = required(
            _PART.fullmatch(text.strip()), f"found '{text}', expected a name and a slice, such as nic[0:4]", where
        )
        return match["name"], match

    def _chosen(self, where: str, text: str, match: re.Match[str], count: int) -> range:
        """The numbers that a slice takes of ``count``."""
        start, stop = match["start"], match["stop"]
        if start and match["slice"] is None:
            chosen = range(int(start), int(start) + 1)
        else:
            chosen = range(int(start or 0), int(stop) if stop else count, int(match["step"] or 1) or 1)
        if chosen and max(chosen) >= count:
            raise wrong(f"'{text}' goes to {max(chosen)}, but there are {count}, from 0 on", where)
        return chosen

    def _device(self, where: str, name: str) -> Device:
        if name not in self._devices:
            raise wrong(f"there is no device '{name}'{nearest(name, self._devices)}", where)
        return self._devices[name]

    def _join(self, where: str, edge: Edge, ends: list[list[str]], links: Mapping[str, Link], *, inside: bool) -> None:
        refuse(edge.scheme == "ring", "scheme ring is not read, expected one2one or many2many", where)
        if edge.link not in links:
            raise wrong(f"there is no link '{edge.link}'{nearest(edge.link, links)}", where)
        one, other = ends
        pairs: Iterable[tuple[str, str]] = product(one, other)
        if edge.scheme == "one2one":
            pairs = zip(one, other, strict=False)
        for a, b in pairs:
            if a == b:
                continue
            refuse(len(self._found.edges) == MOST_LINKS, f"has more than {MOST_LINKS} edges", self._source)
            self._found.edges[(a, b) if a < b else (b, a)] = links[edge.link], inside
