"""A list of flows, as a job."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from astra_ns3.collectives.schedule import Tell, silent
from astra_ns3.config.core.plain import JsonObject
from astra_ns3.config.flow_list import FlowList, Numbers
from astra_ns3.config.flow_stream import FlowStream
from astra_ns3.config.network.file import AnyNetwork
from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.config.system import SystemConfig
from astra_ns3.config.transports.kinds import TransportConfig
from astra_ns3.config.transports.roce import RoceTransport
from astra_ns3.errors import refuse
from astra_ns3.experiments.forecasting.expected import ExpectedPlay, ExpectedRun
from astra_ns3.experiments.jobs.job import Headline, Job, Platform, Playing
from astra_ns3.frozen import dataclass, replace
from astra_ns3.network.api import NetworkBackend
from astra_ns3.network.backends import abilities_of
from astra_ns3.network.plan import AnyPlan
from astra_ns3.playing.flows.completions import not_known
from astra_ns3.playing.flows.flow_driver import FlowDriver
from astra_ns3.system.file import parse_system
from astra_ns3.system.messages import message_schedule
from astra_ns3.workload.files.workload_formats import AnyWorkload

_TAILS = (
    "percentiles of slowdowns: flows don't model their tails under a congestion control (docs/flow.md): the 99th of "
    "short flows was 2 to 50 times too low; use --backend ns3"
)


@dataclass(frozen=True)
class FlowsJob(Job):
    """See :class:`~astra_ns3.experiments.jobs.job.Job`."""

    workload: FlowList

    def headline(self) -> Headline:
        """Return which kind of list it is, and how many flows it has."""
        return Headline(self.workload.format, len(self.workload), "flow")

    def scaled(self, comm_scale: float, compute_scale: float) -> FlowsJob:
        """Sizes by the one, starts by the other: both alike keep the load."""
        return FlowsJob(self.workload.scaled(comm_scale, compute_scale))

    def warnings(self, platform: Platform) -> list[str]:
        """Return the warnings of its reader."""
        return list(self.workload.warnings)

    def document(self) -> JsonObject:
        """The list in a few numbers; the flows themselves are in its file."""
        flows = self.workload
        return {
            "source": flows.source,
            "loop": flows.format,
            "flows": len(flows),
            "bytes": int(flows.sizes_bytes.sum()),
            "waiting_for_others": 0 if flows.waits_for is None else int((flows.waits_for >= 0).sum()),
            "first_start_ps": int(flows.starts_ps.min()),
            "last_start_ps": int(flows.starts_ps.max()),
            "npus": flows.npus,
        }

    def expected(self, platform: Platform, passes: int, tell: Tell = silent) -> ExpectedRun:
        """Every flow, those of about one size together; raises InputError if the network lacks an NPU."""
        self.workload.check_npus(int(np.prod(platform.dimensions)))
        refuse(passes > 1, f"passes is {passes}, expected 1: a list of flows is played once")
        return ExpectedRun(0, tuple(_plays(self.workload)))

    def driver(self, network: NetworkBackend, platform: Platform, playing: Playing) -> FlowDriver:
        """The flows at their times."""
        return FlowDriver(
            network,
            self.workload,
            ideal=playing.ideal or not_known,
            on_heartbeat=playing.on_heartbeat,
            report_npu=playing.report_npu,
            completions_to=playing.rows_to,
        )


@dataclass(frozen=True)
class StreamJob(Job):
    """Flows that go on until all else has ended; see :class:`~astra_ns3.experiments.jobs.job.Job`."""

    workload: FlowStream

    @property
    def endless(self) -> bool:
        """It doesn't end by itself."""
        return True

    def headline(self) -> Headline:
        """Return its kind; how many flows there will be nobody knows."""
        return Headline(self.workload.format, 0, "flow")

    def scaled(self, comm_scale: float, compute_scale: float) -> StreamJob:
        """Sizes by the one, starts by the other: both alike keep the load."""
        return StreamJob(self.workload.scaled(comm_scale, compute_scale))

    def warnings(self, platform: Platform) -> list[str]:
        """There is nothing to warn of."""
        return []

    def document(self) -> JsonObject:
        """Return the workload in a few numbers."""
        stream = self.workload
        process = stream.process
        return {
            "source": stream.source,
            "loop": stream.format,
            "seed": stream.seed,
            "mean_bps": process.mean_bps,
            "npus": stream.npus,
        }

    def expected(self, platform: Platform, passes: int, tell: Tell = silent) -> ExpectedRun:
        """Nobody knows what it will send."""
        return ExpectedRun(0, ())

    def driver(self, network: NetworkBackend, platform: Platform, playing: Playing) -> FlowDriver:
        """Its flows, list after list."""
        lists = self.workload.lists()
        return FlowDriver(
            network,
            next(lists),
            more=lists,
            ideal=playing.ideal or not_known,
            on_heartbeat=playing.on_heartbeat,
            report_npu=playing.report_npu,
            completions_to=playing.rows_to,
        )


