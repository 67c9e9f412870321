"""The grid of NPUs that a network configuration stands for on the analytical network."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from astra_ns3.config.network.analytical_network import AnalyticalNetwork
from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.config.topology.file import BITS_PER_BYTE_PER_NS
from astra_ns3.config.topology.switch import SwitchConfig
from astra_ns3.frozen import dataclass, replace
from astra_ns3.topology.files.analytical_grid import analytical_dimensions
from astra_ns3.topology.graph import Graph, Link
from astra_ns3.topology.nic_lines import NicLines, NicPort
from astra_ns3.topology.pair_delays import PairDelays, pair_delays


@dataclass(frozen=True)
class NpuGrid:
    """``network``, and of the dimension that stands for a fabric of switches what each pair's own path takes.

    ``fabric``: its number, or None if there is none; ``delays`` then has the delays between its places, which count
    instead of the links' latency. ``reducing``: the switches of the innermost dimension that reduce. ``port``: of the
    fabric, if NPUs share such; the bandwidth there is a line's then.
    """

    network: AnalyticalNetwork
    fabric: int | None = None
    delays: PairDelays | None = None
    reducing: tuple[SwitchConfig, ...] = ()
    port: NicPort | None = None

    def sharing(self, nics: NicLines | None) -> NpuGrid:
        """Return the grid in which NPUs share the whole lines of NICs, instead of a part of these for each."""
        port = None if nics is None else nics.port
        if port is None or self.fabric is None:
            return self
        grid, bytes_per_ns = list(self.network.grid), port.line_bps / BITS_PER_BYTE_PER_NS
        grid[self.fabric] = grid[self.fabric].model_copy(update={"bytes_per_ns": bytes_per_ns})
        return replace(self, network=self.network.model_copy(update={"grid": tuple(grid)}), port=port)

    @cached_property
    def graph(self) -> Graph:
        """A host for each NPU and each switch that reduces, and nothing between them."""
        npus, switches = self.network.npus, len(self.reducing)
        numbers = tuple(range(switches))
        return Graph(npus + switches, switches, (), tuple(range(npus)), switch_configs=self.reducing, reducers=numbers)


def npu_grid(config: NetworkConfig, graph: Graph, longest: Sequence[Link]) -> NpuGrid:
    """The ideal of a network's topology: full rate, no header, no queue but links.

    ``longest``: the links of a longest shortest path. Raises InputError for a topology that has no such grid.
    """
    grid, fabric = analytical_dimensions(config.topology, graph, longest)
    network = AnalyticalNetwork(grid=grid, observe=config.observe)
    if fabric is None:
        return NpuGrid(network)
    places = len(graph.npu_host) // grid[fabric].npus
    switches = graph.reducers if fabric > 0 and grid[0].topology == "switch" else ()
    reducing = tuple(graph.switch_configs[switch] for switch in switches)
    return NpuGrid(network, fabric, pair_delays(graph, graph.npu_host[::places]), reducing)
