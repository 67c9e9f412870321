"""Two switches with hosts, one link between them."""

from __future__ import annotations

from astra_ns3.config.topology.kinds import Dumbbell
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.wiring import Wiring


def dumbbell(config: Dumbbell) -> Graph:
    """Hosts on the left first; the bottleneck is the last port of either switch."""
    wiring = Wiring(config.npus)
    first = wiring.switches(2, config.switch, 1, "switch")
    for host in range(config.npus):
        wiring.join(host, first + (host >= config.left), config.link, "link")
    wiring.join(first, first + 1, config.bottleneck.of(config.link), "bottleneck")
    return wiring.graph(config)
