"""A graph as some program wrote it: nodes and edges with whatever attributes they have, nothing checked yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from astra_ns3.errors import wrong
from astra_ns3.frozen import dataclass, field

GRAPH_KEYS = ("dimensions", "forwarding", "inside_levels")
"""The attributes of a graph as a whole: NPUs along each dimension, whether hosts forward, what is inside servers."""


class RawNode(NamedTuple):
    """A node; ``where`` names its place in the file in messages."""

    where: str
    name: str
    attributes: Mapping[str, object]


class RawLink(NamedTuple):
    """An edge between two named nodes; ``directed``: it says one way only."""

    where: str
    a: str
    b: str
    attributes: Mapping[str, object]
    directed: bool = False


@dataclass(frozen=True)
class RawGraph:
    """``says``: what the file says of the whole graph, of :data:`GRAPH_KEYS`, and where it stands."""

    source: str
    nodes: tuple[RawNode, ...]
    links: tuple[RawLink, ...]
    says: Mapping[str, tuple[str, object]] = field(default_factory=dict)

    def undirected(self) -> RawGraph:
        """Return the graph with one full-duplex link for each two edges that say the same of one way and of the other.

        Raises InputError for a directed edge that has no such counterpart.
        """
        if not any(link.directed for link in self.links):
            return self
        waiting: dict[tuple[str, str, str], list[int]] = {}
        kept: list[RawLink | None] = []
        for link in self.links:
            alike = repr(sorted(link.attributes.items(), key=lambda item: item[0]))
            back = waiting.get((link.b, link.a, alike)) if link.directed else None
            if back:
                place = back.pop(0)
                kept[place] = link._replace(a=link.b, b=link.a, where=self._first(kept, place), directed=False)
                continue
            if link.directed:
                waiting.setdefault((link.a, link.b, alike), []).append(len(kept))
            kept.append(link)
        links = tuple(link for link in kept if link is not None)
        alone = next((link for link in links if link.directed), None)
        if alone is not None:
            raise wrong(
                f"is directed, from '{alone.a}' to '{alone.b}', and no edge with the same attributes "
                "goes back; links work both ways, so write each as two such edges, or the graph as undirected",
                alone.where,
            )
        return RawGraph(self.source, self.nodes, links, self.says)

    @staticmethod
    def _first(kept: list[RawLink | None], place: int) -> str:
        found = kept[place]
        return found.where if found is not None else ""
