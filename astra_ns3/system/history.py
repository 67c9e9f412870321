"""The records of all collectives and messages of a run, by their number.

A trace may have millions. So what many have in common is held once, and the rest as bare numbers: some 40 bytes for
each, a tenth of its record, which is made when somebody asks for it.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.network.records import CollectiveRecord, Label
from astra_ns3.system.request import MessageRequest
from astra_ns3.system.task import Collective

MESSAGE_ALGORITHM = "direct"
_NOTHING_TO_DO = -1
_NOT_YET = -1


class _Common(NamedTuple):
    """All of a record but its number and its times."""

    label: Label
    kind: CollectiveKind
    algorithm: str
    bytes: int
    ranks: int
    chunks: int


class History:
    """Numbers what is issued in the order in which it first is. ``layer_names``: of the workload's layers."""

    def __init__(self, layer_names: Sequence[str]) -> None:
        self._layer_names = layer_names
        self._common: list[_Common] = []
        self._places: dict[_Common, int] = {}  # of each in that list
        # Of each number where its common part is, and when it began and ended.
        self._which, self._start_ps, self._end_ps = array("q"), array("q"), array("q")
        self._changes = array("q")  # number of a record each time it was made or changed

    @property
    def next_number(self) -> int:
        """The number of what is begun next."""
        return len(self._which)

    def begin_collective(self, collective: Collective, now_ps: int) -> None:
        """A collective was issued; one with nothing to do uses up a number."""
        if not collective.first_tasks:
            self._add(_NOTHING_TO_DO, now_ps)
            return
        request, chunks = collective.request, len(collective.first_tasks)
        label = self._named(request.label)
        common = _Common(label, request.kind, collective.algorithm, request.bytes, collective.group_ranks, chunks)
        self._begin(collective.index, common, now_ps)

    def begin_message(self, number: int, request: MessageRequest, now_ps: int) -> None:
        """One end of a message was posted; ``number`` is the next one."""
        label, kind = self._named(request.label), CollectiveKind.POINT_TO_POINT
        self._begin(number, _Common(label, kind, MESSAGE_ALGORITHM, request.bytes, ranks=2, chunks=1), now_ps)

    def end(self, number: int, time_ps: int) -> None:
        """It is over for everybody."""
        self._end_ps[number] = time_ps
        self._changes.append(number)

    def record(self, number: int) -> CollectiveRecord:
        """The record of what has something to do."""
        common, end_ps = self._common_of(number), self._end_ps[number]
        return CollectiveRecord(
            number,
            common.label,
            common.kind,
            common.algorithm,
            common.bytes,
            common.ranks,
            common.chunks,
            self._start_ps[number],
            None if end_ps == _NOT_YET else end_ps,
        )

    def label(self, number: int) -> Label:
        """The label of what has something to do, with the layer's name."""
        return self._common_of(number).label

    def all(self) -> tuple[CollectiveRecord, ...]:
        """Every record, in the order of the numbers."""
        return tuple(self.record(number) for number, which in enumerate(self._which) if which != _NOTHING_TO_DO)

    def changes(self, since: int) -> tuple[int, list[CollectiveRecord]]:
        """Records made or changed since an earlier call returned ``since`` (0: all), and the number to give next."""
        return len(self._changes), [self.record(number) for number in dict.fromkeys(self._changes[since:])]

    def _begin(self, number: int, common: _Common, now_ps: int) -> None:
        which = self._places.get(common)
        if which is None:
            which = self._places[common] = len(self._common)
            self._common.append(common)
        self._changes.append(number)
        self._add(which, now_ps)

    def _add(self, which: int, now_ps: int) -> None:
        self._which.append(which)
        self._start_ps.append(now_ps)
        self._end_ps.append(_NOT_YET)

    def _common_of(self, number: int) -> _Common:
        which = self._which[number]
        assert which != _NOTHING_TO_DO
        return self._common[which]

    def _named(self, label: Label) -> Label:
        return label._replace(layer=self._layer_names[label.layer]) if isinstance(label.layer, int) else label
