"""A trace of Perfetto's read back, with Perfetto's own definitions of its format (the package ``perfetto``)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb


@dataclass(frozen=True)
class Slice:
    """Something between two times, or an instant, on a track."""

    track: int
    name: str
    start_ns: int
    end_ns: int
    notes: dict[str, int]
    flows: tuple[int, ...]
    ended_flows: tuple[int, ...]


@dataclass
class Trace:
    """``tracks``: number -> names from the outermost group inwards."""

    tracks: dict[int, tuple[str, ...]] = field(default_factory=dict)
    slices: list[Slice] = field(default_factory=list)
    instants: list[Slice] = field(default_factory=list)
    counters: dict[int, list[tuple[int, float]]] = field(default_factory=lambda: defaultdict(list))
    units: dict[int, str] = field(default_factory=dict)

    def on(self, *names: str) -> list[Slice]:
        """Slices of the tracks of these names, by start."""
        tracks = {track for track, path in self.tracks.items() if path == names}
        return sorted((each for each in self.slices if each.track in tracks), key=lambda each: each.start_ns)

    def instants_on(self, *names: str) -> list[Slice]:
        """The same of instants."""
        tracks = {track for track, path in self.tracks.items() if path == names}
        return [each for each in self.instants if each.track in tracks]

    def counter(self, *names: str) -> list[tuple[int, float]]:
        """Times in nanoseconds and values of a counter."""
        (track,) = (track for track, path in self.tracks.items() if path == names)
        return self.counters[track]


def read_trace(path: Path) -> Trace:
    """The trace, as Perfetto would take it: packets by time, those of one time in the order of the file.

    Fails if a slice is not closed, or closed twice, or if two of a track overlap; if an event has no track, or a name
    was not told before it was used; or if a field is not one of Perfetto's.
    """
    whole = pb.Trace.FromString(path.read_bytes())
    found = Trace()
    names: dict[int, str] = {}
    notes: dict[int, str] = {}
    events = []
    for packet in whole.packet:
        _refuse_unknown(packet)
        assert packet.trusted_packet_sequence_id == 1
        names |= {each.iid: each.name for each in packet.interned_data.event_names}
        notes |= {each.iid: each.name for each in packet.interned_data.debug_annotation_names}
        if packet.HasField("track_descriptor"):
            _add_track(found, packet.track_descriptor)
        if packet.HasField("track_event"):
            event = packet.track_event
            assert event.track_uuid in found.tracks
            read = {notes[note.name_iid]: note.int_value for note in event.debug_annotations}
            assert len(read) == len(event.debug_annotations)
            events.append((packet.timestamp, event, names[event.name_iid] if event.name_iid else "", read))
    assert whole.packet[0].sequence_flags == pb.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
    _play(found, sorted(events, key=lambda event: event[0]))
    return found


def _play(found: Trace, events: list[tuple[int, Any, str, dict[str, int]]]) -> None:
    open_slices: dict[int, tuple[int, Any, str, dict[str, int]]] = {}
    for time, event, name, notes in events:
        track = event.track_uuid
        if event.type == event.TYPE_COUNTER:
            value = event.counter_value if event.HasField("counter_value") else event.double_counter_value
            assert track in found.units
            found.counters[track].append((time, value))
        elif event.type == event.TYPE_SLICE_BEGIN:
            assert track not in open_slices, f"{found.tracks[track]}: {name} overlaps"
            open_slices[track] = (time, event, name, notes)
        elif event.type == event.TYPE_SLICE_END:
            start, begin, title, said = open_slices.pop(track)
            flows = tuple(begin.flow_ids), tuple(begin.terminating_flow_ids)
            found.slices.append(Slice(track, title, start, time, said, *flows))
        else:
            assert event.type == event.TYPE_INSTANT
            flows = tuple(event.flow_ids), tuple(event.terminating_flow_ids)
            found.instants.append(Slice(track, name, time, time, notes, *flows))
    assert open_slices == {}


def _add_track(found: Trace, described: Any) -> None:
    assert described.uuid not in found.tracks
    above = found.tracks[described.parent_uuid] if described.HasField("parent_uuid") else ()
    found.tracks[described.uuid] = (*above, described.name)
    if described.HasField("process"):
        assert described.process.process_name == described.name
    if described.HasField("counter"):
        unit = described.counter
        found.units[described.uuid] = unit.unit_name or {3: "bytes"}[unit.unit]


def _refuse_unknown(message: Any) -> None:
    assert len(UnknownFieldSet(message)) == 0
    for described, value in message.ListFields():
        if described.type == described.TYPE_MESSAGE:
            for inner in value if isinstance(value, list) or hasattr(value, "add") else [value]:
                _refuse_unknown(inner)
