"""A workload of graphs, as a job."""

from __future__ import annotations

from math import prod

from astra_ns3.collectives.schedule import Tell, silent
from astra_ns3.config.core.plain import JsonObject
from astra_ns3.config.graph_workload import GraphWorkload
from astra_ns3.errors import refuse, wrong
from astra_ns3.experiments.forecasting.expected import ExpectedPlay, ExpectedRun, expected_plays
from astra_ns3.experiments.jobs.job import Headline, Job, Platform, Playing
from astra_ns3.frozen import dataclass, field
from astra_ns3.network.api import NetworkBackend
from astra_ns3.playing.graphs.counted import GraphCounts, NodeCounter
from astra_ns3.playing.graphs.custom import check_custom
from astra_ns3.playing.graphs.graph_driver import GraphDriver
from astra_ns3.system.groups import Grid
from astra_ns3.system.messages import message_schedule
from astra_ns3.units import counted
from astra_ns3.workload.graphs.checking import check_graphs
from astra_ns3.workload.graphs.same_on_all import SameOnAll


@dataclass(frozen=True)
class GraphJob(Job):
    """See :class:`~astra_ns3.experiments.jobs.job.Job`."""

    workload: GraphWorkload
    _counters: dict[Platform, NodeCounter] = field(default_factory=dict, compare=False, repr=False)
    _checked: dict[Platform, list[str]] = field(default_factory=dict, compare=False, repr=False)

    def headline(self) -> Headline:
        """The format, and of how many NPUs there are graphs."""
        return Headline(f"{self.workload.format} graphs", self.workload.npus, "graph")

    def scaled(self, comm_scale: float, compute_scale: float) -> GraphJob:
        """Sizes, and durations and operations, multiplied."""
        return GraphJob(self.workload.scaled(comm_scale, compute_scale))

    def scaled_apart(self, comm_scale: float, compute_scale: float) -> list[str]:
        """A warning, if the factors differ: another share of communication may be hidden."""
        if comm_scale == compute_scale or comm_scale == 1 == compute_scale:
            return []
        return [
            f"sizes are multiplied by {comm_scale:g} and compute times by {compute_scale:g}: another share of the "
            "communication is hidden than in the trace"
        ]

    def warnings(self, platform: Platform) -> list[str]:
        """Return the reader's warnings, and what is odd with the graphs; raises InputError for what can't be played."""
        if platform not in self._checked:
            self._checked[platform] = self._check(platform)
        return self._checked[platform]

    def _check(self, platform: Platform) -> list[str]:
        played = not platform.system.replay_only
        both_ends = played and not platform.compatibility.messages_by_arrival
        workload = self._played_on(platform)
        dimensions = len(platform.dimensions) if played else None
        counter = NodeCounter(workload, platform.system, len(platform.dimensions), platform.compatibility)
        same = isinstance(workload, SameOnAll)
        found = check_graphs(
            counter.watched,
            collectives=played and not same,
            messages=both_ends and not same,
            dimensions=dimensions,
            players=workload.npus if same and played else 1,
            roofline=platform.system.roofline_enabled,
        )
        self._counters[platform] = counter
        shares = [
            f"{workload.source}: has all-gathers, to which each NPU brings as many bytes as the traced rank did; if "
            f"the job had other than {workload.npus} ranks, these gather more or less than it did"
        ]
        custom = check_custom(platform.system, platform.compatibility) if played else ()
        return [*workload.warnings, *(shares if same and counter.gathers else ()), *found, *custom]

    def document(self) -> JsonObject:
        """Return where it came from, and its groups; not its nodes."""
        workload = self.workload
        return {
            "source": workload.source,
            "loop": self.headline().loop,
            "format": workload.format,
            "npus": workload.npus,
            "groups": {name: list(members) for name, members in workload.groups.items()},
        }

    def expected(self, platform: Platform, passes: int, tell: Tell = silent) -> ExpectedRun:
        """Every collective and message; of a workload with too many kinds some, but no number."""
        refuse(passes > 1, f"passes is {passes}, expected 1: a workload of graphs is played once")
        counts = self._counted(platform)
        times = int(counts.whole)
        messages = [
            ExpectedPlay(message_schedule(), bytes, ((source, destination),), times * count)
            for (source, destination, bytes), count in counts.messages.items()
        ]
        requests = [(request, times * count) for request, count in counts.requests]
        world = Grid(platform.dimensions, platform.bandwidths)
        return expected_plays(requests, messages, platform.system, world, platform.compatibility, tell)

    def unsure(self, platform: Platform) -> tuple[list[str], list[str]]:
        """Return that nothing is counted of a workload with too many kinds."""
        left = f"the graphs of {self.source}, whose messages are of too many kinds"
        return [left] * (not self._counted(platform).whole), []

    def expected_computation(self, platform: Platform, passes: int) -> tuple[int, int]:
        """By durations or the roofline; nothing is known of a workload with too many kinds of communication."""
        counts = self._counted(platform)
        return (counts.npu0_compute_ps, counts.computations) if counts.whole else (0, 0)

    def least_computation(self, platform: Platform, passes: int) -> tuple[int, int]:
        """Return the longest of all NPUs' computations on the device, or on the host; its parts go one by one."""
        counts = self._counted(platform)
        return counts.longest_ps, counts.longest_npu

    def driver(self, network: NetworkBackend, platform: Platform, playing: Playing) -> GraphDriver:
        """The graph of every NPU."""
        return GraphDriver(
            network,
            platform.system,
            self._played_on(platform),
            dimensions=platform.dimensions,
            bandwidths=platform.bandwidths,
            compatibility=platform.compatibility,
            seed=playing.seed,
            on_heartbeat=playing.on_heartbeat,
            report_npu=playing.report_npu,
            journal_to=playing.journal_to,
            nodes_to=playing.nodes_to,
            slowdown=playing.slowdown,
            alike=self.workload.npus < prod(platform.dimensions) and not self._counted(platform).sends,
        )

    def _played_on(self, platform: Platform) -> GraphWorkload:
        """The workload as a network's NPUs play it; raises InputError if they are more or fewer."""
        npus = prod(platform.dimensions)
        if self.workload.npus == npus:
            return self.workload
        if self.workload.npus == 1:
            return SameOnAll(self.workload, npus)
        raise wrong(
            f"has graphs for {counted(self.workload.npus, 'NPU')}, the network has {npus}; expected as many, or "
            "the trace of one rank, which all NPUs play then",
            self.source,
        )

    def _counted(self, platform: Platform) -> GraphCounts:
        self.warnings(platform)  # what is wrong with a file is told with its name, before what can't be asked
        return self._counters[platform].counts()
