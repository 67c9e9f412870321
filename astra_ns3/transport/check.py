"""A network's transport against the rest of the network, whichever transport it is."""

from __future__ import annotations

from collections.abc import Mapping

from astra_ns3.config.network import NetworkConfig
from astra_ns3.transport.roce_check import check_roce
from astra_ns3.transport.shape import NetworkShape
from astra_ns3.transport.tcp import check_tcp


def check_transport(
    network: NetworkConfig, shape: NetworkShape, parts: Mapping[str, NetworkShape] | None = None
) -> list[str]:
    """Warnings about numbers that can't be meant, each one line; raises InputError for what is impossible.

    ``parts``: what the transport of a kind travels over, where that isn't all of ``shape``.
    """
    seen = {} if parts is None else parts
    warnings: list[str] = []
    if network.tcp is not None:
        warnings += check_tcp(network.tcp, seen.get("tcp", shape))
    if network.roce is not None:
        warnings += check_roce(network.roce, seen.get("roce", shape))
    return warnings
