"""The collectives and messages of a run by their number, and which of them have changed."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from astra_ns3.collectives.relayed import handed_over
from astra_ns3.collectives.uneven import Parts
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.relay import Relay
from astra_ns3.network.collective_records import CollectiveColumns, CollectiveRecords, Common
from astra_ns3.network.records import CollectiveRecord, Label
from astra_ns3.system.request import MessageRequest, group_words
from astra_ns3.system.task import Collective

MESSAGE_ALGORITHM = "direct"


@lru_cache(maxsize=64)
def _line_bytes(counts: Parts, relay: Relay | None) -> int:
    """Return the most that one place sends to others or gets from them."""
    if relay is not None:
        return int(max(each.max() for each in handed_over(counts, relay)))
    table = np.array(counts, dtype=np.int64)
    own = table.diagonal()
    return int(max((table.sum(axis=1) - own).max(), (table.sum(axis=0) - own).max()))


class History:
    """Numbers what is issued in the order in which it first is. ``layer_names``: of the workload's layers."""

    def __init__(self, layer_names: Sequence[str]) -> None:
        self._layer_names = layer_names
        self._columns = CollectiveColumns()
        self._changes = array("q")  # number of a record each time it was made or changed

    @property
    def next_number(self) -> int:
        """The number of what is begun next."""
        return len(self._columns)

    def begin_collective(self, collective: Collective, now_ps: int) -> None:
        """A collective was issued; one with nothing to do uses up a number."""
        if not collective.first_tasks:
            self._columns.append(None, now_ps)
            return
        request, chunks = collective.request, len(collective.first_tasks)
        label = self._named(request.label)
        line_bytes = None if request.counts is None else _line_bytes(request.counts, request.relay)
        ranks, algorithm, group = collective.group_ranks, collective.algorithm, group_words(request)
        common = Common(label, request.kind, algorithm, request.bytes, ranks, chunks, line_bytes, group)
        self._begin(collective.index, common, now_ps)

    def begin_message(self, number: int, request: MessageRequest, now_ps: int) -> None:
        """One end of a message was posted; ``number`` is the next one."""
        label, kind, group = self._named(request.label), CollectiveKind.POINT_TO_POINT, group_words(request)
        common = Common(label, kind, MESSAGE_ALGORITHM, request.bytes, ranks=2, chunks=1, group=group)
        self._begin(number, common, now_ps)

    def leaves(self, number: int, now_ps: int) -> None:
        """A message starts now: its receiver has waited for this, which is no time of the message."""
        self._columns.start(number, now_ps)
        self._changes.append(number)

    def end(self, number: int, time_ps: int, groups_ps: tuple[int, int] | None = None) -> None:
        """It is over for everybody; ``groups_ps``: as a record's."""
        self._columns.end(number, time_ps, groups_ps)
        self._changes.append(number)

    def record(self, number: int) -> CollectiveRecord:
        """The record of what has something to do."""
        return self._columns.record(number)

    def label(self, number: int) -> Label:
        """The label of what has something to do, with the layer's name."""
        return self._columns.common(number).label

    def all(self) -> CollectiveRecords:
        """Every record, in the order of the numbers."""
        return self._columns.all()

    def changes(self, since: int) -> tuple[int, CollectiveRecords]:
        """Records made or changed since an earlier call returned ``since`` (0: all), and the number to give next."""
        return len(self._changes), self._columns.some(dict.fromkeys(self._changes[since:]))

    def _begin(self, number: int, common: Common, now_ps: int) -> None:
        self._changes.append(number)
        self._columns.append(common, now_ps)

    def _named(self, label: Label) -> Label:
        return label._replace(layer=self._layer_names[label.layer]) if isinstance(label.layer, int) else label
