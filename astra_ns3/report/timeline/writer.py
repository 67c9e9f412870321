"""Writes a trace packet by packet: tracks, names that are told once, slices, instants, counters. Memory stays bounded.

Perfetto counts in nanoseconds. Times are rounded down, both ends of a slice alike, so that what follows or encloses
something else in picoseconds does so in the trace; annotations have the picoseconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from astra_ns3.config.core.plain import Json
from astra_ns3.report.timeline import perfetto
from astra_ns3.units import PS_PER_NS

if TYPE_CHECKING:
    from google.protobuf.message import Message

_SEQUENCE = 1
_PACKETS_TOGETHER = 8_192

Annotations = Iterable[tuple[int, int]]
"""Numbers of their names (:meth:`TraceWriter.annotation`), and values."""


@dataclass
class Written:
    """The counts of the trace so far."""

    slices: int = 0
    instants: int = 0
    samples: int = 0
    tracks: int = 0

    @property
    def events(self) -> int:
        """All but descriptions of tracks."""
        return self.slices + self.instants + self.samples


class TraceWriter:
    """A trace in ``file``; :meth:`flush` at the end."""

    def __init__(self, file: IO[bytes]) -> None:
        """Raises InputError if protobuf is missing."""
        self.written = Written()
        self._file = file
        self._class = perfetto.trace_class()
        self._begin_batch()
        self._names: dict[str, int] = {}
        self._annotations: dict[str, int] = {}
        first = self._add(trusted_packet_sequence_id=_SEQUENCE)
        first.sequence_flags = perfetto.STATE_CLEARED

    def process(self, name: str, number: int) -> int:
        """A group of tracks, in the order of ``number``; returns the group."""
        return self._describe(
            name=name, process={"pid": number + 1, "process_name": name}, child_ordering=perfetto.ORDERED_BY_RANK
        )

    def track(self, parent: int, name: str, rank: int = 0) -> int:
        """A track of slices and instants, or a group of tracks, below a group; returns it."""
        return self._describe(
            name=name, parent_uuid=parent, sibling_order_rank=rank, child_ordering=perfetto.ORDERED_BY_RANK
        )

    def counter(self, parent: int, name: str, unit: str, rank: int = 0) -> int:
        """A track of a number over time; returns it."""
        kind = {"unit": perfetto.UNIT_BYTES} if unit == "B" else {"unit_name": unit}
        return self._describe(name=name, parent_uuid=parent, sibling_order_rank=rank, counter=kind)

    def name(self, text: str) -> int:
        """The number that stands for a name of slices and instants."""
        return self._interned(self._names, "event_names", text)

    def annotation(self, text: str) -> int:
        """The number that stands for a name of annotations."""
        return self._interned(self._annotations, "debug_annotation_names", text)

    def slice(
        self, track: int, name: int, start_ps: int, end_ps: int, annotations: Annotations = (), flow: int = 0
    ) -> None:
        """A slice; those of a track must not overlap, and come in order. ``flow``: where an arrow begins, 0: none."""
        event = self._named(track, perfetto.SLICE_BEGIN, start_ps, name, annotations)
        if flow:
            event.flow_ids.append(flow)
        self._event(track, perfetto.SLICE_END, end_ps)
        self.written.slices += 1
        self._flush_if_full()

    def instant(self, track: int, name: int, time_ps: int, annotations: Annotations = (), ended_flow: int = 0) -> None:
        """Something that takes no time. ``ended_flow``: where an arrow ends, 0: none."""
        event = self._named(track, perfetto.INSTANT, time_ps, name, annotations)
        if ended_flow:
            event.terminating_flow_ids.append(ended_flow)
        self.written.instants += 1
        self._flush_if_full()

    def _named(self, track: int, kind: int, time_ps: int, name: int, annotations: Annotations) -> Message:
        """An event with a name and annotations."""
        event = self._event(track, kind, time_ps)
        event.name_iid = name
        for key, value in annotations:
            note = event.debug_annotations.add()
            note.name_iid, note.int_value = key, value
        return event

    def count(self, counter: int, time_ps: int, value: float) -> None:
        """A counter's value from now on; a whole number stays one."""
        event = self._event(counter, perfetto.COUNTER, time_ps)
        if isinstance(value, int):
            event.counter_value = value
        else:
            event.double_counter_value = value
        self.written.samples += 1
        self._flush_if_full()

    def flush(self) -> None:
        """Write what waits."""
        self._file.write(self._batch.SerializeToString())
        self._begin_batch()

    def _begin_batch(self) -> None:
        self._batch = self._class()
        self._add = self._batch.packet.add

    def _flush_if_full(self) -> None:
        if len(self._batch.packet) >= _PACKETS_TOGETHER:
            self.flush()

    def _event(self, track: int, kind: int, time_ps: int) -> Message:
        packet = self._add()
        packet.timestamp = time_ps // PS_PER_NS
        packet.trusted_packet_sequence_id = _SEQUENCE
        packet.sequence_flags = perfetto.NEEDS_STATE
        event = packet.track_event
        event.type = kind
        event.track_uuid = track
        return event

    def _describe(self, **fields: Json) -> int:
        self.written.tracks += 1
        uuid = self.written.tracks
        self._add(trusted_packet_sequence_id=_SEQUENCE, track_descriptor={"uuid": uuid, **fields})
        self._flush_if_full()
        return uuid

    def _interned(self, known: dict[str, int], kind: str, text: str) -> int:
        number = known.get(text)
        if number is None:
            number = known[text] = len(known) + 1
            packet = self._add(trusted_packet_sequence_id=_SEQUENCE, sequence_flags=perfetto.NEEDS_STATE)
            getattr(packet.interned_data, kind).add(iid=number, name=text)
        return number
