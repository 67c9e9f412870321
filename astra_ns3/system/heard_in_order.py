"""Ends that are heard of in the order of their begins, where they come in one instant, as ASTRA-sim 2 has it.

The network plays the events of one instant in the order in which they were put there. A message takes two of them more
than a timer: one begins it, and one behind its arrival tells of it. A batch that takes as many keeps its place among
messages.
"""

from __future__ import annotations

from collections.abc import Callable

from astra_ns3.network.api import NetworkBackend


def heard_in_order(network: NetworkBackend, npu: int, delay_ps: int, heard: Callable[[int], None]) -> None:
    """Call ``heard(time_ps)`` in ``delay_ps``, before what began later than now and behind what began before."""

    def begin(_time_ps: int) -> None:
        network.call_later(npu, delay_ps, end)

    def end(_time_ps: int) -> None:
        network.call_later(npu, 0, heard)

    network.call_later(npu, 0, begin)
