"""The time of a message alone on a network that changes.

A message alone is sent at the pace that each state of the network gives it, and stands while no way leads on. If none
ever does, it has the time of the network as it was built.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import chain, pairwise

import numpy as np
import numpy.typing as npt

from astra_ns3.config.core.compatibility import OURS, Compatibility
from astra_ns3.frozen import replace
from astra_ns3.network.backends import Ideal
from astra_ns3.network.ideal.choice import ENDPOINTS, alone_of
from astra_ns3.network.ideal.grid_ideal import Numbers, later
from astra_ns3.network.plan import AnyPlan, NetworkPlan
from astra_ns3.topology.changes import Epoch, State

Nodes = npt.NDArray[np.int32]
IdealInTime = Callable[[Nodes, Nodes, Numbers, Numbers], Numbers]
"""From sources, destinations, sizes and starts to the time alone, all times in ps."""
_OF_TIMES = frozenset({"up", "rate_bps", "delay_ps"})
_FOREVER_PS = 2**62
# Messages that are asked for together may have started in several epochs; for older ones all are worked out again.
_KEPT = 1024


def ideal_in_time(plan: AnyPlan, backend: str, compatibility: Compatibility = OURS) -> IdealInTime | None:
    """Return what messages take alone, with what NPUs spend on it; None: nobody knows, as of a user's own backend."""
    alone = alone_of(plan, backend, compatibility)
    if alone is None:
        return None
    endpoints_ps, packets = ENDPOINTS * plan.endpoint.delay_ps, plan.of_packets
    if packets is None or not any(_changes_times(each.state) for each in packets.changes):
        return lambda sources, destinations, sizes, _: later(alone(sources, destinations, sizes), endpoints_ps)
    return _Changing(packets, alone, lambda plan: alone_of(plan, backend, compatibility) or alone, endpoints_ps)


def _changes_times(state: State) -> bool:
    return not _OF_TIMES.isdisjoint(state.named())


class _Span:
    """From when to when a network stays as it is, and what messages take alone then."""

    def __init__(self, epoch: Epoch, end_ps: int, made: Callable[[Epoch], Ideal]) -> None:
        self.start_ps, self.end_ps = epoch.start_ps, end_ps
        self._epoch, self._made = epoch, made

    @cached_property
    def alone(self) -> Ideal:
        return self._made(self._epoch)


class _Changing:
    """See :data:`IdealInTime`."""

    def __init__(self, plan: NetworkPlan, built: Ideal, of: Callable[[NetworkPlan], Ideal], endpoints_ps: int) -> None:
        self._plan, self._built, self._endpoints_ps = plan, built, endpoints_ps
        self._made = lambda epoch: of(replace(plan, graph=epoch.graph, tables=epoch.tables, changes=()))
        self._restart()

    def __call__(self, sources: Nodes, destinations: Nodes, sizes: Numbers, starts_ps: Numbers) -> Numbers:
        took_ps, left, at_ps = np.zeros(len(sizes)), np.ones(len(sizes)), starts_ps.copy()
        on_the_way = np.arange(len(sizes))
        for span in self._spans(int(starts_ps.min(initial=_FOREVER_PS))):
            here = on_the_way[at_ps[on_the_way] < span.end_ps]
            if len(here):
                alone_ps = span.alone(sources[here], destinations[here], sizes[here])
                lasts_ps = span.end_ps - at_ps[here]
                done = np.divide(lasts_ps, alone_ps, out=np.zeros(len(here)), where=alone_ps > 0)
                ends = done >= left[here]
                took_ps[here] += np.where(ends, left[here] * alone_ps, lasts_ps)
                left[here] = np.where(ends, 0, left[here] - done)
                at_ps[here] = span.end_ps
                on_the_way = on_the_way[left[on_the_way] > 0]
            if not len(on_the_way) or span.end_ps == _FOREVER_PS:
                break
        took_ps[on_the_way] = self._built(sources[on_the_way], destinations[on_the_way], sizes[on_the_way])
        return later(np.rint(took_ps).astype(np.int64), self._endpoints_ps)

    def _restart(self) -> None:
        ends = pairwise(chain(self._plan.epochs(), [None]))
        self._rest = (
            _Span(epoch, _FOREVER_PS if after is None else after.start_ps, self._made)
            for epoch, after in ends
            if epoch is not None
        )
        self._recent = deque[_Span](maxlen=_KEPT)

    def _spans(self, first_ps: int) -> Iterator[_Span]:
        """Yield the spans in their order, from a time on or earlier."""
        if self._recent and first_ps < self._recent[0].start_ps:
            self._restart()
        yield from tuple(self._recent)
        for span in self._rest:
            self._recent.append(span)
            yield span
