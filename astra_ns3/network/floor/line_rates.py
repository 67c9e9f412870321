"""The rates of a network's lines over time, between its changes."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from astra_ns3.frozen import dataclass
from astra_ns3.network.plan import NetworkPlan
from astra_ns3.topology.changes import states_in_time
from astra_ns3.transport.lossless import largest_wire_bytes
from astra_ns3.units import PS_PER_NS

Rates = npt.NDArray[np.float64]
# Of all links and stretches together. If there were more, the highest rate in several stretches counts for all of them.
_MOST_NUMBERS = 1 << 22


@dataclass(frozen=True, eq=False)
class LineRates:
    """Bytes per nanosecond that each link carries one way at most, shape ``(links, stretches)``.

    A stretch lasts from its entry of ``starts_ns`` to the next.
    """

    starts_ns: Rates
    bytes_per_ns: Rates


@lru_cache(maxsize=1)
def line_rates(plan: NetworkPlan) -> LineRates:
    """Return the rates of a network's links: 0 while a link is down.

    A link whose rate falls sends the frame that it has begun to its end. So the higher rate holds for as long as the
    largest frame takes at this rate.
    """
    states = states_in_time(plan.graph, plan.changes)
    step = max(1, -(-len(states) * len(plan.graph.links) // _MOST_NUMBERS))
    groups = [states[first : first + step] for first in range(0, len(states), step)]
    starts = np.array([group[0][0] for group in groups]) / PS_PER_NS
    highest = [
        np.max([[link.rate_bps * link.up for link in graph.links] for _, graph in group], axis=0) for group in groups
    ]
    rates = np.array(highest).T / 8e9
    largest_bytes = largest_wire_bytes(plan.transports.values())
    frame_ns = np.divide(largest_bytes, rates, out=np.zeros(rates.shape), where=rates > 0)
    ends = np.append(starts[1:], np.inf) + frame_ns
    edges = np.unique(np.concatenate([starts, ends[:, :-1][rates[:, :-1] > rates[:, 1:]]]))
    found = np.zeros((len(rates), len(edges)))
    for start, end, rate in zip(starts, ends.T, rates.T, strict=True):
        columns = slice(*np.searchsorted(edges, (start, end.max(initial=start))))
        held = np.where(edges[columns] < end[:, None], rate[:, None], 0.0)
        np.maximum(found[:, columns], held, out=found[:, columns])
    return LineRates(edges, found)
