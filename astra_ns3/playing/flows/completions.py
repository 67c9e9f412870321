"""The time that each flow would take alone, and rows of a table of flows that were delivered."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from astra_ns3.config.flow_list import FlowList, Numbers, Places
from astra_ns3.network.flow_player import FlowPlayer
from astra_ns3.network.recorded import COMPLETIONS, TableSink

_ROWS_AT_ONCE = 1 << 16

Ideal = Callable[[Places, Places, Numbers], Numbers]
"""From sources, destinations and sizes to the time that each flow would take alone, in ps (0: not known)."""


def not_known(sources: Places, destinations: Places, sizes_bytes: Numbers) -> Numbers:
    """An :data:`Ideal` for a network of which nothing is known."""
    return np.zeros(len(sizes_bytes), dtype=np.int64)


class Completions:
    """Hands rows of delivered flows to ``sink``, in the order of their deliveries."""

    def __init__(self, sink: TableSink | None) -> None:
        self._sink = sink
        self._handed_over = 0
        if sink is not None:
            sink.open(COMPLETIONS)

    def hand_over(self, flows: FlowList, player: FlowPlayer, ideal_ps: Numbers) -> None:
        """Hand on the rows of what has been delivered so far."""
        if self._sink is None or player.delivered == self._handed_over:
            return
        done = player.delivered_from(self._handed_over)
        self._handed_over += len(done)
        columns = (flows.sources, flows.destinations, flows.sizes_bytes, player.starts_ps, player.ends_ps, ideal_ps)
        for begin in range(0, len(done), _ROWS_AT_ONCE):
            some = done[begin : begin + _ROWS_AT_ONCE]
            self._sink.write(COMPLETIONS.name, [some, *(column[some].astype(np.int64) for column in columns)])
