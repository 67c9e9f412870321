"""The contract of a backend's own player of flows: it starts them at their times without a call of Python for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from astra_ns3.config.flow_list import FlowList, Numbers
from astra_ns3.frozen import dataclass
from astra_ns3.network.instance import BITS

NOT_YET = -1
"""The time of what hasn't happened."""

Point = tuple[int, int]
"""A time in ps, and the bytes delivered by then."""


@dataclass(frozen=True)
class FlowPlayerSetup:
    """How a backend is to play flows.

    ``schedule``: of one message, from rank 0 to rank 1. ``on_due(time_ps)``: called when the last flow that is known
    has begun and more may come, and when all are delivered. ``measured``: NPUs whose delivered bytes are taken down
    over time (none: nothing is). ``first_instance``: that of flow 0; ``tenant_bit``: from it on an instance says whose
    it is. ``connections``: which connections of a pair of NPUs the flows take; 0: those that everybody has.
    ``priority``: in which they travel; None: in that of the network's transport.
    """

    schedule: int
    on_due: Callable[[int], None]
    measured: Sequence[int] = ()
    first_instance: int = 0
    tenant_bit: int = BITS
    connections: int = 0
    priority: int | None = None


class FlowPlayer(Protocol):
    """Plays flows whose starts wait for nothing but time. Times are since :meth:`begin`."""

    def add(self, flows: FlowList, *, last: bool) -> None:
        """Hand over flows, none of which starts before one that was handed over earlier; ``last``: no more come."""

    def begin(self) -> None:
        """Time begins now."""

    def stop(self) -> None:
        """Start no more flows, and hear of none."""

    @property
    def starts_ps(self) -> Numbers:
        """When each flow began; :data:`NOT_YET` until then."""

    @property
    def ends_ps(self) -> Numbers:
        """When each flow was delivered; :data:`NOT_YET` until then."""

    @property
    def delivered(self) -> int:
        """How many are delivered."""

    def delivered_from(self, place: int) -> Numbers:
        """Return the numbers of the flows that were delivered, in that order, but for the first so many."""

    @property
    def curve(self) -> Sequence[Point]:
        """How much the measured NPUs had got at some points in time."""
