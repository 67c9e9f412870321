"""Which nodes of a graph of another program are hosts, by the rule that the network file gives."""

from __future__ import annotations

from astra_ns3.config.core.link import LinkConfig
from astra_ns3.config.formats.graphs.completion import Hosts, HostsBeside, HostsByAttribute
from astra_ns3.config.formats.graphs.raw import RawGraph, RawLink, RawNode
from astra_ns3.errors import nearest, refuse, some_of, wrong
from astra_ns3.units import exact_time

HOST_LINKS = "host"
"""Class of the links to hosts that stand beside a file's nodes."""


def host_names(raw: RawGraph, rule: Hosts) -> frozenset[str]:
    """The names of the file's nodes that are hosts; raises InputError if the rule finds none where it should."""
    if isinstance(rule, HostsBeside):
        return frozenset()
    if isinstance(rule, HostsByAttribute):
        return _by_attribute(raw, rule)
    if rule == "all":
        return frozenset(node.name for node in raw.nodes)
    if rule == "leaves":
        return _leaves(raw)
    return _named(raw, rule)


def beside(raw: RawGraph, rule: Hosts | None) -> tuple[list[RawNode], list[RawLink]]:
    """Hosts that the file doesn't have, node after node, and their links."""
    if not isinstance(rule, HostsBeside):
        return [], []
    wire = {field.alias or name: getattr(rule, name) for name, field in LinkConfig.model_fields.items()}
    wire |= {"delay": exact_time(rule.delay_ps), "kind": HOST_LINKS}
    nodes, links = [], []
    for node in raw.nodes:
        for number in range(rule.beside):
            name = f"{node.name} host {number}"
            nodes.append(RawNode(node.where, name, {"kind": "host"}))
            links.append(RawLink(node.where, name, node.name, wire))
    return nodes, links


def _by_attribute(raw: RawGraph, rule: HostsByAttribute) -> frozenset[str]:
    wanted = {str(value) for value in rule.values}
    found = frozenset(
        node.name
        for node in raw.nodes
        if rule.attribute in node.attributes and str(node.attributes[rule.attribute]) in wanted
    )
    if not found:
        names = sorted({name for node in raw.nodes for name in node.attributes})
        values = sorted(
            {str(node.attributes[rule.attribute]) for node in raw.nodes if rule.attribute in node.attributes}
        )
        known = f"its values are {some_of(values)}" if values else f"nodes have {some_of(names) or 'no attributes'}"
        sought = f"'{rule.attribute}' equal to {' or '.join(sorted(wanted))}"
        raise wrong(f"no node has {sought}, so none is a host; {known}", raw.source)
    return found


def _leaves(raw: RawGraph) -> frozenset[str]:
    neighbours: dict[str, set[str]] = {node.name: set() for node in raw.nodes}
    for link in raw.links:
        neighbours.setdefault(link.a, set()).add(link.b)
        neighbours.setdefault(link.b, set()).add(link.a)
    found = frozenset(name for name, peers in neighbours.items() if len(peers) == 1)
    refuse(not found, "hosts are leaves, but no node has exactly one neighbour", raw.source)
    return found


def _named(raw: RawGraph, names: tuple[str, ...]) -> frozenset[str]:
    known = {node.name for node in raw.nodes}
    labels: dict[str, list[str]] = {}
    for node in raw.nodes:
        if "label" in node.attributes:
            labels.setdefault(str(node.attributes["label"]), []).append(node.name)
    found = set()
    for name in names:
        meant = [name] if name in known else labels.get(name, [])
        if len(meant) != 1:
            why = f"is the label of {len(meant)} nodes; use their ids" if meant else "is no node of it"
            raise wrong(f"host '{name}' {why}{'' if meant else nearest(name, [*known, *labels])}", raw.source)
        found.add(meant[0])
    return frozenset(found)
