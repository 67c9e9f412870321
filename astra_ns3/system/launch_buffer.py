"""Launches of one moment, handed to the network together, in the order of those who make them."""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.network.api import NetworkBackend

_Row = tuple[int, int, int, int, int]


class LaunchBuffer:
    """Hands launches on at once, or keeps them between :meth:`keep` and :meth:`hand_over`."""

    __slots__ = ("_launch_all", "_network", "_rows")

    def __init__(self, network: NetworkBackend) -> None:
        self._network = network
        self._launch_all = getattr(network, "launch_all", None)
        self._rows: list[_Row] | None = None

    def launch(self, npu: int, schedule: int, group: int, instance: int, bytes: int) -> None:
        """As :meth:`NetworkBackend.launch`, now or later in this moment."""
        if self._rows is None:
            self._network.launch(npu, schedule, group, instance, bytes)
        else:
            self._rows.append((npu, schedule, group, instance, bytes))

    def keep(self) -> None:
        """Keep what comes."""
        if self._launch_all is not None:
            self._rows = []

    def hand_over(self, order: Sequence[int]) -> None:
        """Hand on what was kept, the NPUs in this order; those that aren't in it come last."""
        rows, self._rows = self._rows, None
        if not rows:
            return
        places = {npu: place for place, npu in enumerate(order)}
        last = len(order)
        rows.sort(key=lambda row: places.get(row[0], last))
        assert self._launch_all is not None
        self._launch_all(rows)
