"""Reads what a native session has counted: totals of the run, counters of ports, and frames lost to failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from astra_ns3.network.door.session import Statistics, numbers_of
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.ports import node_name
from astra_ns3.units import counted

_Numbers = npt.NDArray[np.int64]
# Counters of ports for links that fail, each in words.
_FAILURE_COUNTERS = {
    "silent_frames": ("was lost", "were lost", "on links that were down before their ends noticed"),
    "down_frames": ("met", "met", "a link that was known to be down"),
}
# Told of every run with packets, also where no transport counts them.
_USUAL_COUNTERS = ("connections", "queue_pairs", "nacks", "cnps")
# What ports count without packets, too.
_SENT = ("sent_frames", "sent_bytes")


def totals(native: Statistics, *, of_packets: bool) -> dict[str, int | float]:
    """Return events, messages, what transports count by names of their own, and ``of_packets`` what all ports count."""
    names, own = str(native.counterNames).split(), Counter[str]()
    for name, number in zip(names, numbers_of(native.counters, len(names)).tolist(), strict=True):
        own[name] += number
    packets = _of_packets(native, own) if of_packets else {}
    return {"events": int(native.events), "messages": int(native.messages), **packets, **own}


def port_counters(native: Statistics, *, of_packets: bool) -> tuple[list[str], _Numbers]:
    """Return names of what is counted at each port, and the numbers, ``(ports, names)``; fewer without packets."""
    names = str(native.portCounterNames).split()
    ports = int(native.ports)
    numbers = numbers_of(native.portCounters, ports * len(names)).reshape(ports, len(names))
    return (names, numbers) if of_packets else ([*_SENT], numbers[:, [names.index(name) for name in _SENT]])


def lost_to_failures(native: Statistics, graph: Graph, ends: _Numbers) -> Iterator[str]:
    """Yield what frames were lost to links that failed, and where most of them; ``ends``: of each port."""
    names, numbers = port_counters(native, of_packets=True)
    if not len(numbers):
        return
    for name, (one, many, words) in _FAILURE_COUNTERS.items():
        lost = numbers[:, names.index(name)]
        if lost.any():
            node, _, peer = ends[int(lost.argmax())].tolist()
            where = f"{node_name(graph, node)} towards {node_name(graph, peer)}"
            frames = counted(int(lost.sum()), f"frame {one}", f"frames {many}")
            most = "" if lost.sum() == 1 else f"most of them ({lost.max():,}) "
            yield f"{frames} {words}, {most}at {where}"
    if native.unroutedFrames:
        yield f"{counted(int(native.unroutedFrames), 'frame')} came where no way led on"


def _of_packets(native: Statistics, own: Counter[str]) -> dict[str, int]:
    """Return what is counted of packets, with the usual ones of ``own``, which go from there."""
    names, numbers = port_counters(native, of_packets=True)
    sums = dict(zip(names, numbers.sum(axis=0).tolist(), strict=True))
    usual = {name: own.pop(name, 0) for name in _USUAL_COUNTERS}
    return {
        "packets": int(native.packets),
        "connections": usual.pop("connections"),
        "retransmissions": int(native.retransmissions),
        "timeouts": int(native.timeouts),
        "dropped_frames": sums["dropped_frames"],
        "lost_frames": sums["lost_frames"],
        "marked_frames": sums["marked_frames"],
        "pauses": sums["pauses"],
        "paused_ps": sums["paused_ps"],
        "pause_storms": int(native.pauseStorms),
        **{name: sums[name] for name in ("cut_frames", *_FAILURE_COUNTERS) if sums[name]},
        **({"unrouted_frames": int(native.unroutedFrames)} if native.unroutedFrames else {}),
        **usual,
    }
