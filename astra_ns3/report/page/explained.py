"""What made a run as long as it was, in words: by the explanation if this program has one, else from its totals."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec

from astra_ns3.report.alignment import percent
from astra_ns3.report.records import COLLECTIVES, Run, ps_of
from astra_ns3.units import format_time

MISHAPS = ("dropped_frames", "lost_frames", "retransmissions", "timeouts", "pauses", "marked_frames")
"""Counters of a run that are 0 where nothing went wrong."""
_EXPLANATION = "astra_ns3.report.explanation"


def explained(run: Run) -> str:
    """Paragraphs, with an empty line between them."""
    if find_spec(_EXPLANATION) is not None:
        return str(import_module(_EXPLANATION).explain(run).text())
    return "\n\n".join(_sentences(run))


def _sentences(run: Run) -> Iterator[str]:
    metadata = run.metadata
    npu, exposed_ps = metadata["report_npu"], metadata["exposed_ps"]
    whole_ps = metadata["compute_ps"] + exposed_ps
    computed = f"{format_time(metadata['compute_ps'])} ({percent(metadata['compute_ps'], whole_ps)})"
    yield f"NPU {npu} computed for {computed} and waited for communication for {format_time(exposed_ps)}."
    waited = max(metadata["exposed_by_layer"], key=lambda layer: int(layer["exposed_ps"]), default=None)
    if waited and waited["exposed_ps"]:
        share = percent(waited["exposed_ps"], exposed_ps)
        yield f"It waited longest for {waited['layer']}: {format_time(waited['exposed_ps'])}, {share} of its waiting."
    slowest = max(run.rows(COLLECTIVES), key=lambda row: ps_of(row["duration_us"]) or 0, default=None)
    if slowest and slowest["duration_us"]:
        yield (
            f"The longest collective was number {slowest['collective']}, {slowest['kind']} of {slowest['layer']} "
            f"({slowest['part']}): {format_time(ps_of(slowest['duration_us']) or 0)}, waiting for its turn included."
        )
    counts = metadata["statistics"]
    lost = [f"{counts[name]:,} {name.replace('_', ' ')}" for name in MISHAPS if counts.get(name)]
    yield f"In the network: {', '.join(lost)}." if lost else "No frame was dropped, lost or marked, and no port paused."
