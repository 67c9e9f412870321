"""When a store to a storage host, or a load from there, ends that is alone on the network: by lines and frames alone.

Sizes as in ``roce_times``. Every frame is stored at each switch before it goes on, and each is acknowledged. A store's
data go one way; the signal that they have come goes back, behind the acknowledgements that are on the line. A load's
signal goes one way, and its data back behind the signal's acknowledgement. The NPU spends a delay before its message,
and another one after what comes back; the storage host spends none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from oracles.roce_times import ACK, HEADERS, packets, wire


@dataclass(frozen=True)
class Line:
    """A line of the way, in both directions."""

    rate_bps: int
    delay_ps: int

    def frame_ps(self, wire_bytes: int) -> int:
        """Return the time of a frame on it."""
        return round(wire_bytes * 8 * 10**12 / self.rate_bps)


def arrivals_ps(way: Sequence[Line], frames: Sequence[tuple[int, int]]) -> list[int]:
    """Return when each frame has come; ``frames``: when each is ready, in this order, and its bytes on the line."""
    free_ps = [0] * len(way)
    found = []
    for ready_ps, size in frames:
        time_ps = ready_ps
        for number, line in enumerate(way):
            time_ps = max(time_ps, free_ps[number]) + line.frame_ps(size)
            free_ps[number] = time_ps
            time_ps += line.delay_ps
        found.append(time_ps)
    return found


def store_ps(way: Sequence[Line], size_bytes: int, payload: int, delay_ps: int) -> int:
    """Return the time of a store; ``way``: from the NPU to its storage host."""
    frames = [(delay_ps, wire(HEADERS + size)) for size in packets(size_bytes, payload)]
    came = arrivals_ps(way, frames)
    back = [(time_ps, wire(ACK)) for time_ps in came]
    return arrivals_ps(way[::-1], [*back, (came[-1], wire(HEADERS + 1))])[-1] + delay_ps


def load_ps(way: Sequence[Line], size_bytes: int, payload: int, delay_ps: int) -> int:
    """Return the time of a load. A storage host sends no faster than the slowest line of the way."""
    asked_ps = arrivals_ps(way, [(delay_ps, wire(HEADERS + 1))])[0]
    slowest = min(way, key=lambda line: line.rate_bps)
    frames, ready_ps = [(asked_ps, wire(ACK))], asked_ps
    for size in packets(size_bytes, payload):
        frames.append((ready_ps, wire(HEADERS + size)))
        ready_ps = max(ready_ps, asked_ps) + slowest.frame_ps(wire(HEADERS + size))
    return arrivals_ps(way[::-1], frames)[-1] + delay_ps
