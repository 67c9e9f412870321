"""The counters of each port of a network, as arrays: rows are made when they are asked for.

A network of 65,536 hosts has 393,216 ports, and a run's child tells its parent several times what they have done.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from astra_ns3.frozen import dataclass
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.ports import port_name

_Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PortRows(Sequence[Mapping[str, str | int]]):
    """A row for each port: its name, that of what its link leads to, and its counters by their names.

    ``ends``: node, port and the node beyond of each port; ``counters``, shape ``(ports, names)``, what was counted.
    """

    hosts: int
    ends: _Numbers
    names: Sequence[str]
    counters: _Numbers

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, index: int) -> Mapping[str, str | int]:  # type: ignore[override]  # nobody cuts pieces out
        return self._row(self.ends[index].tolist(), self.counters[index].tolist())

    def __iter__(self) -> Iterator[Mapping[str, str | int]]:
        return map(self._row, self.ends.tolist(), self.counters.tolist())

    def _row(self, end: Sequence[int], counters: Sequence[int]) -> Mapping[str, str | int]:
        node, port, peer = end
        beyond = f"host{peer}" if peer < self.hosts else f"switch{peer - self.hosts}"
        counted = dict(zip(self.names, counters, strict=True))
        return {"port": port_name(self.hosts, node, port), "link_to": beyond, **counted}


def port_ends(graph: Graph) -> _Numbers:
    """Return node, port and the node beyond of every port, hosts first."""
    adjacency = graph.adjacency
    counts = np.diff(adjacency.offsets)
    node = np.repeat(np.arange(graph.nodes), counts)
    port = np.arange(len(node)) - np.repeat(adjacency.offsets[:-1], counts)
    return np.column_stack((node, port, adjacency.peers)).astype(np.int64)
