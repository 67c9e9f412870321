"""The numbers that a network runs with, as plain data: what its file says, and what it leaves to the program."""

from __future__ import annotations

from astra_ns3.config.core.plain import JsonObject
from astra_ns3.network.plan import AnyPlan, NetworkPlan


def in_force_document(plan: AnyPlan) -> JsonObject | None:
    """Numbers of each transport, of its congestion control, and of the switches' marking by rate.

    None without packets.
    """
    packets = plan.of_packets
    if packets is None:
        return None
    return {**{kind: each.in_force() for kind, each in packets.transports.items()}, "ecn": _marking(packets)}


def _marking(plan: NetworkPlan) -> list[JsonObject]:
    """Thresholds by rate of the port; switches that differ have rows of their own."""
    rows: dict[tuple[float, ...], JsonObject] = {}
    for switch in plan.shape.switches:
        for rate_bps in sorted({port.rate_bps for port in switch.ports}):
            ecn = switch.config.ecn_of(rate_bps)
            if ecn is not None:
                row = {"rate_bps": rate_bps, "kmin_bytes": ecn.kmin_bytes, "kmax_bytes": ecn.kmax_bytes}
                rows[(*row.values(), ecn.pmax)] = {**row, "pmax": ecn.pmax}
    return list(rows.values())
