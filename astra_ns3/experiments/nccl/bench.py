"""Plays collectives of many sizes one after the other, each alone on the network, as nccl-tests measures them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from astra_ns3.collectives.schedule import Tell, silent
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.compatibility import OURS
from astra_ns3.config.nccl import NcclConfig
from astra_ns3.config.network.file import AnyNetwork
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import SimulationStalled, refuse
from astra_ns3.experiments.forecasting.costs import SECONDS_PER_CHANNEL_MESSAGE
from astra_ns3.experiments.nccl.servers_of_network import (
    as_nccl_asks,
    lets_merge,
    place_of,
    shares_all_nics,
    with_servers,
)
from astra_ns3.experiments.network_parts.packet_graph import Ground
from astra_ns3.experiments.network_parts.reduction import with_switches
from astra_ns3.frozen import dataclass
from astra_ns3.nccl.copying import BYTES_PER_US
from astra_ns3.nccl.logs import bus_factor
from astra_ns3.network.api import Limits, NetworkBackend
from astra_ns3.network.backend_makers import create_backend
from astra_ns3.network.backends import Abilities, abilities_of
from astra_ns3.network.floor.carried import CarriedBytes
from astra_ns3.network.floor.floor import floor_of
from astra_ns3.network.instance import pack_instance
from astra_ns3.network.plan import AnyPlan, plan_network
from astra_ns3.network.records import Chain, RecorderOptions
from astra_ns3.scenario.scenario import tenancy_of
from astra_ns3.system.communicator import Communicator
from astra_ns3.system.file import parse_system
from astra_ns3.system.groups import Grid
from astra_ns3.system.launches import LaunchTable, ScheduleNumbers
from astra_ns3.system.nccl.parts import of_name
from astra_ns3.system.nccl.planner import NcclPlanner
from astra_ns3.system.phases import Phase
from astra_ns3.topology.ports import node_name
from astra_ns3.units import PS_PER_US, counted

OPERATIONS: Mapping[str, CollectiveKind] = MappingProxyType(
    {
        "all_reduce": CollectiveKind.ALL_REDUCE,
        "all_gather": CollectiveKind.ALL_GATHER,
        "reduce_scatter": CollectiveKind.REDUCE_SCATTER,
        "broadcast": CollectiveKind.BROADCAST,
        "reduce": CollectiveKind.REDUCE,
        "alltoall": CollectiveKind.ALL_TO_ALL,
        "sendrecv": CollectiveKind.POINT_TO_POINT,
    }
)
"""nccl-tests' operations by their names."""
_BITS_PER_US = 8e6  # of a byte in a us
_US_PER_MS = 1_000
_BINDS = 0.1
"""A resource that alone needs at least this share of the time is named. If no resource does, latency binds."""
_TAKEN = 0.5
"""A fit of a host's overhead leaves out rows of which a resource needs a larger share of the time than this."""
_AROUND = 1.1
"""A link as routed is named if it needs so many times as long as other lines: its counter includes headers."""
_LONG_S = 20
"""A measurement that takes at least so long is announced."""
_PARTED = ("all_gather", "reduce_scatter", "alltoall")
_LINE_BYTES, _ELEMENT_BYTES = 16, 4
"""nccl-tests rounds a rank's part down to lines (src/all_gather.cu), other sizes to floats."""


@dataclass(frozen=True)
class BenchRow:
    """A size as nccl-tests counts it, and what came of it. Bandwidths in GB/s (10**9 bytes).

    ``binds``: the resource whose own bytes need the largest ``share`` of the time; ``latency`` if none needs a tenth.
    """

    size_bytes: int
    time_us: float
    bus_factor: float
    algorithm: str
    protocol: str
    channels: int
    binds: str
    share: float

    @property
    def alg_gbytes_per_s(self) -> float:
        """Size over time."""
        return self.size_bytes / self.time_us / BYTES_PER_US

    @property
    def bus_gbytes_per_s(self) -> float:
        """Bus bandwidth, as nccl-tests defines it."""
        return self.alg_gbytes_per_s * self.bus_factor

    @property
    def latency_binds(self) -> bool:
        """Whether no resource needs most of the time."""
        return self.share <= _TAKEN

    @property
    def binds_text(self) -> str:
        """The resource that binds, with its share of the time."""
        return f"{self.binds} ({self.share:.0%} of the time)" if self.share >= _BINDS else self.binds


@dataclass(frozen=True)
class Case:
    """One measurement: a size as nccl-tests counts it, on the NPUs ``members`` (None: all).

    ``beside``: other groups of NPUs that do the same at the same time.
    """

    size_bytes: int
    members: tuple[int, ...] | None = None
    beside: tuple[tuple[int, ...], ...] = ()

    @property
    def groups(self) -> tuple[tuple[int, ...] | None, ...]:
        """All groups, ``members`` first."""
        return self.members, *self.beside


