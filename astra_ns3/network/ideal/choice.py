"""Which ideal belongs to a backend."""

from __future__ import annotations

from astra_ns3.config.core.compatibility import OURS, Compatibility
from astra_ns3.network.backends import Ideal, abilities_of
from astra_ns3.network.ideal.grid_ideal import later
from astra_ns3.network.plan import AnyPlan

_ENDPOINTS = 2


def ideal_of(plan: AnyPlan, backend: str, compatibility: Compatibility = OURS) -> Ideal | None:
    """From sources, destinations and sizes to what each message takes alone, in ps, with what NPUs spend on it.

    None: nobody knows, since the backend is a user's own.
    """
    alone = abilities_of(backend).ideal(plan, compatibility)
    if alone is None:
        return None
    endpoints_ps = _ENDPOINTS * plan.endpoint.delay_ps
    return lambda sources, destinations, sizes: later(alone(sources, destinations, sizes), endpoints_ps)
