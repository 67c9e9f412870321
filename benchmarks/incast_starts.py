"""Whether a control holds an incast whose flows begin one after another: its queue, its pauses, its time.

    python benchmarks/incast_starts.py --apart 0,2,10 --increase-timers scaled,20us,55us

16 hosts send 16 MB each to one more, over a switch with 32 MB of buffer and PFC. The queue is the median from 40% to
85% of the time.
"""

from __future__ import annotations

import argparse
import logging
from typing import Any

import numpy as np

import astra_ns3
from astra_ns3.config.flow_list import FlowList
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.system.file import parse_system

_SENDERS, _BYTES = 16, 16_000_000
_SYSTEM = {f"{kind}-implementation": "ring" for kind in ("all-reduce", "all-gather", "reduce-scatter")}
_SYSTEM |= {"all-to-all-implementation": "direct", "scheduling-policy": "FIFO", "preferred-dataset-splits": "1"}


def played(control: dict[str, Any], rate_gbps: float, apart_us: float) -> tuple[float, float, int]:
    """Return the milliseconds of an incast, its median queue in KB, and its pauses."""
    link, switch = {"rate": f"{rate_gbps:g}Gbps", "delay": "500ns"}, {"buffer": "32MB", "pfc": {}}
    keys = {
        "topology": {"kind": "single-switch", "npus": _SENDERS + 1, "link": link, "switch": switch},
        "transport": {"kind": "roce", "payload": 4096, "congestion_control": control},
        "observe": {"queues": [f"switch0:{_SENDERS}"]},
    }
    senders = list(range(_SENDERS))
    starts = [int(1e6 * apart_us * sender) for sender in senders]
    flows = FlowList.of(senders, [_SENDERS] * _SENDERS, [_BYTES] * _SENDERS, starts)
    result = astra_ns3.run(workload=flows, system=parse_system(_SYSTEM), network=parse_network(keys))
    times = np.linspace(0.4, 0.85, 2000) * result.finish_ps
    rows = np.searchsorted(result.queues["time_ps"], times, side="right") - 1
    queue = float(np.median(result.queues["queue_bytes"].to_numpy()[rows]))
    return result.finish_ps / 1e9, queue / 1000, int(result.metadata["statistics"]["pauses"])


def main() -> None:
    """Print a row for each time between starts, a column for each control."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--apart", default="0,2,10", help="microseconds between two starts")
    parser.add_argument("--increase-timers", default="scaled,20us,55us", help="of DCQCN; scaled: the default")
    parser.add_argument("--controls", default="timely,none", help="others, with their defaults")
    parser.add_argument("--rate", type=float, default=100, help="Gb/s of every line")
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    columns: dict[str, dict[str, Any]] = {}
    for timer in given.increase_timers.split(","):
        columns[f"dcqcn {timer}"] = {"kind": "dcqcn", **({} if timer == "scaled" else {"increase_timer": timer})}
    columns |= {kind: {"kind": kind} for kind in given.controls.split(",") if kind}
    print("| Starts apart | " + " | ".join(columns) + " |\n|---|" + "---|" * len(columns))
    for apart in given.apart.split(","):
        cells = (played(control, given.rate, float(apart)) for control in columns.values())
        words = (f"{time:.2f} ms, {queue:,.0f} KB, {pauses:,} pauses" for time, queue, pauses in cells)
        print(f"| {apart} us | " + " | ".join(words) + " |", flush=True)


if __name__ == "__main__":
    main()