def bench(
    operation: str,
    cases: Sequence[Case],
    network: AnyNetwork,
    table: NcclConfig,
    *,
    backend: str,
    seed: int,
    tell: Tell = silent,
) -> list[BenchRow]:
    """Play each case, which has bytes, on its NPUs, one after the other. Raises InputError.

    ``tell`` hears beforehand how much there is to play, if it takes long.
    """
    if not cases:
        return []
    system = system_of(network, table, backend)
    plan = plan_network(_asked(network, table))
    native = create_backend(backend, plan, seed=seed, recorder=RecorderOptions())
    try:
        played = _Played(native, plan, system, operation, cases)
        played.foretell(abilities_of(backend), tell)
        played.run()
        return list(played.rows(network))
    finally:
        native.close()


def rounded_sizes(operation: str, sizes: Sequence[int], ranks: int) -> list[int]:
    """Return rising sizes as nccl-tests rounds them down, without those of which nothing is left.

    Where each rank has a part of its own, it is whole lines; else sizes are whole elements. Raises InputError if
    nothing is left of all.
    """
    unit = least_size(operation, ranks)
    refuse(
        sizes[-1] < unit,
        f"-e: the largest size is {counted(sizes[-1], 'byte')}, expected at least {unit}: sizes of {operation} on "
        f"{counted(ranks, 'GPU')} are rounded down to multiples of {unit} bytes, as by nccl-tests",
    )
    return [size // unit * unit for size in sizes if size >= unit]


def left_out(operation: str, sizes: Sequence[int], ranks: int) -> str | None:
    """Return how many sizes have no row, in words; None: all have one."""
    unit = least_size(operation, ranks)
    small = sum(size < unit for size in sizes)
    return f"left out: {counted(small, 'size')} below {unit} bytes, rounded down to 0" if small else None


def least_size(operation: str, ranks: int) -> int:
    """Return the least size that nccl-tests plays; all others are multiples of it."""
    return _LINE_BYTES * ranks if operation in _PARTED else _ELEMENT_BYTES


def system_of(network: AnyNetwork, table: NcclConfig, backend: str) -> SystemConfig:
    """Return the system of a measurement: NCCL alone, on all NPUs of a network. Raises InputError."""
    tenancy = tenancy_of("", None, 0, None, network.dimensions, network.bandwidths)
    written = _written(table)
    placed = with_servers(written, network, tenancy, merges=lets_merge(written, network, backend))
    return with_switches(placed, Ground(_asked(network, table), tenancy, backend, None))


def _written(table: NcclConfig) -> SystemConfig:
    return parse_system({"collectives": "nccl", "endpoint-delay": 0}).model_copy(update={"nccl": table})


def _asked(network: AnyNetwork, table: NcclConfig) -> AnyNetwork:
    return as_nccl_asks(network, _written(table))


class _Members:
    """NPUs that play together: their plans and launches."""

    def __init__(self, network: NetworkBackend, system: SystemConfig, grid: Grid, numbers: ScheduleNumbers) -> None:
        assert system.nccl is not None
        self.npus = grid.cosets((0,))[0]
        self.planner = NcclPlanner(system.nccl, grid, system.reduction_trees)
        self.table = LaunchTable(network, system, grid, OURS, numbers)

    def phases(self, operation: str, size: int) -> list[Phase]:
        """Return the phases of an operation."""
        kind = OPERATIONS[operation]
        if kind is CollectiveKind.POINT_TO_POINT:
            return self.planner.shift(size, (0,))
        # What each rank brings, of a size as nccl-tests counts it.
        per_rank = max(size // len(self.npus), 1) if operation == "all_gather" else size
        return [phase for (phase,) in self.planner.chunks(kind, per_rank, (0,))]


class _Played:
    """One case after the other; the listener of the network."""

    def __init__(
        self, network: NetworkBackend, plan: AnyPlan, system: SystemConfig, operation: str, cases: Sequence[Case]
    ) -> None:
        npus = network.npus
        self._network, self._npus, self._operation, self._cases = network, npus, operation, cases
        self._plan = plan
        self._players = len(plan.graph.player_host)
        self._before = np.zeros(self._players**2, dtype=np.int64)
        self._ports_before = self._ports_so_far()
        self._servers = np.array(system.servers, dtype=np.int64)
        world, numbers = Grid((npus,)), ScheduleNumbers(network)
        groups = {
            members: _Members(network, system, world.of(None if members is None else Communicator(members)), numbers)
            for members in dict.fromkeys(members for case in cases for members in case.groups)
        }
        self._plays = [
            [(groups[members], groups[members].phases(operation, case.size_bytes)) for members in case.groups]
            for case in cases
        ]
        for group, phases in (each for plays in self._plays for each in plays):
            for phase in phases:
                group.table.launch(phase)
        self._number = 0
        self._left = 0
        self._begun_ps = 0
        self.times_ps: list[int] = []
        self._carried: list[CarriedBytes] = []
        self._links: list[tuple[str, float]] = []

    def foretell(self, backend: Abilities, tell: Tell) -> None:
        """Tell how many messages there are, and about how long a core plays them, if that is long."""
        phases = (phase for plays in self._plays for _, phases in plays for phase in phases)
        messages = sum(phase.schedule.messages for phase in phases if phase.schedule is not None)
        seconds = messages * (SECONDS_PER_CHANNEL_MESSAGE + backend.costs.seconds_per_message)
        if seconds >= _LONG_S:
            more = ", and longer for their packets" if backend.packets else ""
            tell(f"{messages:,} messages are played, in some {seconds:,.0f} s{more}")

    def run(self) -> None:
        """Play all cases. Raises SimulationStalled if one doesn't end."""
        self._network.call_later(0, 0, lambda _: self._begin())
        self._network.run(self, Limits())
        if len(self.times_ps) < len(self._cases):
            raise SimulationStalled(
                f"{self._operation} of {self._cases[len(self.times_ps)].size_bytes} bytes doesn't end"
            )

    def _begin(self) -> None:
        self._begun_ps = self._network.now_ps()
        rows = [
            (npu, launch.schedules[npu], launch.groups[npu], pack_instance(self._number, place, 0), launch.bytes)
            for group, phases in self._plays[self._number]
            for place, launch in enumerate(map(group.table.launch, phases))
            for npu in group.npus
        ]
        self._left = len(rows)
        self._network.launch_all(rows)

    def phase_done(self, npu: int, instance: int, time_ps: int) -> None:
        """From the network: an NPU has ended its part of a channel."""
        self._left -= 1
        if self._left:
            return
        self.times_ps.append(time_ps - self._begun_ps)
        self._carried.append(self._sent())
        self._links.append(self._busiest_link())
        self._number += 1
        if self._number == len(self._cases):
            self._network.stop()
        else:
            self._network.call_later(0, 0, lambda _: self._begin())

    def phases_done(self, npus: Sequence[int], instances: Sequence[int], time_ps: int) -> None:
        """From the network: NPUs have ended parts at one moment."""
        for npu, instance in zip(npus, instances, strict=True):
            self.phase_done(npu, instance, time_ps)

    def heartbeat(self, time_ps: int, events: int) -> None:
        """Nothing to tell."""

    def _carried_so_far(self) -> npt.NDArray[np.int64]:
        """Bytes on the wire that each player has sent each other; shape ``(players * players,)``."""
        carried = self._network.carried()
        if carried is None:
            return np.zeros(self._players**2, dtype=np.int64)
        pairs = carried.sender * self._players + carried.receiver
        return np.bincount(pairs, weights=carried.bytes, minlength=self._players**2).astype(np.int64)

    def _sent(self) -> CarriedBytes:
        """Return the bytes sent since the last call."""
        so_far = self._carried_so_far()
        sent, self._before = so_far - self._before, so_far
        pairs = np.flatnonzero(sent)
        return CarriedBytes(pairs // self._players, pairs % self._players, sent[pairs])

    def _ports_so_far(self) -> npt.NDArray[np.int64]:
        """Bytes on the line that each port has sent."""
        return np.array([int(row["sent_bytes"]) for row in self._network.switch_table()], dtype=np.int64)

    def _busiest_link(self) -> tuple[str, float]:
        """The link between switches that took longest to carry what it has since the last call, and that time in us.

        What equal paths share isn't known before: the hash of each flow chooses.
        """
        so_far, graph = self._ports_so_far(), self._plan.graph
        sent, self._ports_before = so_far - self._ports_before, so_far
        if not len(sent):
            return "latency", 0.0
        nodes, peers = np.repeat(np.arange(graph.nodes), np.diff(graph.adjacency.offsets)), graph.adjacency.peers
        between = (nodes >= graph.hosts) & (peers >= graph.hosts)
        times_us = np.where(between, sent * _BITS_PER_US / graph.adjacency.rates_bps, 0.0)
        busiest = int(times_us.argmax())
        names = (node_name(graph, int(end[busiest])) for end in (nodes, peers))
        return "the link from {} to {}".format(*names), float(times_us[busiest])

    def _by_npu(self, carried: CarriedBytes, between: Sequence[int]) -> npt.NDArray[np.int64]:
        """Return the bytes that each NPU sent inside its server, and out of it; shape ``(2, npus)``.

        ``between``: the players of switches between servers.
        """
        found = np.zeros((2, self._npus), dtype=np.int64)
        own = carried.sender < self._npus
        sender, receiver = carried.sender[own], carried.receiver[own]
        to_npu = np.minimum(receiver, self._npus - 1)
        far = (receiver < self._npus) & (self._servers[sender] != self._servers[to_npu])
        far |= np.isin(receiver, between)
        np.add.at(found, (far.astype(np.int64), sender), carried.bytes[own])
        return found

    def _fabric(self, carried: CarriedBytes, time_us: float) -> tuple[str, float]:
        """The lines of the network that need most of the time alone, and their share of it."""
        floor = floor_of(self._plan, carried, Chain())
        return ("latency", 0.0) if floor is None else (floor.lines, floor.lines_ps / PS_PER_US / time_us)

    def rows(self, network: AnyNetwork) -> Iterator[BenchRow]:
        """Yield a row for each case."""
        played = zip(self._cases, self._plays, self.times_ps, self._carried, self._links, strict=True)
        for case, ((group, phases), *_), time_ps, carried, (link, link_us) in played:
            time_us = time_ps / PS_PER_US
            least = self._least_us(phases, self._by_npu(carried, _between_servers(phases)), network)
            binds, least_us = max(least, key=lambda each: each[1])
            algorithm, protocol, channels = of_name(phases[0].algorithm)
            factor = bus_factor(self._operation, len(group.npus))
            share = least_us / time_us
            lines, lines_share = self._fabric(carried, time_us)
            if lines_share > _AROUND * share:
                binds, share = lines, lines_share
            if link_us / time_us > _AROUND * share:
                binds, share = link, link_us / time_us
            name = binds if share >= _BINDS else "latency"
            yield BenchRow(case.size_bytes, time_us, factor, algorithm, protocol, channels, name, share)

    def _least_us(
        self, phases: Iterable[Phase], sent: npt.NDArray[np.int64], network: AnyNetwork
    ) -> list[tuple[str, float]]:
        """The time that each kind of line, and copying, would need alone."""
        place = place_of(network)
        inside, outwards = place.inside_bps / _BITS_PER_US, place.outwards_bps / _BITS_PER_US
        sharing = place.npus if shares_all_nics(network) else place.npus // place.nics
        of_nics = sent[1].reshape(-1, sharing).sum(axis=1) / sharing
        least = [("NVLink", float(sent[0].max()) / inside), ("copying", max(map(_copying_us, phases)))]
        return [*least, ("NIC", float(of_nics.max()) / outwards)] if outwards else least  # one server may have no NIC


def _between_servers(phases: Iterable[Phase]) -> list[int]:
    """The players of the switches between servers."""
    channels = [phase.channel for phase in phases if phase.channel is not None]
    pairs = ((channel.beside, reducers) for channel in channels for reducers in channel.reducers)
    return sorted({one for beside, reducers in pairs for at, one in zip(beside, reducers, strict=True) if at < 0})


def _copying_us(phase: Phase) -> float:
    """The time that a channel's kernel needs to copy what comes to it, in its busiest lane."""
    schedule, channel = phase.schedule, phase.channel
    assert schedule is not None
    assert channel is not None
    kept = schedule.kept
    sizes = phase.bytes * schedule.expansion / schedule.blocks * kept["block_count"]
    receivers = np.zeros(schedule.kept_rows, dtype=np.int64) if schedule.rotation is not None else kept["receiver"]
    sizes = np.where(receivers < schedule.ranks - schedule.helpers, sizes, 0.0)  # switches have no kernel
    player = receivers.astype(np.int64) * schedule.lanes + kept["step"] % schedule.lanes
    # Receptions of one step are copied side by side.
    step = player * (int(kept["step"].max(initial=0)) + 1) + kept["step"]
    order = np.argsort(step, kind="stable")
    first = np.flatnonzero(np.diff(step[order], prepend=-1))
    largest = np.maximum.reduceat(sizes[order], first) if len(first) else sizes
    busiest = np.bincount(player[order][first], weights=largest).max(initial=0.0) if len(first) else 0.0
    rate = channel.costs.near_copy_bytes_per_ms
    if phase.kind is CollectiveKind.POINT_TO_POINT:  # each sends to the next one, some to another server
        rate = min(rate, channel.costs.far_copy_bytes_per_ms)
    return _US_PER_MS * float(busiest) / max(rate, 1)
