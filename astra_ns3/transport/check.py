"""A network's transport against the rest of the network, whichever transport it is."""

from __future__ import annotations

from astra_ns3.config.network import NetworkConfig
from astra_ns3.config.roce import RoceTransport
from astra_ns3.transport.roce_check import check_roce
from astra_ns3.transport.shape import NetworkShape
from astra_ns3.transport.tcp import check_tcp


def check_transport(network: NetworkConfig, shape: NetworkShape) -> list[str]:
    """Warnings about numbers that can't be meant, each one line; raises InputError for what is impossible."""
    if isinstance(network.transport, RoceTransport):
        return check_roce(network.transport, shape)
    return check_tcp(network.transport, shape)
