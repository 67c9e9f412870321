"""The grid of NPUs that a network configuration stands for on the analytical network."""

from __future__ import annotations

from astra_ns3.config.analytical import AnalyticalDimension, AnalyticalNetwork
from astra_ns3.config.network import NetworkConfig
from astra_ns3.config.network_file import AnyNetwork
from astra_ns3.errors import InputError
from astra_ns3.units import PS_PER_NS, PS_PER_SECOND

_BITS = 8


def analytical_network(config: AnyNetwork) -> AnalyticalNetwork:
    """``config`` itself if it is analytical, else the ideal of its topology: full rate, no header, no queue but links.

    Raises InputError for a topology that has no such grid.
    """
    if isinstance(config, AnalyticalNetwork):
        return config
    return AnalyticalNetwork(grid=_grid(config), observe=config.observe)


def _grid(config: NetworkConfig) -> tuple[AnalyticalDimension, ...]:
    topology = config.topology
    if topology.kind != "single-switch":
        raise InputError(f"topology '{topology.kind}' has no analytical network yet; single-switch has")
    if topology.npus_per_host > 1:
        raise InputError("the analytical network has one NPU per host; found npus_per_host above 1")
    return (
        AnalyticalDimension(
            topology="switch",
            npus=topology.npus,
            bytes_per_ns=topology.link.rate_bps / _BITS / (PS_PER_SECOND / PS_PER_NS),
            link_latency_ns=topology.link.delay_ps / PS_PER_NS,
        ),
    )
