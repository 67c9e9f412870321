"""Counts what a run launches, and tells how many bytes each NPU sent to each other one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import chain, islice
from operator import itemgetter
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from astra_ns3.collectives.schedule import Schedule
from astra_ns3.frozen import dataclass
from astra_ns3.network.channel import PER_MILLE, ChannelCosts, Ranks

Numbers = npt.NDArray[np.int64]
Launch = tuple[int, int, int, int, int]
"""NPU, schedule, group, instance, bytes: what a network is told when an NPU begins its part of a phase."""

_SCHEDULE, _WHAT = itemgetter(1), itemgetter(1, 2, 4)
_ROWS_AT_ONCE = 1 << 22
_Key = TypeVar("_Key", bound=tuple[int, ...])


@dataclass(frozen=True)
class CarriedBytes:
    """Bytes of messages between NPUs, without headers; columns of shape ``(pairs,)``, where a pair may stand twice."""

    sender: Numbers
    receiver: Numbers
    bytes: Numbers

    def and_of(self, others: Sequence[tuple[Numbers, Numbers, Numbers]]) -> CarriedBytes:
        """Return these and others, given as such columns, in which a pair stands as often as it sends."""
        if not others:
            return self
        senders, receivers, sizes = (np.concatenate(column) for column in zip(*others, strict=True))
        npus = int(max(senders.max(initial=0), receivers.max(initial=0))) + 1
        pairs, pair = np.unique(senders.astype(np.int64) * npus + receivers, return_inverse=True)
        summed = np.zeros(len(pairs), dtype=np.int64)
        np.add.at(summed, pair, sizes)
        columns = ((self.sender, pairs // npus), (self.receiver, pairs % npus), (self.bytes, summed))
        return CarriedBytes(*(np.concatenate(column) for column in columns))


class _OfGroups(Generic[_Key]):
    """Finds what a counter has of some groups; a group stands second in a key, and no key is ever taken out."""

    def __init__(self, counts: Counter[_Key]) -> None:
        self._counts = counts
        self._known = 0
        self._keys: dict[int, list[tuple[int, _Key]]] = defaultdict(list)

    def items(self, groups: Collection[int] | None) -> Iterable[tuple[_Key, int]]:
        """Return keys and counts in the counter's order; ``groups`` None: all."""
        if groups is None:
            return self._counts.items()
        if self._known < len(self._counts):
            for place, key in enumerate(islice(self._counts, self._known, None), self._known):
                self._keys[key[1]].append((place, key))
            self._known = len(self._counts)
        found = sorted(chain.from_iterable(self._keys.get(group, ()) for group in set(groups)))
        return [(key, self._counts[key]) for _, key in found]


