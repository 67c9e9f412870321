"""Transports checked on the shape of a network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.config.transports.base import TransportKeys
from astra_ns3.transport.check import check_transports
from astra_ns3.transport.network_outline import NetworkOutline
from astra_ns3.transport.transports import transports_on

Keys = TypeVar("Keys", bound=TransportKeys)


def transport_of(network: NetworkConfig, keys: type[Keys]) -> Keys | None:
    """The transport with keys of this model, if there is one."""
    return next((each for each in network.each_transport if isinstance(each, keys)), None)


def checked(
    network: NetworkConfig, shape: NetworkOutline, shapes: Mapping[str, NetworkOutline] | None = None
) -> list[str]:
    """What is warned of; ``shapes``: what the transport of a kind travels over."""
    return check_transports(network, shape, transports_on(network, shape, shapes))
