"""A backend of one's own: a network in which a phase takes a latency per round and a time per byte, and no more.

From Python: ``astra_ns3.run(..., backend=alpha_beta)``.
"""

import heapq
from itertools import count

import numpy as np

from astra_ns3.collectives.rounds import message_rounds
from astra_ns3.errors import LimitReached
from astra_ns3.network.api import NetworkBackend

LATENCY_PS = 2_000_000
PS_PER_BYTE = 80  # 100 Gb/s


def alpha_beta(plan, seed, recorder, on_built):
    """Called with the plan of the network, and what else a backend may want to know."""
    return AlphaBeta(plan.config.npus)


class AlphaBeta(NetworkBackend):
    """Fulfils ``astra_ns3.network.api.NetworkBackend``; a phase begins once all NPUs of its group have launched it."""

    npus = 0

    def __init__(self, npus):
        self.npus = npus
        self._schedules, self._groups = [], []
        self._launched = {}  # how many NPUs have launched an instance in a group
        self._events, self._numbers = [], count()  # (time, number, function of the time): equal times in order
        self._now_ps = 0
        self._stopped = False

    def register_schedule(self, schedule):
        """Keep a schedule; its number names it."""
        self._schedules.append(schedule)
        return len(self._schedules) - 1

    def register_group(self, npus):
        """Keep which NPUs play ranks 0, 1, ...; its number names them."""
        self._groups.append(tuple(npus))
        return len(self._groups) - 1

    def launch(self, npu, schedule, group, instance, bytes):
        """An NPU is ready to play its part of a schedule."""
        launched = self._launched[group, instance] = self._launched.get((group, instance), 0) + 1
        if launched < len(self._groups[group]):
            return
        del self._launched[group, instance]
        took_ps = self._phase_ps(self._schedules[schedule], bytes)
        for each in self._groups[group]:
            self.call_later(
                each, took_ps, lambda time_ps, each=each: self._listener.phase_done(each, instance, time_ps)
            )

    def _phase_ps(self, schedule, bytes):
        if not schedule.messages:
            return 0
        sent = np.bincount(schedule.sender, schedule.message_bytes(bytes))
        return LATENCY_PS * (int(message_rounds(schedule).max()) + 1) + PS_PER_BYTE * int(sent.max())

    def call_later(self, npu, delay_ps, callback):
        """Call ``callback(time_ps)`` after a time."""
        heapq.heappush(self._events, (self._now_ps + delay_ps, next(self._numbers), callback))

    def now_ps(self):
        """The simulated time."""
        return self._now_ps

    def run(self, listener, limits):
        """Play events until told to stop, or until none is left."""
        self._listener = listener
        while self._events and not self._stopped:
            time_ps, _, callback = heapq.heappop(self._events)
            if limits.simulated_ps is not None and time_ps > limits.simulated_ps:
                raise LimitReached(f"the limit of {limits.simulated_ps} ps was reached")
            self._now_ps = time_ps
            callback(time_ps)

    def stop(self):
        """Leave :meth:`run` after this event."""
        self._stopped = True

    def pending(self, npu, instance):
        """What an NPU still waits for, for the message of a run that stands still."""
        return []

    def close(self, *, process_ends=False):
        """The run is over."""
        self._events.clear()
