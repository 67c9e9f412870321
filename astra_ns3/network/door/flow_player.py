"""Flows that the native session plays by itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from astra_ns3.config.flow_list import FlowList, Numbers
from astra_ns3.errors import refuse
from astra_ns3.network.door.session import Session, numbers_of
from astra_ns3.network.flow_player import NOT_YET, FlowPlayerSetup, Point
from astra_ns3.network.instance import CHUNK_BITS, PHASE_BITS

_OF_TRANSPORT = 2**32 - 1
"""A priority, as in ``message-transport.h``."""


class SessionFlowPlayer:
    """A :class:`~astra_ns3.network.flow_player.FlowPlayer` on a session; ``token`` names its timer."""

    def __init__(self, session: Session, setup: FlowPlayerSetup, token: int) -> None:
        measured = np.array([*setup.measured, 0], dtype=np.uint32)  # the bridge takes no empty array
        self._session = session
        self._most = 1 << (setup.tenant_bit - CHUNK_BITS - PHASE_BITS)
        self._number = session.OpenFlows(
            setup.schedule,
            setup.first_instance,
            setup.tenant_bit,
            setup.connections,
            _OF_TRANSPORT if setup.priority is None else setup.priority,
            token,
            measured,
            len(setup.measured),
        )
        self._sources: list[npt.NDArray[np.int32]] = []
        self._destinations: list[npt.NDArray[np.int32]] = []
        self._sizes: list[Numbers] = []
        self._count = 0

    def add(self, flows: FlowList, *, last: bool) -> None:
        """Hand over flows."""
        self._count += len(flows)
        refuse(self._count > self._most, f"there are more than {self._most:,} flows, which can't be told apart")
        order = np.argsort(flows.starts_ps, kind="stable")
        places = np.concatenate([flows.sources, flows.destinations, order]).astype(np.uint32)
        numbers = np.concatenate([flows.sizes_bytes, flows.starts_ps])
        self._sources.append(flows.sources)
        self._destinations.append(flows.destinations)
        self._sizes.append(flows.sizes_bytes)
        self._session.AddFlows(self._number, len(flows), places, numbers, last)

    def begin(self) -> None:
        """Time begins now."""
        self._session.BeginFlows(self._number)

    def stop(self) -> None:
        """Start no more flows, and hear of none."""
        self._session.StopFlows(self._number)

    @property
    def starts_ps(self) -> Numbers:
        """When each flow began."""
        return numbers_of(self._session.GetFlowStarts(self._number), self._count)

    @property
    def ends_ps(self) -> Numbers:
        """When each flow was delivered."""
        return numbers_of(self._session.GetFlowEnds(self._number), self._count)

    @property
    def delivered(self) -> int:
        """How many are delivered."""
        return int(self._session.CountDeliveredFlows(self._number))

    def delivered_from(self, place: int) -> Numbers:
        """Return those delivered, but for the first so many."""
        return numbers_of(self._session.GetDeliveredFlows(self._number), self.delivered)[place:]

    @property
    def curve(self) -> Sequence[Point]:
        """How much the measured NPUs had got."""
        count = 2 * int(self._session.CountFlowCurve(self._number))
        found = numbers_of(self._session.GetFlowCurve(self._number), count).tolist()
        return list(zip(found[::2], found[1::2], strict=True))

    @property
    def carried(self) -> tuple[Numbers, Numbers, Numbers]:
        """Sources, destinations and sizes of the flows that are delivered."""
        delivered = self.ends_ps != NOT_YET
        columns = (self._sources, self._destinations, self._sizes)
        none = np.zeros(0, dtype=np.int64)
        first, second, third = (np.concatenate([none, *column])[delivered] for column in columns)
        return first, second, third
