"""How the backend ``flow`` finds the rates of flows on a network."""

from __future__ import annotations

from astra_ns3.network.ideal.ways import routing_parts
from astra_ns3.network.plan import NetworkPlan


def meet_in_queues(plan: NetworkPlan) -> bool:
    """Return whether senders use all of their lines: flows then meet in queues, else they share lines at once."""
    held_back = any(each.flow_held_back or each.window_bytes > 0 for each in plan.transports.values())
    return not (held_back or moves_bytes(plan) or routing_parts(plan))


def moves_bytes(plan: NetworkPlan) -> bool:
    """Return whether changes may move what waits in queues to other lines or delays, and not only change rates."""
    if plan.config.topology.routing.weighted:
        return bool(plan.changes)
    return any(set(each.state.named()) != {"rate_bps"} for each in plan.changes)
