"""Which collectives a workload will issue, and which schedules their chunks will go through: no network needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from astra_ns3.collectives.lookup import is_in_network
from astra_ns3.collectives.schedule import Schedule, Tell, silent
from astra_ns3.collectives.storage import storage_schedule
from astra_ns3.config.core.compatibility import Compatibility
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import refuse
from astra_ns3.frozen import dataclass, field, replace
from astra_ns3.network.channel import ChannelCosts
from astra_ns3.playing.dry_run.counting import (
    Counts,
    RequestKind,
    counted_accesses,
    counted_messages,
    counted_requests,
    request_kind,
)
from astra_ns3.playing.dry_run.deadlock import check_end
from astra_ns3.playing.programs.role_programs import RolePrograms
from astra_ns3.scenario.scenario import Tenancy
from astra_ns3.system.channels import Channel, groups_of
from astra_ns3.system.collective_planner import CollectivePlanner, system_and_grid_of
from astra_ns3.system.communicator import Communicator
from astra_ns3.system.groups import Grid
from astra_ns3.system.in_network import in_network_plays
from astra_ns3.system.launches import schedule_of
from astra_ns3.system.messages import INVITATION_BYTES, message_schedule
from astra_ns3.units import LARGEST_INTEGER, format_bytes

_Numbers = npt.NDArray[np.int64]
_PLAYER_BITS = 32


@dataclass(frozen=True)
class ExpectedChannel:
    """A channel of a collective library that plays a schedule: its costs, which name no servers.

    ``servers``: the server of each rank in each group, shape ``(groups, ranks)``.
    """

    costs: ChannelCosts
    servers: _Numbers

    def all_bytes(self, schedule: Schedule, bytes: int) -> int:
        """Bytes on the wire of all messages of all groups when each rank brings ``bytes``."""
        alike = Counter(tuple(np.unique(row, return_inverse=True)[1].tolist()) for row in self.servers)
        rows = [schedule] if schedule.rotation is None else [schedule.sent_by(n) for n in range(schedule.ranks)]
        total = 0
        for sent in rows:
            near, far = (self.costs.wire_bytes(sent.message_bytes(bytes), sent.block_count, of) for of in (True, False))
            for servers, groups in alike.items():
                places = np.array(servers)
                is_near = places[sent.sender] == places[sent.receiver]
                total += groups * int(np.where(is_near, near, far).sum())
        return total


@dataclass(frozen=True)
class ExpectedPlay:
    """A schedule that every group over some dimensions plays ``count`` times on ``bytes`` per rank."""

    schedule: Schedule
    bytes: int
    groups: tuple[tuple[int, ...], ...] | npt.NDArray[np.int32]
    """NPUs of each group; or as an array of shape ``(groups, ranks)``."""
    count: int
    invites: bool = False
    """Whether a message only asks for another one."""
    channel: ExpectedChannel | None = None
    """The channel that plays it."""
    connections: int = 0
    """Which connections of two NPUs it takes without a channel; 0: those that everybody has."""

    @property
    def largest_bytes(self) -> int:
        """Bytes of the largest message."""
        return _rounded_up(self.schedule, self.bytes, self.schedule.sent_blocks()[0])

    def sent(self) -> Iterator[tuple[_Numbers, _Numbers]]:
        """Yield sender and receiver, as one number, with bytes as the wire has them; pairs may stand several times."""
        players, schedule = np.asarray(self.groups, dtype=np.int64), self.schedule
        alone = [schedule] if schedule.rotation is None else map(schedule.sent_by, range(schedule.ranks))
        for rows in alone:
            sizes = rows.message_bytes(self.bytes)
            if self.channel is not None:
                sizes = np.maximum(
                    *(self.channel.costs.wire_bytes(sizes, rows.block_count, of) for of in (True, False))
                )
            between, place = np.unique(rows.sender.astype(np.int64) * rows.ranks + rows.receiver, return_inverse=True)
            sums = self.count * np.bincount(place, sizes).astype(np.int64)
            pairs = players[:, between // rows.ranks] << _PLAYER_BITS | players[:, between % rows.ranks]
            yield pairs.ravel(), np.tile(sums, len(players))

    @property
    def messages(self) -> int:
        """Its messages in all groups and times."""
        return self.count * self.schedule.messages * len(self.groups)

    @property
    def all_bytes(self) -> int:
        """Bytes of all its messages in all groups and times, as the wire has them."""
        if self.channel is not None:
            return self.count * self.channel.all_bytes(self.schedule, self.bytes)
        return self.count * len(self.groups) * self.schedule.all_bytes(self.bytes)


@dataclass(frozen=True)
class ExpectedRun:
    """Collectives and messages that a run will play; ``collectives`` counts those with something to do."""

    collectives: int
    plays: tuple[ExpectedPlay, ...]
    cuts: Mapping[RequestKind, tuple[int, int]] = field(default_factory=dict)
    """Chunks of each kind of collective, and phases of a chunk; (0, 0): none."""
    alone: int = 0
    """Messages from one NPU to another that are no part of a collective; a run counts each as one."""
    unlike_groups: tuple[int, ...] = ()
    """The sizes of groups that NCCL's plans don't fit exactly."""

    @property
    def messages(self) -> int:
        """Messages of all groups and times."""
        return sum(play.messages for play in self.plays)

    @property
    def channel_messages(self) -> int:
        """The number of messages that channels of a collective library send."""
        return sum(play.messages for play in self.plays if play.channel is not None)

    @property
    def kept_rows(self) -> int:
        """Rows of its schedules that are kept, of each schedule once."""
        return sum(schedule.kept_rows for schedule in {play.schedule for play in self.plays})

    @property
    def bytes(self) -> int:
        """Bytes of all messages of the run."""
        return sum(play.all_bytes for play in self.plays)

    def on(self, tenancy: Tenancy) -> ExpectedRun:
        """Return the same with a tenant's NPUs of the network in the place of its ranks."""
        npus = np.array(tenancy.npus, dtype=np.int32)
        if np.array_equal(npus, np.arange(len(npus))):
            return self
        plays = (replace(play, groups=_on_npus(play.groups, npus)) for play in self.plays)
        return replace(self, plays=tuple(plays))


