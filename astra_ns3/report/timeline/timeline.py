"""Writes a run as a trace for Perfetto's user interface: what NPUs did, messages with arrows, links."""

from __future__ import annotations

import os
from pathlib import Path

from astra_ns3.errors import wrong
from astra_ns3.frozen import dataclass
from astra_ns3.report.tables import HOW_TO_RECORD, Records, could_record, recorded
from astra_ns3.report.timeline import messages
from astra_ns3.report.timeline.links import write_links
from astra_ns3.report.timeline.programs import (
    Npus,
    has_timeline,
    write_collectives,
    write_operations,
    write_phases,
    write_run,
)
from astra_ns3.report.timeline.usual import FILE, MESSAGES
from astra_ns3.report.timeline.writer import TraceWriter, Written
from astra_ns3.whole_file import whole_file


@dataclass(frozen=True)
class Timeline:
    """A trace that was written: its file and size, what is in it, and of how many messages it shows how many."""

    path: Path
    bytes: int
    written: Written
    messages_shown: int
    messages: int

    @property
    def sampled(self) -> str:
        """Words that say that not all messages are shown; empty if all are."""
        if self.messages_shown == self.messages:
            return ""
        return f"{self.messages_shown:,} of {self.messages:,} messages are shown, evenly among all"


def write_timeline(records: Records, path: str | os.PathLike[str] | None = None, most: int = MESSAGES) -> Timeline:
    """Write the trace to ``path``, or ``timeline.pftrace`` in the run's folder; of messages at most ``most``.

    What was not recorded is left out (:func:`left_out`). The file appears when it is whole. Raises InputError if
    protobuf is missing, if ``path`` can't be written, or if there is neither path nor folder.
    """
    target = _target(records, path)
    with whole_file(target) as partial:
        with partial.open("wb") as file:
            written, shown, every = _write(records, TraceWriter(file), most)
        size = partial.stat().st_size
    return Timeline(target, size, written, shown, every)


def left_out(records: Records) -> list[str]:
    """The records that a trace needs to show more."""
    wanted = ["operations", "utilisation", "queues", "pauses"]
    if messages.messages_of(records) is None:
        wanted.append("flows")
    lacking = [table for table in wanted if recorded(records, table) is None and could_record(records, table)]
    return [HOW_TO_RECORD[table] for table in lacking]


def _target(records: Records, path: str | os.PathLike[str] | None) -> Path:
    if path is not None:
        return Path(path)
    if records.folder is None:
        raise wrong("this run was not saved: say where the timeline is to go")
    return records.folder / FILE


def _write(records: Records, writer: TraceWriter, most: int) -> tuple[Written, int, int]:
    group = write_run(records, writer)
    npus = Npus(writer)
    for npu in range(int(records.metadata["npus"])):
        npus.group(npu)
    if has_timeline(records):
        write_operations(records, writer, npus)
        write_collectives(records, writer, npus)
        write_phases(records, writer, npus)
    shown, every = messages.write_messages(records, writer, npus, most)
    write_links(records, writer, int(records.metadata["npus"]) + 1)
    if shown < every:
        note = f"{shown:,} of {every:,} messages are shown"
        writer.instant(writer.track(group, "notes"), writer.name(note), 0)
    writer.flush()
    return writer.written, shown, every
