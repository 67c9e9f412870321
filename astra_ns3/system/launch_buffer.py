"""Launches of one moment, handed to the network together, in the order in which each NPU by itself would make them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter

from astra_ns3.network.api import NetworkBackend
from astra_ns3.network.floor.carried import Launch

_Timer = tuple[int, int, Callable[[int], None]]
_place = itemgetter(0)


class LaunchBuffer:
    """Hands launches on at once, or keeps them between :meth:`keep` and :meth:`hand_over`.

    ``place``: that of what comes next, among what is kept; what has the same place stays in its order. ``moment``: how
    often something was kept.
    """

    __slots__ = ("_kept", "_launch_all", "_network", "_timers", "moment", "place")

    def __init__(self, network: NetworkBackend) -> None:
        self._network = network
        self._launch_all = getattr(network, "launch_all", self._one_by_one)  # a user's backend may lack it
        self._kept: list[tuple[int, Launch]] | None = None
        self._timers: list[tuple[int, _Timer]] = []
        self.place = 0
        self.moment = 0

    @property
    def keeps(self) -> bool:
        """Whether what comes is kept."""
        return self._kept is not None

    def launch(self, npu: int, schedule: int, group: int, instance: int, bytes: int) -> None:
        """As :meth:`NetworkBackend.launch`, now or later in this moment."""
        if self._kept is None:
            self._network.launch(npu, schedule, group, instance, bytes)
        else:
            self._kept.append((self.place, (npu, schedule, group, instance, bytes)))

    def call_later(self, npu: int, delay_ps: int, callback: Callable[[int], None]) -> None:
        """As :meth:`NetworkBackend.call_later`, after what was launched before."""
        if self._kept is None:
            self._network.call_later(npu, delay_ps, callback)
        else:
            self._timers.append((self.place, (npu, delay_ps, callback)))

    def keep(self) -> None:
        """Keep what comes."""
        self._kept = []
        self.moment += 1

    def hand_over(self) -> None:
        """Hand on what was kept, in the order of the places; timers after what is launched."""
        kept, self._kept = self._kept, None
        if kept and len(kept) == 1:
            self._network.launch(*kept[0][1])
        elif kept:
            kept.sort(key=_place)
            self._launch_all([row for _, row in kept])
        if self._timers:
            timers, self._timers = self._timers, []
            timers.sort(key=_place)
            for _, timer in timers:
                self._network.call_later(*timer)

    def _one_by_one(self, rows: Sequence[Launch]) -> None:
        for row in rows:
            self._network.launch(*row)
