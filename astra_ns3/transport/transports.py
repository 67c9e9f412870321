"""Transports by ``kind``. Where several pass a switch, its marking is that of the last one here."""

from __future__ import annotations

from collections.abc import Mapping

from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.transport.network_outline import NetworkOutline
from astra_ns3.transport.roce.roce import Roce
from astra_ns3.transport.tcp import Tcp
from astra_ns3.transport.transport import Transport

TRANSPORTS: Mapping[str, type[Transport]] = {each.kind: each for each in (Tcp, Roce)}


def transports_on(
    network: NetworkConfig, outline: NetworkOutline, outlines: Mapping[str, NetworkOutline] | None = None
) -> dict[str, Transport]:
    """Return the transports of a network by kind, in the order of :data:`TRANSPORTS`.

    ``outlines``: what the transport of a kind travels over, if not all of ``outline``. Raises InputError for what
    no network could carry.
    """
    keys = {each.kind: each for each in network.each_transport}
    return {
        kind: transport.on(keys[kind], (outlines or {}).get(kind, outline))
        for kind, transport in TRANSPORTS.items()
        if kind in keys
    }
