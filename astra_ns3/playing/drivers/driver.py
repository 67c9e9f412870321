"""The interface between a run and the player of its workload, be that a training loop or another kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from astra_ns3.network.api import Limits, NetworkBackend, NetworkListener
from astra_ns3.network.collective_records import CollectiveRecords
from astra_ns3.network.records import Chain, FlowTotals, LayerDetail, LayerTimes, RoleTimes, RunRecords

Intervals = tuple[tuple[int, int], ...]
Heartbeat = Callable[[int, int], None]
"""Is called with the simulated time and the number of events, about ten times a second."""


class Driver(NetworkListener, ABC):
    """Plays a workload on a network; made ready, with what can't be run refused, when it is made.

    What is asked for while it runs is about ten times a second, and changes nothing. Who has no layers and collectives
    inherits that there is nothing to tell of them. Names say what
    :class:`~astra_ns3.network.records.RunRecords` says.
    """

    _network: NetworkBackend
    _on_heartbeat: Heartbeat | None
    _reported: int
    _left: int
    """How many NPUs, or flows, aren't done."""

    @abstractmethod
    def start(self) -> None:
        """Put the first events on the network's list; once."""

    @property
    def checkpointed(self) -> int:
        """How many passes the last checkpoint has that is stored as a whole."""
        return 0

    def resume(self, passes: int) -> None:
        """Begin after so many passes, which a checkpoint has; before :meth:`start`, and only if there are any."""
        raise NotImplementedError

    @abstractmethod
    def check_finished(self) -> None:
        """Raise SimulationStalled, saying who waits for what, unless everything is done."""

    def phases_done(self, npus: Sequence[int], instances: Sequence[int], time_ps: int) -> None:
        """From the network: NPUs have finished phases of chunks, at one moment and in this order."""
        for npu, instance in zip(npus, instances, strict=True):
            self.phase_done(npu, instance, time_ps)

    def run(self, limits: Limits | None = None) -> None:
        """Run to the end; raises SimulationStalled, and whatever :meth:`NetworkBackend.run` raises."""
        self.start()
        self._network.run(self, limits or Limits())
        self.check_finished()

    def heartbeat(self, time_ps: int, events: int) -> None:
        """From the network: a tenth of a second has passed."""
        if self._on_heartbeat is not None:
            self._on_heartbeat(time_ps, events)

    @property
    def finished(self) -> bool:
        """Whether everything is done."""
        return not self._left

    def cut_off(self) -> None:
        """Others have ended, and what this one plays was only for them: what is left stays undone."""

    @abstractmethod
    def records(self) -> RunRecords:
        """All that is known by now; ``complete`` once every NPU is done."""

    @abstractmethod
    def progress(self) -> tuple[int, int, int, int]:
        """Passes done, passes, steps done in this pass, steps of a pass: of NPU 0, or of all together."""

    def computed_ps(self) -> int:
        """For how long NPU 0 has computed until now."""
        return 0

    @abstractmethod
    def totals(self) -> npt.NDArray[np.int64]:
        """The totals of every NPU by now, shape ``(npus, 4)``: finish, compute and exposed time, whether it is done."""

    @property
    def chain(self) -> Chain:
        """The longest chain of what takes time without the network, at the end; slowed computations at their least."""
        return Chain()

    @property
    def reported_npu(self) -> int:
        """The NPU whose layers :meth:`layers` has."""
        return self._reported

    def layers(self) -> tuple[LayerTimes, ...]:
        """The times of each layer on the reported NPU so far."""
        return ()

    def roles(self) -> tuple[RoleTimes, ...]:
        """The times of each layer so far, on the NPU that stands for each role."""
        return ()

    def details(self) -> tuple[LayerDetail, ...]:
        """Chunk times of the reported NPU, a row per layer."""
        return ()

    @property
    @abstractmethod
    def sent_bytes(self) -> tuple[int, ...]:
        """Bytes that the reported NPU sent in each dimension."""

    def collective_changes(self, since: int) -> tuple[int, CollectiveRecords]:
        """Collectives made or changed since an earlier call gave ``since`` (0: all), and the number to give next."""
        return 0, CollectiveRecords()

    def busy_changes(self, since: Sequence[int]) -> tuple[tuple[int, Intervals], ...]:
        """For each dimension, the intervals in which it held a chunk, from a place on; earlier ones haven't changed.

        ``since``: of each dimension, how many were there at an earlier call (empty: none).
        """
        return ()

    def flow_totals(self) -> FlowTotals | None:
        """The totals of a list of flows so far; None for other workloads."""
        return None

    @abstractmethod
    def oldest_collective(self) -> tuple[str, int] | None:
        """The oldest thing that goes on, in words, and when it was begun; None if there is nothing."""

    @abstractmethod
    def hand_over_rows(self) -> None:
        """Hand on all that was recorded so far, so that it is safe if this process dies."""

    @abstractmethod
    def close_journal(self) -> None:
        """Nothing more will happen: write down what NPUs are busy with, and hand all on."""
