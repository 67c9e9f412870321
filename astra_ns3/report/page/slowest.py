"""Tables of what took longest: collectives, and messages."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np

from astra_ns3.report.records import COLLECTIVES, ps_of, table_of
from astra_ns3.report.tables import Records
from astra_ns3.units import format_bytes, format_time

MOST_ROWS = 12

Found = tuple[Sequence[str], Sequence[Sequence[str]], Sequence[int]]
"""Head, rows, and the columns that hold numbers."""

_ENDS = ("source", "destination")
_COLUMNS = (*_ENDS, "collective", "chunk", "phase", "bytes", "start_ps", "end_ps")


def slowest_collectives(run: Records) -> Found | None:
    """Those that took longest, of all that ended; None if there is none."""
    ended = [row for row in run.rows(COLLECTIVES) if row["duration_us"]]
    if not ended:
        return None
    rows = [
        (
            row["collective"],
            row["layer"],
            row["iteration"],
            row["part"],
            f"{row['kind']} {row['algorithm']}",
            row["npus"],
            format_bytes(int(row["bytes"])),
            format_time(ps_of(row["start_us"]) or 0),
            format_time(ps_of(row["duration_us"]) or 0),
            row["bus_bandwidth_gbytes_per_s"] and f"{float(row['bus_bandwidth_gbytes_per_s']):.4g}",
        )
        for row in heapq.nlargest(MOST_ROWS, ended, key=lambda row: ps_of(row["duration_us"]) or 0)
    ]
    head = ("", "layer", "pass", "part", "kind", "NPUs", "bytes", "start", "duration", "bus GB/s")
    return head, rows, (0, 2, 5, 6, 7, 8, 9)


def slowest_messages(run: Records) -> Found | None:
    """Those that took longest, with what a message alone takes where that is known; None if none was recorded.

    Messages that differ in their ends alone are one row.
    """
    table = table_of(run, "flows") or table_of(run, "accounts")
    if table is None:
        return None
    ideal = "ideal_ps" in table.columns
    columns = (*_COLUMNS, "ideal_ps") if ideal else _COLUMNS
    # By what they have in common: when the first of them was, its two ends, and how many there are.
    longest: dict[tuple[int, ...], tuple[int, int, tuple[int, int], int]] = {}
    done = 0
    for batch in table.batches(columns):
        times = batch["end_ps"] - batch["start_ps"]
        rows_of = np.stack([batch[name] for name in columns[len(_ENDS) :]], axis=1)
        every, first, counts = np.unique(rows_of, axis=0, return_index=True, return_counts=True)
        for place in np.lexsort((first, -times[first]))[:MOST_ROWS]:
            key, row = tuple(every[place].tolist()), int(first[place])
            ends = int(batch["source"][row]), int(batch["destination"][row])
            _, at, shown_ends, count = longest.get(key, (0, -(done + row), ends, 0))
            longest[key] = (int(times[row]), at, shown_ends, count + int(counts[place]))
        longest = dict(heapq.nlargest(MOST_ROWS, longest.items(), key=lambda item: item[1][:2]))
        done += len(times)
    layers = {row["collective"]: f"{row['layer']} {row['kind']}" for row in run.rows(COLLECTIVES)}
    rows = []
    for values, (time_ps, _, ends, count) in longest.items():
        of = dict(zip(columns[len(_ENDS) :], values, strict=True))
        alone = (f"{time_ps / of['ideal_ps']:.3g}" if of["ideal_ps"] else "-",) if ideal else ()
        rows.append(
            (
                f"{ends[0]} → {ends[1]}" + (f" and {count - 1:,} more" if count > 1 else ""),
                f"{of['collective']} {layers.get(str(of['collective']), '')}",
                str(of["chunk"]),
                str(of["phase"]),
                format_bytes(of["bytes"]),
                format_time(of["start_ps"]),
                format_time(time_ps),
                *alone,
            )
        )
    head = ("NPUs", "collective", "chunk", "phase", "bytes", "start", "time", *(("slowdown",) if ideal else ()))
    return head, rows, (2, 3, 4, 5, 6, 7)
