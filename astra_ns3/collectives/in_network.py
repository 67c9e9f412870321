"""Schedules of collectives that switches reduce: streams of pieces that go up trees, and sums that come back.

Players are the members of a group, by rank, and behind them the reducers of its trees, which bring and keep nothing.

* A tree (``sharp``, ``fred``): each member sends its data up once, and the root sends the sum to all: S bytes each way
  on a member's line, where a ring has 2 (n - 1)/n S. The data are shared out over the trees. For a collective with a
  root, and for each rank's part of a reduce-scatter or an all-gather, the tree hangs from that rank. In a collective
  with a root, a signal on each line confirms the last piece, so that no member ends before its data have come.
* Two shots (``nvls``): each rank has a part, of which it gets the sum and which it sends back for all:
  S (1 + 1/n) bytes each way. Loads and stores of the ranks drive this: a rank loads no piece
  before it has the sum of an earlier one.
* By way of a pool: the tree hangs from a storage host, which gets the sum and sends something else of its own size to
  all.

Sources: Graham et al., "Scalable Hierarchical Aggregation Protocol (SHArP)", COMHPC 2016; Klenk et al., "An
In-Network Architecture for Accelerating Shared-Memory Multiprocessor Collectives", ISCA 2020.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import gcd

import numpy as np
import numpy.typing as npt

from astra_ns3.collectives.channel_tree import DOWN, LANES, UP, channel_tree
from astra_ns3.collectives.columns import Int32Array, assemble, check_messages, column, concatenate
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.config.core.collective_kind import ROOTED, CollectiveKind
from astra_ns3.config.core.reduction import ABSENT, NOBODY, Trees
from astra_ns3.frozen import replace

ONE_TREE = "sharp"
TWO_SHOTS = "nvls"
_TREE_KINDS = (
    CollectiveKind.ALL_REDUCE,
    CollectiveKind.REDUCE_SCATTER,
    CollectiveKind.ALL_GATHER,
    CollectiveKind.BROADCAST,
    CollectiveKind.REDUCE,
    CollectiveKind.BARRIER,
)
IN_NETWORK: Mapping[str, tuple[CollectiveKind, ...]] = {
    ONE_TREE: _TREE_KINDS,
    "fred": _TREE_KINDS,
    TWO_SHOTS: (CollectiveKind.ALL_REDUCE, CollectiveKind.REDUCE_SCATTER, CollectiveKind.ALL_GATHER),
}
"""The algorithms that need switches which reduce, and the collectives of each."""
MOST_PIECES = 128
"""The most pieces of a tree; above that pieces are larger, if the buffer has room for two."""
_OF_EACH_RANK = {
    CollectiveKind.REDUCE_SCATTER: CollectiveKind.REDUCE,
    CollectiveKind.ALL_GATHER: CollectiveKind.BROADCAST,
}
_OF_HEAD = {each: whole for whole, each in _OF_EACH_RANK.items()}


def in_network_schedule(kind: CollectiveKind, algorithm: str, trees: Trees, bytes: int) -> Schedule:
    """Return the schedule of a group for ``bytes`` a rank. Raises InputError for what memory can't hold."""
    streams = 1 if kind in ROOTED else len(trees.parents)
    if algorithm == TWO_SHOTS or kind in _OF_EACH_RANK:
        streams = trees.members
    of_stream = bytes if kind is CollectiveKind.ALL_GATHER else -(-bytes // streams)
    if kind is CollectiveKind.BARRIER:
        of_stream = 1
    return _schedule(kind, algorithm, trees, *_cut(of_stream, trees, streams, anyway=algorithm == TWO_SHOTS))


def _cut(bytes: int, trees: Trees, streams: int = 1, *, anyway: bool = False) -> tuple[int, int]:
    """Return how many pieces such a stream has, and for how many a reducer has room.

    A reducer that had room for two, but for larger pieces, would stop at each; ``anyway``: it has room for two always.
    """
    room, most = trees.buffer_bytes // streams, MOST_PIECES
    if room >= 2 * trees.piece_bytes and not anyway:
        most = max(most, -(-bytes // (room // 2)))
    pieces = min(max(-(-bytes // trees.piece_bytes), 1), most)
    return pieces, max(room // max(-(-bytes // pieces), trees.piece_bytes), 1)


def channel_of_head(kind: CollectiveKind, members: int, head: int, pieces: int, slots: int) -> Schedule:
    """Return the schedule of NVLS around one head: two shots of its part over a switch, the last player.

    A reduce ends at the head, a broadcast begins there. Raises InputError for what memory can't hold.
    """
    name = f"channel nvls {kind.name.lower()}"
    check_messages(name, members + 1, pieces * 2 * (members + 1))
    part = _Part(name, members + 1, members, head, members, pieces, slots).rows(_OF_HEAD.get(kind, kind))
    return replace(part, helpers=1)


@lru_cache(maxsize=64)
def _schedule(kind: CollectiveKind, algorithm: str, trees: Trees, pieces: int, slots: int) -> Schedule:
    name, members = f"{algorithm} {kind.name.lower()}", trees.members
    if algorithm == TWO_SHOTS:
        parts = _two_shots(name, kind, trees, pieces, max(slots, 2))
    elif kind in _OF_EACH_RANK:
        hung = [hung_from(trees.parents[rank % len(trees.parents)], rank) for rank in range(members)]
        parts = [_stream(_OF_EACH_RANK[kind], parents, pieces, slots) for parents in hung]
    elif kind in ROOTED or kind is CollectiveKind.BARRIER:
        parents = trees.parents[0]
        confirms = kind in ROOTED
        parts = [_stream(kind, hung_from(parents, 0) if confirms else parents, pieces, slots, confirms=confirms)]
    else:
        parts = [_stream(kind, parents, pieces, slots) for parents in trees.parents]
    expansion = members if kind is CollectiveKind.ALL_GATHER else 1
    return _side_by_side(name, parts, len(trees.parents[0]), members, expansion)


def pooled_schedule(trees: Trees, bytes: int, units: tuple[int, int]) -> Schedule:
    """Return the schedule of a group whose last member is a storage host: sums go there, and its answers come back.

    ``bytes``: a rank's, of as many units as the larger way has; ``units``: on the way there, and on the way back.
    Raises InputError for what memory can't hold.
    """
    common = gcd(*units)
    return _pooled(trees, *_cut(bytes, trees), (units[0] // common, units[1] // common))


@lru_cache(maxsize=64)
def _pooled(trees: Trees, pieces: int, slots: int, units: tuple[int, int]) -> Schedule:
    members = trees.members - 1
    parents = hung_from(trees.parents[0], members)
    found = _stream(CollectiveKind.ALL_REDUCE, parents, pieces, slots)
    own = np.where(found.step % LANES == UP, *units)  # blocks of a piece on the way of each message
    has_data = found.block_count > 0
    return replace(
        found,
        name=f"{ONE_TREE} by a pool",
        blocks=pieces * max(units),
        first_block=np.where(has_data, found.first_block * own, 0).astype(np.int32),
        block_count=np.where(has_data, own, 0).astype(np.int32),
        lanes=LANES,
        helpers=len(parents) - members,
    )


def hung_from(parents: Sequence[int], player: int) -> tuple[int, ...]:
    """Return a tree's parents when it hangs from another of its players."""
    turned, above = list(parents), NOBODY
    while player >= 0:
        turned[player], above, player = above, player, parents[player]
    return tuple(turned)


def _stream(
    kind: CollectiveKind, parents: Sequence[int], pieces: int, slots: int, *, confirms: bool = False
) -> Schedule:
    """Return the schedule of one tree among all players; ``confirms``: whether a signal tells of the last piece."""
    present = [player for player, parent in enumerate(parents) if parent != ABSENT]
    place = {player: number for number, player in enumerate(present)}
    compact = [place[parents[player]] if parents[player] >= 0 else NOBODY for player in present]
    found = channel_tree(kind, compact, pieces, slots, confirms=confirms)
    numbers = np.array(present, dtype=np.int32)
    return replace(found, ranks=len(parents), sender=numbers[found.sender], receiver=numbers[found.receiver])


def _two_shots(name: str, kind: CollectiveKind, trees: Trees, pieces: int, slots: int) -> list[Schedule]:
    """Return the schedule of each rank's part, over the switches in turn."""
    members, players = trees.members, len(trees.parents[0])
    check_messages(name, players, members * pieces * 2 * (members + 1))
    roots = [parents.index(NOBODY) for parents in trees.parents]
    return [
        _Part(name, players, members, rank, roots[rank % len(roots)], pieces, slots).rows(kind)
        for rank in range(members)
    ]


class _Part:
    """One rank's part of a collective in two shots.

    In the first lane the switch takes in what members load, and the rank gets the sums. In the second the switch takes
    in what the rank stores, and all members get it. A member loads no piece before it has that of ``slots`` before.
    """

    def __init__(self, name: str, players: int, members: int, rank: int, switch: int, pieces: int, slots: int) -> None:
        self._name, self._players, self._members, self._rank, self._switch = name, players, members, rank, switch
        self._piece: Int32Array = column(pieces)
        self._every: Int32Array = column(members)[:, None]
        self._up: Int32Array = LANES * self._piece + UP
        self._down: Int32Array = LANES * self._piece + DOWN
        self._slots = slots

    def rows(self, kind: CollectiveKind) -> Schedule:
        """Return the schedule of a kind."""
        if kind is CollectiveKind.REDUCE_SCATTER:
            return concatenate([self._loaded(gated=False), self._sums()], self._name)
        if kind is CollectiveKind.ALL_GATHER:
            return concatenate([self._stored(of_sums=False), self._spread()], self._name)
        parts = [self._loaded(gated=True), self._sums(), self._stored(of_sums=True), self._spread()]
        return concatenate(parts, self._name)

    def _loaded(self, *, gated: bool) -> Schedule:
        waits = gated & (self._piece >= self._slots)
        wait_step = np.where(waits, self._down - LANES * self._slots, -1)
        return self._laid_out(self._members, self._every, self._switch, self._up, wait_step, waits, reduces=True)

    def _sums(self) -> Schedule:
        return self._laid_out(1, self._switch, self._rank, self._up, self._up, self._members)

    def _stored(self, *, of_sums: bool) -> Schedule:
        wait_step: Int32Array | int = self._up if of_sums else -1
        return self._laid_out(1, self._rank, self._switch, self._down, wait_step, int(of_sums))

    def _spread(self) -> Schedule:
        return self._laid_out(self._members, self._switch, self._every, self._down, self._down, 1)

    def _laid_out(
        self,
        times: int,
        sender: Int32Array | int,
        receiver: Int32Array | int,
        step: Int32Array,
        wait_step: Int32Array | int,
        wait_count: npt.NDArray[np.bool_] | int,
        *,
        reduces: bool = False,
    ) -> Schedule:
        return assemble(
            self._name,
            self._players,
            len(self._piece),
            (times, len(self._piece)),
            sender=sender,
            receiver=receiver,
            step=step,
            first_block=self._piece,
            reduces=reduces,
            wait_step=wait_step,
            wait_count=wait_count,
            lanes=LANES,
        )


def _side_by_side(name: str, streams: Sequence[Schedule], players: int, members: int, expansion: int) -> Schedule:
    """Return one schedule of many streams, each with lanes and blocks of its own."""
    lanes, pieces = LANES * len(streams), streams[0].blocks
    moved = [
        replace(
            stream,
            step=_in_lane(stream.step, number, lanes),
            wait_step=np.where(stream.wait_step < 0, stream.wait_step, _in_lane(stream.wait_step, number, lanes)),
            first_block=np.where(stream.block_count > 0, stream.first_block + number * pieces, 0).astype(np.int32),
        )
        for number, stream in enumerate(streams)
    ]
    joined = concatenate(moved, name)
    return replace(joined, blocks=pieces * len(streams), expansion=expansion, lanes=lanes, helpers=players - members)


def _in_lane(steps: Int32Array, stream: int, lanes: int) -> Int32Array:
    """Return steps of a stream's own lanes as steps of its lanes among all."""
    return (steps // LANES * lanes + LANES * stream + steps % LANES).astype(np.int32)