class Launches:
    """Launches of a run: how often each schedule was launched, by which group, on how many bytes."""

    def __init__(self) -> None:
        self._schedules: dict[int, Schedule] = {}
        self._groups: dict[int, Sequence[int]] = {}
        self._channels: dict[int, ChannelCosts] = {}
        self._counts: Counter[tuple[int, int, int]] = Counter()
        self._whole: set[int] = set()
        """Schedules of one message that carries all: of these the bytes are summed, for a list has many sizes."""
        self._sums: Counter[tuple[int, int]] = Counter()
        """Bytes that all members together have launched, by schedule and group."""
        self._counts_of = _OfGroups(self._counts)
        self._sums_of = _OfGroups(self._sums)

    def schedule(self, number: int, schedule: Schedule) -> None:
        """A schedule has this number."""
        self._schedules[number] = schedule
        if schedule.messages == 1 and int(schedule.block_count[0]) == schedule.blocks:
            self._whole.add(number)

    def group(self, number: int, npus: Sequence[int], channel: ChannelCosts | None = None) -> None:
        """A group has this number; ``channel``: the channel that it plays."""
        self._groups[number] = npus
        if channel is not None:
            self._channels[number] = channel

    def launched(self, schedule: int, group: int, bytes: int) -> None:
        """An NPU of the group has begun its part."""
        if schedule in self._whole:
            self._sums[schedule, group] += bytes
        else:
            self._counts[schedule, group, bytes] += 1

    def all_launched(self, rows: Sequence[Launch]) -> None:
        """As :meth:`launched`, for many."""
        if self._whole.isdisjoint(map(_SCHEDULE, rows)):
            self._counts.update(map(_WHAT, rows))
            return
        for _, schedule, group, _, bytes in rows:
            self.launched(schedule, group, bytes)

    def carried(self, groups: Collection[int] | None = None) -> CarriedBytes:
        """Return all that was launched by all members of its group; ``groups``: by these alone."""
        parts: list[tuple[Numbers, Numbers, Numbers]] = []
        rows_of: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        for (number, group, size_bytes), launches in self._counts_of.items(groups):
            rows_of[number].append((group, size_bytes, launches))
        for number, rows in rows_of.items():
            if self._schedules[number].messages:
                parts += self._of_schedule(self._schedules[number], rows)
        sums_of: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for (number, group), size_bytes in self._sums_of.items(groups):
            sums_of[number].append((group, size_bytes))
        parts += [self._of_messages(self._schedules[number], sums) for number, sums in sums_of.items()]
        none = np.zeros(0, dtype=np.int64)
        columns = [np.concatenate([none, *column]) for column in zip(*parts, strict=True)] if parts else [none] * 3
        return CarriedBytes(*columns)

    def _of_schedule(
        self, schedule: Schedule, rows: list[tuple[int, int, int]]
    ) -> Iterable[tuple[Numbers, Numbers, Numbers]]:
        """Return the loads of groups that play one schedule, on any bytes: a row for each group and pair of ranks.

        Of a schedule that is turned for each rank and too long to lay out, sizes are those of rank 0, which differ by a
        byte a message at most.
        """
        ranks, members_of = schedule.ranks, schedule.ranks - schedule.helpers
        turned = schedule.rotation is not None and schedule.messages > _ROWS_AT_ONCE
        messages = schedule.sent_by(0) if turned else schedule
        pairs, pair = np.unique(messages.sender.astype(np.int64) * ranks + messages.receiver, return_inverse=True)
        place = {group: number for number, group in enumerate(dict.fromkeys(group for group, _, _ in rows))}
        members = np.array([self._groups[group] for group in place], dtype=np.int64)
        times: dict[int, Numbers] = defaultdict(lambda: np.zeros(len(place), dtype=np.int64))
        for group, size_bytes, launches in rows:
            times[size_bytes][place[group]] += launches // members_of
        of_signals = np.bincount(pair[messages.block_count == 0], minlength=len(pairs))
        signals = np.sum(list(times.values()), axis=0)[:, None] * of_signals
        carried = np.zeros((len(place), len(pairs)), dtype=np.int64)
        for size_bytes, often in times.items():
            sizes = np.zeros(len(pairs), dtype=np.int64)
            np.add.at(sizes, pair, messages.message_bytes(size_bytes))
            having = np.flatnonzero(often)
            carried[having] += often[having, None] * sizes
        for turn in range(ranks if turned else 1):
            sender, receiver = pairs // ranks, pairs % ranks
            if turned and schedule.rotation is not None:
                sender, receiver = (schedule.rotation.turned(each, turn) for each in (sender, receiver))
            wire = signals + self._on_wire(place, sender, receiver, carried - signals)
            yield members[:, sender].reshape(-1), members[:, receiver].reshape(-1), wire.reshape(-1)

    def _on_wire(self, groups: Iterable[int], senders: Ranks, receivers: Ranks, carried: Numbers) -> Numbers:
        """Return the bytes on the wire of the data that groups carry, which are other bytes in channels."""
        if self._channels.keys().isdisjoint(groups):
            return carried
        wire = carried.copy()
        for row, group in enumerate(groups):
            if group in self._channels:
                wire[row] = wire[row] * self._channels[group].wire_per_mille(senders, receivers) // PER_MILLE
        return wire

    def _of_messages(self, schedule: Schedule, sums: list[tuple[int, int]]) -> tuple[Numbers, Numbers, Numbers]:
        """Return the loads of groups whose schedule is one message: a list of flows has one for each pair."""
        groups = [group for group, _ in sums]
        members = np.array([self._groups[group] for group in groups], dtype=np.int64)
        sizes = np.array([size_bytes for _, size_bytes in sums], dtype=np.int64) // schedule.ranks * schedule.expansion
        sender, receiver = schedule.sender.astype(np.int64), schedule.receiver.astype(np.int64)
        wire = self._on_wire(groups, sender, receiver, sizes[:, None])
        return members[:, int(sender[0])], members[:, int(receiver[0])], wire[:, 0]
