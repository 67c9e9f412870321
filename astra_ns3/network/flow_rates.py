"""How the backend ``flow`` finds the rates of flows on a network."""

from __future__ import annotations

from astra_ns3.network.ideal.ways import routing_parts
from astra_ns3.network.plan import NetworkPlan


def meet_in_queues(plan: NetworkPlan) -> bool:
    """Return whether senders use all of their lines: flows then meet in queues, else they share lines at once."""
    held_back = any(each.flow_held_back for each in plan.transports.values())
    return not (held_back or windows_close(plan) or moves_bytes(plan) or routing_parts(plan))


def windows_close(plan: NetworkPlan) -> bool:
    """Return whether a window may hold back a sender: if it knows the run, one that all bytes of a pair may fill."""
    windows = [(each.window_bytes, each.window_of_path) for each in plan.transports.values() if each.window_bytes > 0]
    return any(of_path or plan.pair_bytes is None or plan.pair_bytes > window for window, of_path in windows)


def moves_bytes(plan: NetworkPlan) -> bool:
    """Return whether changes may move what waits in queues to other lines or delays, and not only change rates."""
    if plan.config.topology.routing.weighted:
        return bool(plan.changes)
    return any(set(each.state.named()) != {"rate_bps"} for each in plan.changes)
