"""A job: the workload as a run needs it. Each kind of workload is a file here and a line in the registry."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

from astra_ns3.collectives.schedule import Tell, silent
from astra_ns3.config.compute_slowdown import ComputeSlowdown
from astra_ns3.config.core.compatibility import Compatibility
from astra_ns3.config.core.plain import JsonObject
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import wrong
from astra_ns3.experiments.forecasting.expected import ExpectedRun, expected_run
from astra_ns3.experiments.forecasting.foreseen import Foreseen
from astra_ns3.frozen import dataclass
from astra_ns3.network.api import NetworkBackend
from astra_ns3.network.backends import Ideal
from astra_ns3.network.recorded import TableSink
from astra_ns3.playing.drivers.driver import Driver
from astra_ns3.playing.dry_run.counting import Counts, expected_computation, issued_at_once
from astra_ns3.playing.player.programs_driver import ProgramsDriver
from astra_ns3.playing.programs.role_programs import RolePrograms
from astra_ns3.workload.files.workload_formats import AnyWorkload
from astra_ns3.workload.grids.grid_cut import GridCut


class Platform(NamedTuple):
    """The platform of a workload: the system, NPUs along each dimension, their bandwidths in any unit, the rules.

    ``inside_share``: the share of lines inside nodes that transfers of a model's device reach.
    """

    system: SystemConfig
    dimensions: tuple[int, ...]
    bandwidths: tuple[float, ...] | None
    compatibility: Compatibility
    inside_share: float = 1.0


@dataclass(frozen=True)
class Playing:
    """How a workload is played, beside its :class:`Platform`; the fields are those of a run's options."""

    passes: int = 1
    seed: int = 1
    report_npu: int = 0
    journal_to: TableSink | None = None
    on_heartbeat: Callable[[int, int], None] | None = None
    rows_to: TableSink | None = None
    """Takes the rows of tables that a kind of workload always has, if rows are kept."""
    ideal: Ideal | None = None
    """The times of messages alone on the network; None: nobody knows."""
    nodes_to: TableSink | None = None
    """Takes every node of a workload of graphs."""
    slowdown: ComputeSlowdown | None = None
    """The slowdown of computations."""
    told_passes: Callable[[int], None] | None = None
    """Hears how many passes all NPUs have done, with each more; without passes it hears nothing."""


class Headline(NamedTuple):
    """A workload in a line: its loop, or what it is instead, and of how many ``layers``, or what ``counted`` says."""

    loop: str
    layers: int
    counted: str = "layer"


class Job(ABC):
    """A workload and all that is asked of it. Frozen and picklable; whatever can't be done raises InputError."""

    workload: AnyWorkload

    @property
    def source(self) -> str:
        """The file it came from."""
        return self.workload.source

    @property
    def endless(self) -> bool:
        """Whether it goes on until all else has ended."""
        return False

    @abstractmethod
    def headline(self) -> Headline:
        """Return the workload in a line."""

    @abstractmethod
    def scaled(self, comm_scale: float, compute_scale: float) -> Job:
        """Every size times ``comm_scale``, every compute time times ``compute_scale``."""

    def scaled_apart(self, comm_scale: float, compute_scale: float) -> list[str]:
        """Warnings, if the factors change which of communication and computation counts."""
        return []

    @abstractmethod
    def warnings(self, platform: Platform) -> list[str]:
        """Return what its user should know before it is played."""

    @abstractmethod
    def document(self) -> JsonObject:
        """Return it as plain data for run.json, ``source`` included."""

    def foreseen(self, platform: Platform) -> Foreseen:
        """Return what is known of memory and experts before it is played; empty if it is no model."""
        return Foreseen()

    def cut(self, platform: Platform) -> GridCut:
        """Return the network's dimensions as it sees them."""
        return GridCut(platform.dimensions, (1,) * len(platform.dimensions))

    @abstractmethod
    def expected(self, platform: Platform, passes: int, tell: Tell = silent) -> ExpectedRun:
        """Return what it will send; ``tell`` hears of the proof of a user's schedule."""

    def unsure(self, platform: Platform) -> tuple[list[str], list[str]]:
        """Return in words what :meth:`expected` doesn't count, and what it counts that may not come."""
        return [], []

    def expected_computation(self, platform: Platform, passes: int) -> tuple[int, int]:
        """For how long NPU 0 computes (ps), and how many operations of all NPUs take time."""
        return 0, 0

    def least_computation(self, platform: Platform, passes: int) -> tuple[int, int]:
        """Return for how long (ps) an NPU computes, one thing after the other, and which NPU; 0 where nobody knows."""
        return 0, 0

    def issued_at_once(self, platform: Platform, passes: int) -> Counts:
        """Each kind of collective that is issued before anything computes or waits, and how often."""
        return []

    def tried_again(self, passes: int) -> tuple[Job, int]:
        """Return a further try after a failure, for :meth:`expected` alone, and passes: the most that it does anew."""
        return self, passes

    @abstractmethod
    def driver(self, network: NetworkBackend, platform: Platform, playing: Playing) -> Driver:
        """Return what plays it on ``network``."""


class ProgramsJob(Job):
    """A job of a program for each role: a training loop, or a model."""

    @abstractmethod
    def programs(self, platform: Platform, passes: int) -> RolePrograms:
        """Return the programs on the network's NPUs; raises InputError if the workload doesn't fit these."""

    def cut(self, platform: Platform) -> GridCut:
        """Return the dimensions of its programs."""
        return self.programs(platform, 1).cut

    def expected(self, platform: Platform, passes: int, tell: Tell = silent) -> ExpectedRun:
        """Return every collective and message of the programs."""
        check_collectives(platform.system)
        programs = self.programs(platform, passes)
        return expected_run(programs, platform.system, platform.bandwidths, platform.compatibility, tell)

    def expected_computation(self, platform: Platform, passes: int) -> tuple[int, int]:
        """Return what the programs' dry run gives."""
        return expected_computation(self.programs(platform, passes))

    def least_computation(self, platform: Platform, passes: int) -> tuple[int, int]:
        """Return what NPU 0 computes."""
        compute_ps, _ = self.expected_computation(platform, passes)
        return compute_ps, 0

    def issued_at_once(self, platform: Platform, passes: int) -> Counts:
        """Return what the programs' dry run gives."""
        return issued_at_once(self.programs(platform, passes))

    def driver(self, network: NetworkBackend, platform: Platform, playing: Playing) -> ProgramsDriver:
        """Return what plays the program of its role on every NPU."""
        return ProgramsDriver(
            network,
            platform.system,
            self.programs(platform, playing.passes),
            bandwidths=platform.bandwidths,
            compatibility=platform.compatibility,
            seed=playing.seed,
            report_npu=playing.report_npu,
            journal_to=playing.journal_to,
            on_heartbeat=playing.on_heartbeat,
            slowdown=playing.slowdown,
            told_passes=playing.told_passes,
        )


def check_collectives(system: SystemConfig) -> None:
    """Raise InputError if a system plays collectives as traces, which only a workload of graphs can."""
    for kind in system.custom_collectives():
        raise wrong(
            f"the system plays {kind.value} as Chakra traces ('...-implementation-custom'), which only a workload "
            "of graphs can; 'file:PATH' as an implementation plays a schedule in any"
        )