def system_of_flows(beside: SystemConfig | None) -> SystemConfig:
    """Return a system for flows, whose NPUs spend as much on a message as those of ``beside`` (None: nothing)."""
    plain = parse_system({"scheduling-policy": "FIFO", "endpoint-delay": 0, "preferred-dataset-splits": 1})
    if beside is None:
        return plain
    names = ("endpoint_delay_ns", "injection_scale", "rendezvous", "reduction_bytes_per_ns")
    return plain.model_copy(update={name: getattr(beside, name) for name in names})


def on_its_connections(network: AnyNetwork, workload: AnyWorkload, *, shares: bool) -> AnyNetwork:
    """Return the network with queue pairs that last, if the workload says which messages share one; else as it is.

    ``shares``: others have the network, too. Raises InputError if each of their messages would have a queue pair.
    """
    has_own = isinstance(workload, FlowList) and workload.connections is not None
    if not has_own or not isinstance(network, NetworkConfig):
        return network

    def changed(transport: TransportConfig) -> TransportConfig:
        if not isinstance(transport, RoceTransport) or transport.queue_pairs == "per-pair":
            return transport
        words = f"per-message has no messages share a queue pair, and those of an id in {workload.source} do"
        refuse(shares, f"key 'transport.queue_pairs': {words}; expected per-pair, which gives each of its ids one")
        return transport.on_connections()

    each = None if network.transports is None else tuple(map(changed, network.transports))
    return network.model_copy(update={"transport": changed(network.transport), "transports": each})


def _plays(flows: FlowList) -> Iterator[ExpectedPlay]:
    """Yield the flows of each connection that NPUs have."""
    ends = np.stack([flows.sources, flows.destinations], axis=1)
    if flows.connections is None:
        yield from _of_octaves(flows.sizes_bytes, ends)
        return
    for number in np.unique(flows.connections).tolist():
        own = flows.connections == number
        for play in _of_octaves(flows.sizes_bytes[own], ends[own]):
            yield replace(play, connections=number)


def _of_octaves(sizes: Numbers, ends: npt.NDArray[np.int32]) -> Iterator[ExpectedPlay]:
    """Yield the flows of each octave of sizes, all of their mean size but the largest; the bytes add up exactly."""
    order = np.argsort(sizes, kind="stable")
    sizes, ends = sizes[order], ends[order]
    largest, begin = len(sizes) - 1, 0
    while begin < largest:
        end = min(int(np.searchsorted(sizes, 2 * sizes[begin])), largest)
        yield from _of_mean_size(sizes[begin:end], ends[begin:end])
        begin = end
    yield _play(int(sizes[largest]), ends[largest:])


def _of_mean_size(sizes: Numbers, ends: npt.NDArray[np.int32]) -> Iterator[ExpectedPlay]:
    mean, larger = divmod(int(sizes.sum()), len(sizes))
    if larger < len(sizes):
        yield _play(mean, ends[: len(sizes) - larger])
    if larger:
        yield _play(mean + 1, ends[len(sizes) - larger :])


def _play(size_bytes: int, ends: npt.NDArray[np.int32]) -> ExpectedPlay:
    return ExpectedPlay(message_schedule(), size_bytes, ends, 1)


def of_tails(workload: AnyWorkload, plan: AnyPlan, backend: str) -> list[str]:
    """Return a warning of percentiles of a list's slowdowns where flows play a congestion control roughly."""
    abilities, packets = abilities_of(backend), plan.of_packets
    if packets is None or abilities.packets or not abilities.needs_packets:
        return []
    several = isinstance(workload, FlowStream) or (isinstance(workload, FlowList) and len(workload) > 1)
    return [_TAILS] * (several and any(each.flow_errors for each in packets.transports.values()))
