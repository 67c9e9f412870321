"""The rates of a network's lines over time, between its changes."""

from __future__ import annotations

from functools import lru_cache
from heapq import heappop, heappush

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
    changing = np.flatnonzero((rates != rates[:, :1]).any(axis=1))
    held = [_held(starts, rates[link], largest_bytes) for link in changing]
    edges = np.unique(np.concatenate([starts, *(times for times, _ in held)]))
    found = np.repeat(rates[:, :1], len(edges), axis=1)
    for link, (times, highest_of_link) in zip(changing, held, strict=True):
        found[link] = highest_of_link[np.searchsorted(times, edges, "right") - 1]
    return LineRates(edges, found)


def _held(starts_ns: Rates, rates: Rates, largest_bytes: int) -> tuple[Rates, Rates]:
    """Return from when on which rate holds on a link: the highest of those whose last frame hasn't ended."""
    first = np.flatnonzero(np.diff(rates, prepend=-1.0))
    begins, own = starts_ns[first], rates[first]
    ends = np.append(begins[1:], np.inf) + np.divide(largest_bytes, own, out=np.zeros(len(own)), where=own > 0)
    times = np.unique(np.concatenate([begins, ends[:-1]]))
    coming = list(zip(begins.tolist(), ends.tolist(), own.tolist(), strict=True))[::-1]
    holding, highest = list[tuple[float, float]](), np.zeros(len(times))
    for number, time in enumerate(times.tolist()):
        while coming and coming[-1][0] <= time:
            _, end, rate = coming.pop()
            heappush(holding, (-rate, end))
        while holding[0][1] <= time:
            heappop(holding)
        highest[number] = -holding[0][0]
    changed = np.flatnonzero(np.diff(highest, prepend=-1.0))
    return times[changed], highest[changed]
