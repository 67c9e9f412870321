"""When each flow started and was delivered: in columns, and handed on as rows of a table while the run goes on."""

from __future__ import annotations

from array import array
from collections.abc import Callable

import numpy as np

from astra_ns3.config.flow_list import FlowList, Numbers, Places
from astra_ns3.network.recorded import COMPLETIONS, TableSink

NOT_YET = -1
_ROWS_AT_ONCE = 1 << 16

Ideal = Callable[[Places, Places, Numbers], Numbers]
"""From sources, destinations and sizes to the time that each flow would take alone, in ps (0: not known)."""


def not_known(sources: Places, destinations: Places, sizes_bytes: Numbers) -> Numbers:
    """An :data:`Ideal` for a network of which nothing is known."""
    return np.zeros(len(sizes_bytes), dtype=np.int64)


class Completions:
    """``starts_ps`` and ``ends_ps`` of each flow, :data:`NOT_YET` until then. ``sink`` takes the rows."""

    def __init__(self, flows: FlowList, ideal: Ideal, sink: TableSink | None) -> None:
        self._flows = flows
        self.starts_ps = np.full(len(flows), NOT_YET, dtype=np.int64)
        self.ends_ps = np.full(len(flows), NOT_YET, dtype=np.int64)
        self.ideal_ps = ideal(flows.sources, flows.destinations, flows.sizes_bytes)
        self.delivered = 0
        self._sink = sink
        self._to_hand_over = array("i")
        if sink is not None:
            sink.open(COMPLETIONS)

    def started(self, flow: int, time_ps: int) -> None:
        """A flow starts."""
        self.starts_ps[flow] = time_ps

    def ended(self, flow: int, time_ps: int) -> None:
        """A flow was delivered."""
        self.ends_ps[flow] = time_ps
        self.delivered += 1
        if self._sink is not None:
            self._to_hand_over.append(flow)
            if len(self._to_hand_over) >= _ROWS_AT_ONCE:
                self.hand_over()

    def hand_over(self) -> None:
        """Hand on the rows of what has been delivered so far."""
        if self._sink is None or not self._to_hand_over:
            return
        flows, done = self._flows, np.array(self._to_hand_over, dtype=np.int64)
        self._to_hand_over = array("i")
        columns = (flows.sources, flows.destinations, flows.sizes_bytes, self.starts_ps, self.ends_ps, self.ideal_ps)
        self._sink.write(COMPLETIONS.name, [done, *(column[done].astype(np.int64) for column in columns)])
