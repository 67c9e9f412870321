"""Which ideal belongs to a backend."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from astra_ns3.config.core.compatibility import OURS, Compatibility
from astra_ns3.network.api import ANALYTICAL
from astra_ns3.network.ideal.grid import GridIdeal
from astra_ns3.network.ideal.packets import PacketIdeal
from astra_ns3.network.plan import AnyPlan, NetworkPlan

Numbers = npt.NDArray[np.int64]
Ideal = Callable[[npt.NDArray[np.int32], npt.NDArray[np.int32], Numbers], Numbers]
_ENDPOINTS = 2


def ideal_of(plan: AnyPlan, backend: str, compatibility: Compatibility = OURS) -> Ideal | None:
    """From sources, destinations and sizes to what each message takes alone, in ps, with what NPUs spend on it.

    None: nobody knows, since the backend is a user's own.
    """
    alone: Ideal
    if backend in ANALYTICAL:
        alone = GridIdeal(
            plan.grid,
            backend == "analytical-queues",
            compatibility.charge_highest_dimension,
            compatibility.charge_lowest_dimension,
            compatibility.truncate_delays,
            plan.endpoint.rendezvous_bytes,
        )
    elif backend == "ns3" and isinstance(plan, NetworkPlan):
        alone = PacketIdeal(plan)
    else:
        return None
    endpoints_ps = _ENDPOINTS * plan.endpoint.delay_ps
    return lambda sources, destinations, sizes: alone(sources, destinations, sizes) + endpoints_ps
