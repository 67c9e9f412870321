"""What an oracle of a congestion control is driven by: a path, events, and the control that does nothing.

Times are picoseconds, rates bits per second, sizes bytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

US = 10**6
MBPS = 10**6


@dataclass(frozen=True)
class Path:
    """What never changes for a queue pair; ``window`` 0 is no limit."""

    line_rate: int = 100_000_000_000
    base_round_trip: int = 4_000_000
    bandwidth_delay: int = 50_000
    payload: int = 1000
    packet: int = 1082
    switches: int = 1
    window: int = 0


@dataclass(frozen=True)
class Hop:
    """One switch's telemetry; sizes are bytes."""

    time: int
    sent: int
    queue: int
    rate: int


@dataclass(frozen=True)
class Event:
    """``kind``: "sent" (``size`` bytes of payload), "ack" (of ``size`` bytes), "cnp", "nack" or "timeout"."""

    time: int
    kind: str
    size: int = 0
    round_trip: int = 0
    marked: bool = False
    hops: tuple[Hop, ...] = ()
    utilisation: float | None = None


class Control:
    """No control at all; the others say what they do at which event."""

    def __init__(self, path: Path, **numbers: float) -> None:
        self.path = path
        self.line = float(path.line_rate)
        self.numbers: Mapping[str, float] = numbers
        self.least = self.number("minimum_rate", 100 * MBPS)
        self.rate = self.line
        self.window = float(path.window)
        self.now = self.sent = self.acknowledged = 0

    def number(self, name: str, default: float) -> float:
        """A parameter."""
        return self.numbers.get(name, default)

    def bounded(self, rate: float) -> float:
        """A rate between the least one and the line's."""
        return min(max(rate, self.least), self.line)

    def play(self, events: Iterable[Event]) -> Iterator[tuple[int, float, int]]:
        """After each event: its time, the rate, the window in whole bytes."""
        for event in events:
            self.clocks(event.time)
            self.now = event.time
            self.sent += event.size if event.kind == "sent" else 0
            self.acknowledged += event.size if event.kind == "ack" else 0
            reactions = {
                "sent": self.on_sent,
                "ack": self.on_ack,
                "cnp": self.on_cnp,
                "nack": self.on_nack,
                "timeout": self.on_timeout,
            }
            reactions[event.kind](event)
            yield event.time, self.rate, math.floor(self.window + 0.5)

    def clocks(self, until: int) -> None:
        """Let all clocks beat that are due."""

    def on_sent(self, event: Event) -> None:
        """A packet went out."""

    def on_ack(self, event: Event) -> None:
        """An acknowledgement came."""

    def on_cnp(self, event: Event) -> None:
        """A congestion notification packet came."""

    def on_nack(self, event: Event) -> None:
        """A gap was reported."""

    def on_timeout(self, event: Event) -> None:
        """Nothing was acknowledged for too long."""
