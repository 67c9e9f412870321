"""Which flows go on when another has been delivered: the gates of a list, as they stand now."""

from __future__ import annotations

import numpy as np

from astra_ns3.config.flow_list import NO_GATE, FlowList, Numbers


class OpenGates:
    """Hears of every delivery once and tells which flows may start from then on."""

    def __init__(self, flows: FlowList) -> None:
        self._gates = flows.gates
        self._heard_from, self._hearing = flows.gates.heard_by(len(flows))
        offsets, self._waiting = flows.waiting()
        self._next, self._last = offsets[:-1].copy(), offsets[1:]
        self._heard = np.zeros(len(flows.gates), dtype=np.int64)
        self._waits_for = flows.waits_for

    def open_from_the_start(self) -> Numbers:
        """The flows that wait for nothing, ascending."""
        if self._waits_for is None:
            return np.arange(len(self._heard_from) - 1)
        free = self._waits_for == NO_GATE
        needless = (self._gates.needed == 0) & ~self._gates.each
        return np.flatnonzero(free | needless[self._waits_for])

    def delivered(self, flow: int) -> list[int]:
        """A flow was delivered: those that waited for it and wait no longer."""
        first, last = self._heard_from[flow : flow + 2].tolist()
        freed: list[int] = []
        for gate in self._hearing[first:last].tolist():
            self._heard[gate] += 1
            waits, end = int(self._next[gate]), int(self._last[gate])
            if self._gates.each[gate]:
                end = min(waits + 1, end)
            elif self._heard[gate] != self._gates.needed[gate]:
                continue
            self._next[gate] = end
            freed += self._waiting[waits:end].tolist()
        return freed
