"""The records of all collectives and messages of a run, by their number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.network.records import CollectiveRecord, Label
from astra_ns3.system.request import MessageRequest
from astra_ns3.system.task import Collective

MESSAGE_ALGORITHM = "direct"


class History:
    """Numbers what is issued in the order in which it first is. ``layer_names``: of the workload's layers."""

    def __init__(self, layer_names: Sequence[str]) -> None:
        self._layer_names = layer_names
        self._records: list[CollectiveRecord | None] = []
        self._changes: list[int] = []  # number of a record each time it was made or changed

    @property
    def next_number(self) -> int:
        """The number of what is begun next."""
        return len(self._records)

    def begin_collective(self, collective: Collective, now_ps: int) -> None:
        """A collective was issued; one with nothing to do uses up a number."""
        if not collective.first_tasks:
            self._records.append(None)
            return
        request = collective.request
        self._begin(
            CollectiveRecord(
                index=collective.index,
                label=self._named(request.label),
                kind=request.kind,
                algorithm=collective.algorithm,
                bytes=request.bytes,
                ranks=collective.group_ranks,
                chunks=len(collective.first_tasks),
                start_ps=now_ps,
            )
        )

    def begin_message(self, number: int, request: MessageRequest, now_ps: int) -> None:
        """One end of a message was posted."""
        self._begin(
            CollectiveRecord(
                index=number,
                label=self._named(request.label),
                kind=CollectiveKind.POINT_TO_POINT,
                algorithm=MESSAGE_ALGORITHM,
                bytes=request.bytes,
                ranks=2,
                chunks=1,
                start_ps=now_ps,
            )
        )

    def end(self, number: int, time_ps: int) -> None:
        """It is over for everybody."""
        self._records[number] = replace(self.record(number), end_ps=time_ps)
        self._changes.append(number)

    def record(self, number: int) -> CollectiveRecord:
        """The record of what has something to do."""
        record = self._records[number]
        assert record is not None
        return record

    def label(self, number: int) -> Label:
        """The label of what has something to do, with the layer's name."""
        return self.record(number).label

    def all(self) -> tuple[CollectiveRecord, ...]:
        """Every record, in the order of the numbers."""
        return tuple(record for record in self._records if record is not None)

    def changes(self, since: int) -> tuple[int, list[CollectiveRecord]]:
        """Records made or changed since an earlier call returned ``since`` (0: all), and the number to give next."""
        changed = dict.fromkeys(self._changes[since:])
        records = (self._records[number] for number in changed)
        return len(self._changes), [record for record in records if record is not None]

    def _begin(self, record: CollectiveRecord) -> None:
        self._changes.append(record.index)
        self._records.append(record)

    def _named(self, label: Label) -> Label:
        return label._replace(layer=self._layer_names[label.layer]) if isinstance(label.layer, int) else label
