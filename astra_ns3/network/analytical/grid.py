"""The grid of NPUs that a network configuration stands for on the analytical network."""

from __future__ import annotations

from astra_ns3.config.analytical import AnalyticalNetwork
from astra_ns3.config.network_file import AnyNetwork
from astra_ns3.topology.files.analytical_grid import analytical_dimensions
from astra_ns3.topology.registry import build_graph


def analytical_network(config: AnyNetwork) -> AnalyticalNetwork:
    """``config`` itself if it is analytical, else the ideal of its topology: full rate, no header, no queue but links.

    Raises InputError for a topology that has no such grid.
    """
    if isinstance(config, AnalyticalNetwork):
        return config
    grid = analytical_dimensions(config.topology, build_graph(config.topology))
    return AnalyticalNetwork(grid=grid, observe=config.observe)
