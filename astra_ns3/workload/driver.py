"""Runs the training loop on every NPU: one generator each, resumed when what it waits for is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from astra_ns3.config.compatibility import OURS, Compatibility
from astra_ns3.config.system import SystemConfig
from astra_ns3.config.workload import Workload
from astra_ns3.errors import SimulationStalled
from astra_ns3.network.api import Limits, NetworkBackend
from astra_ns3.network.records import LayerTimes, PassKind, PassTimes, RunRecords
from astra_ns3.system.layer import OBSERVED_RANK, SystemLayer
from astra_ns3.system.request import Handle
from astra_ns3.units import PS_PER_NS
from astra_ns3.workload.dry_run import collective_requests
from astra_ns3.workload.loops import loop_of
from astra_ns3.workload.npu_program import LayerSums, NpuProgram
from astra_ns3.workload.operations import Compute, Issue, Move
from astra_ns3.workload.parallelism import parallelism_of
from astra_ns3.workload.stall import describe_stall
from astra_ns3.workload.steps import Steps

Heartbeat = Callable[[int, int], None]


class TrainingDriver:
    """``passes`` passes of ``workload`` on all NPUs of ``network``; it is the network's listener.

    ``dimensions``: NPUs along each dimension (default: all in one); a workload whose groups of NPUs end inside one
    cuts it in two, for the system, not for the network. ``bandwidths``: of each dimension, in any unit, for policies
    that ask (None: not known). ``seed``: of the system's random delays. ``on_heartbeat(time_ps, events)`` is called
    about ten times a second; what it raises ends the run. Raises InputError if the system can't do what the workload
    asks.
    """

    def __init__(
        self,
        network: NetworkBackend,
        system: SystemConfig,
        workload: Workload,
        passes: int = 1,
        *,
        dimensions: Sequence[int] | None = None,
        bandwidths: Sequence[float] | None = None,
        compatibility: Compatibility = OURS,
        seed: int = 1,
        on_heartbeat: Heartbeat | None = None,
    ) -> None:
        loop = loop_of(workload, passes)
        self._network = network
        self._workload = workload
        self._passes = passes
        self._on_heartbeat = on_heartbeat
        self._update_ps = [layer.update_ns * PS_PER_NS for layer in workload.layers]
        self._sums = [LayerSums() for _ in workload.layers]
        self._tick_ps = compatibility.step_tick_ns * PS_PER_NS
        parallelism = parallelism_of(workload, dimensions or (network.ranks,))
        self._system = SystemLayer(
            network,
            system if parallelism.cut is None else system.for_dimensions(parallelism.cut),
            parallelism.dimensions,
            [layer.name for layer in workload.layers],
            self._collective_ended,
            compatibility=compatibility,
            bandwidths=None if bandwidths is None else parallelism.of_each(bandwidths),
            seed=seed,
        )
        for request in collective_requests(workload, dimensions=parallelism.dimensions):
            self._system.prepare(request)
        first_end = compatibility.exposed_until_first_end
        self._npus = [
            NpuProgram(
                rank,
                loop(Steps(workload, passes, parallelism.layers, exposed_until_first_end=first_end)),
                self._tick_ps,
                self._sums if rank == OBSERVED_RANK else None,
            )
            for rank in range(network.ranks)
        ]
        self._resume = [partial(self._go_on, npu) for npu in self._npus]
        self._issue = [partial(self._issue_collective, npu.rank) for npu in self._npus]
        self._left = len(self._npus)
        self._started = False

    @property
    def finished(self) -> bool:
        """Whether every NPU is done."""
        return not self._left

    def start(self) -> None:
        """Put every NPU's start on the network's list of events; once."""
        if not self._started:
            self._started = True
            for npu in self._npus:
                self._network.call_later(npu.rank, 0, self._resume[npu.rank])

    def run(self, limits: Limits | None = None) -> None:
        """Run to the end; raises SimulationStalled, and whatever :meth:`NetworkBackend.run` raises."""
        self.start()
        self._network.run(self, limits or Limits())
        self.check_finished()

    def check_finished(self) -> None:
        """Raise SimulationStalled, saying who waits for what, unless every NPU is done."""
        waiting = [npu for npu in self._npus if not npu.done]
        if waiting:
            raise SimulationStalled(describe_stall(self._network, self._system, self._workload, waiting))

    def phase_done(self, rank: int, instance: int, time_ps: int) -> None:
        """From the network: a rank finished a phase of a chunk."""
        self._system.phase_done(rank, instance, time_ps)

    def heartbeat(self, time_ps: int, events: int) -> None:
        """From the network: a tenth of a second has passed."""
        if self._on_heartbeat is not None:
            self._on_heartbeat(time_ps, events)

    def progress(self) -> tuple[int, int, int, int]:
        """Of NPU 0: passes done, passes, layer steps done in this pass, layer steps of a pass (two per layer)."""
        layers = len(self._workload.layers)
        passes_done, steps = self._npus[OBSERVED_RANK].position(layers, self._passes)
        return passes_done, self._passes, steps, 2 * layers

    def computed_ps(self) -> int:
        """For how long NPU 0 has computed until now."""
        return self._npus[OBSERVED_RANK].record(self._network.now_ps()).compute_ps

    def records(self) -> RunRecords:
        """All that is known by now; ``complete`` once every NPU is done."""
        now_ps = self._network.now_ps()
        npus = tuple(npu.record(now_ps) for npu in self._npus)
        return RunRecords(
            complete=self.finished,
            finish_ps=max(npu.finish_ps for npu in npus),
            npus=npus,
            layers=self.layers(),
            details=self._system.details(),
            collectives=self._system.collectives(),
            busy=self._system.busy(),
            sent_bytes=self._system.sent_bytes,
        )

    def totals(self) -> npt.NDArray[np.int64]:
        """The totals of every NPU by now, shape ``(npus, 4)``: finish, compute and exposed time, whether it is done."""
        now_ps = self._network.now_ps()
        records = (npu.record(now_ps) for npu in self._npus)
        return np.array([(r.finish_ps, r.compute_ps, r.exposed_ps, r.done) for r in records], dtype=np.int64)

    def layers(self) -> tuple[LayerTimes, ...]:
        """The times of each layer on NPU 0 so far."""
        return tuple(
            _layer_times(layer.name, sums) for layer, sums in zip(self._workload.layers, self._sums, strict=True)
        )

    @property
    def system(self) -> SystemLayer:
        """The system layer, for what it has recorded."""
        return self._system

    def _go_on(self, npu: NpuProgram, time_ps: int) -> None:
        """Let an NPU run on to its next computation or unfinished collective."""
        blocking = npu.next_blocking(time_ps, self._issue[npu.rank])
        if isinstance(blocking, Compute):
            self._network.call_later(npu.rank, blocking.time_ps, self._resume[npu.rank])
        elif isinstance(blocking, Move):
            self._network.call_later(npu.rank, self._tick_ps, self._resume[npu.rank])
        elif blocking is None:
            self._left -= 1
            if not self._left:
                self._network.stop()

    def _issue_collective(self, rank: int, operation: Issue) -> Handle:
        return self._system.issue(rank, operation.request)

    def _collective_ended(self, handle: Handle, time_ps: int) -> None:
        """From the system: all chunks are done on a rank; the layer's update comes before it counts as done."""
        update_ps = self._update_ps[handle.request.layer]
        if update_ps:
            self._network.call_later(handle.rank, update_ps, partial(self._collective_done, handle))
        else:
            self._collective_done(handle, time_ps)

    def _collective_done(self, handle: Handle, time_ps: int) -> None:
        npu = self._npus[handle.rank]
        if npu.collective_done(handle, time_ps):
            self._go_on(npu, time_ps)


def _layer_times(name: str, sums: LayerSums) -> LayerTimes:
    def times(kind: PassKind) -> PassTimes:
        return PassTimes(sums.compute_ps[kind], sums.exposed_ps[kind], sums.comm_ps[kind])

    return LayerTimes(
        name,
        times(PassKind.FORWARD),
        times(PassKind.WEIGHT_GRADIENT),
        times(PassKind.INPUT_GRADIENT),
        sums.tail_ps,
    )
