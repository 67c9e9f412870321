"""A graph as a user's file has it: nodes with names, links with attributes. Every graph format is read into this."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import prod
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le
from pydantic import Field, Strict

from astra_ns3.config.core.document import Document
from astra_ns3.config.core.link import LinkConfig
from astra_ns3.config.core.model import ConfigModel, PositiveBytes, shown, validated
from astra_ns3.errors import refuse, wrong
from astra_ns3.frozen import dataclass

MOST_NODES = 1_000_000
MOST_LINKS = 2_000_000


class PlainNode(ConfigModel):
    """A host or a switch; a switch's ``buffer`` and ``level`` may be left out."""

    kind: Literal["host", "switch"]
    buffer_bytes: PositiveBytes | None = Field(alias="buffer", default=None)
    label: str | None = None
    level: Annotated[int, Strict(), Ge(-1), Le(100)] | None = None


class PlainLink(LinkConfig):
    """One link; ``kind`` is its class, ``cost`` what a shortest path counts for it."""

    kind: str = "link"
    cost: Annotated[int, Strict(), Gt(0), Le(1_000_000)] = 1


LINK_KEYS = tuple(field.alias or name for name, field in PlainLink.model_fields.items())
"""The keys of a link in a file of ours."""


@dataclass(frozen=True)
class PlainGraph:
    """``ends`` has the two nodes, by their place in ``nodes``, of each of ``links``; ``names`` are the file's own.

    ``dimensions``: NPUs along each logical dimension, the innermost first; empty if the file doesn't say.
    ``forwards``: whether the file says that hosts pass on packets that aren't theirs. ``inside_levels``: switches up to
    this level are inside servers.
    """

    source: str
    names: tuple[str, ...]
    nodes: tuple[PlainNode, ...]
    ends: tuple[tuple[int, int], ...]
    links: tuple[PlainLink, ...]
    dimensions: tuple[int, ...] = ()
    forwards: bool = False
    inside_levels: int = 0

    @property
    def hosts(self) -> tuple[int, ...]:
        """Places of the hosts: NPU r is on the r-th."""
        return tuple(index for index, node in enumerate(self.nodes) if node.kind == "host")


class GraphMaker:
    """Collects nodes and links from a reader, and checks each as it comes."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._place: dict[str, int] = {}
        self._nodes: list[PlainNode] = []
        self._ends: list[tuple[int, int]] = []
        self._links: list[PlainLink] = []
        self._dimensions: tuple[int, ...] = ()
        self._forwards = False
        self._inside_levels = 0
        self._same: dict[tuple[tuple[str, object], ...], PlainLink] = {}

    def node(self, where: str, name: str, attributes: Mapping[str, object]) -> None:
        """Add a node; ``where`` names it in messages."""
        if name in self._place:
            raise wrong("stands twice", where)
        if len(self._nodes) == MOST_NODES:
            raise wrong(f"more than {MOST_NODES} nodes", self._source)
        self._place[name] = len(self._nodes)
        self._nodes.append(validated(PlainNode, Document(where, dict(attributes))))

    def link(self, where: str, a: str, b: str, attributes: Mapping[str, object]) -> None:
        """Add a link between two nodes that may come later."""
        for end in (a, b):
            if end not in self._place:
                raise wrong(f"there is no node '{end}'", where)
        if a == b:
            raise wrong(f"joins node '{a}' to itself", where)
        if len(self._links) == MOST_LINKS:
            raise wrong(f"more than {MOST_LINKS} links", self._source)
        key = tuple(sorted((name, repr(value)) for name, value in attributes.items()))
        found = self._same.get(key)
        if found is None:
            found = self._same[key] = validated(PlainLink, Document(where, dict(attributes)))
        self._ends.append((self._place[a], self._place[b]))
        self._links.append(found)

    def dimensions(self, where: str, found: object) -> None:
        """Set the dimensions, given as a list of numbers or as text with blanks between them."""
        listed = found.split() if isinstance(found, str) else found
        entries = [str(entry) for entry in listed] if isinstance(listed, list) else []
        if not entries or not all(re.fullmatch("[1-9][0-9]{0,6}", entry) for entry in entries):
            raise wrong(f"dimensions are {shown(found)}, expected numbers, 1 or more each", where)
        self._dimensions = tuple(int(entry) for entry in entries)

    def forwarding(self, where: str, found: object) -> None:
        """Set whether hosts forward: ``hosts``."""
        refuse(found != "hosts", f"forwarding is {shown(found)}, allowed: hosts", where)
        self._forwards = True

    def inside_levels(self, where: str, found: object) -> None:
        """Set the highest level of switches inside servers, a number or its text."""
        if re.fullmatch("[0-9]{1,3}", str(found)) is None:
            raise wrong(f"inside_levels is {shown(found)}, expected a whole number, 0 or more", where)
        self._inside_levels = int(str(found))

    def graph(self) -> PlainGraph:
        """All that came."""
        graph = PlainGraph(
            self._source,
            tuple(self._place),
            tuple(self._nodes),
            tuple(self._ends),
            tuple(self._links),
            self._dimensions,
            self._forwards,
            self._inside_levels,
        )
        refuse(not graph.hosts, "has no node of kind host", self._source)
        refuse(
            bool(self._dimensions and prod(self._dimensions) != len(graph.hosts)),
            f"dimensions {list(self._dimensions)} make {prod(self._dimensions)} NPUs, not {len(graph.hosts)}",
            self._source,
        )
        return graph


def known_only(where: str, found: Sequence[str], allowed: Sequence[str]) -> None:
    """Raise InputError for the first key that isn't allowed."""
    for key in found:
        if key not in allowed:
            raise wrong(f"unknown key '{key}'; allowed: {', '.join(allowed)}", where)