def most_sent(plays: Iterable[ExpectedPlay]) -> int:
    """Return the most bytes that one NPU sends another in all plays, or a little more where channels play."""
    columns = [pairs for play in plays for pairs in play.sent()]
    if not columns:
        return 0
    pairs, sizes = (np.concatenate(column) for column in zip(*columns, strict=True))
    return int(np.bincount(np.unique(pairs, return_inverse=True)[1], sizes).max(initial=0))


def _on_npus(
    groups: tuple[tuple[int, ...], ...] | npt.NDArray[np.int32], npus: npt.NDArray[np.int32]
) -> npt.NDArray[np.int32]:
    """Return groups of ranks as groups of NPUs; numbers behind the last rank are those of reducers, and stay."""
    ranks = np.asarray(groups, dtype=np.int64)
    return np.where(ranks < len(npus), npus[np.minimum(ranks, len(npus) - 1)], ranks).astype(np.int32)


def expected_run(
    programs: RolePrograms,
    system: SystemConfig,
    bandwidths: Sequence[float] | None,
    compatibility: Compatibility,
    tell: Tell = silent,
) -> ExpectedRun:
    """Everything that programs play; raises InputError for what the system's algorithms can't do.

    ``tell`` hears of the proof of a user's schedule. Where trees or queues take turns, the turn of a
    collective's first appearance stands for all.
    """
    check_end(programs)
    config = programs.cut.system(system)
    world = Grid(programs.cut.dimensions, None if bandwidths is None else programs.cut.of_each(bandwidths))
    messages = [*_message_plays(programs), *_access_plays(programs, config)]
    return expected_plays(counted_requests(programs), messages, config, world, compatibility, tell)


