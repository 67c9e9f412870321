"""The types that cross into C++ and back: the session and its description (``astra-ns3-session.h``).

Nothing else of the native library is called by name, but for a user's hook and congestion control.
"""

from __future__ import annotations

from typing import Protocol, cast

import numpy as np
import numpy.typing as npt

from astra_ns3.network.door.library import Native


class Statistics(Protocol):
    """``SessionStatistics``: what a run has done so far."""

    events: int
    messages: int
    deliveredBytes: int
    packets: int
    retransmissions: int
    timeouts: int
    busyPairs: int
    framesUnderWay: int
    pauseStorms: int
    unroutedFrames: int
    counterNames: str
    counters: View
    portCounterNames: str
    portCounters: View
    ports: int


class Pending(Protocol):
    """``PendingMessage``: a message that an NPU still has to send or to receive."""

    sender: int
    receiver: int
    step: int
    bytes: int
    sent: bool


class TransportFailure(Protocol):
    """``TransportFailure``: a transport that gave up."""

    instance: int
    npu: int
    reason: str


class View(Protocol):
    """Memory of C++'s, good until the next call."""

    def reshape(self, shape: tuple[int]) -> None:
        """Say how many numbers there are."""

    def __buffer__(self, flags: int, /) -> memoryview:
        """The memory itself."""


class Session(Protocol):
    """``Session``: one simulation; see ``astra-ns3-session.h``."""

    def RegisterSchedule(
        self, ranks: int, blocks: int, expansion: int, lanes: int, messages: int, columns: npt.NDArray[np.int32]
    ) -> int: ...
    def RegisterRotation(
        self,
        ranks: int,
        blocks: int,
        expansion: int,
        lanes: int,
        digits: int,
        inner: int,
        rows: int,
        columns: npt.NDArray[np.int32],
    ) -> int: ...
    def RegisterGroup(self, npus: npt.NDArray[np.uint32], count: int, delay_ps: int, connections: int) -> int: ...
    def RegisterChannel(
        self,
        npus: npt.NDArray[np.uint32],
        count: int,
        servers: npt.NDArray[np.uint32],
        costs: npt.NDArray[np.uint64],
    ) -> int: ...
    def SetGroupPriority(self, group: int, priority: int) -> None: ...
    def Abandon(self, begin: int, end: int) -> None: ...
    def Launch(self, npu: int, instance: int, schedule: int, group: int, bytes: int) -> None: ...
    def LaunchAll(self, rows: npt.NDArray[np.uint64], count: int) -> None: ...
    def SetTimer(self, npu: int, delay_ps: int, token: int) -> None: ...
    def OpenFlows(
        self,
        schedule: int,
        first_instance: int,
        tenant_bit: int,
        connections: int,
        priority: int,
        token: int,
        measured: npt.NDArray[np.uint32],
        count: int,
    ) -> int: ...
    def AddFlows(
        self, player: int, count: int, places: npt.NDArray[np.uint32], numbers: npt.NDArray[np.int64], last: bool
    ) -> None: ...
    def BeginFlows(self, player: int) -> None: ...
    def StopFlows(self, player: int) -> None: ...
    def CountDeliveredFlows(self, player: int) -> int: ...
    def GetFlowStarts(self, player: int) -> View: ...
    def GetFlowEnds(self, player: int) -> View: ...
    def GetDeliveredFlows(self, player: int) -> View: ...
    def CountFlowCurve(self, player: int) -> int: ...
    def GetFlowCurve(self, player: int) -> View: ...
    def UseCores(self, cores: int) -> None: ...
    def KeepHostsTogether(self) -> None: ...
    def GetCores(self) -> int: ...
    def DescribeOneCore(self) -> str: ...
    def Run(self, limit_ps: int) -> int: ...
    def Stop(self) -> None: ...
    def ShowTimeAt(self, address: int) -> None: ...
    def GetNowPs(self) -> int: ...
    def GetFailure(self) -> str: ...
    def GetTransportFailure(self, number: int) -> TransportFailure: ...
    def CountPending(self, npu: int, instance: int) -> int: ...
    def GetPending(self, index: int) -> Pending: ...
    def GetStatistics(self, exact: bool) -> Statistics: ...
    def GetSentBytes(self, npu: int) -> int: ...
    def GetDeliveredBytes(self) -> int: ...
    def GetDeliveredBytesOf(self, npus: npt.NDArray[np.uint32], count: int) -> int: ...
    def DescribeLongestPause(self) -> str: ...
    def GetNs3NodeId(self, node: int) -> int: ...
    def DescribeTables(self) -> str: ...
    def GetRecordRows(self, table: int) -> int: ...
    def GetRecordColumn(self, table: int, column: int) -> View: ...
    def FlushRecords(self) -> None: ...
    def HandOverRecords(self) -> None: ...
    def CloseCaptures(self) -> int: ...
    def GetFailedCapture(self, index: int) -> str: ...


def close_session(session: Session, *, process_ends: bool) -> None:
    """Free everything, or leave that to the end of the process, which must follow."""
    native = cast(Native, session)
    if process_ends:
        native.__python_owns__ = False
    else:
        native.__destruct__()


def numbers_of(view: View, count: int) -> npt.NDArray[np.int64]:
    """A copy of ``count`` numbers that C++ shows; shape ``(count,)``."""
    if not count:
        return np.zeros(0, dtype=np.int64)
    view.reshape((count,))
    return np.array(np.frombuffer(cast(Native, view), dtype=np.int64, count=count))
