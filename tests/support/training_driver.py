"""A driver of a training loop over layers, for tests that play one without files."""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.config.compute_slowdown import ComputeSlowdown
from astra_ns3.config.core.compatibility import OURS, Compatibility
from astra_ns3.config.system import SystemConfig
from astra_ns3.config.workload import Workload
from astra_ns3.network.api import NetworkBackend
from astra_ns3.network.recorded import TableSink
from astra_ns3.playing.drivers.driver import Heartbeat
from astra_ns3.playing.loops.loop_programs import Programs
from astra_ns3.playing.loops.loops import Loop
from astra_ns3.playing.player.programs_driver import ProgramsDriver


class TrainingDriver(ProgramsDriver):
    """``passes`` passes of ``workload`` on all NPUs of ``network``.

    ``dimensions``: NPUs along each dimension (default: all in one); a workload whose groups of NPUs end inside one
    cuts it in two, for the system, not for the network. ``loop``: instead of the workload's own. The rest, and what is
    raised, as in :class:`~astra_ns3.playing.player.programs_driver.ProgramsDriver`.
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
        loop: Loop | None = None,
        report_npu: int = 0,
        journal_to: TableSink | None = None,
        slowdown: ComputeSlowdown | None = None,
    ) -> None:
        super().__init__(
            network,
            system,
            Programs.of(
                workload,
                passes,
                dimensions or (network.npus,),
                loop,
                exposed_until_first_end=compatibility.exposed_until_first_end,
            ),
            bandwidths=bandwidths,
            compatibility=compatibility,
            seed=seed,
            on_heartbeat=on_heartbeat,
            report_npu=report_npu,
            journal_to=journal_to,
            slowdown=slowdown,
        )