def expected_plays(
    requests: Counts,
    messages: Sequence[ExpectedPlay],
    config: SystemConfig,
    world: Grid,
    compatibility: Compatibility,
    tell: Tell = silent,
) -> ExpectedRun:
    """Return all that counted ``requests`` and ``messages`` play on a system, like :func:`expected_run`."""
    planners: dict[Communicator | None, tuple[Grid, CollectivePlanner]] = {}
    collectives = 0
    cuts: dict[RequestKind, tuple[int, int]] = {}
    plays: Counter[tuple[Schedule, int, Communicator | None, tuple[int, ...], Channel | None]] = Counter()
    on_trees: Counter[tuple[Schedule, int, tuple[int, ...]]] = Counter()
    """How often groups of NPUs and reducers play a schedule."""
    for request, count in requests:
        communicator = request.communicator
        if communicator not in planners:
            own_config, grid = system_and_grid_of(config, world, communicator, compatibility)
            planners[communicator] = grid, CollectivePlanner(own_config, grid, compatibility, world.npus)
        grid, planner = planners[communicator]
        chunks = planner.chunks(request, time_ps=0)
        collectives += count if chunks else 0
        cuts[request_kind(request)] = len(chunks), sum(len(chunk) for chunk in chunks)
        alike = Counter(phase for chunk in chunks for phase in chunk)
        for phase, times in alike.items():
            if is_in_network(phase.algorithm):
                for own, players in in_network_plays(phase, grid, config.reduction_trees, config.storage_hosts):
                    on_trees[own, phase.bytes, players] += count * times
                continue
            schedule = schedule_of(phase, grid.ranks_in(phase.dimensions), tell)
            _check_bytes(schedule, phase.bytes)
            plays[schedule, phase.bytes, communicator, tuple(phase.dimensions), phase.channel] += count * times
    playing = {key[2:]: _players(*key[3:], planners[key[2]][0], config.servers) for key in plays}
    return ExpectedRun(
        collectives,
        (
            *(ExpectedPlay(*key[:2], playing[key[2:]][0], n, channel=playing[key[2:]][1]) for key, n in plays.items()),
            *(ExpectedPlay(schedule, bytes, (players,), n) for (schedule, bytes, players), n in on_trees.items()),
            *messages,
        ),
        cuts,
        sum(play.count * len(play.groups) for play in messages if not play.invites),
        tuple(sorted({size for _, planner in planners.values() for size in planner.unlike_groups})),
    )


def _players(
    dimensions: tuple[int, ...], channel: Channel | None, grid: Grid, servers: Sequence[int]
) -> tuple[tuple[tuple[int, ...], ...], ExpectedChannel | None]:
    """Return who plays over dimensions, and the channel with the servers of its groups.

    ``servers``: the server of each NPU.
    """
    groups = groups_of(dimensions, channel, grid)
    if channel is None:
        return groups, None
    found = np.array([channel.servers(group, servers) for group in grid.cosets(dimensions)], dtype=np.int64)
    return groups, ExpectedChannel(channel.costs, found)


def _message_plays(programs: RolePrograms) -> Iterator[ExpectedPlay]:
    """Messages from one NPU to another, and the invitations to them."""
    for messages in counted_messages(programs):
        yield ExpectedPlay(message_schedule(), messages.bytes, messages.pairs, messages.times)
        if messages.rendezvous:
            back = tuple((destination, source) for source, destination in messages.pairs)
            yield ExpectedPlay(message_schedule(), INVITATION_BYTES, back, messages.times, invites=True)


def _access_plays(programs: RolePrograms, config: SystemConfig) -> Iterator[ExpectedPlay]:
    """Stores to storage hosts, and loads from there."""
    hosts = config.storage_hosts
    if hosts is None:
        return
    for accesses in (each for each in counted_accesses(programs) if not each.remote):
        groups = tuple((npu, hosts.of(npu)) for npu in accesses.npus)
        yield ExpectedPlay(storage_schedule(loads=accesses.loads), accesses.bytes, groups, accesses.times)


def _rounded_up(schedule: Schedule, bytes: int, blocks: int) -> int:
    """Bytes of so many blocks, rounded up, when each rank brings ``bytes``."""
    return -(-bytes * schedule.expansion * blocks // schedule.blocks)


def _check_bytes(schedule: Schedule, bytes: int) -> None:
    """Raise InputError if the data of all ranks, or the messages of a schedule, are more than 64 bits can count."""
    sent = _rounded_up(schedule, bytes, schedule.sent_blocks()[1])
    refuse(
        max(sent, bytes * schedule.expansion) + schedule.messages > LARGEST_INTEGER,
        f"a collective of {format_bytes(bytes)} on {schedule.ranks} ranks sends {format_bytes(sent)}, and no more "
        f"than {LARGEST_INTEGER} bytes can be counted",
    )
