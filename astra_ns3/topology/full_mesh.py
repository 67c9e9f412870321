"""A link between every two hosts."""

from __future__ import annotations

from itertools import combinations

from astra_ns3.config.topology.kinds import FullMesh
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.wiring import Wiring


def full_mesh(config: FullMesh) -> Graph:
    """Port p of host h leads to host p, or p + 1 from h on; there is no switch."""
    wiring = Wiring(config.npus)
    for a, b in combinations(range(config.npus), 2):
        wiring.join(a, b, config.link, "link")
    return wiring.graph(config)
